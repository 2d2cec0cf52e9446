"""What a check says: how often it looked, what it measured, and what it found."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from polyathlon.inspect.grade import Grade, least
from polyathlon.inspect.rule import Rule

MAX_EXAMPLES = 3
WHOLE = -1
"""The level of a measure that belongs to no level, but to the domain."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault: where, what happened, what to change. `replay` is a command that shows it again."""

    level: int
    seed: int
    message: str
    replay: str = ""


@dataclass(frozen=True, slots=True)
class Measure:
    """A check's statistic at one level (WHOLE: of the domain): its value, its 95% interval, over how many cases.

    `grade` is what the value allows. `low` and `high` are NaN where there is no interval.
    """

    level: int
    value: float
    num_cases: int
    grade: Grade
    low: float = math.nan
    high: float = math.nan


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One check of one domain. `check` is a rule's id. `faults` are examples with a replay; `numbers` to read.

    `not_applicable` says why there was nothing to measure, and then it counts for nothing; a check that applies and
    looked at no case allows no more than quarantine.
    """

    check: str
    measures: tuple[Measure, ...] = ()
    faults: tuple[Finding, ...] = ()
    numbers: Mapping[str, float] = field(default_factory=dict)
    not_applicable: str = ""

    @property
    def num_cases(self) -> int:
        return sum(measure.num_cases for measure in self.measures)

    @property
    def grade(self) -> Grade:
        """The least grade of its measures; gold where it does not apply."""
        if self.not_applicable:
            return Grade.GOLD
        if not self.num_cases:
            return Grade.QUARANTINE
        return least(measure.grade for measure in self.measures)

    def grade_at(self, level: int) -> Grade:
        """The least grade of the measures of `level` and of the whole domain."""
        if self.not_applicable:
            return Grade.GOLD
        if not self.num_cases:
            return Grade.QUARANTINE
        return min((m.grade for m in self.measures if m.level in (level, WHOLE)), default=Grade.GOLD)


def measured(
    rule: Rule, level: int, value: float, num_cases: int, *, interval: tuple[float, float] = (math.nan, math.nan)
) -> Measure:
    """Return the measure of `rule` at `level`, graded. No case at all allows no more than quarantine."""
    grade = rule.grade(value) if num_cases else min(Grade.QUARANTINE, rule.otherwise)
    return Measure(level, value, num_cases, grade, *interval)


@dataclass(frozen=True, slots=True)
class Inspection:
    """All checks of one domain at `num_seeds` tasks a level, up to `tier`.

    `broken` says why it could not be inspected at all. `cpu_s` leaves sandboxes out.
    `rewards` holds, by source ("reference", "blind", "mutant", "attack", "rewrite"), counts of rewards in 21 bins of
    width 0.05 from 0 to 1, and as the 22nd the invalid ones.
    """

    domain_id: str
    num_levels: int = 0
    num_seeds: int = 0
    tier: int = 0
    results: tuple[CheckResult, ...] = ()
    rewards: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    broken: str = ""
    wall_s: float = 0.0
    cpu_s: float = 0.0

    @property
    def grade(self) -> Grade:
        """The least grade of its checks; quarantine when it could not be inspected."""
        if self.broken:
            return Grade.QUARANTINE
        return least(result.grade for result in self.results)

    def grade_at(self, level: int) -> Grade:
        """The least grade of its checks at `level`."""
        if self.broken:
            return Grade.QUARANTINE
        return least(result.grade_at(level) for result in self.results)

    @property
    def levels(self) -> tuple[Grade, ...]:
        """The grade of each level, the easiest first."""
        return tuple(map(self.grade_at, range(self.num_levels)))

    @property
    def num_cases(self) -> int:
        return sum(result.num_cases for result in self.results)

    @property
    def num_faults(self) -> int:
        return sum(len(result.faults) for result in self.results) + bool(self.broken)
