"""From the rewards of one group to advantages: centred, scaled by a scheme chosen by name, clipped."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, get_args

Scheme = Literal["domain", "group", "none", "batch", "rank"]
SCHEMES: tuple[Scheme, ...] = get_args(Scheme)

SCALE_FLOOR = 0.1
CLIP = 5.0
SAME = 1e-6


def is_flat(rewards: Sequence[float]) -> bool:
    """Say whether all rewards are the same up to float noise: such a group has nothing to teach."""
    return max(rewards) - min(rewards) <= SAME


def advantages(rewards: Sequence[float], *, scheme: Scheme, domain_rms: float, batch_rms: float) -> tuple[float, ...]:
    """Return one advantage an episode, within [-5, 5].

    "domain" divides (r - group mean) by max(`domain_rms`, 0.1), "batch" by max(`batch_rms`, 0.1), "group" by the
    group's own population standard deviation (floor 0.1), "none" by 1; "rank" is the centred mid-rank over (G - 1) / 2.

    Raises:
        ValueError: fewer than two rewards.

    """
    if len(rewards) < 2:
        raise ValueError(f"A group of {len(rewards)} has no advantage; drop it before.")
    if scheme == "rank":
        return _ranks(rewards)
    mean = sum(rewards) / len(rewards)
    centred = [reward - mean for reward in rewards]
    scale = {
        "domain": max(domain_rms, SCALE_FLOOR),
        "batch": max(batch_rms, SCALE_FLOOR),
        "group": max(root_mean_square(centred), SCALE_FLOOR),
        "none": 1.0,
    }[scheme]
    return tuple(max(-CLIP, min(CLIP, value / scale)) for value in centred)


def batch_rms(groups: Sequence[Sequence[float]]) -> float:
    """Return the root mean square of (reward - its group's mean) over all `groups` together; 0 when there are none."""
    centred = [reward - sum(rewards) / len(rewards) for rewards in groups for reward in rewards]
    return root_mean_square(centred)


def root_mean_square(values: Sequence[float]) -> float:
    """Return the root mean square of `values`; 0 when there are none."""
    return math.sqrt(sum(value * value for value in values) / len(values)) if values else 0.0


def _ranks(rewards: Sequence[float]) -> tuple[float, ...]:
    half = (len(rewards) - 1) / 2
    below = [sum(other < reward - SAME for other in rewards) for reward in rewards]
    level = [sum(abs(other - reward) <= SAME for other in rewards) for reward in rewards]
    return tuple((low + (same - 1) / 2 - half) / half for low, same in zip(below, level, strict=True))
