"""The engine of the tiny model: one prefill a prompt, whose samples grow as branches of one tree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from polyathlon.errors import EngineError
from polyathlon_trainer.learning.bytechat import END, PAD
from polyathlon_trainer.learning.tiny import HEAD_WIDTH, NUM_HEADS, NUM_LAYERS, NUM_RECENT, WIDTH, TinyLM, recent_of
from polyathlon_trainer.sampling.choose import choose
from polyathlon_trainer.sampling.points import uniforms
from polyathlon_trainer.sampling.protocol import Completion, Request

PREFILL_TOKENS = 8_192
MAX_ROWS = 1_024
MAX_PADDING = 128
"""Prompts that differ by more ids than this are not decoded together."""

SHRINK_EVERY = 8


@dataclass(slots=True)
class _Bucket:
    """Requests that are decoded together: n trees of S branches each. `slots` says which sample a branch is."""

    requests: list[Request]
    alive: Tensor  # (n, S) bool
    slots: Tensor  # (n, S) int64, sample number of each branch
    owners: Tensor  # (n,) int64, place of each tree's request in `requests`
    lengths: Tensor  # (n,) int64, ids of the prompt
    recent: Tensor  # (n, S, 3) int64, newest first
    keys: list[Tensor]  # a layer: (n, heads, P + steps * S, head width)
    values: list[Tensor]
    sees: Tensor  # (n, 1, S, P + steps * S) float32, 0 where a branch may look and -inf elsewhere
    prompt_width: int


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
        bucket, streams = _prefill(model, requests, self._device)
        num_slots = bucket.slots.shape[1]
        longest = max(request.max_new_tokens for request in requests)
        rows = [(request.seed, sample) for request in requests for sample in range(num_slots)]
        points = uniforms([seed for seed, _ in rows], [sample for _, sample in rows], start=0, count=longest)
        points_all = torch.from_numpy(points.reshape(len(requests), num_slots, longest)).to(self._device)
        temperatures = torch.tensor([request.temperature for request in requests], device=self._device)
        budgets = torch.tensor([request.max_new_tokens for request in requests], device=self._device)
        ids = torch.full((len(requests), num_slots, longest), PAD, device=self._device)
        logprobs = torch.zeros(len(requests), num_slots, longest, device=self._device)
        logits = model.read_out(streams)[:, None].expand(-1, num_slots, -1)
        for step in range(longest):
            owners, slots = bucket.owners[:, None], bucket.slots
            chosen, scores = choose(
                logits.reshape(-1, logits.shape[-1]),
                temperatures[owners].expand_as(slots).reshape(-1),
                points_all[owners, slots, step].reshape(-1),
            )
            chosen = chosen.view_as(slots).masked_fill(~bucket.alive, PAD)
            ids[owners, slots, step] = torch.where(bucket.alive, chosen, ids[owners, slots, step])
            logprobs[owners, slots, step] = torch.where(bucket.alive, scores.view_as(slots), 0.0)
            bucket.alive &= (chosen != END) & (budgets[owners] > step + 1)
            if not bool(bucket.alive.any()):
                break
            bucket.recent = torch.cat((chosen[..., None], bucket.recent[..., : NUM_RECENT - 1]), dim=-1)
            if step % SHRINK_EVERY == SHRINK_EVERY - 1:
                _shrink(bucket)
            logits = model.read_out(_step(model, bucket, step))
        return _completions(ids, logprobs, self._version)


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


def _prefill(model: TinyLM, requests: list[Request], device: torch.device) -> tuple[_Bucket, Tensor]:
    """Read the prompts (sorted by length) once each; return the bucket and each prompt's last stream (n, width)."""
    num, num_slots = len(requests), requests[0].num_samples
    width = max(len(request.prompt_ids) for request in requests)
    table = np.full((num, width), PAD, dtype=np.int64)
    for row, request in enumerate(requests):
        table[row, : len(request.prompt_ids)] = request.prompt_ids
    lengths = torch.tensor([len(request.prompt_ids) for request in requests], device=device)
    ids = torch.from_numpy(table).to(device)
    recent = recent_of(ids, (torch.arange(width, device=device) - 1).expand_as(ids))
    keys = [torch.zeros(num, NUM_HEADS, width, HEAD_WIDTH, device=device) for _ in range(NUM_LAYERS)]
    values = [torch.zeros_like(key) for key in keys]
    last = torch.zeros(num, WIDTH, device=device)
    start = 0
    while start < num:
        end = start + 1
        while end < num and (end + 1 - start) * len(requests[end].prompt_ids) <= PREFILL_TOKENS:
            end += 1
        span = len(requests[end - 1].prompt_ids)

        def attend(layer: int, q: Tensor, k: Tensor, v: Tensor, part: slice = slice(start, end)) -> Tensor:
            keys[layer][part, :, : k.shape[2]] = k
            values[layer][part, :, : v.shape[2]] = v
            return F.scaled_dot_product_attention(q, k, v, is_causal=True)

        positions = torch.arange(span, device=device).expand(end - start, span)
        stream = model.run(recent[start:end, :span], positions, attend)
        last[start:end] = stream[torch.arange(end - start, device=device), lengths[start:end] - 1]
        start = end
    read = torch.zeros(num, width, device=device).masked_fill_(
        torch.arange(width, device=device) >= lengths[:, None], -torch.inf
    )
    bucket = _Bucket(
        requests=requests,
        alive=torch.ones(num, num_slots, dtype=torch.bool, device=device),
        slots=torch.arange(num_slots, device=device).repeat(num, 1),
        owners=torch.arange(num, device=device),
        lengths=lengths,
        recent=recent[torch.arange(num, device=device), lengths - 1][:, None].repeat(1, num_slots, 1),
        keys=keys,
        values=values,
        sees=read[:, None, None].repeat(1, 1, num_slots, 1),
        prompt_width=width,
    )
    return bucket, last


def _step(model: TinyLM, bucket: _Bucket, step: int) -> Tensor:
    """Read the newest id of every branch, which stands `step` places after its prompt; return streams (n, S, width)."""
    num, num_slots = bucket.slots.shape
    own = torch.full((num_slots, num_slots), -torch.inf, device=bucket.sees.device).fill_diagonal_(0.0)
    bucket.sees = torch.cat((bucket.sees, own.expand(num, 1, num_slots, num_slots)), dim=-1)

    def attend(layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        bucket.keys[layer] = torch.cat((bucket.keys[layer], k), dim=2)
        bucket.values[layer] = torch.cat((bucket.values[layer], v), dim=2)
        return F.scaled_dot_product_attention(q, bucket.keys[layer], bucket.values[layer], attn_mask=bucket.sees)

    positions = (bucket.lengths[:, None] + step).expand(num, num_slots)
    return model.run(bucket.recent, positions, attend)


def _shrink(bucket: _Bucket) -> None:
    """Drop the trees that have ended, and as many branches of each as the fullest tree has dead ones."""
    trees = bucket.alive.any(1).nonzero().squeeze(1)
    num_live = int(bucket.alive.sum(1).max())
    if len(trees) == len(bucket.alive) and num_live == bucket.slots.shape[1]:
        return
    branches = bucket.alive[trees].to(torch.int8).argsort(dim=1, descending=True, stable=True)[:, :num_live]
    rows = trees[:, None]
    width, num_slots = bucket.prompt_width, bucket.slots.shape[1]

    def fewer(held: Tensor) -> Tensor:
        held = held[trees]
        grown = held[:, :, width:]
        grown = grown.reshape(*grown.shape[:2], -1, num_slots, HEAD_WIDTH)  # (n, heads, steps, S, head width)
        index = branches[:, None, None, :, None].expand(-1, *grown.shape[1:3], -1, grown.shape[-1])
        return torch.cat((held[:, :, :width], grown.gather(3, index).flatten(2, 3)), dim=2)

    bucket.keys = [fewer(held) for held in bucket.keys]
    bucket.values = [fewer(held) for held in bucket.values]
    prompt = bucket.sees[trees][:, :, :1, :width].expand(-1, -1, num_live, -1)
    own = torch.full((num_live, num_live), -torch.inf, device=prompt.device).fill_diagonal_(0.0)
    steps = (bucket.keys[0].shape[2] - width) // num_live
    bucket.sees = torch.cat((prompt, own.repeat(1, steps).expand(len(trees), 1, -1, -1)), dim=-1)
    bucket.alive, bucket.slots = bucket.alive[rows, branches], bucket.slots[rows, branches]
    bucket.recent = bucket.recent[rows, branches]
    bucket.owners, bucket.lengths = bucket.owners[trees], bucket.lengths[trees]


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
