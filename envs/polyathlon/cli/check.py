"""`polyathlon check`: run the inspection, print the grades and what holds them down, and certify them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, cast

import typer
from rich.console import Console

from polyathlon.canonical import Json
from polyathlon.cli.inspection_bar import InspectionBar
from polyathlon.cli.table import print_json, print_rows
from polyathlon.inspect.certifying import drawn_otherwise, write_certificates
from polyathlon.inspect.depth import PROOF, PROOF_SEEDS, SMOKE_SEEDS, USUAL, Depth
from polyathlon.inspect.finding import MAX_EXAMPLES, Inspection
from polyathlon.inspect.grade import TRAINABLE, Grade
from polyathlon.inspect.kept import CACHE, cache_folder, forget
from polyathlon.inspect.protocol import RULES
from polyathlon.inspect.reasons import reasons_of
from polyathlon.inspect.rule import Tier
from polyathlon.inspect.scorecard import record_of, scorecard
from polyathlon.inspect.side_by_side import inspect_domains
from polyathlon.inspect.standing import Standing, standings
from polyathlon.registration import registry


def check(  # noqa: PLR0913  # each is a flag of the command line
    domain_ids: Annotated[list[str] | None, typer.Argument(help="Ids to inspect.")] = None,
    *,
    all_domains: Annotated[bool, typer.Option("--all", help="Every domain in force.")] = False,
    stale: Annotated[
        bool,
        typer.Option("--stale", help="Verify certificates, of all that have one; inspect what they no longer fit."),
    ] = False,
    certify: Annotated[bool, typer.Option("--certify", help="Write certificates of what is found.")] = False,
    tier: Annotated[
        int | None, typer.Option(min=0, max=2, help="0 reads, 1 plays, 2 is everything. [1; to certify 2]")
    ] = None,
    seeds: Annotated[int | None, typer.Option(min=2, help=f"Tasks a level. [{PROOF_SEEDS}]")] = None,
    smoke: Annotated[bool, typer.Option("--smoke", help=f"{SMOKE_SEEDS} tasks a level: quick, and no proof.")] = False,
    jobs: Annotated[int, typer.Option(min=1, help="Domains at a time.")] = os.cpu_count() or 1,
    cache: Annotated[
        Path | None, typer.Option(metavar="DIR", help=f"Where results are kept, else {CACHE}, else the user's cache.")
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Look at everything anew, whatever is kept.")] = False,
    report: Annotated[
        Path | None, typer.Option(help="A folder for scorecards: an index, a page a domain, JSON.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Inspect domains: the reference must solve, and nothing else may pay. Exit 1 when one is below silver."""
    known = registry()
    named = [known.entry(domain_id).id for domain_id in domain_ids or []]
    ids = list(known.entries if all_domains else dict.fromkeys(named))
    if stale and not ids:
        ids = _certified()
    if not ids:
        raise ValueError("Nothing to inspect. Name ids, or say --all.")
    depth = _depth(tier, seeds, smoke=smoke, usual=PROOF if certify or stale else USUAL)
    if certify and not depth.proves:
        raise ValueError(
            f"{depth.num_seeds} tasks a level at tier {depth.tier} prove nothing, so nothing was inspected. Certify "
            f"from {PROOF_SEEDS} or more at tier 2, which is what --certify does by itself."
        )
    folder = cache or cache_folder()
    sound = _verify(ids) if stale else []
    todo = [domain_id for domain_id in ids if domain_id not in {standing.domain_id for standing in sound}]
    if fresh:
        for domain_id in todo:
            forget(folder, domain_id)
    outcome = Outcome(tuple(sound), tuple(_inspect(todo, depth, num_jobs=jobs, cache=folder)))
    if json:
        print_json(outcome.records())
    else:
        _print(outcome)
    if report is not None:
        _write_report(outcome.inspections, report)
    if certify:
        _certify(outcome.inspections)
    raise typer.Exit(1 if outcome.below else 0)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a command came to: certificates that were verified, and inspections, in the order they were asked for."""

    verified: tuple[Standing, ...]
    inspections: tuple[Inspection, ...]

    @property
    def below(self) -> list[str]:
        """The domains that are not fit to train on."""
        graded = [(standing.domain_id, standing.grade) for standing in self.verified]
        graded += [(inspection.domain_id, inspection.grade) for inspection in self.inspections]
        return [domain_id for domain_id, grade in graded if grade is None or grade < TRAINABLE]

    def records(self) -> list[Json]:
        """Return an object a domain; of a verified certificate, what it says."""
        verified: list[Json] = [
            {
                "id": standing.domain_id,
                "grade": standing.word,
                "passed": standing.domain_id not in self.below,
                "levels": [grade.word for grade in standing.levels],
                "verified": True,
            }
            for standing in self.verified
        ]
        entries = registry().entries
        return [*verified, *(record_of(scorecard(one, entries.get(one.domain_id))) for one in self.inspections)]


def _depth(tier: int | None, seeds: int | None, *, smoke: bool, usual: Depth) -> Depth:
    if smoke and seeds is not None:
        raise ValueError(f"--smoke is {SMOKE_SEEDS} tasks a level: leave out --seeds, or --smoke.")
    num_seeds = SMOKE_SEEDS if smoke else seeds or usual.num_seeds
    return Depth(num_seeds, usual.tier if tier is None else cast(Tier, tier))


def _certified() -> list[str]:
    """Return the domains that have a certificate; of the others, tell that no default mixture takes them."""
    found = standings(list(registry().entries.values()), cache=None)
    bare = [domain_id for domain_id, standing in found.items() if standing.grade is None and not standing.problem]
    _warn(*(f"{domain_id} has no certificate: no default mixture takes it." for domain_id in bare))
    return [domain_id for domain_id in found if domain_id not in bare]


def _verify(ids: Sequence[str]) -> list[Standing]:
    """Return how those of `ids` stand whose certificate fits the sources, and the tasks as they are drawn here."""
    entries = [registry().entry(domain_id) for domain_id in ids]
    found = standings(entries, cache=None)
    _warn(*(note for standing in found.values() for note in standing.notes))
    fit = [s for s in found.values() if s.grade is not None and not s.claimed and not s.stale]
    otherwise = drawn_otherwise([registry().entry(standing.domain_id) for standing in fit])
    for domain_id, standing in found.items():
        why = otherwise.get(domain_id) or ("" if standing in fit else _unfit_text(standing))
        if why:
            _warn(f"{domain_id} is inspected anew: {why}")
    return [standing for standing in fit if standing.domain_id not in otherwise]


def _unfit_text(standing: Standing) -> str:
    if standing.problem:
        return standing.problem
    if standing.grade is None:
        return "it has no certificate."
    if standing.claimed:
        return f"its grade is its owner's claim ({standing.grade.word})."
    return f"its certificate is stale: {', '.join(standing.changed)} changed."


def _inspect(ids: Sequence[str], depth: Depth, *, num_jobs: int, cache: Path) -> list[Inspection]:
    inspections: list[Inspection] = []
    with (
        InspectionBar(ids) as bar,
        closing(inspect_domains(ids, depth=depth, num_jobs=num_jobs, cache=cache, tell=bar.hear)) as done,
    ):
        for inspection in done:
            inspections.append(inspection)
            bar.done(inspection)
    return sorted(inspections, key=lambda inspection: ids.index(inspection.domain_id))


def _certify(inspections: Sequence[Inspection]) -> None:
    paths, problems = write_certificates(inspections)
    _warn(*(f"Written: {path}" for path in paths), *problems)


def _write_report(inspections: Sequence[Inspection], folder: Path) -> None:
    from polyathlon.inspect.scorecard_files import write_scorecards  # jinja2, 0.2 s that no other command needs

    index = write_scorecards(inspections, folder, entries=registry().entries)
    Console(stderr=True, soft_wrap=True, highlight=False).print(f"Scorecards: {index}", markup=False)


def _warn(*lines: str) -> None:
    console = Console(stderr=True, soft_wrap=True)
    for line in dict.fromkeys(lines):
        console.print(line, style="yellow", markup=False, highlight=False)


def _print(outcome: Outcome) -> None:
    rows: list[dict[str, Json]] = [
        {"id": standing.domain_id, "grade": standing.word, "levels": levels_text(standing.levels), "cases": "certified"}
        for standing in outcome.verified
    ]
    rows += [
        {
            "id": inspection.domain_id,
            "grade": inspection.grade.word,
            "levels": levels_text(inspection.levels),
            "cases": inspection.num_cases,
            "seconds": round(inspection.wall_s, 1),
        }
        for inspection in outcome.inspections
    ]
    below = outcome.below
    title = f"{len(rows) - len(below)} of {len(rows)} are {TRAINABLE.word} or better"
    print_rows(rows, columns=("id", "grade", "levels", "cases", "seconds"), title=title)
    out = Console(highlight=False, markup=False, soft_wrap=True)
    for inspection in outcome.inspections:
        if inspection.grade < Grade.GOLD:
            _print_reasons(out, inspection)
    if below:
        out.print(f"\nBelow {TRAINABLE.word}: {', '.join(below)}", style="red")


def levels_text(levels: Sequence[Grade]) -> str:
    """Return the grades of levels, the easiest first; nothing where they are all the same."""
    return "" if len(set(levels)) < 2 else " ".join(f"{level}:{grade.word}" for level, grade in enumerate(levels))


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
