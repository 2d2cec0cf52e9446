"""The plots of a report: a card a domain, and the learner's own curves. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from polyathlon_trainer.observe.headline import gain_text, short_name
from polyathlon_trainer.observe.reading import AFTER, BEFORE, SAMPLING, RunLog
from polyathlon_trainer.observe.records import DomainStep, StepRecord
from polyathlon_trainer.observe.statistics import mean_interval
from polyathlon_trainer.observe.svg import Point, Series, line_chart, nice_range, smoothed
from polyathlon_trainer.observe.tables import DomainRow, FinalTable


@dataclass(frozen=True, slots=True)
class Card:
    """One domain: what changed, its reward and solve rate over steps, its scale and its level over steps (SVG)."""

    name: str
    change: str
    gain: str
    learning: str
    scale: str
    level: str


@dataclass(frozen=True, slots=True)
class Curve:
    """One plot of the learner, with the sentence that says how to read it."""

    title: str
    meaning: str
    svg: str


def cards(log: RunLog, table: FinalTable) -> list[Card]:
    """Return a card a domain: what changed most, up or down, first; domains that cannot be compared last."""
    steps = log.of_stage(AFTER)
    rows = sorted(table.rows, key=_interest)
    return [_card(log, row, steps) for row in rows]


def _interest(row: DomainRow) -> tuple[int, float, str]:
    gain = row.rl["t1"].gain.mean if "t1" in row.rl else None
    order = {"touchable": 0, "solved before": 1, "out of reach": 2, "not measured": 3}[row.reach]
    return order, -abs(gain) if gain is not None else 0.0, row.domain_id


def _card(log: RunLog, row: DomainRow, steps: Sequence[StepRecord]) -> Card:
    key = row.domain_id
    reward = _points(steps, key, lambda step: step.mean_reward)
    window = max(1, len(steps) // 20)
    held_out = _solve_rates(log, key)
    compared = row.rl.get("t1")
    learning = line_chart(
        [Series("raw", reward), Series("trained", smoothed(reward, window=window)), held_out],
        label=f"{short_name(key)}: reward in training and held-out solve rate, by RL step",
        y_range=(0.0, 1.0),
    )
    return Card(
        name=short_name(key),
        change=compared.change if compared else "not measured",
        gain=gain_text(compared.gain) if compared else "",
        learning=learning,
        scale=_small(steps, key, "scale", lambda step: step.scale),
        level=_small(steps, key, "level", lambda step: step.mean_level),
    )


def _small(steps: Sequence[StepRecord], key: str, name: str, value: Callable[[DomainStep], float | None]) -> str:
    points = _points(steps, key, value)
    most = max((y for _, y in points if y is not None and math.isfinite(y)), default=1.0)
    return line_chart(
        [Series("plain", points)],
        label=f"{short_name(key)}: {name} by RL step",
        y_range=(0.0, nice_range([0.0, most])[1]),
    )


def _points(steps: Sequence[StepRecord], key: str, value: Callable[[DomainStep], float | None]) -> tuple[Point, ...]:
    return tuple((float(step.step), value(step.domains[key])) for step in steps if key in step.domains)


def _solve_rates(log: RunLog, key: str) -> Series:
    """Return the share of held-out samples that passed at T=1: the policy after SFT at step 0, then by RL step."""
    first = log.last_eval(BEFORE, temperature=SAMPLING)
    later = log.evals_of(AFTER, temperature=SAMPLING)
    found = {0: first} if first else {}
    found |= {record.step: record for record in later}
    points: list[Point] = []
    bars: list[tuple[float, float, float]] = []
    for step, record in sorted(found.items()):
        interval = mean_interval(record.passed.get(key, ()))
        if interval.mean is None or interval.low is None or interval.high is None:
            continue
        points.append((float(step), interval.mean))
        bars.append((float(step), interval.low, interval.high))
    return Series("held", tuple(points), form="dots", bars=tuple(bars))


def curves(log: RunLog) -> list[Curve]:
    """Return the learner's plots over the steps of RL; those of SFT alone where there was no RL."""
    steps = log.of_stage(AFTER)
    if not steps:
        sft = log.of_stage(BEFORE)
        return [_curve("Loss in SFT", "Cross-entropy on reference episodes.", sft, lambda s: s.loss)] if sft else []
    return [
        _curve(
            "Learner waiting",
            "Share of each step's wall time that the learner waited for groups.",
            steps,
            waiting_share,
            y_range=(0.0, 1.0),
        ),
        Curve(
            "Staleness",
            "Weight versions between sampling and learning: mean (line) and oldest (dots).",
            line_chart(
                [
                    Series("trained", tuple((float(s.step), s.age_mean) for s in steps)),
                    Series("held", tuple((float(s.step), float(s.age_max)) for s in steps), form="dots"),
                ],
                label="Age of trained groups in weight versions, by RL step",
            ),
        ),
        _curve("Entropy", "Of the policy over its next token, in nats.", steps, lambda s: s.entropy),
        _curve("KL", "To the frozen reference, a token, in nats.", steps, lambda s: s.kl),
        _curve("Engine mismatch", "Mean |log p of learner - log p of engine|.", steps, lambda s: s.mismatch),
        _curve("Weights cut", "Share of tokens whose importance weight was cut.", steps, lambda s: s.truncated_share),
        _curve("Sequences left out", "Share that was too far off policy.", steps, lambda s: s.masked_share),
        _curve("Gradient norm", "Before clipping; a gap is a step without a gradient.", steps, lambda s: s.grad_norm),
    ]


def waiting_share(step: StepRecord) -> float | None:
    """Return the waiting share of one step's wall time, None for a step that took none."""
    whole = step.wait_s + step.learn_s
    return step.wait_s / whole if whole > 0 and math.isfinite(whole) else None


def _curve(
    title: str,
    meaning: str,
    steps: Sequence[StepRecord],
    value: Callable[[StepRecord], float | None],
    *,
    y_range: tuple[float, float] | None = None,
) -> Curve:
    points = tuple((float(step.step), value(step)) for step in steps)
    return Curve(title, meaning, line_chart([Series("trained", points)], label=f"{title}, by step", y_range=y_range))
