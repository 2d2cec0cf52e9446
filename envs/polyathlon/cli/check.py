"""`polyathlon check`: run the inspection, print the grades and what holds them down."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import closing
from typing import Annotated, Self, cast

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from polyathlon.canonical import Json
from polyathlon.cli.table import print_json, print_rows
from polyathlon.inspect.depth import PROOF_SEEDS, SMOKE_SEEDS, Depth
from polyathlon.inspect.finding import MAX_EXAMPLES, Inspection
from polyathlon.inspect.grade import TRAINABLE, Grade
from polyathlon.inspect.inspector import Begun
from polyathlon.inspect.protocol import RULES
from polyathlon.inspect.reasons import reasons_of
from polyathlon.inspect.rule import Tier
from polyathlon.inspect.side_by_side import cost_of, inspect_domains
from polyathlon.inspect.written import record_of
from polyathlon.registration import registry


def check(  # noqa: PLR0913  # each is a flag of the command line
    domain_ids: Annotated[list[str] | None, typer.Argument(help="Ids to inspect.")] = None,
    *,
    all_domains: Annotated[bool, typer.Option("--all", help="Every domain in force.")] = False,
    tier: Annotated[int, typer.Option(min=0, max=2, help="0 reads, 1 plays, 2 is everything.")] = 1,
    seeds: Annotated[int, typer.Option(min=2, help="Tasks a level.")] = PROOF_SEEDS,
    smoke: Annotated[bool, typer.Option("--smoke", help="A few tasks a level: quick, and no proof.")] = False,
    jobs: Annotated[int, typer.Option(min=1, help="Domains at a time.")] = os.cpu_count() or 1,
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Inspect domains: the reference must solve, and nothing else may pay. Exit 1 when one is below silver."""
    known = registry()
    named = [known.entry(domain_id).id for domain_id in domain_ids or []]
    ids = list(known.entries if all_domains else dict.fromkeys(named))
    if not ids:
        raise ValueError("Nothing to inspect. Name ids, or say --all.")
    depth = Depth(SMOKE_SEEDS if smoke else seeds, cast(Tier, tier))
    inspections: list[Inspection] = []
    with (
        _Progress(ids) as progress,
        closing(inspect_domains(ids, depth=depth, num_jobs=jobs, tell=progress.begun)) as done,
    ):
        for inspection in done:
            inspections.append(inspection)
            progress.done(inspection)
    inspections.sort(key=lambda inspection: ids.index(inspection.domain_id))
    if json:
        print_json([record_of(inspection) for inspection in inspections])
    else:
        _print(inspections)
    raise typer.Exit(0 if all(inspection.grade >= TRAINABLE for inspection in inspections) else 1)


class _Progress:
    """A bar over all checks of all domains, on a terminal: what is under way, how much is done, the time left."""

    def __init__(self, ids: Sequence[str]) -> None:
        columns = (TextColumn("{task.fields[found]}"), BarColumn(20), TimeElapsedColumn(), TextColumn("left"))
        self._rich = Progress(
            *(*columns, TimeRemainingColumn(elapsed_when_finished=False), TextColumn("{task.description}")),
            console=Console(stderr=True),
            disable=not sys.stderr.isatty(),
        )
        self._num_domains = len(ids)
        self._under_way: dict[str, str] = {}
        self._finished: list[Inspection] = []
        self._paid = dict.fromkeys(ids, 0.0)
        self._bar = self._rich.add_task("starting", total=sum(map(cost_of, ids)), found=f"0/{len(ids)}")

    def __enter__(self) -> Self:
        self._rich.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._rich.stop()

    def begun(self, word: Begun) -> None:
        """Show that a check has begun; those before it are done."""
        self._under_way[word.domain_id] = word.check
        self._show(word.domain_id, word.share_done)

    def done(self, inspection: Inspection) -> None:
        """Show that a domain is done."""
        self._under_way.pop(inspection.domain_id, None)
        self._finished.append(inspection)
        self._show(inspection.domain_id, 1.0)

    def _show(self, domain_id: str, share: float) -> None:
        cost = share * cost_of(domain_id)
        step, self._paid[domain_id] = cost - self._paid.get(domain_id, 0.0), cost
        num_below = sum(inspection.grade < TRAINABLE for inspection in self._finished)
        found = f"{len(self._finished)}/{self._num_domains}"
        found += f", {num_below} below {TRAINABLE.word}" if num_below else ""
        words = "; ".join(f"{name.rpartition('/')[2]}: {check}" for name, check in self._under_way.items())
        self._rich.update(self._bar, advance=step, description=words, found=found)


def _print(inspections: list[Inspection]) -> None:
    rows: list[dict[str, Json]] = [
        {
            "id": inspection.domain_id,
            "grade": inspection.grade.word,
            "levels": levels_text(inspection.levels),
            "cases": inspection.num_cases,
            "seconds": round(inspection.wall_s, 1),
        }
        for inspection in inspections
    ]
    below = [inspection.domain_id for inspection in inspections if inspection.grade < TRAINABLE]
    title = f"{len(rows) - len(below)} of {len(rows)} are {TRAINABLE.word} or better"
    print_rows(rows, columns=("id", "grade", "levels", "cases", "seconds"), title=title)
    out = Console(highlight=False, markup=False, soft_wrap=True)
    for inspection in inspections:
        if inspection.grade < Grade.GOLD:
            _print_reasons(out, inspection)
    if below:
        out.print(f"\nBelow {TRAINABLE.word}: {', '.join(below)}", style="red")


def levels_text(levels: Sequence[Grade]) -> str:
    """Return the grades of levels in a few letters: "all", or the first letter of each grade, the easiest first."""
    return "all" if len(set(levels)) < 2 else " ".join(f"{level}:{grade.word}" for level, grade in enumerate(levels))


def _print_reasons(out: Console, inspection: Inspection) -> None:
    style = "bold red" if inspection.grade < TRAINABLE else "bold"
    out.print(f"\n{inspection.domain_id}: {inspection.grade.word}", style=style)
    for reason in reasons_of(inspection):
        out.print(f"  {reason}")
    for result in inspection.results:
        if not result.faults:
            continue
        rule = RULES[result.check]
        out.print(f"  {rule.id} {rule.title}: {len(result.faults)} faults in {result.num_cases} cases")
        for fault in result.faults[:MAX_EXAMPLES]:
            out.print(f"    level {fault.level}, seed {fault.seed}: {fault.message}")
            if fault.replay:
                out.print(f"      {fault.replay}", style="dim")
