"""Choosing the next token from logits, and its log-probability after temperature."""

from __future__ import annotations

import torch
from torch import Tensor


def choose(logits: Tensor, temperatures: Tensor, points: Tensor) -> tuple[Tensor, Tensor]:
    """Return the chosen ids and their log-probabilities, both (R,), of `logits` (R, V) float32.

    Temperature T > 0: the id at which the cumulative distribution of softmax(logits / T) passes `points` (R,) float64,
    and its log-probability under that distribution. T = 0: the likeliest id (the lowest of equals), and its
    log-probability under softmax(logits).
    """
    greedy = temperatures == 0
    scores = torch.log_softmax(logits / torch.where(greedy, 1.0, temperatures)[:, None], dim=-1)
    reached = scores.double().exp_().cumsum(-1)
    # The last sum may miss 1 by rounding: measure the point against what is there, and never past the last id.
    places = torch.searchsorted(reached, (points * reached[:, -1])[:, None], right=True).squeeze(1)
    drawn = places.clamp(max=logits.shape[-1] - 1)
    chosen = torch.where(greedy, logits.argmax(-1), drawn)
    return chosen, scores.gather(1, chosen[:, None]).squeeze(1)
