"""What an inspection found of the generators, as plain JSON: what the table and the page of docs show."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from polyathlon.canonical import Json
from polyathlon.inspect.finding import CheckResult, Finding, Inspection
from polyathlon.inspect.grade import Grade
from polyathlon.inspect.protocol import RULES
from polyathlon.inspect.reasons import reason_of
from polyathlon_domains.bridges.reasoning_gym import VERSION
from polyathlon_domains.bridges.reasoning_gym.catalogue import full_id
from polyathlon_domains.bridges.reasoning_gym.probe import Probe
from polyathlon_domains.bridges.reasoning_gym.theirs import Generator

MAX_EXAMPLES = 3
FILE = "findings.json"


@dataclass(frozen=True, slots=True)
class Found:
    """One generator with all that is known of it."""

    generator: Generator
    probe: Probe
    inspection: Inspection


def findings(found: Sequence[Found], *, num_seeds: int, num_jobs: int, wall_s: float) -> dict[str, Json]:
    """Return the findings of a run, the generators by id."""
    ordered = sorted(found, key=lambda one: one.inspection.domain_id)
    return {
        "library": "reasoning-gym",
        "version": VERSION,
        "num_seeds": num_seeds,
        "num_jobs": num_jobs,
        "wall_s": round(wall_s, 1),
        "generators": [_record(one) for one in ordered],
    }


def write_findings(folder: Path, record: Mapping[str, Json]) -> Path:
    """Write them into `folder`; return the file."""
    path = folder / FILE
    path.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return path


def _record(found: Found) -> dict[str, Json]:
    inspection, generator, probe = found.inspection, found.generator, found.probe
    counts = inspection.rewards
    wrong = [counts[source][-2] for source in ("mutant", "attack") if source in counts]
    return {
        "id": full_id(generator),
        "generator": generator.name,
        "family": generator.family,
        "grade": inspection.grade.word,
        "level_grades": [grade.word for grade in inspection.levels],
        "levels": generator.levels,
        "levels_left_out": dict(generator.broken_levels),
        "default_scorer": generator.default_scorer,
        "wrong_paid_in_full": sum(wrong),
        "broken": inspection.broken,
        "checks": [_check(result) for result in inspection.results if result.grade < Grade.GOLD],
        **asdict(probe),
        "wall_s": round(inspection.wall_s, 1),
        "cpu_s": round(inspection.cpu_s, 1),
    }


def _check(result: CheckResult) -> dict[str, Json]:
    return {
        "check": result.check,
        "title": RULES[result.check].title,
        "grade": result.grade.word,
        "reason": reason_of(result),
        "num_faults": len(result.faults),
        "examples": [
            {"level": fault.level, "seed": fault.seed, "message": fault.message, "replay": fault.replay}
            for fault in _worst(result)
        ],
    }


def _worst(result: CheckResult) -> list[Finding]:
    """Return a few faults, those that tell of a full reward first, each of another kind where there are several."""
    ordered = sorted(result.faults, key=lambda fault: fault.message.find("1.000") < 0)
    kinds = {fault.message[:60]: fault for fault in reversed(ordered)}
    return list(reversed(kinds.values()))[:MAX_EXAMPLES]
