"""`polyathlon list` and `polyathlon show`: what is in the registry."""

from __future__ import annotations

from typing import Annotated

import msgspec
import typer
from rich.console import Console

from polyathlon.canonical import Json
from polyathlon.cli.table import print_json, print_rows
from polyathlon.drawing import TaskKey, draw_task
from polyathlon.inspect.kept import cache_folder
from polyathlon.inspect.standing import Standing, standings
from polyathlon.plugins import Entry
from polyathlon.registration import load_domain, registry

JsonFlag = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


def list_domains(
    pattern: Annotated[str, typer.Argument(help="Only ids that contain this.")] = "", *, json: JsonFlag = False
) -> None:
    """List the domains in force, one row a domain: the grade, and whether its certificate fits what is here now."""
    entries = [entry for entry in registry().entries.values() if entry.id.find(pattern) >= 0]
    found = standings(entries, cache=cache_folder())
    rows = [{**row_of(entry), **_standing_of(found[entry.id])} for entry in entries]
    if json:
        print_json(rows)
        return
    columns = ("id", "grade", "stale", "kind", "levels", "max_turns", "floor", "weight", "needs", "install")
    print_rows(rows, columns=columns, title=f"{len(rows)} domains")
    said = [line for standing in found.values() for line in (standing.problem, *standing.notes) if line]
    for line in (
        *dict.fromkeys(said),
        *(f"broken plugin {fault.plugin}: {fault.cause}" for fault in registry().faults),
    ):
        Console(stderr=True, soft_wrap=True).print(line, markup=False, highlight=False, style="red")


def show(
    domain_id: str,
    *,
    level: Annotated[int, typer.Option(help="Level of the sample task.")] = 0,
    seed: Annotated[int, typer.Option(help="Seed of the sample task.")] = 0,
    json: JsonFlag = False,
) -> None:
    """Show one domain: its row, its module's first sentence, and a task as the policy sees it."""
    entry = registry().entry(domain_id)
    domain = load_domain(entry.id)
    task = draw_task(domain.tasks, TaskKey(entry.id, level, seed))
    about = (type(domain.tasks).__doc__ or "").strip()
    record: dict[str, Json] = {**row_of(entry), "owner": entry.owner, "tasks": about, "prompt": task.prompt}
    if json:
        print_json([record])
        return
    for key, value in record.items():
        if key != "prompt":
            Console().print(f"{key:10} {value}", markup=False, highlight=False)
    Console().print(f"\n--- level {level}, seed {seed} ---\n{task.prompt}", markup=False, highlight=False)


def row_of(entry: Entry) -> dict[str, Json]:
    """Return an entry as plain JSON: the keys of registry.yaml, the full id, and `family`."""
    row: dict[str, Json] = msgspec.to_builtins(entry.row)
    return {**row, "id": entry.id, "family": entry.row.family}


def _standing_of(standing: Standing) -> dict[str, Json]:
    """Return the keys of one domain's grade; no grade is null."""
    return {
        "grade": standing.word or None,
        "stale": standing.stale,
        "level_grades": [grade.word for grade in standing.levels],
        "notes": [line for line in (standing.problem, *standing.notes) if line],
    }
