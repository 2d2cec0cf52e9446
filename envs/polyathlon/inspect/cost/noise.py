"""R03: one submission that is partly right, judged over and over: its reward must not move."""

from __future__ import annotations

import statistics

from polyathlon.drawing import TaskKey
from polyathlon.env import judge_evidence
from polyathlon.inspect.finding import CheckResult, measured
from polyathlon.inspect.play import Playthrough, Stage
from polyathlon.inspect.protocol import RULES
from polyathlon.inspect.tally import Tally

NUM_JUDGED = 10
NUM_TASKS, NUM_SANDBOX_TASKS = 4, 1


def check_noise(stage: Stage) -> CheckResult:
    """R03: the largest standard deviation of the reward of one submission, judged ten times, at each level."""
    subject = stage.subject
    tally = Tally("R03", subject.entry.row.levels)
    measures = []
    keys = subject.task_keys(NUM_SANDBOX_TASKS if subject.costly else NUM_TASKS)
    for level in range(subject.entry.row.levels):
        spreads = []
        for key in [key for key in keys if key.level == level]:
            played = _partly_right(stage, key)
            rewards = _rewards(stage, played) if played is not None else []
            if played is None or not rewards:
                continue
            spreads.append(statistics.pstdev(rewards))
            if spreads[-1] > RULES["R03"].gold:
                text = f"one submission earns between {min(rewards):.3f} and {max(rewards):.3f} when judged"
                hint = "Seed what is sampled by the task's content hash."
                tally.fault(level, key.seed, f"{text} {NUM_JUDGED} times. {hint}", subject.replay(key))
        value = max(spreads, default=float("nan"))
        measures.append(measured(RULES["R03"], level, value, len(spreads)))
    return tally.result(tuple(measures))


def _partly_right(stage: Stage, key: TaskKey) -> Playthrough | None:
    """Return the wrong answer that earns most without passing; where none earns anything, any wrong answer."""
    domain = stage.subject.domain
    tries = [stage.play(key, attempt.actions) for attempt in domain.distractors(stage.task(key))]
    wrong = [played for played in tries if played.evidence is not None and not played.verdict.passed]
    return max(wrong, key=lambda played: played.reward, default=None)


def _rewards(stage: Stage, played: Playthrough) -> list[float]:
    """Return the rewards of its evidence, judged again and again by the domain's own verifier; -1 for a lost one."""
    assert played.evidence is not None, "only such are picked"
    subject = stage.subject
    verdicts = [
        judge_evidence(subject.domain, played.task, played.evidence, subject.room)[0] for _ in range(NUM_JUDGED)
    ]
    return [-1.0 if verdict.reward is None else verdict.reward for verdict in verdicts]
