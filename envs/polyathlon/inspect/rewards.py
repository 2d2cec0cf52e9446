"""Checks on what pays: right answers must, wrong answers and hacks must not, and the same evidence is paid the same."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from polyathlon.domain import Attempt, Task
from polyathlon.drawing import TaskKey
from polyathlon.inspect.finding import WHOLE, CheckResult, Finding, Measure, measured
from polyathlon.inspect.intervals import wilson
from polyathlon.inspect.play import Playthrough, Stage
from polyathlon.inspect.protocol import RULES
from polyathlon.inspect.wording import actions_text, fault_of, verdict_text

MIN_EXPLOITS = 4
MIN_DISTRACTORS = 2
MIN_REFERENCES = 400
"""How often a domain's solution is played in all where a certificate is to be earned: 400 of 400 is 0.990 at least."""
NUM_REPEATS, NUM_SANDBOX_REPEATS = 2, 1
NUM_REFERENCES_AGAIN = 40


def check_reference(stage: Stage) -> CheckResult:
    """S01: the domain's own solution must pass everywhere, within the turns the row allows."""
    stage.count_solved()
    solved = [*stage.solved, *map(stage.solve, _further_keys(stage))]
    faults = [
        fault_of(
            stage.subject, played, f"the reference is not passed: {verdict_text(played)}. Mend `solve` or the verifier."
        )
        for played in solved
        if not played.verdict.passed
    ]
    times = [played.wall_s for played in solved] or [0.0]
    numbers = {"episode_ms": 1000 * statistics.median(times), "turns": max((len(p.actions) for p in solved), default=0)}
    passed = [(played.key.level, played.verdict.passed) for played in solved]
    return CheckResult("S01", shares("S01", passed, stage.subject.levels), tuple(faults), numbers)


def check_repeats(stage: Stage) -> CheckResult:
    """D02: the same evidence, judged again, must give the same verdict."""
    faults: list[Finding] = []
    differed: list[tuple[int, bool]] = []
    num_repeats = NUM_SANDBOX_REPEATS if stage.subject.costly else NUM_REPEATS
    for played in spread_of_plays(stage):
        if played.evidence is None:
            continue
        verdicts = [stage.judge_again(played) for _ in range(num_repeats)]
        again = next((verdict for verdict in verdicts if verdict != played.verdict), None)
        differed.append((played.key.level, again is not None))
        if again is not None:
            text = f"judged twice, two verdicts: {verdict_text(played)}, then {again.reward} ({again.reason})."
            faults.append(
                fault_of(stage.subject, played, f"{text} A verifier must be a pure function of its evidence.")
            )
    return CheckResult("D02", shares("D02", differed, stage.subject.levels), tuple(faults))


def check_alternatives(stage: Stage) -> CheckResult:
    """S04: other right answers must pass; one in turn where not all are played."""
    faults: list[Finding] = []
    accepted: list[tuple[int, bool]] = []
    for attempt, played in (*_attempts(stage, stage.subject.domain.alternatives), *_one_in_turn(stage)):
        accepted.append((played.key.level, played.verdict.passed))
        if not played.verdict.passed:
            text = f"alternative {attempt.name!r} is refused: {verdict_text(played)}; actions "
            hint = "Accept it, or say in the prompt that this form does not count."
            faults.append(fault_of(stage.subject, played, f"{text}{actions_text(attempt.actions)}. {hint}"))
    if not accepted:
        return CheckResult("S04", not_applicable="the domain names no alternatives: no other way to be right")
    levels = sorted({level for level, _ in accepted})  # a level may have none: not every task has a second right answer
    return CheckResult("S04", shares("S04", accepted, levels), tuple(faults))


def check_distractors(stage: Stage) -> CheckResult:
    """V04: plausible wrong answers must not pass."""
    faults: list[Finding] = []
    counts: Counter[str] = Counter()
    refused: list[tuple[int, bool]] = []
    rewards: list[float] = []
    for attempt, played in _attempts(stage, stage.subject.domain.distractors):
        counts[attempt.name] += 1
        rewards.append(played.reward)
        refused.append((played.key.level, played.verdict.valid and not played.verdict.passed))
        if not refused[-1][1]:
            text = f"distractor {attempt.name!r} earns {verdict_text(played)}; actions {actions_text(attempt.actions)}."
            hint = "Sharpen the verifier, or drop it where it is right."
            faults.append(fault_of(stage.subject, played, f"{text} {hint}"))
    measures = shares("V04", refused, stage.subject.levels)
    if len(counts) < MIN_DISTRACTORS:
        faults.append(Finding(0, 0, f"{len(counts)} kinds of distractors; give at least {MIN_DISTRACTORS}."))
        measures += (too_little("V04"),)
    numbers = {"mean_reward": statistics.fmean(rewards) if rewards else 0.0}
    return CheckResult("V04", measures, tuple(faults), numbers)


def check_own_exploits(stage: Stage) -> CheckResult:
    """X01, the domain's own part: the hacks that it names must not earn more than the floor, on any task."""
    floor = stage.subject.entry.row.floor
    faults: list[Finding] = []
    counts: Counter[str] = Counter()
    paid: list[tuple[int, bool]] = []
    for attempt, played in _attempts(stage, stage.subject.domain.exploits):
        counts[attempt.name] += 1
        paid.append((played.key.level, played.reward > floor or not played.verdict.valid))
        if paid[-1][1]:
            text = (
                f"exploit {attempt.name!r} earns {verdict_text(played)}, floor {floor}; "
                f"actions {actions_text(attempt.actions)}."
            )
            faults.append(fault_of(stage.subject, played, f"{text} Close the hole in the verifier."))
    measures = tallies("X01", paid, stage.subject.levels)
    if len(counts) < MIN_EXPLOITS:
        faults.append(Finding(0, 0, f"{len(counts)} kinds of exploits; give at least {MIN_EXPLOITS}."))
        measures += (too_little("X01"),)
    return CheckResult("X01", measures, tuple(faults))


def shares(rule: str, cases: Sequence[tuple[int, bool]], levels: Sequence[int]) -> tuple[Measure, ...]:
    """Return a measure a level: the share of its `cases` (level, whether it counts), with its Wilson interval."""
    found = []
    for level in levels:
        here = [counts for where, counts in cases if where == level]
        share = sum(here) / len(here) if here else float("nan")
        found.append(measured(RULES[rule], level, share, len(here), interval=wilson(sum(here), len(here))))
    return tuple(found)


def tallies(rule: str, cases: Sequence[tuple[int, bool]], levels: Sequence[int]) -> tuple[Measure, ...]:
    """Return a measure a level: how many of its `cases` (level, whether it counts) do."""
    by_level = {level: [counts for where, counts in cases if where == level] for level in levels}
    return tuple(measured(RULES[rule], level, sum(here), len(here)) for level, here in by_level.items())


def too_little(rule: str) -> Measure:
    """Return the measure of a domain that gave `rule` too little to look at."""
    return measured(RULES[rule], WHOLE, float("nan"), 0)


def spread_of_plays(stage: Stage) -> list[Playthrough]:
    """Return about 40 reference episodes, and the wrong attempts on each level's first task: for a second look."""
    return [*stage.solved[:: max(1, len(stage.solved) // NUM_REFERENCES_AGAIN)], *_wrong(stage)]


def _further_keys(stage: Stage) -> list[TaskKey]:
    """Return the tasks beyond those of every check that the reference solves where a certificate is to be earned."""
    subject = stage.subject
    if not subject.proves:
        return []
    wanted = -(-MIN_REFERENCES // len(subject.levels))
    return [
        TaskKey(subject.entry.id, level, seed) for level in subject.levels for seed in range(subject.num_seeds, wanted)
    ]


def _attempts(stage: Stage, attempts: Callable[[Task], Sequence[Attempt]]) -> Iterator[tuple[Attempt, Playthrough]]:
    for key in stage.subject.task_keys(stage.subject.num_attempt_seeds):
        for attempt in attempts(stage.task(key)):
            yield attempt, stage.play(key, attempt.actions)


def _one_in_turn(stage: Stage) -> Iterator[tuple[Attempt, Playthrough]]:
    """Yield one alternative that is not the reference for each task that `_attempts` leaves out.

    A verifier may know its reference by heart: only another right answer shows that what it compares with is right.
    """
    for solved in stage.solved:
        if solved.key.seed < stage.subject.num_attempt_seeds:
            continue
        others = [a for a in stage.subject.domain.alternatives(solved.task) if a.actions != solved.actions]
        if others:
            attempt = others[solved.key.seed % len(others)]
            yield attempt, stage.play(solved.key, attempt.actions)


def _wrong(stage: Stage) -> Iterator[Playthrough]:
    domain = stage.subject.domain
    for key in stage.subject.task_keys(1):
        for attempt in (*domain.distractors(stage.task(key)), *domain.exploits(stage.task(key))):
            yield stage.play(key, attempt.actions)
