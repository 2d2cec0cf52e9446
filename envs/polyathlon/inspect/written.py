"""What an inspection found, as plain JSON."""

from __future__ import annotations

import math

from polyathlon.canonical import Json
from polyathlon.inspect.finding import CheckResult, Finding, Inspection, Measure
from polyathlon.inspect.grade import TRAINABLE
from polyathlon.inspect.reasons import reasons_of


def record_of(inspection: Inspection) -> dict[str, Json]:
    """Return an inspection as plain JSON; a number that is none (no value, no interval) is null."""
    return {
        "id": inspection.domain_id,
        "family": inspection.domain_id.rpartition("/")[2].partition(".")[0],
        "grade": inspection.grade.word,
        "passed": inspection.grade >= TRAINABLE,
        "levels": [grade.word for grade in inspection.levels],
        "reasons": list(reasons_of(inspection)),
        "num_seeds": inspection.num_seeds,
        "tier": inspection.tier,
        "broken": inspection.broken,
        "results": [result_record(result) for result in inspection.results],
        "rewards": {source: list(counts) for source, counts in inspection.rewards.items()},
        "wall_s": inspection.wall_s,
        "cpu_s": inspection.cpu_s,
    }


def result_record(result: CheckResult) -> dict[str, Json]:
    """Return one check's result as plain JSON."""
    return {
        "check": result.check,
        "grade": result.grade.word,
        "measures": [_measure(measure) for measure in result.measures],
        "faults": [_fault(fault) for fault in result.faults],
        "numbers": {name: _number(value) for name, value in result.numbers.items()},
        "not_applicable": result.not_applicable,
    }


def _measure(measure: Measure) -> dict[str, Json]:
    return {
        "level": measure.level,
        "value": _number(measure.value),
        "low": _number(measure.low),
        "high": _number(measure.high),
        "num_cases": measure.num_cases,
        "grade": measure.grade.word,
    }


def _fault(fault: Finding) -> dict[str, Json]:
    return {"level": fault.level, "seed": fault.seed, "message": fault.message, "replay": fault.replay}


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None
