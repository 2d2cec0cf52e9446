"""What a run showed, domain by domain: held-out reward before and after, significance, shares. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Literal

from polyathlon.canonical import Json
from polyathlon_trainer.observe.reading import AFTER, BEFORE, CONTROLS, SAMPLING, RunLog
from polyathlon_trainer.observe.records import EvalRecord
from polyathlon_trainer.observe.shares import Share, shares
from polyathlon_trainer.observe.statistics import (
    NO_GAIN,
    TOUCHABLE,
    Gain,
    Interval,
    Rows,
    benjamini_hochberg,
    mean_interval,
    paired_differences,
    paired_gain,
    pooled_gain,
    touchable,
)

TEMPERATURES: Mapping[str, float] = {"t1": SAMPLING, "t0.5": 0.5, "greedy": 0.0}
FALSE_DISCOVERY = 0.05

Change = Literal["rose", "fell", "no clear change", "not measured"]
Reach = Literal["touchable", "out of reach", "solved before", "not measured"]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Held-out reward of one domain before and after, at one temperature.

    `q_value` is the p-value adjusted over all domains of the same comparison; `change` says "rose" or "fell" only where
    it is at most 0.05.
    """

    before: Interval
    after: Interval
    gain: Gain
    q_value: float
    change: Change


@dataclass(frozen=True, slots=True)
class DomainRow:
    """One domain of a run. `rl` is by temperature ("t1", "t0.5", "greedy"); `controls` by stage, at T=1."""

    domain_id: str
    reach: Reach
    rl: Mapping[str, Comparison]
    controls: Mapping[str, Comparison]
    share: Share | None


@dataclass(frozen=True, slots=True)
class Pooled:
    """The mean gain over the touchable domains, each counted the same, with the mean rewards it lies between."""

    before: float | None
    after: float | None
    gain: Gain
    num_domains: int
    num_rose: int
    num_fell: int


@dataclass(frozen=True, slots=True)
class FinalTable:
    """All domains of a run, and what they show together.

    `controls` are the gains of the controls over the policy after SFT, `over_controls` those of RL over each control.
    """

    rows: tuple[DomainRow, ...]
    rl: Mapping[str, Pooled]
    controls: Mapping[str, Pooled]
    over_controls: Mapping[str, Gain]


def final_table(log: RunLog) -> FinalTable:
    """Return the table of a run; what it did not measure (killed, no RL, no controls) is "not measured" in it."""
    first = log.last_eval(BEFORE, temperature=SAMPLING)
    reachable = set(touchable(first.rewards)) if first else set()
    rl = {
        name: compare(log.last_eval(BEFORE, temperature=value), log.last_eval(AFTER, temperature=value))
        for name, value in TEMPERATURES.items()
    }
    controls = {
        stage: compare(first, last) for stage in CONTROLS if (last := log.last_eval(stage, temperature=SAMPLING))
    }
    got = shares(log.of_stage(AFTER))
    rows = tuple(
        DomainRow(
            domain_id=key,
            reach=_reach(key, first),
            rl={name: found[key] for name, found in rl.items() if key in found},
            controls={stage: found[key] for stage, found in controls.items() if key in found},
            share=got.get(key),
        )
        for key in log.domains
    )
    return FinalTable(
        rows=rows,
        rl={name: _pool(log, AFTER, value, rl[name], reachable) for name, value in TEMPERATURES.items() if rl[name]},
        controls={stage: _pool(log, stage, SAMPLING, found, reachable) for stage, found in controls.items()},
        over_controls={
            stage: _pooled_between(
                log.last_eval(stage, temperature=SAMPLING), log.last_eval(AFTER, temperature=SAMPLING), reachable
            )
            for stage in controls
        },
    )


def compare(before: EvalRecord | None, after: EvalRecord | None) -> dict[str, Comparison]:
    """Return {domain_id: Comparison} of all domains in either evaluation; empty when both are missing.

    The false discovery rate is held over the domains that both measured.
    """
    early: Mapping[str, Rows] = before.rewards if before else {}
    late: Mapping[str, Rows] = after.rewards if after else {}
    ids = list(dict.fromkeys([*early, *late]))
    gains = {key: paired_gain(early.get(key, ()), late.get(key, ())) for key in ids}
    tested = [key for key in ids if gains[key].num_prompts]
    adjusted = dict(
        zip(tested, benjamini_hochberg([gains[key].p_value for key in tested]), strict=True),
    )
    return {
        key: Comparison(
            before=mean_interval(early.get(key, ())),
            after=mean_interval(late.get(key, ())),
            gain=gains[key],
            q_value=adjusted.get(key, 1.0),
            change=_change(gains[key], adjusted.get(key, 1.0)),
        )
        for key in ids
    }


def _change(gain: Gain, q_value: float) -> Change:
    if gain.mean is None:
        return "not measured"
    if q_value > FALSE_DISCOVERY or gain.mean == 0.0:
        return "no clear change"
    return "rose" if gain.mean > 0.0 else "fell"


def _reach(domain_id: str, first: EvalRecord | None) -> Reach:
    mean = mean_interval(first.rewards.get(domain_id, ())).mean if first else None
    if mean is None:
        return "not measured"
    if mean < TOUCHABLE[0]:
        return "out of reach"
    return "solved before" if mean > TOUCHABLE[1] else "touchable"


def _pool(log: RunLog, stage: str, temperature: float, found: Mapping[str, Comparison], reachable: set[str]) -> Pooled:
    before, after = log.last_eval(BEFORE, temperature=temperature), log.last_eval(stage, temperature=temperature)
    measured = sorted(key for key in reachable if key in found and found[key].gain.num_prompts)
    changes = [comparison.change for comparison in found.values()]
    return Pooled(
        before=_mean([found[key].before.mean for key in measured]),
        after=_mean([found[key].after.mean for key in measured]),
        gain=_pooled_between(before, after, reachable),
        num_domains=len(measured),
        num_rose=changes.count("rose"),
        num_fell=changes.count("fell"),
    )


def _pooled_between(before: EvalRecord | None, after: EvalRecord | None, reachable: set[str]) -> Gain:
    if before is None or after is None:
        return NO_GAIN
    both = reachable & set(before.rewards) & set(after.rewards)
    return pooled_gain({key: paired_differences(before.rewards[key], after.rewards[key]) for key in both})


def _mean(values: Sequence[float | None]) -> float | None:
    present = [value for value in values if value is not None]
    return sum(present) / len(present) if present else None


def rows_as_json(table: FinalTable) -> list[dict[str, Json]]:
    """Return one object a domain for `--json`: `id` and `family` as in registry.yaml, then the row's own fields."""
    objects: list[dict[str, Json]] = []
    for row in table.rows:
        plain = asdict(row)
        domain_id = plain.pop("domain_id")
        objects.append({"id": domain_id, "family": family_of(domain_id), **plain})
    return objects


def family_of(domain_id: str) -> str:
    """Return "cad" for "polyathlon/cad.text-to-csg-v1"; the whole name where it has no family."""
    return domain_id.rpartition("/")[2].partition(".")[0]
