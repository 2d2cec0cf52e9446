"""An inspection as a record that stands by itself: what was measured, what was asked, what it came to, and why."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass

import msgspec

from polyathlon import __version__
from polyathlon.canonical import Json
from polyathlon.clip import clip_text
from polyathlon.inspect.finding import WHOLE, CheckResult, Finding, Inspection, Measure
from polyathlon.inspect.grade import TRAINABLE
from polyathlon.inspect.protocol import RULES
from polyathlon.inspect.reasons import reason_of, reasons_of, summary_of, worst_of
from polyathlon.plugins import Entry

SCHEMA = "polyathlon.scorecard/1"
MAX_ACTION_CHARS = 100_000
"""Of a message longer than that, head and tail are kept around a visible mark."""


@dataclass(frozen=True, slots=True)
class CardMeasure:
    """A statistic at one level (None: of the domain). Numbers are None where there is none: NaN, or no interval."""

    level: int | None
    value: float | None
    low: float | None
    high: float | None
    num_cases: int
    grade: str


@dataclass(frozen=True, slots=True)
class CardFault:
    """One fault. `replay` is a command for a shell; `actions` are the messages sent, clipped at 100,000 characters.

    `num_chars` counts the characters of each message as it was sent.
    """

    level: int | None
    seed: int
    message: str
    replay: str
    actions: tuple[str, ...]
    num_chars: tuple[int, ...]
    reward: float | None


@dataclass(frozen=True, slots=True)
class CardCheck:
    """One check. `gold`, `silver` and `bronze` are the worst values that earn them; anything worse is `otherwise`.

    `reason` says in a line what it measured where it is worst, or why it does not apply.
    """

    check: str
    title: str
    statistic: str
    better: str
    tier: int
    gold: float
    silver: float
    bronze: float | None
    otherwise: str
    grade: str
    reason: str
    not_applicable: str
    num_cases: int
    worst: CardMeasure | None
    measures: tuple[CardMeasure, ...]
    numbers: dict[str, float | None]
    faults: tuple[CardFault, ...]


@dataclass(frozen=True, slots=True)
class Scorecard:
    """One domain at `num_seeds` tasks a level, up to `tier`. `passed` means silver or gold.

    `rewards` holds 22 counts a source, see `Inspection.rewards`.
    `kind`, `floor`, `max_turns` and `needs` are what the row declares; of a domain without a row they are empty.
    """

    schema: str
    id: str
    namespace: str
    family: str
    grade: str
    reason: str
    reasons: tuple[str, ...]
    passed: bool
    levels: tuple[str, ...]
    num_seeds: int
    tier: int
    waived: tuple[str, ...]
    num_faults: int
    broken: str
    kind: str
    floor: float
    max_turns: int
    needs: tuple[str, ...]
    results: tuple[CardCheck, ...]
    rewards: dict[str, tuple[int, ...]]
    wall_s: float
    cpu_s: float
    inspected_by: str


def scorecard(inspection: Inspection, entry: Entry | None = None) -> Scorecard:
    """Return the scorecard of `inspection`; `entry` adds what its row declares."""
    namespace, _, name = inspection.domain_id.rpartition("/")
    row = entry.row if entry else None
    return Scorecard(
        schema=SCHEMA,
        id=inspection.domain_id,
        namespace=namespace,
        family=name.partition(".")[0],
        grade=inspection.grade.word,
        reason=summary_of(inspection),
        reasons=reasons_of(inspection),
        passed=inspection.grade >= TRAINABLE,
        levels=tuple(grade.word for grade in inspection.levels),
        num_seeds=inspection.num_seeds,
        tier=inspection.tier,
        waived=inspection.waived,
        num_faults=inspection.num_faults,
        broken=inspection.broken,
        kind=row.kind if row else "",
        floor=row.floor if row else 0.0,
        max_turns=row.max_turns if row else 0,
        needs=row.needs if row else (),
        results=tuple(map(_check, inspection.results)),
        rewards={source: tuple(counts) for source, counts in inspection.rewards.items()},
        wall_s=round(inspection.wall_s, 3),
        cpu_s=round(inspection.cpu_s, 3),
        inspected_by=f"polyathlon {__version__}",
    )


def record_of(card: Scorecard) -> dict[str, Json]:
    """Return a scorecard as plain JSON."""
    record: dict[str, Json] = msgspec.to_builtins(card)
    return record


def write_card(card: Scorecard) -> str:
    """Return a scorecard as JSON text in ASCII: whatever a policy wrote, any file system and any reader takes it."""
    return json.dumps(record_of(card), indent=1, allow_nan=False) + "\n"


def read_card(text: str) -> Scorecard:
    """Return the scorecard that `text` is.

    Raises:
        ValueError: no JSON, or no scorecard of this schema.

    """
    value = json.loads(text)
    if not isinstance(value, dict) or value.get("schema") != SCHEMA:
        raise ValueError(f"This is no scorecard of the schema {SCHEMA}. Run polyathlon check --report again.")
    try:
        return msgspec.convert(value, Scorecard)
    except msgspec.ValidationError as error:
        raise ValueError(
            f"This scorecard lacks what it should hold: {error}. Run polyathlon check --report again."
        ) from error


def _check(result: CheckResult) -> CardCheck:
    rule = RULES[result.check]
    return CardCheck(
        check=rule.id,
        title=rule.title,
        statistic=rule.statistic,
        better=rule.better,
        tier=rule.tier,
        gold=rule.gold,
        silver=rule.silver,
        bronze=rule.bronze,
        otherwise=rule.otherwise.word,
        grade=result.grade.word,
        reason=result.not_applicable or reason_of(result),
        not_applicable=result.not_applicable,
        num_cases=result.num_cases,
        worst=_measure(worst_of(result)) if result.measures else None,
        measures=tuple(map(_measure, result.measures)),
        numbers={name: _finite(value) for name, value in result.numbers.items()},
        faults=tuple(map(_fault, result.faults)),
    )


def _measure(measure: Measure) -> CardMeasure:
    return CardMeasure(
        level=None if measure.level == WHOLE else measure.level,
        value=_finite(measure.value),
        low=_finite(measure.low),
        high=_finite(measure.high),
        num_cases=measure.num_cases,
        grade=measure.grade.word,
    )


def _fault(fault: Finding) -> CardFault:
    return CardFault(
        level=None if fault.level == WHOLE else fault.level,
        seed=fault.seed,
        message=fault.message,
        replay=fault.replay,
        actions=tuple(clip_text(action, max_chars=MAX_ACTION_CHARS) for action in fault.actions),
        num_chars=tuple(map(len, fault.actions)),
        reward=_finite(fault.reward),
    )


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
