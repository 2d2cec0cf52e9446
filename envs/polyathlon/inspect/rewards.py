"""Checks on what pays: right answers must, everything else must not."""

from __future__ import annotations

import itertools
import statistics
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from polyathlon.domain import Attempt, Task
from polyathlon.drawing import TaskKey
from polyathlon.inspect.blind import FINISHERS, blind_policies, call_of
from polyathlon.inspect.finding import CheckResult, Finding
from polyathlon.inspect.hostile import hostile_texts
from polyathlon.inspect.play import Playthrough, Stage, Subject
from polyathlon.seeding import child
from polyathlon.verify.text import plain

MEAN_SLACK = 0.02
HOSTILE_CPU_S = 0.5  # CPU time of this process: the machine's load is not the domain's fault
HOSTILE_WALL_S = 60.0
MIN_EXPLOITS = 4
MIN_DISTRACTORS = 2
NUM_HOSTILE_SEEDS = 1
NUM_OTHERS = 3
NUM_REPEATS, NUM_SANDBOX_REPEATS = 2, 1
NUM_REFERENCES_AGAIN = 40


def check_reference(stage: Stage) -> CheckResult:
    """The domain's own solution must pass everywhere, within the turns the row allows."""
    solved = stage.solved
    faults = [
        _fault(stage.subject, played, f"the reference is not passed: {_verdict(played)}. Mend `solve` or the verifier.")
        for played in solved
        if not played.verdict.passed
    ]
    times = [played.wall_s for played in solved] or [0.0]
    numbers = {"episode_ms": 1000 * statistics.median(times), "turns": max((len(p.actions) for p in solved), default=0)}
    return CheckResult("reference", "the reference solution passes", len(solved), tuple(faults), numbers)


def check_repeats(stage: Stage) -> CheckResult:
    """The same evidence, judged again, must give the same verdict."""
    faults: list[Finding] = []
    num_repeats = NUM_SANDBOX_REPEATS if stage.subject.costly else NUM_REPEATS
    cases = 0
    for played in [*stage.solved[:: max(1, len(stage.solved) // NUM_REFERENCES_AGAIN)], *_wrong(stage)]:
        if played.evidence is None:
            continue
        cases += 1
        verdicts = [stage.judge_again(played) for _ in range(num_repeats)]
        again = next((verdict for verdict in verdicts if verdict != played.verdict), None)
        if again is not None:
            text = f"judged twice, two verdicts: {_verdict(played)}, then {again.reward} ({again.reason})."
            faults.append(_fault(stage.subject, played, f"{text} A verifier must be a pure function of its evidence."))
    return CheckResult("verdicts repeat", "the same evidence gives the same verdict", cases, tuple(faults))


def check_accepted(stage: Stage) -> CheckResult:
    """Other right answers, and rewrites of the right one, must pass."""
    domain = stage.subject.domain
    kinds: dict[str, Callable[[Task], Sequence[Attempt]]] = {
        "alternative": domain.alternatives,
        "equivalent": domain.equivalents,
    }
    faults: list[Finding] = []
    counts: Counter[str] = Counter()
    for kind, attempt, played in itertools.chain(_attempts(stage, kinds), _one_in_turn(stage)):
        counts[kind] += 1
        if not played.verdict.passed:
            text = f"{kind} {attempt.name!r} is refused: {_verdict(played)}; actions {_show(attempt.actions)}."
            faults.append(
                _fault(stage.subject, played, f"{text} Accept it, or say in the prompt that this form does not count.")
            )
    if not counts["equivalent"]:
        faults.append(
            Finding(0, 0, "the domain names no equivalents. Give rewrites of the right answer that must pass.")
        )
    return CheckResult("right answers pass", "alternatives and equivalents earn 1", counts.total(), tuple(faults))


def check_distractors(stage: Stage) -> CheckResult:
    """Plausible wrong answers must not pass."""
    faults: list[Finding] = []
    counts: Counter[str] = Counter()
    rewards: list[float] = []
    for _, attempt, played in _attempts(stage, {"distractor": stage.subject.domain.distractors}):
        counts[attempt.name] += 1
        rewards.append(played.reward)
        if played.verdict.passed or not played.verdict.valid:
            text = f"distractor {attempt.name!r} earns {_verdict(played)}; actions {_show(attempt.actions)}."
            faults.append(_fault(stage.subject, played, f"{text} Sharpen the verifier, or drop it where it is right."))
    if len(counts) < MIN_DISTRACTORS:
        faults.append(Finding(0, 0, f"{len(counts)} kinds of distractors; give at least {MIN_DISTRACTORS}."))
    numbers = {"mean_reward": statistics.fmean(rewards) if rewards else 0.0}
    return CheckResult("wrong answers fail", "distractors do not pass", counts.total(), tuple(faults), numbers)


def check_exploits(stage: Stage) -> CheckResult:
    """Hacks must not earn more than the floor, on any task."""
    floor = stage.subject.entry.row.floor
    faults: list[Finding] = []
    counts: Counter[str] = Counter()
    for _, attempt, played in _attempts(stage, {"exploit": stage.subject.domain.exploits}):
        counts[attempt.name] += 1
        if played.reward > floor or not played.verdict.valid:
            text = (
                f"exploit {attempt.name!r} earns {_verdict(played)}, floor {floor}; actions {_show(attempt.actions)}."
            )
            faults.append(_fault(stage.subject, played, f"{text} Close the hole in the verifier."))
    if len(counts) < MIN_EXPLOITS:
        faults.append(Finding(0, 0, f"{len(counts)} kinds of exploits; give at least {MIN_EXPLOITS}."))
    return CheckResult("exploits do not pay", "hacks earn no more than the floor", counts.total(), tuple(faults))


def check_blind(stage: Stage) -> CheckResult:
    """Policies that know nothing must earn no more than the floor on average, and silence nothing at all."""
    subject, floor = stage.subject, stage.subject.entry.row.floor
    earned: dict[tuple[str, int], list[float]] = {}
    first: dict[tuple[str, int], Playthrough] = {}
    for key, others in _with_others(stage):
        rng = child("inspect", key.domain_id, key.level, key.seed)
        for name, actions in blind_policies(stage.task(key), stage.tools(key), rng, others=others).items():
            played = stage.play(key, actions)
            group = ("another task's answer" if name.startswith("another") else name, key.level)
            earned.setdefault(group, []).append(played.reward)
            if group not in first or played.reward > first[group].reward:
                first[group] = played
    faults = []
    for (name, level), rewards in earned.items():
        mean, allowed = statistics.fmean(rewards), floor + (0.0 if name in ("nop", "empty") else MEAN_SLACK)
        if mean > allowed or min(rewards) < 0:
            best = first[name, level]
            text = f"the blind policy {name!r} earns {mean:.3f} on average at level {level}, floor {floor}; best: "
            hint = "Chance-correct partial credit, flatten the answers, or ask in batches."
            faults.append(_fault(subject, best, f"{text}{_show(best.actions)} earns {_verdict(best)}. {hint}"))
    numbers = {
        f"{name}": statistics.fmean(r for (n, _), rs in earned.items() if n == name for r in rs) for name, _ in earned
    }
    cases = sum(len(rewards) for rewards in earned.values())
    return CheckResult(
        "blind policies earn nothing", "nop, empty, random, echo, another's answer", cases, tuple(faults), numbers
    )


def check_hostile(stage: Stage) -> CheckResult:
    """No text may break the domain, hang it, or pay."""
    subject, floor = stage.subject, stage.subject.entry.row.floor
    faults: list[Finding] = []
    slowest_s, cases = 0.0, 0
    keys = subject.task_keys(NUM_HOSTILE_SEEDS)
    for key in keys[:1] if subject.costly else keys[::2]:
        tools = [tool for tool in stage.tools(key) if tool.name in FINISHERS]
        right = {plain(text) for a in subject.domain.alternatives(stage.task(key)) for text in a.actions}
        for name, text in hostile_texts():
            if plain(text[:1000]) in right:
                continue
            for actions in [(text,), *[(call_of(tool, text),) for tool in tools]]:
                played = stage.play(key, actions)
                cases += 1
                slowest_s = max(slowest_s, played.cpu_s)
                problem = _hostile_problem(played, floor)
                if problem:
                    message = f"hostile text {name!r} {problem}. Read it with verify.* and canonical.parse_json."
                    faults.append(_fault(subject, played, message))
    numbers = {"slowest_cpu_s": slowest_s}
    return CheckResult("hostile input", "nothing raises, hangs or pays", cases, tuple(faults), numbers)


def _hostile_problem(played: Playthrough, floor: float) -> str:
    if not played.verdict.valid:
        return f"breaks the episode: {played.verdict.reason}"
    if played.reward > floor:
        return f"earns {_verdict(played)}, floor {floor}"
    if played.cpu_s > HOSTILE_CPU_S:
        return f"takes {played.cpu_s:.1f} s of CPU, at most {HOSTILE_CPU_S} s"
    if played.wall_s > HOSTILE_WALL_S:
        return f"hangs for {played.wall_s:.0f} s, at most {HOSTILE_WALL_S:.0f} s"
    return ""


def _attempts(
    stage: Stage, kinds: dict[str, Callable[[Task], Sequence[Attempt]]]
) -> Iterator[tuple[str, Attempt, Playthrough]]:
    for key in stage.subject.task_keys(stage.subject.num_attempt_seeds):
        for kind, attempts in kinds.items():
            for attempt in attempts(stage.task(key)):
                yield kind, attempt, stage.play(key, attempt.actions)


def _one_in_turn(stage: Stage) -> Iterator[tuple[str, Attempt, Playthrough]]:
    """Yield one right answer that is not the reference for each task that `_attempts` leaves out.

    A verifier may know its reference by heart: only another right answer shows that what it compares with is right.
    """
    domain = stage.subject.domain
    for solved in stage.solved:
        if solved.key.seed < stage.subject.num_attempt_seeds:
            continue
        for kind, attempts in (("alternative", domain.alternatives), ("equivalent", domain.equivalents)):
            others = [attempt for attempt in attempts(solved.task) if attempt.actions != solved.actions]
            if others:
                attempt = others[solved.key.seed % len(others)]
                yield kind, attempt, stage.play(solved.key, attempt.actions)
                break


def _wrong(stage: Stage) -> Iterator[Playthrough]:
    domain = stage.subject.domain
    for key in stage.subject.task_keys(1):
        for attempt in (*domain.distractors(stage.task(key)), *domain.exploits(stage.task(key))):
            yield stage.play(key, attempt.actions)


def _with_others(stage: Stage) -> Iterator[tuple[TaskKey, tuple[tuple[str, ...], ...]]]:
    """Yield each key with the reference actions of other tasks of its level, the most frequent one among them."""
    for level in range(stage.subject.entry.row.levels):
        here = [played for played in stage.solved if played.key.level == level]
        few = stage.subject.num_attempt_seeds if stage.subject.costly else len(here)
        for place, played in enumerate(here[:few]):
            after = (here[(place + step) % len(here)] for step in range(1, len(here)))
            near = [other.actions for other in itertools.islice(after, NUM_OTHERS - 1)]
            common = Counter(other.actions for other in here if other is not played).most_common(1)
            yield played.key, (*near, *(actions for actions, _ in common))


def _fault(subject: Subject, played: Playthrough, message: str) -> Finding:
    return Finding(played.key.level, played.key.seed, message, subject.replay(played.key))


def _verdict(played: Playthrough) -> str:
    reward = "no reward" if played.verdict.reward is None else f"{played.verdict.reward:.3f}"
    return f"{reward} ({played.verdict.reason})" if played.verdict.reason else reward


def _show(actions: Sequence[str]) -> str:
    text = " | ".join(actions)
    return ascii(text if len(text) <= 160 else f"{text[:120]} ... {text[-30:]}")
