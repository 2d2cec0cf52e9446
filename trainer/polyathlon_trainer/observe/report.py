"""A run as one HTML file: no network, no script, readable on a phone and in the dark."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import jinja2
from markupsafe import Markup

from polyathlon_trainer.observe.cards import cards, curves
from polyathlon_trainer.observe.headline import gain_text, headline, short_name
from polyathlon_trainer.observe.lines import RecordError
from polyathlon_trainer.observe.reading import AFTER, RunLog, read_run
from polyathlon_trainer.observe.render import interval_text, number, sheets
from polyathlon_trainer.observe.samples import choose_samples, readable
from polyathlon_trainer.observe.shares import Share
from polyathlon_trainer.observe.svg import forest, share_bars
from polyathlon_trainer.observe.tables import Comparison, FinalTable, final_table

REPORT = "report.html"
FIRST_CARDS = 24


def write_report(run_folder: Path) -> Path:
    """Write `report.html` into `run_folder` and return its path. A killed or running run is reported as far as it is.

    Raises:
        RecordError: there is no run, a file of it is broken, or the disk refused the report.

    """
    page = render_report(run_folder)
    path = run_folder / REPORT
    aside = path.with_name(path.name + ".tmp")
    try:
        aside.write_text(page, encoding="utf-8")
        os.replace(aside, path)
    except OSError as error:
        raise RecordError(f"{REPORT}: not written: {error}. Free space and run `polyathlon report` again.") from error
    return path


def render_report(run_folder: Path) -> str:
    """Return the page of the run in `run_folder`."""
    log = read_run(run_folder)
    table = final_table(log)
    finding, *others = headline(log, table)
    source = resources.files(__package__).joinpath("report.html.j2").read_text(encoding="utf-8")
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"svg": Markup, "name": short_name}
    drawn = cards(log, table)
    return environment.from_string(source).render(
        finding=_unbroken(readable(finding)),
        others=[_unbroken(readable(sentence)) for sentence in others],
        facts=_facts(log),
        results=_results(table),
        cards=drawn[:FIRST_CARDS],
        more_cards=drawn[FIRST_CARDS:],
        shares=_shares(table),
        failures=_failures(log),
        curves=curves(log),
        samples=sorted(choose_samples(run_folder).items()),
        sheets=sheets(table),
        notes=[(note.step, short_name(note.domain_id or ""), readable(note.text)) for note in log.notes],
    )


def _unbroken(sentence: str) -> str:
    """Return `sentence` with its intervals kept on one line."""
    return re.sub(r"(\d) \[([^][ ]+), ([^][ ]+)\]", "\\1\u00a0[\\2,\u00a0\\3]", sentence)


def _facts(log: RunLog) -> list[tuple[str, str]]:
    """Return (name, value) of what the run was."""
    times = [*(one.time_s for one in log.steps), *(one.time_s for one in log.evals), *(one.time_s for one in log.notes)]
    seconds = max([*times, log.end.time_s if log.end else 0.0])
    done = Counter(step.stage for step in log.steps)
    planned = log.run.planned_steps if log.run else {}
    steps = ", ".join(
        f"{stage} {count}{f' of {planned[stage]}' if stage in planned else ''}" for stage, count in done.items()
    )
    about = [("model", log.run.model), ("seed", str(log.run.seed)), ("device", log.run.device)] if log.run else []
    return [
        *about,
        ("domains", str(len(log.domains))),
        ("steps", steps or "none"),
        ("running time", f"{seconds / 60:.1f} min"),
    ]


@dataclass(frozen=True, slots=True)
class _Result:
    name: str
    reach: str
    before: str
    after: str
    gain: str
    change: str
    forest: str


def _results(table: FinalTable) -> list[_Result]:
    found = [(row, row.rl["t1"]) for row in table.rows if "t1" in row.rl]
    ends = [value for _, compared in found for value in (compared.gain.low, compared.gain.high) if value is not None]
    reach = max((abs(value) for value in ends), default=1.0) or 1.0
    return [
        _Result(
            name=short_name(row.domain_id),
            reach=row.reach,
            before=interval_text(compared.before),
            after=interval_text(compared.after),
            gain=gain_text(compared.gain) if compared.gain.num_prompts else "",
            change=compared.change,
            forest=_forest(compared, reach),
        )
        for row, compared in found
    ]


def _forest(compared: Comparison, reach: float) -> str:
    gain = compared.gain
    if gain.mean is None or gain.low is None or gain.high is None:
        return ""
    name = {"rose": "up", "fell": "down"}.get(compared.change, "same")
    return forest(gain.mean, gain.low, gain.high, reach=reach, name=name)


@dataclass(frozen=True, slots=True)
class _Shared:
    name: str
    bars: str
    numbers: tuple[str, ...]
    verdict: str


def _shares(table: FinalTable) -> list[_Shared]:
    got = [(row.domain_id, row.share) for row in table.rows if row.share]
    most = max((max(share.declared, share.trained, share.judged) for _, share in got), default=1.0)
    return [
        _Shared(
            name=short_name(domain_id),
            bars=share_bars(share.declared, share.trained, share.judged, most=most),
            numbers=_percentages(share),
            verdict=share.verdict,
        )
        for domain_id, share in got
    ]


def _percentages(share: Share) -> tuple[str, ...]:
    parts: Sequence[float] = (share.declared, share.trained, share.judged, share.tokens, share.seconds)
    return (*(f"{100 * part:.1f}" for part in parts), number(share.yield_share, places=2), share.held_on)


@dataclass(frozen=True, slots=True)
class _Lost:
    kinds: tuple[str, ...]
    rows: tuple[tuple[str, tuple[int, ...]], ...]
    totals: tuple[int, ...]


def _failures(log: RunLog) -> _Lost:
    """Return lost episodes of RL by domain and kind; domains that lost none are left out."""
    counts: dict[str, Counter[str]] = {}
    for step in log.of_stage(AFTER):
        for domain_id, domain in step.domains.items():
            counts.setdefault(domain_id, Counter()).update(domain.failures)
    total = sum(counts.values(), Counter())
    kinds = tuple(kind for kind, count in total.most_common() if count)
    rows = tuple(
        (short_name(key), tuple(count[kind] for kind in kinds)) for key, count in counts.items() if count.total()
    )
    return _Lost(kinds=kinds, rows=rows, totals=tuple(total[kind] for kind in kinds))
