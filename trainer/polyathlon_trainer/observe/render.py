"""Tables as text: rich on a terminal, aligned columns in a pipe."""

from __future__ import annotations

from dataclasses import dataclass

from rich.console import Console
from rich.table import Table
from rich.text import Text

from polyathlon_trainer.observe.headline import gain_text, headline, plural, short_name
from polyathlon_trainer.observe.reading import RunLog
from polyathlon_trainer.observe.shares import Share
from polyathlon_trainer.observe.statistics import Interval
from polyathlon_trainer.observe.tables import Comparison, FinalTable, Pooled

_TITLES = {
    "t1": "Held-out reward, sampled at T=1",
    "t0.5": "Held-out reward, sampled at T=0.5",
    "greedy": "Held-out reward, greedy",
}
_CONTROL_TITLES = {"sft-continued": "SFT continued", "rl-shuffled": "shuffled rewards"}
_COLOURS = {"rose": "green", "fell": "red", "holds": "green", "off": "red"}
_NONE = "-"


@dataclass(frozen=True, slots=True)
class Sheet:
    """One table of text. The first column is left-aligned; `foot` is a last row set apart, or empty."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    foot: tuple[str, ...] = ()


def sheets(table: FinalTable) -> tuple[Sheet, ...]:
    """Return the sheets that the run has something for."""
    made = [_results(table, name) for name in _TITLES if name in table.rl]
    if table.controls:
        made.append(_controls(table))
    if any(row.share for row in table.rows):
        made += [_shares(table), _states(table)]
    return tuple(made)


def show(log: RunLog, table: FinalTable, console: Console) -> None:
    """Print headline and sheets to `console`: drawn tables on a terminal, plain aligned text otherwise."""
    for sentence in headline(log, table):
        console.print(Text(sentence), soft_wrap=not console.is_terminal)
    for sheet in sheets(table):
        console.print()
        show_sheet(sheet, console)


def show_sheet(sheet: Sheet, console: Console) -> None:
    """Print one sheet: drawn on a terminal, plain aligned text otherwise."""
    if console.is_terminal:
        console.print(drawn(sheet))
    else:
        console.print(Text(plain(sheet)), soft_wrap=True)


def plain(sheet: Sheet) -> str:
    """Return `sheet` as lines of aligned columns, two spaces apart."""
    lines = [sheet.columns, *sheet.rows, *([sheet.foot] if sheet.foot else [])]
    widths = [max(len(line[place]) for line in lines) for place in range(len(sheet.columns))]
    text = [
        "  ".join(
            cell.ljust(width) if place == 0 else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]
    return "\n".join([sheet.title, *text])


def drawn(sheet: Sheet) -> Table:
    """Return `sheet` as a rich table."""
    table = Table(title=sheet.title, title_justify="left", title_style="bold", show_footer=bool(sheet.foot))
    for place, name in enumerate(sheet.columns):
        foot = Text(sheet.foot[place], style="bold") if sheet.foot else ""
        table.add_column(Text(name), footer=foot, justify="left" if place == 0 else "right", no_wrap=place == 0)
    for row in sheet.rows:
        table.add_row(*(Text(cell, style=_COLOURS.get(cell, "")) for cell in row))
    return table


def _results(table: FinalTable, name: str) -> Sheet:
    rows = tuple(
        (short_name(row.domain_id), *_compared(row.rl[name]), row.reach) for row in table.rows if name in row.rl
    )
    columns = ("domain", "after SFT", "after RL", "gain, paired", "q", "change", "reach")
    return Sheet(_TITLES[name], columns, rows, _pooled(table.rl[name]))


def _compared(comparison: Comparison) -> tuple[str, ...]:
    measured = comparison.gain.num_prompts > 0
    return (
        interval_text(comparison.before),
        interval_text(comparison.after),
        gain_text(comparison.gain) if measured else _NONE,
        probability(comparison.q_value) if measured else _NONE,
        comparison.change,
    )


def _pooled(pooled: Pooled) -> tuple[str, ...]:
    return (
        f"mean of {plural(pooled.num_domains, 'touchable domain')}",
        number(pooled.before),
        number(pooled.after),
        gain_text(pooled.gain),
        f"p {probability(pooled.gain.p_value)}" if pooled.gain.num_prompts else _NONE,
        f"{pooled.num_rose} rose, {pooled.num_fell} fell",
        "",
    )


def _controls(table: FinalTable) -> Sheet:
    stages = tuple(table.controls)
    rows = tuple(
        (
            short_name(row.domain_id),
            gain_text(row.rl["t1"].gain) if "t1" in row.rl else _NONE,
            *(gain_text(row.controls[stage].gain) if stage in row.controls else _NONE for stage in stages),
        )
        for row in table.rows
    )
    pooled = [table.rl["t1"].gain if "t1" in table.rl else None, *(table.controls[stage].gain for stage in stages)]
    touched = table.rl["t1"].num_domains if "t1" in table.rl else 0
    return Sheet(
        "Gain at T=1 beside the controls of equal compute",
        ("domain", "RL", *(_CONTROL_TITLES.get(stage, stage) for stage in stages)),
        rows,
        (f"mean of {plural(touched, 'touchable domain')}", *(gain_text(gain) if gain else _NONE for gain in pooled)),
    )


def _shares(table: FinalTable) -> Sheet:
    rows = tuple((short_name(domain_id), *_shared(share)) for domain_id, share in _got(table))
    columns = (
        "domain",
        "declared",
        "trained",
        "judged",
        "tokens",
        "seconds",
        "groups",
        "yield",
        "held on",
        "ratio",
        "rule",
    )
    return Sheet("Share declared and realised in RL", columns, rows)


def _shared(share: Share) -> tuple[str, ...]:
    return (
        *(
            f"{100 * value:.1f}%"
            for value in (share.declared, share.trained, share.judged, share.tokens, share.seconds)
        ),
        f"{share.num_trained}/{share.num_judged}",
        number(share.yield_share, places=2),
        share.held_on,
        number(share.ratio, places=2),
        share.verdict,
    )


def _states(table: FinalTable) -> Sheet:
    rows = tuple(
        (short_name(domain_id), number(share.scale), number(share.level, places=1), failures_text(share))
        for domain_id, share in _got(table)
    )
    return Sheet("Where each domain ended", ("domain", "scale", "mean level", "episodes lost"), rows)


def _got(table: FinalTable) -> list[tuple[str, Share]]:
    return [(row.domain_id, row.share) for row in table.rows if row.share]


def interval_text(interval: Interval) -> str:
    """Return a mean with its interval, such as "0.431 [0.402, 0.460]"."""
    if interval.mean is None:
        return _NONE
    return f"{interval.mean:.3f} [{interval.low:.3f}, {interval.high:.3f}]"


def probability(value: float) -> str:
    """Return a p- or q-value to three decimals, "<0.001" below."""
    return "<0.001" if value < 0.001 else f"{value:.3f}"


def number(value: float | None, *, places: int = 3) -> str:
    """Return `value` to some decimals, "-" for None."""
    return _NONE if value is None else f"{value:.{places}f}"


def failures_text(share: Share) -> str:
    """Return lost episodes by kind, such as "worker 2, deadline 1"; "none" where none was lost."""
    return ", ".join(f"{kind} {count}" for kind, count in sorted(share.failures.items()) if count) or "none"
