"""`polyathlon check`: run the inspection, print what to change."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict
from typing import Annotated, Self

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from polyathlon.canonical import Json
from polyathlon.cli.table import print_json, print_rows
from polyathlon.inspect.finding import MAX_EXAMPLES, Inspection
from polyathlon.inspect.inspector import CHECKS, DEFAULT_SEEDS
from polyathlon.inspect.side_by_side import Begun, cost_of, inspect_domains
from polyathlon.registration import registry


def check(
    domain_ids: Annotated[list[str] | None, typer.Argument(help="Ids to inspect.")] = None,
    *,
    all_domains: Annotated[bool, typer.Option("--all", help="Every domain in force.")] = False,
    seeds: Annotated[
        int, typer.Option(min=2, help="Tasks a level for the reference; fewer is a smoke test.")
    ] = DEFAULT_SEEDS,
    jobs: Annotated[int, typer.Option(min=1, help="Domains at a time.")] = os.cpu_count() or 1,
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Inspect domains: the reference must solve, and nothing else may pay. Exit 1 on a fault."""
    known = registry()
    named = [known.entry(domain_id).id for domain_id in domain_ids or []]
    ids = list(known.entries if all_domains else dict.fromkeys(named))
    if not ids:
        raise ValueError("Nothing to inspect. Name ids, or say --all.")
    inspections: list[Inspection] = []
    with (
        _Progress(ids) as progress,
        closing(inspect_domains(ids, num_seeds=seeds, num_jobs=jobs, tell=progress.begun)) as done,
    ):
        for inspection in done:
            inspections.append(inspection)
            progress.done(inspection)
    inspections.sort(key=lambda inspection: ids.index(inspection.domain_id))
    if json:
        print_json([record_of(inspection) for inspection in inspections])
    else:
        _print(inspections)
    raise typer.Exit(0 if all(inspection.passed for inspection in inspections) else 1)


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
        self._show(word.domain_id, list(CHECKS).index(word.check) / len(CHECKS))

    def done(self, inspection: Inspection) -> None:
        """Show that a domain is done."""
        self._under_way.pop(inspection.domain_id, None)
        self._finished.append(inspection)
        self._show(inspection.domain_id, 1.0)

    def _show(self, domain_id: str, share: float) -> None:
        cost = share * cost_of(domain_id)
        step, self._paid[domain_id] = cost - self._paid.get(domain_id, 0.0), cost
        num_faults = sum(inspection.num_faults for inspection in self._finished)
        found = f"{len(self._finished)}/{self._num_domains}" + (f", {num_faults} faults" if num_faults else "")
        words = "; ".join(f"{name.rpartition('/')[2]}: {check}" for name, check in self._under_way.items())
        self._rich.update(self._bar, advance=step, description=words, found=found)


def record_of(inspection: Inspection) -> dict[str, Json]:
    """Return an inspection as plain JSON."""
    record: dict[str, Json] = asdict(inspection)
    family = inspection.domain_id.rpartition("/")[2].partition(".")[0]
    return {"id": inspection.domain_id, "family": family, "passed": inspection.passed, **record}


def _print(inspections: list[Inspection]) -> None:
    rows: list[dict[str, Json]] = [
        {
            "id": inspection.domain_id,
            "result": "sound" if inspection.passed else f"{inspection.num_faults} faults",
            "cases": sum(result.num_cases for result in inspection.results),
            "seconds": round(inspection.wall_s, 1),
        }
        for inspection in inspections
    ]
    sound = sum(inspection.passed for inspection in inspections)
    print_rows(rows, columns=("id", "result", "cases", "seconds"), title=f"{sound} of {len(rows)} without a fault")
    out = Console(highlight=False, markup=False, soft_wrap=True)
    for inspection in inspections:
        if not inspection.passed:
            _print_faults(out, inspection)


def _print_faults(out: Console, inspection: Inspection) -> None:
    out.print(f"\n{inspection.domain_id}", style="bold red")
    if inspection.broken:
        out.print(f"  could not be inspected: {inspection.broken}")
    for result in inspection.results:
        if result.num_cases == 0:
            out.print(f"  {result.check}: nothing was there to look at, so it counts as a fault")
        if not result.faults:
            continue
        out.print(f"  {result.check}: {len(result.faults)} faults in {result.num_cases} cases")
        for fault in result.faults[:MAX_EXAMPLES]:
            out.print(f"    level {fault.level}, seed {fault.seed}: {fault.message}")
            if fault.replay:
                out.print(f"      {fault.replay}", style="dim")
