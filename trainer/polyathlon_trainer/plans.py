"""What collecting is asked for, and what it gives: a plan, the rules that all plans share, and a finished group."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from polyathlon.drawing import TaskKey
from polyathlon_trainer.episode import Group


@dataclass(frozen=True, slots=True)
class GroupPlan:
    """One group to collect: its place in the ledger, its task, and how to sample. `seed` fixes the sampling."""

    number: int
    uid: str
    key: TaskKey
    num_samples: int
    temperature: float
    seed: int


@dataclass(frozen=True, slots=True)
class SampleRules:
    """Where texts and episodes end. `max_turns` is by domain id.

    The engine writes first for the `dear` domains, which take long to judge: that is done while it writes for the
    others. `lockstep` gives up all such overlap for calls whose content does not depend on time.
    """

    max_new_tokens: int
    max_context_tokens: int
    max_turns: Mapping[str, int]
    dear: frozenset[str] = frozenset()
    lockstep: bool = False


@dataclass(frozen=True, slots=True)
class Collected:
    """A finished group, and the seconds of the engine and of the workers that went into it."""

    plan: GroupPlan
    group: Group
    engine_s: float
    judge_s: float
