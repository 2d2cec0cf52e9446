"""One row of the protocol: what is measured, and what it must be for each grade."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from polyathlon.inspect.grade import Grade

Better = Literal["high", "low"]
Tier = Literal[0, 1, 2]


@dataclass(frozen=True, slots=True)
class Rule:
    """A check as data. `id` is the protocol's ("S01"), `title` what people read, `statistic` what `value` means.

    `gold`, `silver` and `bronze` are the worst values that still earn that grade (None: the grade cannot be earned
    by value alone), and anything worse earns `otherwise`. `tier` says when it runs: 0 static, 1 without a sandbox's
    expense, 2 at registration.
    """

    id: str
    title: str
    statistic: str
    better: Better
    gold: float
    silver: float
    bronze: float | None = None
    otherwise: Grade = Grade.QUARANTINE
    tier: Tier = 1

    def threshold(self, grade: Grade) -> float | None:
        """Return the worst value that still earns `grade`, None where no value is a threshold of it."""
        return {Grade.GOLD: self.gold, Grade.SILVER: self.silver, Grade.BRONZE: self.bronze}.get(grade)

    def grade(self, value: float) -> Grade:
        """Return the best grade whose threshold `value` meets. A value that is not finite meets none."""
        if not math.isfinite(value):
            return self.otherwise
        thresholds = ((Grade.GOLD, self.gold), (Grade.SILVER, self.silver), (Grade.BRONZE, self.bronze))
        for grade, threshold in thresholds:
            if threshold is not None and (value >= threshold if self.better == "high" else value <= threshold):
                return grade
        return self.otherwise
