"""`polyathlon check`: run the inspection, print what to change."""

from __future__ import annotations

import os
import sys
from dataclasses import asdict
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from polyathlon.canonical import Json
from polyathlon.cli.table import print_json, print_rows
from polyathlon.inspect.finding import MAX_EXAMPLES, Inspection
from polyathlon.inspect.inspector import DEFAULT_SEEDS, inspect_domains
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
    ids = list(known.entries) if all_domains else [known.entry(domain_id).id for domain_id in domain_ids or []]
    if not ids:
        raise ValueError("Nothing to inspect. Name ids, or say --all.")
    inspections: list[Inspection] = []
    columns = (SpinnerColumn(), TextColumn("{task.description}"), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), disable=not sys.stderr.isatty()) as progress:
        bar = progress.add_task("inspecting", total=len(ids))
        for inspection in inspect_domains(ids, num_seeds=seeds, num_jobs=jobs):
            inspections.append(inspection)
            progress.advance(bar)
    inspections.sort(key=lambda inspection: ids.index(inspection.domain_id))
    if json:
        print_json([record_of(inspection) for inspection in inspections])
    else:
        _print(inspections)
    raise typer.Exit(0 if all(inspection.passed for inspection in inspections) else 1)


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
