"""Checks on the task distribution: the same everywhere, large, split by content, and silent about its answers."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from polyathlon.canonical import canonical_json, content_hash
from polyathlon.domain import Split, Task
from polyathlon.drawing import TaskKey, draw_core, draw_task, render_task
from polyathlon.errors import TaskError
from polyathlon.inspect.finding import CheckResult, Finding
from polyathlon.inspect.fingerprint import fingerprint, fingerprints_in_fresh_process
from polyathlon.inspect.play import Playthrough, Stage, Subject
from polyathlon.verify.text import plain

NUM_UNIQUE_DRAWS = 1_000
SANDBOX_DRAWS_A_SEED = 16  # 1,000 at 64 seeds; a smoke test counts fewer, where a draw costs a hundred questions
NUM_SANDBOX_RENDERED = 200
NUM_NEAR_TRAIN, NUM_NEAR_TEST = 200, 20
MIN_UNIQUE_SHARE = 0.98
MAX_LIFT = 0.05
MIN_SURPLUS = 3  # fewer is chance, where few tasks are looked at
MIN_LEAK_CHARS = 2
SHINGLE_CHARS = 13
NEAR_DUPLICATE = 0.8


def check_generation(stage: Stage) -> CheckResult:
    """The same key must give the same bytes: again, in reverse, and in a fresh process under another hash seed.

    And no episode may have changed its task: workers and inspections give one object to many.
    """
    subject = stage.subject
    keys = subject.task_keys()
    drawn = [stage.as_drawn(key) for key in keys]
    again = [fingerprint(draw_task(subject.domain.tasks, key)) for key in reversed(keys)][::-1]
    there = fingerprints_in_fresh_process(subject.entry.id, [(key.level, key.seed) for key in keys])
    advice = "Draw only from `rng`; iterate no set or dict of strings."
    ways = {
        f"drawn again in reverse order, the same key gives another task. {advice}": again,
        f"in another process under another hash seed, the same key gives another task. {advice}": there,
        "an episode changed its own task. Copy what a workspace or a verifier changes.": [
            fingerprint(stage.task(key)) for key in keys
        ],
    }
    faults = []
    for text, others in ways.items():
        place = next((k for k, (mine, other) in enumerate(zip(drawn, others, strict=True)) if mine != other), None)
        if place is not None:
            faults.append(Finding(keys[place].level, keys[place].seed, text, subject.replay(keys[place])))
    return CheckResult("generation repeats", "one key is one task, in every process", 3 * len(keys), tuple(faults))


def check_space(stage: Stage) -> CheckResult:
    """At least 98% of 1,000 train draws of a level must differ, and both splits must be there, apart."""
    subject = stage.subject
    num_draws = NUM_UNIQUE_DRAWS
    if subject.costly:
        num_draws = min(num_draws, SANDBOX_DRAWS_A_SEED * subject.num_seeds)
    faults: list[Finding] = []
    numbers: dict[str, float] = {}
    for level in range(subject.entry.row.levels):
        try:
            train = _Draws.of(subject, level, "train", num_draws=num_draws)
            test = _Draws.of(subject, level, "test", num_draws=num_draws // 10)
        except TaskError as error:
            faults.append(Finding(level, 0, str(error)))
            continue
        unique = len(set(train.hashes)) / len(train.hashes)
        numbers[f"unique_{level}"] = unique
        numbers["near_duplicates"] = numbers.get("near_duplicates", 0.0) + _near(train.tasks, test.tasks)
        if unique < MIN_UNIQUE_SHARE:
            text = f"only {unique:.1%} of {len(train.hashes)} draws of level {level} differ; {MIN_UNIQUE_SHARE:.0%} are"
            faults.append(Finding(level, 0, f"{text} needed. Some 25,000 equally likely cores give that."))
        both = set(train.hashes) & set(test.hashes)
        both |= {_visible(task) for task in train.tasks} & {_visible(task) for task in test.tasks}
        if both:
            text = (
                f"{len(both)} tasks lie in both splits of level {level}: different cores look the same to the policy."
            )
            faults.append(Finding(level, 0, f"{text} Put into the core what decides the answer, and nothing else."))
    cases = subject.entry.row.levels * num_draws
    return CheckResult("space and splits", "tasks are many, and the splits disjoint", cases, tuple(faults), numbers)


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
    """No accepted answer may stand in what the policy is shown, beyond what another task's answer does by chance."""
    subject = stage.subject
    faults: list[Finding] = []
    cases = 0
    for level in range(subject.entry.row.levels):
        solved = [played for played in stage.solved if played.key.level == level]
        shown = [stage.look(played.key) for played in solved]
        answers = [_answers(subject, played) for played in solved]
        cases += len(solved)
        own = [_hit(text, mine) for text, mine in zip(shown, answers, strict=True)]
        others = [_hit(text, answers[(k + 1) % len(answers)]) for k, text in enumerate(shown)]
        surplus = sum(map(bool, own)) - sum(map(bool, others))
        lift = surplus / max(1, len(own))
        if lift > MAX_LIFT and surplus >= MIN_SURPLUS:
            worst = next(k for k, hit in enumerate(own) if hit)
            text = f"the answer can be read before it is given, {lift:.0%} more often than by chance: {own[worst]}."
            faults.append(Finding(level, solved[worst].key.seed, text, subject.replay(solved[worst].key)))
        faults.extend(_hidden_faults(subject, solved, shown))
    return CheckResult("nothing leaks", "no answer in prompt, observations or info", cases, tuple(faults))


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


def _near(train: Sequence[Task], test: Sequence[Task]) -> float:
    """Return how many test prompts have a near-duplicate among `train`: Jaccard of 13-character shingles >= 0.8."""
    known = [_shingles(task.prompt) for task in train[:NUM_NEAR_TRAIN]]
    count = 0
    for task in test[:NUM_NEAR_TEST]:
        mine = _shingles(task.prompt)
        count += any(len(mine & other) >= NEAR_DUPLICATE * len(mine | other) for other in known)
    return float(count)


def _shingles(text: str) -> set[str]:
    flat = plain(text)
    return {flat[k : k + SHINGLE_CHARS] for k in range(max(1, len(flat) - SHINGLE_CHARS + 1))}
