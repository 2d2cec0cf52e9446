"""Why a domain has its grade: the checks that hold it down, a line each."""

from __future__ import annotations

import math

from polyathlon.inspect.finding import WHOLE, CheckResult, Inspection, Measure
from polyathlon.inspect.grade import Grade
from polyathlon.inspect.protocol import RULES
from polyathlon.inspect.rule import Rule


def reasons_of(inspection: Inspection) -> tuple[str, ...]:
    """Return a line for each check that is below gold, the worst first."""
    if inspection.broken:
        return (f"could not be inspected: {inspection.broken}",)
    held = sorted((result for result in inspection.results if result.grade < Grade.GOLD), key=lambda r: r.grade)
    return tuple(f"{result.grade.word}: {reason_of(result)}" for result in held)


def reason_of(result: CheckResult) -> str:
    """Return what was measured where a check came out worst, and what it would have to be."""
    rule = RULES[result.check]
    if not result.num_cases:
        return f"{rule.id} {rule.title}: there was nothing to look at"
    worst = min(result.measures, key=lambda measure: (measure.grade, _badness(rule, measure)))
    where = "" if worst.level == WHOLE else f", level {worst.level}"
    return f"{rule.id} {rule.title}{where}: {measure_text(rule, worst)}"


def measure_text(rule: Rule, measure: Measure) -> str:
    """Return a measure in words: its value, interval and cases, beside what the next grades ask."""
    if not measure.num_cases:
        return "there was nothing to look at"
    if not math.isfinite(measure.value):
        return f"it went wrong in {measure.num_cases} cases"
    interval = "" if math.isnan(measure.low) else f" [{measure.low:.3g}, {measure.high:.3g}]"
    sign = ">=" if rule.better == "high" else "<="
    wanted = f"gold {sign} {rule.gold:g}, silver {sign} {rule.silver:g}"
    return f"{rule.statistic} is {measure.value:.3g}{interval} of {measure.num_cases} cases; {wanted}"


def _badness(rule: Rule, measure: Measure) -> float:
    if not math.isfinite(measure.value):
        return -math.inf
    return measure.value if rule.better == "high" else -measure.value
