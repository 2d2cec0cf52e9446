"""The engine of the tiny model: one prefill a prompt, whose samples grow as branches of one tree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from polyathlon.errors import EngineError
from polyathlon_trainer.learning.bytechat import END
from polyathlon_trainer.learning.rows import copy_weights
from polyathlon_trainer.learning.tiny import TinyLM
from polyathlon_trainer.sampling.choose import choose
from polyathlon_trainer.sampling.growth import Growth
from polyathlon_trainer.sampling.protocol import Completion, Request
from polyathlon_trainer.sampling.requests import NOTHING, buckets, check_requests, completions, points_of

MAX_ROWS = 1_024
"""Branches that are grown together."""


class TorchEngine:
    """Writes with a `TinyLM` of its own. Not thread-safe.

    A request's text depends on its seed and the weights. What else is in the call moves logits by rounding only
    (about 1e-6), which changes a choice about once in a million tokens.
    """

    def __init__(self, model: TinyLM, *, device: torch.device, version: int = 0) -> None:
        self._model: TinyLM | None = model.to(device).eval()
        self._device = device
        self._version = version

    @property
    def version(self) -> int:
        return self._version

    def generate(self, requests: Sequence[Request]) -> list[tuple[Completion, ...]]:
        model = self._ready()
        check_requests(requests)
        done: dict[int, tuple[Completion, ...]] = {}
        with torch.inference_mode():
            for places in buckets(requests, max_rows=MAX_ROWS):
                answers = self._decode(model, [requests[place] for place in places])
                done.update(zip(places, answers, strict=True))
        return [done[place] for place in range(len(requests))]

    def load_weights(self, weights: Mapping[str, Tensor], *, version: int) -> None:
        model = self._ready()
        if version <= self._version:
            raise EngineError(f"Weights of version {version} came after {self._version}. Versions only grow.")
        try:
            copy_weights(model, weights)
        except ValueError as error:
            raise EngineError(f"The weights of version {version} do not fit the tiny model: {error}") from error
        self._version = version

    def close(self) -> None:
        self._model = None

    def _ready(self) -> TinyLM:
        if self._model is None:
            raise EngineError("The engine is closed. Build another.")
        return self._model

    def _decode(self, model: TinyLM, requests: list[Request]) -> list[tuple[Completion, ...]]:
        """Answer requests that are sorted by length of prompt and alike in number of samples."""
        num, num_slots = len(requests), requests[0].num_samples
        longest = max(request.max_new_tokens for request in requests)
        points = points_of(requests, longest).to(self._device)  # (n, S, longest) float64
        temperatures = torch.tensor([request.temperature for request in requests], device=self._device)
        budgets = torch.tensor([request.max_new_tokens for request in requests], device=self._device)
        ids = torch.full((num, num_slots, longest), NOTHING, device=self._device)
        logprobs = torch.zeros(num, num_slots, longest, device=self._device)
        alive = torch.ones(num, num_slots, dtype=torch.bool, device=self._device)
        growth = Growth(model, [request.prompt_ids for request in requests], num_slots, self._device)
        for step in range(longest):
            owners, slots = growth.owners[:, None], growth.slots
            chosen, scores = choose(
                model.read_out(growth.streams).flatten(0, 1),
                temperatures[owners].expand_as(slots).flatten(),
                points[owners, slots, step].flatten(),
            )
            chosen = chosen.view_as(slots)
            ids[owners, slots, step] = chosen.masked_fill(~alive, NOTHING)
            logprobs[owners, slots, step] = scores.view_as(slots)
            alive = alive & (chosen != END) & (budgets[owners] > step + 1)
            if not bool(alive.any()):
                break
            growth.read(chosen)
            if growth.is_full:
                alive = growth.prune(alive)
            growth.step()
        return completions(ids, logprobs, end_id=END, version=self._version)
