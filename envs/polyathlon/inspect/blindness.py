"""N01 to N03: policies that know nothing must earn no more than the declared floor, and silence nothing above it."""

from __future__ import annotations

import itertools
import math
import statistics
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from polyathlon.drawing import TaskKey
from polyathlon.inspect.attacks.guessing import constant_policies
from polyathlon.inspect.attacks.level_forms import Known
from polyathlon.inspect.blind import blind_policies
from polyathlon.inspect.finding import WHOLE, CheckResult, Finding, Measure, measured
from polyathlon.inspect.grade import Grade
from polyathlon.inspect.intervals import Z_95, wilson
from polyathlon.inspect.play import Playthrough, Stage
from polyathlon.inspect.protocol import RULES
from polyathlon.inspect.wording import actions_text, fault_of, verdict_text
from polyathlon.seeding import child

SILENT = ("nop", "empty")
ANOTHER = "another task's answer"
NUM_OTHERS = 3
MAX_UPPER_BOUND = 0.05
"""The most that the 95% upper bound of a blind policy's mean may lie above the floor, where there are cases enough."""
MIN_FOR_BOUND = 300
"""Cases from which on a policy that chance favours by 0.02 has an upper bound of no more than that."""


@dataclass(frozen=True, slots=True)
class Earned:
    """What one policy earned at one level (WHOLE: at all), -1 where there was no reward, and its best episode."""

    policy: str
    level: int
    rewards: tuple[float, ...]
    best: Playthrough

    @property
    def mean(self) -> float:
        return statistics.fmean(self.rewards)

    @property
    def num_tasks(self) -> int:
        """On how many tasks it was played: several answers to one task do not differ by chance alone."""
        return max(1, len(self.rewards) // (NUM_OTHERS if self.policy == ANOTHER else 1))

    @property
    def was_lost(self) -> bool:
        """Whether an episode was lost: what knowing nothing earns there is not known."""
        return min(self.rewards) < 0

    @property
    def interval(self) -> tuple[float, float]:
        return (math.nan, math.nan) if self.was_lost else wilson(sum(self.rewards), len(self.rewards))


def check_blind(stage: Stage) -> tuple[CheckResult, CheckResult, CheckResult]:
    """N01, N02 and N03: silence, other policies that know nothing, and the floor itself."""
    earned = _play_all(stage)
    floor = stage.subject.entry.row.floor
    silent = [group for group in earned if group.policy in SILENT]
    others = [group for group in earned if group.policy not in SILENT]
    refused = {group.level for group in others if above_floor("N02", group, floor).grade < Grade.GOLD}
    pooled = _pooled([group for group in others if group.level not in refused])
    return (
        CheckResult("N01", _worst("N01", silent, floor), _faults(stage, "N01", silent), _means(silent)),
        CheckResult(
            "N02",
            _worst("N02", [*others, *pooled], floor),
            _faults(stage, "N02", others) or _faults(stage, "N02", pooled),
            _means(others),
        ),
        CheckResult("N03", _floors(stage, earned)),
    )


def above_floor(rule: str, group: Earned, floor: float) -> Measure:
    """Return the measure of `rule` that one policy's rewards give: its mean above `floor`, less the chance of it.

    A lost episode allows no grade. Where there are cases enough, the interval's upper end counts too.
    """
    low, high = group.interval
    luck = chance_above(floor, group.num_tasks)
    found = measured(
        RULES[rule],
        group.level,
        math.nan if group.was_lost else group.mean - floor - luck,
        len(group.rewards),
        interval=(low - floor, high - floor),
    )
    if rule == "N02" and len(group.rewards) >= MIN_FOR_BOUND and found.high > MAX_UPPER_BOUND + luck:
        return replace(found, grade=min(found.grade, RULES[rule].otherwise))
    return found


def chance_above(floor: float, num_tasks: int) -> float:
    """Return how far above `floor` a policy's mean over `num_tasks` may lie by chance, if the floor is what it earns.

    Two standard deviations of a share: nothing at a floor of 0, and 0.2 for 24 times yes or no.
    """
    return Z_95 * math.sqrt(floor * (1.0 - floor) / num_tasks)


def _play_all(stage: Stage) -> list[Earned]:
    rewards: dict[tuple[str, int], list[float]] = {}
    best: dict[tuple[str, int], Playthrough] = {}
    known = {level: Known.of(stage, level) for level in stage.subject.levels}
    for key, others in _with_others(stage):
        rng = child("inspect", key.domain_id, key.level, key.seed)
        policies = blind_policies(stage.task(key), stage.tools(key), rng, others=others)
        for name, actions in {**policies, **constant_policies(stage, key, known[key.level])}.items():
            played = stage.play(key, actions)
            group = (ANOTHER if name.startswith("another") else name, key.level)
            rewards.setdefault(group, []).append(played.reward)
            if group not in best or played.reward > best[group].reward:
                best[group] = played
    return [Earned(*group, tuple(found), best[group]) for group, found in rewards.items()]


def _pooled(groups: Sequence[Earned]) -> list[Earned]:
    """Return each policy over all levels of `groups`: chance weighs less there."""
    found = []
    for name in sorted({group.policy for group in groups}):
        mine = [group for group in groups if group.policy == name]
        rewards = tuple(reward for group in mine for reward in group.rewards)
        found.append(Earned(name, WHOLE, rewards, max((group.best for group in mine), key=lambda best: best.reward)))
    return found


def _worst(rule: str, groups: Sequence[Earned], floor: float) -> tuple[Measure, ...]:
    """Return a measure a level: that of the policy which earned most."""
    by_level: dict[int, list[Measure]] = {}
    for group in groups:
        by_level.setdefault(group.level, []).append(above_floor(rule, group, floor))
    return tuple(
        min(measures, key=lambda measure: (measure.grade, -measure.value)) for _, measures in sorted(by_level.items())
    )


def _faults(stage: Stage, rule: str, groups: Sequence[Earned]) -> tuple[Finding, ...]:
    floor = stage.subject.entry.row.floor
    faults = []
    for group in groups:
        measure = above_floor(rule, group, floor)
        if measure.grade < Grade.GOLD:
            where = "over the levels" if group.level == WHOLE else f"at level {group.level}"
            text = (
                f"the blind policy {group.policy!r} earns {group.mean:.3f} on average {where}, floor {floor}; best: "
                f"{actions_text(group.best.actions)} earns {verdict_text(group.best)}."
            )
            hint = "Chance-correct partial credit, flatten the answers, or ask in batches."
            faults.append(fault_of(stage.subject, group.best, f"{text} {hint}"))
    return tuple(faults)


def _floors(stage: Stage, earned: Sequence[Earned]) -> tuple[Measure, ...]:
    declared = stage.subject.entry.row.floor
    found = []
    for level in stage.subject.levels:
        here = [group for group in earned if group.level == level]
        highest = max([declared, *(group.mean - chance_above(declared, group.num_tasks) for group in here)])
        found.append(measured(RULES["N03"], level, highest, sum(len(group.rewards) for group in here)))
    return tuple(found)


def _means(groups: Sequence[Earned]) -> dict[str, float]:
    return {group.policy: group.mean for group in _pooled(groups)}


def _with_others(stage: Stage) -> Iterator[tuple[TaskKey, tuple[tuple[str, ...], ...]]]:
    """Yield each key with the reference actions of other tasks of its level, the most frequent one among them."""
    for level in stage.subject.levels:
        here = [played for played in stage.solved if played.key.level == level]
        few = stage.subject.num_attempt_seeds if stage.subject.costly else len(here)
        for place, played in enumerate(here[:few]):
            after = (here[(place + step) % len(here)] for step in range(1, len(here)))
            near = [other.actions for other in itertools.islice(after, NUM_OTHERS - 1)]
            common = Counter(other.actions for other in here if other is not played).most_common(1)
            yield played.key, (*near, *(actions for actions, _ in common))
