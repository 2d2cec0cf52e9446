"""Weights across domains: more to those that move, can be learned now, or are being forgotten; within bounds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from polyathlon_trainer.curriculum.state import CurriculumState, DomainProgress, LevelBelief
from polyathlon_trainer.rewards.advantage import is_flat

CEILING = 2.0
FAST_HALF_LIFE_GROUPS = 12.0
SLOW_HALF_LIFE_GROUPS = 96.0
PROGRESS_UNIT = 0.1
"""A difference of this much reward between fast and slow counts as much as full learnability."""
LEARNABLE = 2.0
"""What full learnability adds to the score: it alone takes a domain from the lower bound past the upper one."""
STEP_SIZE = 0.25
LEVEL_DECAY = 0.98


def observe_group(state: CurriculumState, domain_id: str, *, level: int, rewards: Sequence[float]) -> CurriculumState:
    """Return `state` after one judged group, whether it gave a gradient or not."""
    mean = sum(rewards) / len(rewards)
    old = state.progress[domain_id]
    slow = _average(old.slow, mean, SLOW_HALF_LIFE_GROUPS, old.groups)
    new = replace(
        old,
        levels=tuple(_believe(belief, mean) if place == level else belief for place, belief in enumerate(old.levels)),
        fast=_average(old.fast, mean, FAST_HALF_LIFE_GROUPS, old.groups),
        slow=slow,
        best=slow if old.best is None else max(old.best, slow),
        learnability=_average(old.learnability, float(not is_flat(rewards)), FAST_HALF_LIFE_GROUPS, old.groups),
        groups=old.groups + 1,
    )
    return replace(state, progress={**state.progress, domain_id: new})


def reweigh(state: CurriculumState, shares: Mapping[str, float]) -> CurriculumState:
    """Return `state` with its weights one step nearer to what the domains' progress asks for.

    Weights stay within [floor, 2] x the registry's `shares`, where floor is 0.5, or 1 for a domain that fell.
    """
    wanted = target_weights(state.progress, shares)
    moved = {
        domain_id: (1.0 - STEP_SIZE) * state.weights[domain_id] + STEP_SIZE * wanted[domain_id]
        for domain_id in state.weights
    }
    return replace(state, weights=moved)


def target_weights(progress: Mapping[str, DomainProgress], shares: Mapping[str, float]) -> dict[str, float]:
    """Return the weights that `progress` asks for, summing to one, within the bounds of `reweigh`."""
    raw = {domain_id: shares[domain_id] * math.exp(score(progress[domain_id])) for domain_id in shares}
    low = {domain_id: progress[domain_id].floor * shares[domain_id] for domain_id in shares}
    high = {domain_id: CEILING * shares[domain_id] for domain_id in shares}
    return _fit(raw, low, high)


def bound_weights(state: CurriculumState, shares: Mapping[str, float]) -> CurriculumState:
    """Return `state` with its weights brought within the bounds around `shares`, which may have changed."""
    low = {domain_id: state.progress[domain_id].floor * shares[domain_id] for domain_id in shares}
    high = {domain_id: CEILING * shares[domain_id] for domain_id in shares}
    return replace(state, weights=_fit(state.weights, low, high))


def score(progress: DomainProgress) -> float:
    """Return how much a domain asks for: 0 for one that is flat and out of reach, or solved.

    Learnability is the share of groups that can teach, and not the spread within them: partial credit is small where
    the policy knows little, and a small spread teaches as well, since rewards are brought to one scale.
    """
    if progress.fast is None or progress.slow is None or progress.best is None:
        return LEARNABLE
    moving = min(1.0, abs(progress.fast - progress.slow) / PROGRESS_UNIT)
    forgotten = min(1.0, max(0.0, progress.best - progress.fast) / PROGRESS_UNIT)
    return 0.5 * moving + 0.5 * forgotten + LEARNABLE * progress.learnability


def _fit(raw: Mapping[str, float], low: Mapping[str, float], high: Mapping[str, float]) -> dict[str, float]:
    """Return clip(c x raw, low, high) with the c that makes it sum to one; found by halving on log c."""

    def clipped(log_c: float) -> dict[str, float]:
        return {key: min(high[key], max(low[key], math.exp(log_c) * raw[key])) for key in raw}

    below, above = -50.0, 50.0
    for _ in range(100):
        middle = (below + above) / 2
        below, above = (middle, above) if sum(clipped(middle).values()) < 1.0 else (below, middle)
    weights = clipped(above)
    total = sum(weights.values())
    return {key: weight / total for key, weight in weights.items()}


def _average(old: float | None, new: float, half_life_groups: float, num_seen: int) -> float:
    """Return the running average; a plain mean at first, so that the first group does not weigh for ever."""
    if old is None:
        return new
    rate: float = max(1.0 - 0.5 ** (1.0 / half_life_groups), 1.0 / (num_seen + 1))
    return old + rate * (new - old)


def _believe(belief: LevelBelief, mean: float) -> LevelBelief:
    prior = LevelBelief()
    return LevelBelief(
        won=prior.won + LEVEL_DECAY * (belief.won - prior.won) + mean,
        missed=prior.missed + LEVEL_DECAY * (belief.missed - prior.missed) + 1.0 - mean,
    )
