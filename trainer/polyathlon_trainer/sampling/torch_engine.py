"""The engine of the tiny model: one prefill a prompt, whose samples grow as branches of one tree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from polyathlon.errors import EngineError
from polyathlon_trainer.learning.bytechat import END, PAD
from polyathlon_trainer.learning.tiny import TinyLM
from polyathlon_trainer.sampling.choose import choose
from polyathlon_trainer.sampling.growth import Growth
from polyathlon_trainer.sampling.points import uniforms
from polyathlon_trainer.sampling.protocol import Completion, Request

MAX_ROWS = 1_024
MAX_PADDING = 128
"""Prompts that differ by more ids than this are not decoded together."""


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
        _check(requests)
        done: dict[int, tuple[Completion, ...]] = {}
        with torch.inference_mode():
            for places in _buckets(requests):
                answers = self._decode(model, [requests[place] for place in places])
                done.update(zip(places, answers, strict=True))
        return [done[place] for place in range(len(requests))]

    def load_weights(self, weights: Mapping[str, Tensor], *, version: int) -> None:
        model = self._ready()
        if version <= self._version:
            raise EngineError(f"Weights of version {version} came after {self._version}. Versions only grow.")
        try:
            model.load_state_dict(weights)
        except RuntimeError as error:
            self._model = None  # half of them may be in
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
        points = _points(requests, longest).to(self._device)  # (n, S, longest) float64
        temperatures = torch.tensor([request.temperature for request in requests], device=self._device)
        budgets = torch.tensor([request.max_new_tokens for request in requests], device=self._device)
        ids = torch.full((num, num_slots, longest), PAD, device=self._device)
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
            chosen = chosen.view_as(slots).masked_fill(~alive, PAD)
            ids[owners, slots, step] = chosen
            logprobs[owners, slots, step] = scores.view_as(slots)
            alive = alive & (chosen != END) & (budgets[owners] > step + 1)
            if not bool(alive.any()):
                break
            growth.read(chosen)
            if growth.is_full:
                alive = growth.prune(alive)
            growth.step()
        return _completions(ids, logprobs, self._version)


def _points(requests: Sequence[Request], count: int) -> Tensor:
    num_slots = requests[0].num_samples
    seeds = [request.seed for request in requests for _ in range(num_slots)]
    samples = [sample for _ in requests for sample in range(num_slots)]
    return torch.from_numpy(uniforms(seeds, samples, start=0, count=count)).view(len(requests), num_slots, count)


def _check(requests: Sequence[Request]) -> None:
    for request in requests:
        if not request.prompt_ids or request.num_samples < 1 or request.max_new_tokens < 1 or request.temperature < 0:
            raise EngineError(
                f"A request has {len(request.prompt_ids)} prompt ids, {request.num_samples} samples, "
                f"{request.max_new_tokens} new tokens and temperature {request.temperature}: the first three must be "
                "at least 1, the last at least 0."
            )


def _buckets(requests: Sequence[Request]) -> list[list[int]]:
    """Return places of requests, those of one bucket alike in samples and near in length of prompt."""
    order = sorted(range(len(requests)), key=lambda p: (requests[p].num_samples, len(requests[p].prompt_ids)))
    buckets: list[list[int]] = []
    for place in order:
        request = requests[place]
        if buckets:
            first = requests[buckets[-1][0]]
            fits = (len(buckets[-1]) + 1) * request.num_samples <= MAX_ROWS
            near = len(request.prompt_ids) - len(first.prompt_ids) <= MAX_PADDING
            if fits and near and request.num_samples == first.num_samples:
                buckets[-1].append(place)
                continue
        buckets.append([place])
    return buckets


def _completions(ids: Tensor, logprobs: Tensor, version: int) -> list[tuple[Completion, ...]]:
    answers = []
    for rows, all_scores in zip(ids.tolist(), logprobs.tolist(), strict=True):
        members = []
        for row, scores in zip(rows, all_scores, strict=True):
            length = row.index(PAD) if PAD in row else len(row)
            members.append(
                Completion(
                    token_ids=tuple(row[:length]),
                    logprobs=tuple(scores[:length]),
                    versions=(version,) * length,
                    stop="end" if row[length - 1] == END else "length",
                )
            )
        answers.append(tuple(members))
    return answers
