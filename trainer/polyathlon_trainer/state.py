"""All that a run is, besides weights and episodes, as frozen values that become plain JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from polyathlon_trainer.curriculum.across import bound_weights
from polyathlon_trainer.curriculum.state import CurriculumState, merge_state, open_state
from polyathlon_trainer.mixture import DomainCard, levels, shares
from polyathlon_trainer.plans import GroupPlan
from polyathlon_trainer.rewards.scale import ScaleState
from polyathlon_trainer.scheduler import SchedulerState, merge_accounts


@dataclass(frozen=True, slots=True)
class SftState:
    """How far the reference episodes have been read. `cursors` count the tasks tried, a domain.

    `misses` counts, by "domain:level", references in a row that did not fit; `closed` are the levels given up for it.
    `left_out` counts references that did not fit by domain; `credit` is the share owed to each domain, in examples.
    `short` are the domains that come first, once they are known.
    """

    cursors: Mapping[str, int] = field(default_factory=dict)
    misses: Mapping[str, int] = field(default_factory=dict)
    closed: tuple[str, ...] = ()
    left_out: Mapping[str, int] = field(default_factory=dict)
    used: Mapping[str, int] = field(default_factory=dict)
    credit: Mapping[str, float] = field(default_factory=dict)
    short: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RlState:
    """Everything of one RL stage but the weights and the finished groups.

    `batches_planned` and `groups_planned` count what was promised so far; `pending` holds the batches that are promised
    and not learned from. `fates` has one letter a group learned from, in order: t(rained), f(lat), l(ost). `chain` is
    the hash chain over all of it. `version` is that of the weights.
    """

    curriculum: CurriculumState
    scales: ScaleState = field(default_factory=ScaleState)
    scheduler: SchedulerState = field(default_factory=SchedulerState)
    batches_planned: int = 0
    groups_planned: int = 0
    pending: tuple[tuple[GroupPlan, ...], ...] = ()
    fates: str = ""
    chain: str = ""
    version: int = 1
    empty_batches: int = 0


@dataclass(frozen=True, slots=True)
class GuardState:
    """The best examination during RL, by domain and prompt, and how often domains have fallen since.

    `rewards` holds the mean reward of each prompt of the best examination.
    """

    step: int = -1
    mean: float = -1.0
    rewards: Mapping[str, tuple[float | None, ...]] = field(default_factory=dict)
    falls: int = 0


@dataclass(frozen=True, slots=True)
class RunState:
    """Where a run stands: `stage` is under way (or to begin), with `step` steps and `stage_s` seconds of it done.

    `run_s` is seconds of running since the run began. `probed` is how many held-out prompts each domain is asked.
    `steps_done` and `seconds_done` say what each finished stage took; controls are given what RL took. `mark` is the
    recorder's.
    """

    stage: str
    step: int = 0
    stage_s: float = 0.0
    run_s: float = 0.0
    sft: SftState = field(default_factory=SftState)
    rl: RlState | None = None
    guard: GuardState = field(default_factory=GuardState)
    probed: Mapping[str, int] = field(default_factory=dict)
    steps_done: Mapping[str, int] = field(default_factory=dict)
    seconds_done: Mapping[str, float] = field(default_factory=dict)
    mark: Mapping[str, int] = field(default_factory=dict)


def fresh_rl(cards: tuple[DomainCard, ...], *, version: int) -> RlState:
    """Return the state in which an RL stage begins, with weights of `version`."""
    return RlState(curriculum=open_state(shares(cards), levels(cards)), version=version)


def merged_rl(state: RlState, cards: tuple[DomainCard, ...]) -> RlState:
    """Return `state` for the mixture in force, merged by domain id: nothing of a domain that left is lost."""
    declared = shares(cards)
    if set(declared) == set(state.curriculum.progress) and _same_levels(state, cards):
        return state
    curriculum = bound_weights(merge_state(state.curriculum, declared, levels(cards)), declared)
    return replace(state, curriculum=curriculum, scheduler=merge_accounts(state.scheduler, sorted(declared)))


def _same_levels(state: RlState, cards: tuple[DomainCard, ...]) -> bool:
    return all(len(state.curriculum.progress[card.id].levels) == card.levels for card in cards)
