"""X02: what solved one task must not pass under another expectation.

The reference's evidence is judged with the hidden part of another task of its level in the place of its own, and,
where the hidden part is one scalar, with that scalar changed. Whoever passes then passes without being right.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from polyathlon.canonical import Json, canonical_json
from polyathlon.domain import Task, Verdict
from polyathlon.env import judge_evidence
from polyathlon.inspect.attacks.rights import Rights
from polyathlon.inspect.attacks.scenes import levels_of
from polyathlon.inspect.attacks.wrong import one_more, with_numbers
from polyathlon.inspect.finding import MAX_EXAMPLES, CheckResult, Finding, measured
from polyathlon.inspect.play import Playthrough, Stage
from polyathlon.inspect.protocol import RULES
from polyathlon.inspect.wording import fault_of, verdict_text

NUM_SEEDS, NUM_SANDBOX_SEEDS = 16, 1


@dataclass(frozen=True, slots=True)
class Variant:
    """A task that the evidence of `solved` does not solve, and where its expectation comes from."""

    solved: Playthrough
    task: Task
    source: str


def check_impossible(stage: Stage) -> CheckResult:
    """X02: no evidence may pass under an expectation that it does not meet. A broken judgement is no pass."""
    if not any(played.task.hidden for played in stage.solved):
        return CheckResult("X02", not_applicable="nothing is hidden: what is expected is what the policy is shown")
    faults: list[Finding] = []
    passes: dict[int, int] = {}
    cases: dict[int, int] = {}
    for variant in _variants(stage):
        level = variant.solved.key.level
        cases[level] = cases.get(level, 0) + 1
        verdict = _judged(stage, variant)
        if verdict.passed:
            passes[level] = passes.get(level, 0) + 1
            if passes[level] > MAX_EXAMPLES:
                continue
            text = (
                f"the reference passes with {variant.source}: {verdict_text(replace(variant.solved, verdict=verdict))}."
            )
            faults.append(fault_of(stage.subject, variant.solved, f"{text} Compare with `hidden`, and with all of it."))
    measures = tuple(
        measured(RULES["X02"], level, passes.get(level, 0), cases.get(level, 0)) for level in levels_of(stage)
    )
    return CheckResult("X02", measures, tuple(faults))


def _judged(stage: Stage, variant: Variant) -> Verdict:
    assert variant.solved.evidence is not None, "a passed episode has evidence"
    return judge_evidence(stage.subject.domain, variant.task, variant.solved.evidence, stage.subject.room)[0]


def _variants(stage: Stage) -> Iterator[Variant]:
    num_seeds = NUM_SANDBOX_SEEDS if stage.subject.costly else NUM_SEEDS
    for level in levels_of(stage):
        here = [played for played in stage.solved if played.key.level == level and played.verdict.passed]
        for place, played in enumerate(here[:num_seeds]):
            other = here[(place + 1) % len(here)]
            if other is not played and not _solves(stage, played, other):
                task = replace(played.task, hidden=other.task.hidden)
                yield Variant(played, task, f"what is hidden of seed {other.key.seed} in the place of its own")
            flipped = changed_scalar(played.task.hidden)
            if flipped is not None:
                yield Variant(played, replace(played.task, hidden=flipped), f"{canonical_json(flipped)} hidden")


def _solves(stage: Stage, played: Playthrough, other: Playthrough) -> bool:
    """Whether the reference of one task is a right answer to another one."""
    subject = stage.subject
    kind, tools = subject.entry.row.kind, stage.tools(other.key)
    return Rights.of(subject.domain, other.task, other.actions, kind=kind, tools=tools).resemble(played.actions)


def changed_scalar(hidden: Mapping[str, Json]) -> dict[str, Json] | None:
    """Return `hidden` with its only value changed to one that is far from it; None where it is no single scalar."""
    if len(hidden) != 1:
        return None
    ((name, value),) = hidden.items()
    if isinstance(value, bool):
        return {name: not value}
    if isinstance(value, int | float):
        return {name: 2 * value + 7}
    if isinstance(value, str) and value:
        return {name: with_numbers(value, one_more) or f"{value}x"}
    return None
