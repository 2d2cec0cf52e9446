"""One check: the rules that it answers, and the function that looks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from polyathlon.inspect.finding import CheckResult
from polyathlon.inspect.play import Source, Stage
from polyathlon.inspect.protocol import RULES
from polyathlon.inspect.rule import Tier

Cost = Literal["static", "plays", "sandbox"]
COSTS: dict[Cost, float] = {"static": 0.1, "plays": 1.0, "sandbox": 4.0}
"""About how long a check of each class takes, in checks that play episodes: for the bar alone."""


@dataclass(frozen=True, slots=True)
class Check:
    """A check: `answers` are ids of `RULES`, and `look` returns a result for each of them, on a stage of one domain.

    `source` is what the episodes that it plays count as in the histogram of rewards; None: they are not counted.
    `cost` is what it does: reads, plays episodes, or starts processes and sandboxes of its own.
    """

    answers: tuple[str, ...]
    look: Callable[[Stage], CheckResult | Sequence[CheckResult]]
    source: Source | None = None
    cost: Cost = "plays"

    @property
    def id(self) -> str:
        """Its rules in one word: "S04+V06"."""
        return "+".join(self.answers)

    @property
    def title(self) -> str:
        return RULES[self.answers[0]].title

    @property
    def tier(self) -> Tier:
        """The tier from which on it runs: the highest of its rules."""
        return max((RULES[rule].tier for rule in self.answers), default=0)

    def run(self, stage: Stage) -> tuple[CheckResult, ...]:
        """Return a result for each rule that it answers, in their order; a rule it is silent about has no case.

        Raises:
            ValueError: it gave a result for another rule.

        """
        stage.source = self.source
        found = self.look(stage)
        results = (found,) if isinstance(found, CheckResult) else tuple(found)
        for result in results:
            if result.check not in self.answers:
                raise ValueError(f"A check of {self.id} answered {result.check}. Add the rule to its `answers`.")
        silent = [rule for rule in self.answers if rule not in {result.check for result in results}]
        return tuple(sorted((*results, *map(CheckResult, silent)), key=lambda result: self.answers.index(result.check)))
