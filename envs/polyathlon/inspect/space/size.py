"""U01 to U03: how many tasks a level has, and whether the two splits are apart."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from polyathlon.canonical import content_hash
from polyathlon.domain import Task
from polyathlon.inspect.finding import CheckResult, Measure, measured
from polyathlon.inspect.intervals import Z_95
from polyathlon.inspect.play import Stage
from polyathlon.inspect.protocol import RULES
from polyathlon.inspect.space.survey import NUM_DRAWS, Draws, survey_of
from polyathlon.inspect.tally import Tally

PLANNED_DRAWS = 1_000
"""The tasks of a level that a run trains on."""
NO_PAIR = 3.0
"""With no pair alike seen, this many were likely (95%): Poisson, -ln 0.05."""


def check_unique(stage: Stage) -> CheckResult:
    """U01: the share of train draws that differ in content."""
    tally = Tally("U01", stage.subject.entry.row.levels)
    for draws in survey_of(stage).levels:
        num_unique, num_draws = len(set(draws.train_hashes)), len(draws.train_hashes)
        tally.count(draws.level, num_unique, num_cases=num_draws)
        if draws.trouble:
            tally.fault(draws.level, 0, draws.trouble)
        elif num_unique < RULES["U01"].gold * num_draws:
            text = f"only {num_unique / num_draws:.1%} of {num_draws} draws of level {draws.level} differ."
            tally.fault(draws.level, 0, f"{text} Some 25,000 equally likely cores make it 98%.")
    return tally.result(tally.shares())


def check_size(stage: Stage) -> CheckResult:
    """U02: the size of a level's space by its birthdays, over the 1,000 tasks that a run draws of it.

    `n` draws of `size` equally likely cores hold about n (n - 1) / (2 size) pairs that are alike; where cores are not
    equally likely, the size is that of an even space which repeats as often. Where the interval of 1,000 draws holds
    the limit of gold, 6,000 are counted.
    """
    tally = Tally("U02", stage.subject.entry.row.levels)
    measures: list[Measure] = []
    numbers: dict[str, float] = {}
    few: list[int] = []
    for draws in survey_of(stage).levels:
        hashes = _enough(stage, draws)
        num_draws = len(hashes)
        size, low, high = birthday_size(hashes)
        numbers[f"size_{draws.level}"] = size
        if math.isinf(high) and num_draws and num_draws < NUM_DRAWS:
            few.append(num_draws)  # no two alike among so few: nothing speaks against the level, and little for it
            continue
        interval = (low / PLANNED_DRAWS, high / PLANNED_DRAWS)
        measures.append(measured(RULES["U02"], draws.level, size / PLANNED_DRAWS, num_draws, interval=interval))
        if draws.trouble:
            tally.fault(draws.level, 0, draws.trouble)
        elif size < RULES["U02"].gold * PLANNED_DRAWS:
            text = f"level {draws.level} has about {size:,.0f} different tasks (95%: {low:,.0f} to {high:,.0f})."
            wanted = RULES["U02"].gold * PLANNED_DRAWS
            tally.fault(
                draws.level, 0, f"{text} Make its space larger in what decides the answer: {wanted:,.0f} for gold."
            )
    if few and not measures:
        return CheckResult(
            "U02", numbers=numbers, not_applicable=f"no two of {min(few)} draws are alike: too few to tell"
        )
    return tally.result(tuple(measures), numbers)


def _enough(stage: Stage, draws: Draws) -> tuple[str, ...]:
    """Return the hashes that tell on which side of gold's limit a level lies: those drawn, or more."""
    _, low, high = birthday_size(draws.train_hashes)
    uncertain = low < RULES["U02"].gold * PLANNED_DRAWS < high < math.inf
    return survey_of(stage).more_hashes(draws.level) if uncertain else draws.train_hashes


def birthday_size(hashes: Sequence[str]) -> tuple[float, float, float]:
    """Return the estimated size of the space that `hashes` were drawn from, and its 95% bounds; upper may be infinite.

    With no pair alike, the estimate is the lower bound: nothing more is known. The interval of the number of pairs is
    Poisson's, by the square root (Freeman and Tukey, Ann. Math. Statist. 21 (1950) 607).
    """
    num_draws = len(hashes)
    tries = num_draws * (num_draws - 1) / 2
    pairs = sum(count * (count - 1) / 2 for count in Counter(hashes).values())
    if not tries:
        return 0.0, 0.0, math.inf
    if not pairs:
        return tries / NO_PAIR, tries / NO_PAIR, math.inf
    fewest = max(0.0, math.sqrt(pairs) - Z_95 / 2) ** 2
    most = (math.sqrt(pairs + 1) + Z_95 / 2) ** 2
    return tries / pairs, tries / most, tries / fewest if fewest else math.inf


def check_splits(stage: Stage) -> CheckResult:
    """U03: the number of tasks that lie in both splits: by content, or by all that a policy sees."""
    tally = Tally("U03", stage.subject.entry.row.levels)
    for draws in survey_of(stage).levels:
        both = len(set(draws.train_hashes) & set(draws.test_hashes)) + len(_seen(draws.train) & _seen(draws.test))
        tally.count(draws.level, both, num_cases=len(draws.train_hashes) + len(draws.test_hashes))
        if draws.trouble:
            tally.fault(draws.level, 0, draws.trouble)
        elif both:
            text = (
                f"{both} tasks lie in both splits of level {draws.level}: different cores look the same to the policy."
            )
            tally.fault(draws.level, 0, f"{text} Put into the core what decides the answer, and nothing else.")
    return tally.result(tally.counts())


def _seen(tasks: Sequence[Task]) -> set[str]:
    return {content_hash([task.prompt, dict(task.public)]) for task in tasks}
