"""Cases counted by level for one rule, on the way to a result."""

from __future__ import annotations

import math
from collections.abc import Mapping

from polyathlon.inspect.finding import CheckResult, Finding, Measure, measured
from polyathlon.inspect.intervals import wilson
from polyathlon.inspect.protocol import RULES

MAX_FAULTS = 20
"""A rule's faults beyond these are counted, not kept."""


class Tally:
    """The cases of rule `rule_id`, level by level, and what was found wrong."""

    def __init__(self, rule_id: str, num_levels: int) -> None:
        self._rule = RULES[rule_id]
        self._cases: dict[int, int] = dict.fromkeys(range(num_levels), 0)
        self._hits: dict[int, float] = dict.fromkeys(range(num_levels), 0.0)
        self._faults: list[Finding] = []

    @property
    def num_cases(self) -> int:
        return sum(self._cases.values())

    @property
    def num_hits(self) -> float:
        return sum(self._hits.values())

    def count(self, level: int, hit: float, *, num_cases: int = 1) -> None:
        """Count cases at `level`, of which `hit` are what the rule asks about: a number, or a sum of parts of one."""
        self._cases[level] = self._cases.get(level, 0) + num_cases
        self._hits[level] = self._hits.get(level, 0.0) + hit

    def fault(self, level: int, seed: int, message: str, replay: str = "") -> None:
        """Keep an example of what is wrong."""
        if len(self._faults) < MAX_FAULTS:
            self._faults.append(Finding(level, seed, message, replay))

    def shares(self) -> tuple[Measure, ...]:
        """Return the share of hits at each level, with its Wilson interval."""
        return tuple(
            measured(
                self._rule,
                level,
                self._hits[level] / cases if cases else math.nan,
                cases,
                interval=wilson(min(max(self._hits[level], 0.0), cases), cases) if cases else (math.nan, math.nan),
            )
            for level, cases in self._cases.items()
        )

    def counts(self) -> tuple[Measure, ...]:
        """Return the number of hits at each level."""
        return tuple(measured(self._rule, level, self._hits[level], cases) for level, cases in self._cases.items())

    def result(self, measures: tuple[Measure, ...], numbers: Mapping[str, float] | None = None) -> CheckResult:
        """Return the result with `measures` and the faults that were kept."""
        return CheckResult(self._rule.id, measures, tuple(self._faults), dict(numbers or {}))
