"""The engine of Hugging Face causal models: own sampling loop over their key-value cache."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from transformers import DynamicCache

from polyathlon.errors import EngineError
from polyathlon_trainer.learning.rows import copy_weights
from polyathlon_trainer.sampling.choose import choose
from polyathlon_trainer.sampling.protocol import Completion, Request
from polyathlon_trainer.sampling.requests import NOTHING, buckets, check_requests, completions, points_of

MAX_ROWS = 128
PRUNE_BELOW = 0.75
"""Rows that have ended are dropped once fewer than this share are alive."""


class HfEngine:
    """Writes with a causal model of its own, in float32. Not thread-safe.

    A prompt is read once; its cache is then repeated for each sample. A request's text depends on its seed and the
    weights; what else is in the call moves logits by rounding only.
    """

    def __init__(self, model: nn.Module, *, end_id: int, pad_id: int, device: torch.device, version: int = 0) -> None:
        self._model: nn.Module | None = model.to(device).eval()
        self._end_id = end_id
        self._pad_id = pad_id
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
            raise EngineError(f"The weights of version {version} do not fit the model: {error}.") from error
        self._version = version

    def close(self) -> None:
        self._model = None

    def _ready(self) -> nn.Module:
        if self._model is None:
            raise EngineError("The engine is closed. Build another.")
        return self._model

    def _decode(self, model: nn.Module, requests: list[Request]) -> list[tuple[Completion, ...]]:
        num_slots = requests[0].num_samples
        longest = max(request.max_new_tokens for request in requests)
        points = points_of(requests, longest).flatten(0, 1).to(self._device)  # (R, longest), R = n * S rows
        temperatures = self._each([request.temperature for request in requests], num_slots).float()
        budgets = self._each([request.max_new_tokens for request in requests], num_slots)
        lengths = self._each([len(request.prompt_ids) for request in requests], num_slots)
        ids = torch.full((len(points), longest), NOTHING, device=self._device)
        logprobs = torch.zeros(len(points), longest, device=self._device)
        logits, seen, cache = self._prefill(model, requests)
        logits, seen = logits.repeat_interleave(num_slots, 0), seen.repeat_interleave(num_slots, 0)
        cache.batch_repeat_interleave(num_slots)
        rows = torch.arange(len(points), device=self._device)  # which rows the cache still holds
        alive = torch.ones_like(rows, dtype=torch.bool)
        for step in range(longest):
            chosen, scores = choose(logits, temperatures[rows], points[rows, step])
            ids[rows, step] = chosen.masked_fill(~alive, NOTHING)
            logprobs[rows, step] = scores
            alive = alive & (chosen != self._end_id) & (budgets[rows] > step + 1)
            if not bool(alive.any()):
                break
            if float(alive.float().mean()) < PRUNE_BELOW:
                left = alive.nonzero().squeeze(1)
                cache.batch_select_indices(left)
                rows, chosen, seen, alive = rows[left], chosen[left], seen[left], alive[left]
            seen = torch.cat((seen, torch.ones_like(seen[:, :1])), dim=1)
            logits = self._run(model, chosen[:, None], seen, (lengths[rows] + step)[:, None], cache)
        shape = (len(requests), num_slots, longest)
        return completions(ids.view(shape), logprobs.view(shape), end_id=self._end_id, version=self._version)

    def _prefill(self, model: nn.Module, requests: Sequence[Request]) -> tuple[Tensor, Tensor, Any]:
        """Read the prompts, padded on the left to P; return logits (n, V), what is seen (n, P) and the cache."""
        width = max(len(request.prompt_ids) for request in requests)
        gaps = [width - len(request.prompt_ids) for request in requests]
        rows = [[self._pad_id] * gap + list(request.prompt_ids) for gap, request in zip(gaps, requests, strict=True)]
        ids = torch.tensor(rows, device=self._device)
        places = torch.arange(width, device=self._device) - torch.tensor(gaps, device=self._device)[:, None]
        seen = (places >= 0).long()
        config: Any = model.config  # nn.Module types every attribute as a tensor or a module
        cache = DynamicCache(config=config)
        return self._run(model, ids, seen, places.clamp(min=0), cache), seen, cache

    def _run(self, model: nn.Module, ids: Tensor, seen: Tensor, places: Tensor, cache: Any) -> Tensor:
        """Return the logits (R, V), float32, after the last of ids (R, L), which the cache then holds too."""
        output = model(
            input_ids=ids,
            attention_mask=seen,
            position_ids=places,
            past_key_values=cache,
            use_cache=True,
            logits_to_keep=1,
        )
        logits: Tensor = output.logits[:, -1].float()
        return logits

    def _each(self, values: Sequence[float], times: int) -> Tensor:
        return torch.tensor(values, device=self._device).repeat_interleave(times)
