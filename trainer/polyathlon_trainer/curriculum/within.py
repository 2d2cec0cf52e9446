"""Levels within a domain: half of the groups uniform, half where success is most in doubt."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from polyathlon_trainer.curriculum.state import LevelBelief

UNIFORM_SHARE = 0.5


def level_chances(levels: Sequence[LevelBelief]) -> tuple[float, ...]:
    """Return the chance of each level, summing to one.

    Half is uniform; half goes by the expectation of p(1-p) under each level's Beta: ab / ((a+b)(a+b+1)).
    """
    doubts = [doubt(belief) for belief in levels]
    total = sum(doubts)
    return tuple(UNIFORM_SHARE / len(levels) + (1.0 - UNIFORM_SHARE) * value / total for value in doubts)


def doubt(belief: LevelBelief) -> float:
    """Return E[p(1-p)] of Beta(won, missed), at most 1/4."""
    count = belief.won + belief.missed
    return belief.won * belief.missed / (count * (count + 1.0))


def draw_level(levels: Sequence[LevelBelief], rng: np.random.Generator) -> int:
    """Return a level drawn by `level_chances`."""
    edges = np.cumsum(level_chances(levels))
    return min(int(np.searchsorted(edges, rng.random(), side="right")), len(levels) - 1)
