"""`polyathlon import`: another library's tasks as a catalogue of domains, inspected on the way in."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from polyathlon.canonical import Json, expect_list, expect_map, expect_text
from polyathlon.catalog import did_you_mean
from polyathlon.cli.table import print_json, print_rows
from polyathlon.errors import RegistryError
from polyathlon.inspect.depth import Depth
from polyathlon_domains.bridges.reasoning_gym import NAMESPACE
from polyathlon_domains.bridges.reasoning_gym.catalogue import full_id
from polyathlon_domains.bridges.reasoning_gym.findings import Found, findings, write_findings
from polyathlon_domains.bridges.reasoning_gym.importing import CATALOGUE, Plan, Reporter, take_in

USUAL_SEEDS = 8
LIMIT_S = 120.0
MAX_EXAMPLE_CHARS = 150
COLUMNS = ("id", "grade", "failed", "example")


def import_domains(  # noqa: PLR0913  # each is a flag of the command line
    library: Annotated[str, typer.Argument(help=f"Whose tasks: {NAMESPACE}.")],
    *,
    out: Annotated[Path, typer.Option(help="The folder for the catalogue and the grades.")] = Path(NAMESPACE),
    only: Annotated[
        str, typer.Option(metavar="PATTERN", help="Only generators like these: sudoku,n_queens or '*_matrix'.")
    ] = "",
    jobs: Annotated[int, typer.Option(min=1, help="Generators at a time.")] = os.cpu_count() or 1,
    seeds: Annotated[int, typer.Option(min=2, help="Tasks a level.")] = USUAL_SEEDS,
    limit_s: Annotated[float, typer.Option(min=1, help="Seconds for one generator; then it is ended.")] = LIMIT_S,
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """List another library's generators as domains, with their own verifiers, and inspect every one."""
    if library != NAMESPACE:
        raise RegistryError(
            f"No bridge to {library!r}; there is one to {NAMESPACE}.{did_you_mean(library, [NAMESPACE])}"
        )
    began_s = time.monotonic()
    told = _Told()
    plan = Plan(out, only, Depth(num_seeds=seeds), jobs, limit_s)
    found = take_in(plan, Reporter(told.probed, lambda _: None, told.inspected))
    record = findings(found, num_seeds=seeds, num_jobs=jobs, wall_s=time.monotonic() - began_s)
    path = write_findings(out, record)
    generators = [expect_map(one) for one in expect_list(record["generators"])]
    if json:
        print_json(generators)
        return
    print_rows([_row(one) for one in generators], columns=COLUMNS, title=_summary(generators))
    catalogue = out / CATALOGUE
    told.say(f"\n{path} has every finding, and the command that shows it again. In {record['wall_s']} s.")
    told.say(f"To use them: export POLYATHLON_CATALOGS={catalogue}, then polyathlon list {NAMESPACE}, or")
    told.say(f'gym.make("{expect_text(generators[0]["id"])}"). Only silver and gold belong in a mixture.')


class _Told:
    """Says on standard error how far the run has come, a line a generator."""

    def __init__(self) -> None:
        self._console = Console(stderr=True, highlight=False, markup=False, soft_wrap=True)
        self._num_probed = self._num_inspected = 0

    def say(self, text: str) -> None:
        """Print a line."""
        self._console.print(text)

    def probed(self, _: object) -> None:
        """Count a generator that has been measured; say so now and then."""
        self._num_probed += 1
        if self._num_probed % 20 == 0:
            self.say(f"measured {self._num_probed} generators")

    def inspected(self, found: Found) -> None:
        """Say what a generator's inspection found."""
        self._num_inspected += 1
        inspection = found.inspection
        grade, seconds = inspection.grade.word, inspection.wall_s
        self.say(f"[{self._num_inspected}/{self._num_probed}] {full_id(found.generator)}: {grade}, {seconds:.1f} s")


def _summary(generators: Sequence[Mapping[str, Json]]) -> str:
    grades = [expect_text(one["grade"]) for one in generators]
    counts = ", ".join(
        f"{grades.count(grade)} {grade}" for grade in ("gold", "silver", "bronze", "quarantine", "reject")
    )
    return f"{len(generators)} generators: {counts}"


def _row(one: Mapping[str, Json]) -> dict[str, Json]:
    checks = [expect_map(check) for check in expect_list(one["checks"])]
    worst = [check for check in checks if check["grade"] in ("reject", "quarantine")] or checks
    examples = [expect_map(example) for check in worst for example in expect_list(check["examples"])]
    text = expect_text(one["broken"]) or next((expect_text(example["message"]) for example in examples), "")
    failed = " ".join(expect_text(check["check"]) for check in checks)
    return {
        **one,
        "failed": failed,
        "example": text if len(text) <= MAX_EXAMPLE_CHARS else f"{text[:MAX_EXAMPLE_CHARS]}...",
    }
