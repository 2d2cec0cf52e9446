"""All that the curriculum remembers, as one frozen value that becomes plain JSON and is merged by domain id."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

PRIOR_COUNT = 1.0


@dataclass(frozen=True, slots=True)
class LevelBelief:
    """A decayed Beta over the success of one level: pseudo-counts of reward won and reward missed."""

    won: float = PRIOR_COUNT
    missed: float = PRIOR_COUNT


@dataclass(frozen=True, slots=True)
class DomainProgress:
    """What is known of one domain. Rewards in [0, 1]; `groups` counts all judged groups.

    `fast` and `slow` are averages of the mean reward with short and long memory, `best` the highest `slow` so far;
    None until the first group. `learnability` is the average share of groups whose rewards differ. `floor` is the
    lowest multiple of the registry's share that the weight may fall to.
    """

    levels: tuple[LevelBelief, ...]
    fast: float | None = None
    slow: float | None = None
    best: float | None = None
    learnability: float = 1.0
    groups: int = 0
    floor: float = 0.5


@dataclass(frozen=True, slots=True)
class CurriculumState:
    """Progress and current weight of every domain in the mixture, and the progress of those that left it.

    `weights` sum to one. A changed domain has a new id, so its old progress never stands for it.
    """

    progress: Mapping[str, DomainProgress]
    weights: Mapping[str, float]
    archived: Mapping[str, DomainProgress] = field(default_factory=dict)


def open_state(shares: Mapping[str, float], levels: Mapping[str, int]) -> CurriculumState:
    """Return the state of a fresh run: the registry's `shares` (summing to 1) as weights, `levels` a domain."""
    progress = {domain_id: _fresh(levels[domain_id]) for domain_id in sorted(shares)}
    return CurriculumState(progress=progress, weights={domain_id: shares[domain_id] for domain_id in sorted(shares)})


def merge_state(old: CurriculumState, shares: Mapping[str, float], levels: Mapping[str, int]) -> CurriculumState:
    """Return `old` for the mixture in force: new domains start from the prior, missing ones are archived.

    Weights of domains that stay keep their ratio to each other; new ones get their registry share.
    """
    known = {**old.archived, **old.progress}
    progress = {domain_id: _refit(known.get(domain_id), levels[domain_id]) for domain_id in sorted(shares)}
    archived = {domain_id: known[domain_id] for domain_id in sorted(known) if domain_id not in shares}
    stay = [domain_id for domain_id in sorted(shares) if domain_id in old.weights]
    total_old = sum(old.weights[domain_id] for domain_id in stay)
    total_new = sum(shares[domain_id] for domain_id in stay)
    weights = {
        domain_id: old.weights[domain_id] * total_new / total_old if domain_id in stay else shares[domain_id]
        for domain_id in sorted(shares)
    }
    return CurriculumState(progress=progress, weights=weights, archived=archived)


def raise_floor(state: CurriculumState, domain_id: str) -> CurriculumState:
    """Return `state` with the weight of a falling domain held at its registry share or above."""
    known = state.progress[domain_id]
    return replace(state, progress={**state.progress, domain_id: replace(known, floor=1.0)})


def _fresh(num_levels: int) -> DomainProgress:
    return DomainProgress(levels=tuple(LevelBelief() for _ in range(num_levels)))


def _refit(known: DomainProgress | None, num_levels: int) -> DomainProgress:
    if known is None:
        return _fresh(num_levels)
    kept = known.levels[:num_levels]
    return replace(known, levels=kept + tuple(LevelBelief() for _ in range(num_levels - len(kept))))
