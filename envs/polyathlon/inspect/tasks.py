"""Checks on the task distribution: the same everywhere, large, split by content, and silent about its answers."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from polyathlon.canonical import canonical_json, content_hash
from polyathlon.domain import Split, Task
from polyathlon.drawing import TaskKey, draw_core, draw_task, render_task
from polyathlon.errors import TaskError
from polyathlon.inspect.finding import CheckResult, Finding, Measure, measured
from polyathlon.inspect.fingerprint import fingerprint, fingerprints_in_fresh_process
from polyathlon.inspect.grade import Grade
from polyathlon.inspect.intervals import wilson
from polyathlon.inspect.play import Playthrough, Stage, Subject
from polyathlon.inspect.protocol import RULES
from polyathlon.inspect.rewards import shares
from polyathlon.verify.text import plain

NUM_UNIQUE_DRAWS = 1_000
DRAWS_A_SEED = 16  # 1,000 at 64 seeds; a smoke test counts fewer
NUM_SANDBOX_RENDERED = 200
NUM_NEAR_TRAIN, NUM_NEAR_TEST = 200, 20
MIN_SURPLUS = 3  # fewer is chance, where few tasks are looked at
MIN_LEAK_CHARS = 2
SHINGLE_CHARS = 13
NEAR_DUPLICATE = 0.8


def check_generation(stage: Stage) -> CheckResult:
    """D01: the same key must give the same bytes: again, in reverse, and in a fresh process under another hash seed.

    And no episode may have changed its task: workers and inspections give one object to many.
    """
    subject = stage.subject
    keys = subject.task_keys()
    drawn = [stage.as_drawn(key) for key in keys]
    again = [fingerprint(draw_task(subject.domain.tasks, key)) for key in reversed(keys)][::-1]
    there = fingerprints_in_fresh_process(subject.entry.id, [(key.level, key.seed) for key in keys])
    advice = "Draw only from `rng`; iterate no set or dict of strings."
    ways = {
        f"drawn again in reverse order, the same key gives another task. {advice}": _differing(keys, drawn, again),
        f"in another process under another hash seed, the same key gives another task. {advice}": _differing(
            keys, drawn, there
        ),
        "an episode changed its own task. Copy what a workspace or a verifier changes.": list(stage.changed),
    }
    faults = tuple(
        Finding(places[0].level, places[0].seed, text, subject.replay(places[0]))
        for text, places in ways.items()
        if places
    )
    unlike = {key for places in ways.values() for key in places}
    everywhere = [(key.level, key not in unlike) for key in [*keys, *sorted(unlike - set(keys), key=str)]]
    return CheckResult("D01", shares("D01", everywhere, subject.levels), faults)


def _differing(keys: Sequence[TaskKey], drawn: Sequence[str], others: Sequence[str]) -> list[TaskKey]:
    return [key for key, mine, other in zip(keys, drawn, others, strict=True) if mine != other]


def check_space(stage: Stage) -> tuple[CheckResult, CheckResult, CheckResult]:
    """U01, U03 and U05: 1,000 train draws of a level must differ, and both splits must be there, apart."""
    subject = stage.subject
    num_draws = min(NUM_UNIQUE_DRAWS, DRAWS_A_SEED * subject.num_seeds)
    unique, apart, near = _Column("U01"), _Column("U03"), _Column("U05")
    for level in subject.levels:
        try:
            train = _Draws.of(subject, level, "train", num_draws=num_draws)
            test = _Draws.of(subject, level, "test", num_draws=num_draws // 10)
        except TaskError as error:
            unique.add(level, math.nan, 0, str(error))
            continue
        num_unique = len(set(train.hashes))
        share = num_unique / len(train.hashes)
        text = f"only {share:.1%} of {len(train.hashes)} draws of level {level} differ; {RULES['U01'].gold:.0%} are"
        text += " needed for gold. Some 25,000 equally likely cores give that."
        unique.add(level, share, len(train.hashes), text, wilson(num_unique, len(train.hashes)))
        both = set(train.hashes) & set(test.hashes)
        both |= {_visible(task) for task in train.tasks} & {_visible(task) for task in test.tasks}
        text = f"{len(both)} tasks lie in both splits of level {level}: different cores look the same to the policy."
        text += " Put into the core what decides the answer, and nothing else."
        apart.add(level, len(both), len(train.hashes) + len(test.hashes), text)
        num_near, num_test = _near(train.tasks, test.tasks), min(NUM_NEAR_TEST, len(test.tasks))
        text = f"{num_near} of {num_test} test prompts of level {level} are near-duplicates of train prompts. Vary more"
        text += " than a number or a name."
        near.add(level, num_near / num_test if num_test else math.nan, num_test, text, wilson(num_near, num_test))
    return unique.result(), apart.result(), near.result()


class _Column:
    """The measures of one rule, level by level; one that is not gold is a fault."""

    def __init__(self, rule: str) -> None:
        self._rule = RULES[rule]
        self._measures: list[Measure] = []
        self._faults: list[Finding] = []

    def add(
        self, level: int, value: float, num_cases: int, text: str, interval: tuple[float, float] = (math.nan, math.nan)
    ) -> None:
        self._measures.append(measured(self._rule, level, value, num_cases, interval=interval))
        if self._measures[-1].grade < Grade.GOLD:
            self._faults.append(Finding(level, 0, text))

    def result(self) -> CheckResult:
        return CheckResult(self._rule.id, tuple(self._measures), tuple(self._faults))


@dataclass(frozen=True, slots=True)
class _Draws:
    """Content hashes of draws of one level and split; and their tasks, for sandboxes only the first 200."""

    hashes: list[str]
    tasks: list[Task]

    @classmethod
    def of(cls, subject: Subject, level: int, split: Split, *, num_draws: int) -> _Draws:
        source = subject.domain.tasks
        hashes: list[str] = []
        tasks: list[Task] = []
        for seed in range(num_draws):
            key = TaskKey(subject.entry.id, level, seed, split)
            drawn = draw_core(source, key)
            hashes.append(drawn.content_hash)
            if seed < NUM_SANDBOX_RENDERED or not subject.costly:
                tasks.append(render_task(source, key, drawn))
        return cls(hashes, tasks)


def check_leaks(stage: Stage) -> CheckResult:
    """L01: no accepted answer may stand in what the policy is shown, beyond what another task's does by chance."""
    subject, rule = stage.subject, RULES["L01"]
    faults: list[Finding] = []
    measures: list[Measure] = []
    for level in subject.levels:
        solved = [played for played in stage.solved if played.key.level == level]
        shown = [stage.look(played.key) for played in solved]
        answers = [_answers(subject, played) for played in solved]
        own = [_hit(text, mine) for text, mine in zip(shown, answers, strict=True)]
        others = [_hit(text, answers[(k + 1) % len(answers)]) for k, text in enumerate(shown)]
        surplus = sum(map(bool, own)) - sum(map(bool, others))
        lift = surplus / len(own) if surplus >= MIN_SURPLUS else 0.0
        if lift > rule.gold:
            worst = next(k for k, hit in enumerate(own) if hit)
            text = f"the answer can be read before it is given, {lift:.0%} more often than by chance: {own[worst]}."
            faults.append(Finding(level, solved[worst].key.seed, text, subject.replay(solved[worst].key)))
        told = _hidden_faults(subject, solved, shown)
        faults.extend(told)
        measures.append(measured(rule, level, math.nan if told else lift, len(solved)))
    return CheckResult("L01", tuple(measures), tuple(faults))


def _hidden_faults(subject: Subject, solved: Sequence[Playthrough], shown: Sequence[str]) -> list[Finding]:
    for played, text in zip(solved, shown, strict=True):
        hidden = played.task.hidden
        dumps = [canonical_json(hidden), repr(dict(hidden)), json.dumps(hidden)]
        if hidden and any(text.find(dump) >= 0 for dump in dumps):
            message = "`hidden` is shown whole before the end. Keep it out of `public`, observations and info."
            return [Finding(played.key.level, played.key.seed, message, subject.replay(played.key))]
    return []


def _answers(subject: Subject, played: Playthrough) -> list[str]:
    attempts = [attempt.actions for attempt in subject.domain.alternatives(played.task)]
    return [actions[-1].strip() for actions in [played.actions, *attempts] if actions]


def _hit(shown: str, answers: Sequence[str]) -> str:
    readings: dict[str, Callable[[str], str]] = {
        "as it is": str,
        "backwards": lambda text: text[::-1],
        "in base64": lambda text: base64.b64encode(text.encode("utf-8", "surrogatepass")).decode(),
        "in hexadecimal": lambda text: text.encode("utf-8", "surrogatepass").hex(),
    }
    flat = plain(shown)
    for answer in answers:
        for way, reading in readings.items():
            text = plain(reading(answer))
            if len(text) >= MIN_LEAK_CHARS and flat.find(text) >= 0:
                return f"{text[:60]!r} {way}"
    return ""


def _visible(task: Task) -> str:
    return content_hash([task.prompt, dict(task.public)])


def _near(train: Sequence[Task], test: Sequence[Task]) -> int:
    """Return how many test prompts have a near-duplicate among `train`: Jaccard of 13-character shingles >= 0.8."""
    known = [_shingles(task.prompt) for task in train[:NUM_NEAR_TRAIN]]
    count = 0
    for task in test[:NUM_NEAR_TEST]:
        mine = _shingles(task.prompt)
        count += any(len(mine & other) >= NEAR_DUPLICATE * len(mine | other) for other in known)
    return count


def _shingles(text: str) -> set[str]:
    flat = plain(text)
    return {flat[k : k + SHINGLE_CHARS] for k in range(max(1, len(flat) - SHINGLE_CHARS + 1))}
