"""Inspecting a domain from a test, and what to say when it is not sound."""

from __future__ import annotations

from contextlib import closing

from polyathlon.inspect.depth import USUAL, Depth
from polyathlon.inspect.finding import MAX_EXAMPLES, CheckResult, Finding, Inspection
from polyathlon.inspect.grade import TRAINABLE, Grade
from polyathlon.inspect.readable import readable
from polyathlon.inspect.reasons import reason_of, reasons_of
from polyathlon.inspect.rule import Tier
from polyathlon.inspect.side_by_side import inspect_domains
from polyathlon.registration import registry

MIN_SEEDS = 2
"""With a single task a level there is no other task's answer to try."""


def inspect(domain_id: str, *, seeds: int = USUAL.num_seeds, tier: Tier = USUAL.tier) -> Inspection:
    """Return the inspection of `domain_id`, `seeds` tasks a level, as `polyathlon check` does it.

    It runs in a process of its own, so that a domain which hangs on to a thread, exits or leaves things behind does not
    reach the tests after it.

    Raises:
        UnknownDomain: no such id; the message suggests the nearest.
        ValueError: fewer than two seeds.

    """
    if seeds < MIN_SEEDS:
        raise ValueError(f"seeds is {seeds}; an inspection needs at least {MIN_SEEDS} tasks a level.")
    full_id = registry().entry(domain_id).id
    with closing(inspect_domains([full_id], depth=Depth(seeds, tier))) as done:
        return next(done)


def assert_sound(inspection: Inspection, *, grade: Grade = TRAINABLE) -> None:
    """Pass where every check allows `grade`.

    Raises:
        AssertionError: one does not; the message names each, with its faults and the commands that show them again.

    """
    __tracebackhide__ = True
    if inspection.grade < grade:
        raise AssertionError(complaint(inspection, grade))


def complaint(inspection: Inspection, wanted: Grade) -> str:
    """Return what keeps `inspection` from the grade `wanted`, with the first faults of each check."""
    lines = [f"{inspection.domain_id} is {inspection.grade.word}; {wanted.word} is wanted."]
    if inspection.broken or inspection.grade == Grade.GOLD:
        return "\n".join([*lines, *map(readable, reasons_of(inspection))])
    below = [result for result in inspection.results if result.grade < wanted]
    return "\n\n".join([*lines, *(check_complaint(result, wanted) for result in below)])


def check_complaint(result: CheckResult, wanted: Grade) -> str:
    """Return what keeps one check from the grade `wanted`, with its first faults and their replay commands."""
    head = f"{readable(reason_of(result))}: {result.grade.word}; {wanted.word} is wanted."
    return "\n".join([head, *fault_lines(result.faults)])


def fault_lines(faults: tuple[Finding, ...]) -> list[str]:
    """Return the first faults, a line each and its replay below, and how many more there are."""
    lines = []
    for fault in faults[:MAX_EXAMPLES]:
        lines.append(f"  level {fault.level}, seed {fault.seed}: {readable(fault.message)}")
        if fault.replay:
            lines.append(f"    {fault.replay}")
    if len(faults) > MAX_EXAMPLES:
        lines.append(f"  and {len(faults) - MAX_EXAMPLES} more; polyathlon check --report writes them all")
    return lines
