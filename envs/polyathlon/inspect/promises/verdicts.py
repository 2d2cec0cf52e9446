"""C02: every verdict has a reward of the right type and in its range, and progress begins at nothing."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from polyathlon.domain import MAX_PARTIAL_REWARD, Attempt, Evidence, Task, Verdict
from polyathlon.drawing import TaskKey
from polyathlon.env import DomainEnv
from polyathlon.inspect.finding import CheckResult
from polyathlon.inspect.play import Stage
from polyathlon.inspect.tally import Tally
from polyathlon.inspect.walk import to_the_end

MAX_REASON_CHARS = 2_000
MAX_PARTS = 50
REFUSED = "verifier: DomainError: "
"""How the reason of an invalid verdict begins where `Verdict` itself refused what it was given."""
NUM_SHAPED, NUM_SANDBOX_SHAPED = 2, 1


def check_verdicts(stage: Stage) -> CheckResult:
    """C02: the verdicts on the reference, on all attempts and on silence, and the sums of shaped rewards."""
    subject, domain = stage.subject, stage.subject.domain
    tally = Tally("C02", subject.entry.row.levels)
    kinds: Sequence[Callable[[Task], Sequence[Attempt]]] = (
        domain.alternatives,
        domain.equivalents,
        domain.distractors,
        domain.exploits,
        domain.shortcuts,
    )
    verdicts = [(played.key, played.verdict) for played in stage.solved]
    for key in subject.task_keys(subject.num_attempt_seeds):
        tries = [attempt.actions for kind in kinds for attempt in kind(stage.task(key))]
        verdicts += [(key, stage.play(key, actions).verdict) for actions in [(), *tries]]
    for key, verdict in verdicts:
        wrong = next(wrong_with(verdict), "")
        tally.count(key.level, bool(wrong))
        if wrong:
            tally.fault(key.level, key.seed, f"a verdict breaks the contract: {wrong}", subject.replay(key))
    for key in subject.task_keys(NUM_SANDBOX_SHAPED if subject.costly else NUM_SHAPED):
        _count_progress(stage, key, tally)
    return tally.result(tally.counts())


def wrong_with(verdict: object) -> Iterator[str]:
    """Yield what in `verdict` is not as the contract says. Its ranges are kept by `Verdict` itself, where it is one."""
    if type(verdict) is not Verdict:
        yield f"it is a {type(verdict).__name__}. Return Verdict.passing(), .failing(...) or .invalid(...)."
        return
    if verdict.reward is not None and type(verdict.reward) is not float:
        yield f"the reward is a {type(verdict.reward).__name__}; it must be a float. Numpy's are made so by float()."
    if not isinstance(verdict.reason, str) or len(verdict.reason) > MAX_REASON_CHARS:
        yield f"the reason must be a text of at most {MAX_REASON_CHARS} characters."
    if len(verdict.parts) > MAX_PARTS:
        yield f"there are {len(verdict.parts)} parts; at most {MAX_PARTS} can be read."
    if verdict.reason.startswith(REFUSED):
        yield f"{verdict.reason.removeprefix(REFUSED)}. Build it with Verdict.passing() or .failing(...)."
    for name, value in verdict.parts.items():
        if type(name) is not str or type(value) not in (int, float) or not math.isfinite(value):
            yield f"part {name!r} is {value!r}; parts are finite floats by name."


def _count_progress(stage: Stage, key: TaskKey, tally: Tally) -> None:
    """Count what is wrong with progress: its range, its start at nothing, and the sum that shaping pays."""
    subject, task = stage.subject, stage.task(key)
    progress = getattr(subject.domain.verifier, "progress", None)
    if progress is None:
        return
    workspace = subject.domain.open_workspace(task, subject.room)
    try:
        untouched: Evidence = workspace.evidence()
    finally:
        workspace.close()
    start = progress(task, untouched)
    wrong = (
        "" if start == 0 else f"progress of the untouched state is {start!r}; it counts from there, so it must be 0."
    )
    for actions in [next(p.actions for p in stage.solved if p.key == key), *_first(subject.domain.distractors(task))]:
        wrong = wrong or _unlike_sum(stage, task, actions)
    tally.count(key.level, bool(wrong))
    if wrong:
        tally.fault(key.level, key.seed, wrong, subject.replay(key))


def _unlike_sum(stage: Stage, task: Task, actions: Sequence[str]) -> str:
    """Return what is wrong with the shaped rewards of an episode, or ""."""
    subject = stage.subject
    env = DomainEnv(subject.entry.id, shaping=True, lost="truncate", room=subject.room)
    env.begin(task)
    total, verdict = 0.0, None
    for action in to_the_end(actions, subject.entry.row.max_turns):
        _, reward, terminated, truncated, info = env.step(action)
        total += reward
        if terminated or truncated:
            verdict = Verdict(**info["verdict"])
            break
        if not 0.0 <= total <= MAX_PARTIAL_REWARD + 1e-9:
            return f"the steps so far pay {total} in sum. Progress must be a finite number in [0, 1]."
    env.close()
    if verdict is None or verdict.reward is None or abs(total - verdict.reward) < 1e-9:
        return ""
    return f"shaped rewards sum to {total:.6f}, and the verdict's reward is {verdict.reward:.6f}."


def _first(attempts: Sequence[Attempt]) -> list[tuple[str, ...]]:
    return [attempt.actions for attempt in attempts[:1]]
