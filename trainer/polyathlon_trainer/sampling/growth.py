"""Trees that the tiny model grows: a prompt read once, and branches that read it, themselves and nothing else."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from polyathlon_trainer.learning.bytechat import PAD
from polyathlon_trainer.learning.tiny import HEAD_WIDTH, NUM_HEADS, NUM_LAYERS, NUM_RECENT, WIDTH, TinyLM, recent_of

PREFILL_TOKENS = 8_192
ROOM_STEPS = 8
"""Steps between two prunings; there is room for as many in the stores of keys and values."""


class Growth:
    """n trees of S branches each, growing a token a step together.

    `owners` (n,) says which prompt a tree grew from, `slots` (n, S) which sample a branch is: both count from zero
    and change when `prune` drops what has ended.
    """

    def __init__(self, model: TinyLM, prompts: Sequence[tuple[int, ...]], num_slots: int, device: torch.device) -> None:
        """Read the prompts, sorted by length, once each. `streams` (n, S, width) then predict the first tokens."""
        num, width = len(prompts), len(prompts[-1])
        table = np.full((num, width), PAD, dtype=np.int64)
        for row, prompt in enumerate(prompts):
            table[row, : len(prompt)] = prompt
        ids = torch.from_numpy(table).to(device)
        self._model = model
        self._lengths = torch.tensor([len(prompt) for prompt in prompts], device=device)  # (n,)
        self._prompt_width = width
        self._num_steps = 0
        self.owners = torch.arange(num, device=device)
        self.slots = torch.arange(num_slots, device=device).repeat(num, 1)
        recent = recent_of(ids, (torch.arange(width, device=device) - 1).expand_as(ids))
        self._recent = recent[self.owners, self._lengths - 1][:, None].repeat(1, num_slots, 1)  # (n, S, 3)
        # A layer: (n, heads, P + room, head width). Step t of slot s lies at P + t * S + s.
        self._keys = [self._room(num, num_slots, device) for _ in range(NUM_LAYERS)]
        self._values = [self._room(num, num_slots, device) for _ in range(NUM_LAYERS)]
        beyond = torch.arange(width, device=device) >= self._lengths[:, None]
        self._prompt_mask = torch.zeros(num, width, device=device).masked_fill_(beyond, -torch.inf)  # (n, P)
        self._mask = self._new_mask()
        self.streams = self._prefill(recent)[:, None].expand(-1, num_slots, -1)

    def read(self, chosen: Tensor) -> None:
        """Take the next id (n, S) of every branch."""
        self._recent = torch.cat((chosen[..., None], self._recent[..., : NUM_RECENT - 1]), dim=-1)

    def step(self) -> None:
        """Grow by the ids last read; `streams` (n, S, width) then predict the next."""
        num, num_slots = self.slots.shape
        start = self._prompt_width + self._num_steps * num_slots
        end = start + num_slots

        def attend(layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
            keys, values = self._keys[layer], self._values[layer]
            keys[:, :, start:end], values[:, :, start:end] = k, v
            return F.scaled_dot_product_attention(
                q, keys[:, :, :end], values[:, :, :end], attn_mask=self._mask[..., :end]
            )

        positions = (self._lengths[:, None] + self._num_steps).expand(num, num_slots)
        self.streams = self._model.run(self._recent, positions, attend)
        self._num_steps += 1

    @property
    def is_full(self) -> bool:
        """Whether the stores are full: `prune` must come before the next `step`."""
        return self._prompt_width + self._num_steps * self.slots.shape[1] == self._keys[0].shape[2]

    def prune(self, alive: Tensor) -> Tensor:
        """Drop the trees without a live branch, and as many dead branches of each as all trees can spare; make room.

        `alive` (n, S) bool, at least one true. Returns it for the branches that are left.
        """
        trees = alive.any(1).nonzero().squeeze(1)
        num_slots = int(alive.sum(1).max())
        branches = alive[trees].to(torch.int8).argsort(dim=1, descending=True, stable=True)[:, :num_slots]
        rows = trees[:, None]
        self._keys = [self._moved(held, trees, branches) for held in self._keys]
        self._values = [self._moved(held, trees, branches) for held in self._values]
        self.owners, self._lengths, self._prompt_mask = (
            self.owners[trees],
            self._lengths[trees],
            self._prompt_mask[trees],
        )
        self.slots, self._recent = self.slots[rows, branches], self._recent[rows, branches]
        self._mask = self._new_mask()
        return alive[rows, branches]

    def _prefill(self, recent: Tensor) -> Tensor:
        """Fill the prompts' keys and values; return the stream (n, width) at each prompt's last token."""
        num, device = len(recent), recent.device
        lengths = self._lengths.tolist()
        last = torch.zeros(num, WIDTH, device=device)
        start = 0
        while start < num:
            end = start + 1
            while end < num and (end + 1 - start) * lengths[end] <= PREFILL_TOKENS:
                end += 1
            span = lengths[end - 1]

            def attend(layer: int, q: Tensor, k: Tensor, v: Tensor, part: slice = slice(start, end)) -> Tensor:
                self._keys[layer][part, :, : k.shape[2]] = k
                self._values[layer][part, :, : v.shape[2]] = v
                return F.scaled_dot_product_attention(q, k, v, is_causal=True)

            positions = torch.arange(span, device=device).expand(end - start, span)
            streams = self._model.run(recent[start:end, :span], positions, attend)
            last[start:end] = streams[torch.arange(end - start, device=device), self._lengths[start:end] - 1]
            start = end
        return last

    def _room(self, num: int, num_slots: int, device: torch.device) -> Tensor:
        width = self._prompt_width + (self._num_steps + ROOM_STEPS) * num_slots
        return torch.zeros(num, NUM_HEADS, width, HEAD_WIDTH, device=device)

    def _moved(self, held: Tensor, trees: Tensor, branches: Tensor) -> Tensor:
        """Return a store (n', heads, P + more room, head width) of what the chosen trees and branches hold."""
        width, (num, num_slots) = self._prompt_width, branches.shape
        old_slots = self.slots.shape[1]
        grown = held[trees, :, width : width + self._num_steps * old_slots]
        grown = grown.reshape(num, NUM_HEADS, self._num_steps, old_slots, HEAD_WIDTH)
        index = branches[:, None, None, :, None].expand(-1, NUM_HEADS, self._num_steps, -1, HEAD_WIDTH)
        moved = self._room(num, num_slots, held.device)
        moved[:, :, :width] = held[trees, :, :width]
        moved[:, :, width : width + self._num_steps * num_slots] = grown.gather(3, index).flatten(2, 3)
        return moved

    def _new_mask(self) -> Tensor:
        """Return (n, 1, S, P + room): 0 where a branch may look, at its prompt and at itself, else -inf."""
        num, num_slots = self.slots.shape
        prompt = self._prompt_mask[:, None, None].expand(-1, 1, num_slots, -1)
        own = torch.full((num_slots, num_slots), -torch.inf, device=prompt.device).fill_diagonal_(0.0)
        steps = (self._keys[0].shape[2] - self._prompt_width) // num_slots
        return torch.cat((prompt, own.repeat(1, steps).expand(num, 1, -1, -1)), dim=-1)
