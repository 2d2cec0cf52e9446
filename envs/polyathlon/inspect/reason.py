"""Why a domain has its grade, in one line."""

from __future__ import annotations

import math

from polyathlon.inspect.finding import WHOLE, CheckResult, Inspection, Measure
from polyathlon.inspect.grade import Grade
from polyathlon.inspect.protocol import RULES
from polyathlon.inspect.rule import Rule

SHOWN_OTHERS = 3


def reason(inspection: Inspection) -> str:
    """Return the reason for the grade of `inspection`: the check that holds it down, its value, and what was asked."""
    if inspection.broken:
        return f"could not be inspected: {inspection.broken}"
    applied = [result for result in inspection.results if not result.not_applicable]
    if not applied:
        return "no check looked at anything"
    if inspection.grade is Grade.GOLD:
        num_cases = sum(result.num_cases for result in applied)
        return f"every check that applies is gold: {len(applied)} of them, over {num_cases:,} cases"
    holding = [result for result in applied if result.grade == inspection.grade]
    if not holding:  # something other than a check, such as a waiver, bars the next grade
        return f"every check allows {min(result.grade for result in applied).word}, and no more than this was granted"
    first, *others = holding
    names = ", ".join(result.check for result in others[:SHOWN_OTHERS])
    more = f" and {len(others) - SHOWN_OTHERS} more" if len(others) > SHOWN_OTHERS else ""
    return result_reason(first) + (f"; no better: {names}{more}" if others else "")


def result_reason(result: CheckResult) -> str:
    """Return what one check measured where it is worst, and what the next grade asks."""
    rule = RULES[result.check]
    name = f"{rule.id} {rule.title}"
    if not result.num_cases:
        return f"{name} applies and looked at no case"
    worst = worst_measure(rule, result)
    where = "" if worst.level == WHOLE else f" at level {worst.level}"
    return f"{name} is {worst.value:.3g}{where} ({rule.statistic}), {asked(rule, worst.grade)}"


def worst_measure(rule: Rule, result: CheckResult) -> Measure:
    """Return the measure of the least grade, and of those the one with the worst value (NaN is worst of all)."""
    sign = 1.0 if rule.better == "high" else -1.0

    def rank(measure: Measure) -> tuple[int, bool, float]:
        if math.isnan(measure.value):
            return measure.grade, False, 0.0
        return measure.grade, True, sign * measure.value

    return min(result.measures, key=rank)


def asked(rule: Rule, grade: Grade) -> str:
    """Return what the rule asks for the grade above `grade` that a value can earn."""
    for higher in (Grade.BRONZE, Grade.SILVER, Grade.GOLD):
        threshold = rule.threshold(higher)
        if higher > grade and threshold is not None:
            return f"{higher.word} asks {threshold_text(rule, threshold)}"
    return f"at most {grade.word} is to be had"


def threshold_text(rule: Rule, threshold: float) -> str:
    """Return a threshold as people read it: `at least 0.95`."""
    if rule.better == "high":
        return f"at least {threshold:g}"
    return f"at most {threshold:g}"
