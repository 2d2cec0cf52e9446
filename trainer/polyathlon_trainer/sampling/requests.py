"""What engines on torch share: requests checked and put together, and tensors of ids turned into completions."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from polyathlon.errors import EngineError
from polyathlon_trainer.sampling.points import uniforms
from polyathlon_trainer.sampling.protocol import Completion, Request

NOTHING = -1
"""Stands after the end of a completion in a tensor of ids."""

MAX_PADDING = 128
"""Prompts that differ by more ids than this are not decoded together."""


def check_requests(requests: Sequence[Request]) -> None:
    """Refuse a request that nothing can be written for.

    Raises:
        EngineError: no prompt, no samples, no room for a token, or a temperature below zero.

    """
    for request in requests:
        if not request.prompt_ids or request.num_samples < 1 or request.max_new_tokens < 1 or request.temperature < 0:
            raise EngineError(
                f"A request has {len(request.prompt_ids)} prompt ids, {request.num_samples} samples, "
                f"{request.max_new_tokens} new tokens and temperature {request.temperature}: the first three must be "
                "at least 1, the last at least 0."
            )


def buckets(requests: Sequence[Request], *, max_rows: int) -> list[list[int]]:
    """Return the places of requests to decode together: alike in samples, near in length of prompt, shortest first.

    A bucket has at most `max_rows` samples, or one request.
    """
    order = sorted(range(len(requests)), key=lambda p: (requests[p].num_samples, len(requests[p].prompt_ids)))
    found: list[list[int]] = []
    for place in order:
        request = requests[place]
        if found:
            first = requests[found[-1][0]]
            fits = (len(found[-1]) + 1) * request.num_samples <= max_rows
            near = len(request.prompt_ids) - len(first.prompt_ids) <= MAX_PADDING
            if fits and near and request.num_samples == first.num_samples:
                found[-1].append(place)
                continue
        found.append([place])
    return found


def points_of(requests: Sequence[Request], count: int) -> Tensor:
    """Return (n, S, count) float64 in [0, 1): what decides the first `count` tokens of each sample."""
    num_slots = requests[0].num_samples
    seeds = [request.seed for request in requests for _ in range(num_slots)]
    samples = [sample for _ in requests for sample in range(num_slots)]
    return torch.from_numpy(uniforms(seeds, samples, start=0, count=count)).view(len(requests), num_slots, count)


def completions(ids: Tensor, logprobs: Tensor, *, end_id: int, version: int) -> list[tuple[Completion, ...]]:
    """Return S completions for each of n requests, from ids (n, S, L) int64, NOTHING after the end, and logprobs."""
    answers = []
    for rows, all_scores in zip(ids.tolist(), logprobs.tolist(), strict=True):
        members = []
        for row, scores in zip(rows, all_scores, strict=True):
            length = row.index(NOTHING) if NOTHING in row else len(row)
            members.append(
                Completion(
                    token_ids=tuple(row[:length]),
                    logprobs=tuple(scores[:length]),
                    versions=(version,) * length,
                    stop="end" if row[length - 1] == end_id else "length",
                )
            )
        answers.append(tuple(members))
    return answers
