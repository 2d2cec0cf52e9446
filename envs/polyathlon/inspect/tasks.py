"""Checks on the task distribution: the same everywhere, large, split by content, and silent about its answers."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence

from polyathlon.canonical import canonical_json, content_hash
from polyathlon.domain import Task
from polyathlon.drawing import TaskKey, draw_task
from polyathlon.errors import TaskError
from polyathlon.inspect.finding import CheckResult, Finding
from polyathlon.inspect.play import Playthrough, Stage, Subject
from polyathlon.registration import load_domain
from polyathlon.verify.text import plain

NUM_UNIQUE_DRAWS = 1_000
MIN_UNIQUE_SHARE = 0.98
MAX_LIFT = 0.05
MIN_SURPLUS = 3  # fewer is chance, where few tasks are looked at
MIN_LEAK_CHARS = 2
SHINGLE_CHARS = 13
NEAR_DUPLICATE = 0.8
PROCESS_LIMIT_S = 600.0


def fingerprint(task: Task) -> str:
    """Return a hash over all of a task: prompt, public, hidden, content hash."""
    return content_hash([task.id, task.prompt, dict(task.public), dict(task.hidden), task.content_hash])


def fingerprints(domain_id: str, pairs: Sequence[tuple[int, int]]) -> list[str]:
    """Return the fingerprint of each (level, seed), in order. What the fresh process runs."""
    source = load_domain(domain_id).tasks
    return [fingerprint(draw_task(source, TaskKey(domain_id, level, seed))) for level, seed in pairs]


def check_generation(subject: Subject) -> CheckResult:
    """The same key must give the same bytes: again, in reverse, and in a fresh process under another hash seed."""
    keys = subject.task_keys()
    source = subject.domain.tasks
    here = [fingerprint(draw_task(source, key)) for key in keys]
    again = [fingerprint(draw_task(source, key)) for key in reversed(keys)][::-1]
    there = _in_fresh_process(subject.entry.id, [(key.level, key.seed) for key in keys])
    faults = []
    ways = {"drawn again in reverse order": again, "in another process under another hash seed": there}
    for way, others in ways.items():
        for key, mine, other in zip(keys, here, others, strict=True):
            if mine != other:
                text = (
                    f"{way}, the same key gives another task. Draw only from `rng`; iterate no set or dict of strings."
                )
                faults.append(Finding(key.level, key.seed, text, subject.replay(key)))
                break
    return CheckResult("generation repeats", "one key is one task, in every process", 2 * len(keys), tuple(faults))


def check_space(subject: Subject) -> CheckResult:
    """At least 98% of 1,000 train draws of a level must differ, and both splits must be there, apart."""
    faults: list[Finding] = []
    numbers: dict[str, float] = {}
    for level in range(subject.entry.row.levels):
        try:
            train = [_draw(subject, level, seed, "train") for seed in range(NUM_UNIQUE_DRAWS)]
            test = [_draw(subject, level, seed, "test") for seed in range(NUM_UNIQUE_DRAWS // 10)]
        except TaskError as error:
            faults.append(Finding(level, 0, str(error)))
            continue
        unique = len({task.content_hash for task in train}) / len(train)
        numbers[f"unique_{level}"] = unique
        numbers["near_duplicates"] = numbers.get("near_duplicates", 0.0) + _near(train[:200], test)
        if unique < MIN_UNIQUE_SHARE:
            text = (
                f"only {unique:.1%} of {len(train)} draws of level {level} differ; {MIN_UNIQUE_SHARE:.0%} are needed."
            )
            faults.append(Finding(level, 0, f"{text} Some 25,000 equally likely cores give that."))
        both = {task.content_hash for task in train} & {task.content_hash for task in test}
        both |= {_visible(task) for task in train} & {_visible(task) for task in test}
        if both:
            text = (
                f"{len(both)} tasks lie in both splits of level {level}: different cores look the same to the policy."
            )
            faults.append(Finding(level, 0, f"{text} Put into the core what decides the answer, and nothing else."))
    cases = subject.entry.row.levels * NUM_UNIQUE_DRAWS
    return CheckResult("space and splits", "tasks are many, and the splits disjoint", cases, tuple(faults), numbers)


def check_leaks(subject: Subject, solved: Sequence[Playthrough]) -> CheckResult:
    """No accepted answer may stand in what the policy is shown, beyond what another task's answer does by chance."""
    faults: list[Finding] = []
    cases = 0
    with Stage(subject) as stage:
        for level in range(subject.entry.row.levels):
            keys = [played.key for played in solved if played.key.level == level]
            shown = [_shown(stage, key) for key in keys]
            answers = [_answers(stage, subject, played) for played in solved if played.key.level == level]
            cases += len(keys)
            own = [_hit(text, mine) for text, mine in zip(shown, answers, strict=True)]
            others = [_hit(text, answers[(k + 1) % len(answers)]) for k, text in enumerate(shown)]
            surplus = sum(map(bool, own)) - sum(map(bool, others))
            lift = surplus / max(1, len(own))
            if lift > MAX_LIFT and surplus >= MIN_SURPLUS:
                worst = next(k for k, hit in enumerate(own) if hit)
                text = f"the answer can be read before it is given, {lift:.0%} more often than by chance: {own[worst]}."
                faults.append(Finding(level, keys[worst].seed, text, subject.replay(keys[worst])))
            faults.extend(_hidden_faults(stage, subject, keys, shown))
    return CheckResult("nothing leaks", "no answer in prompt, observations or info", cases, tuple(faults))


def _hidden_faults(stage: Stage, subject: Subject, keys: Sequence[TaskKey], shown: Sequence[str]) -> list[Finding]:
    for key, text in zip(keys, shown, strict=True):
        hidden = stage.task(key).hidden
        dumps = [canonical_json(hidden), repr(dict(hidden)), json.dumps(hidden)]
        if hidden and any(text.find(dump) >= 0 for dump in dumps):
            message = "`hidden` is shown whole before the end. Keep it out of `public`, observations and info."
            return [Finding(key.level, key.seed, message, subject.replay(key))]
    return []


def _shown(stage: Stage, key: TaskKey) -> str:
    """Return all that a policy sees that says nothing useful: prompt, info, public files' text, replies."""
    played = stage.play(key, ("x",))
    seen = played.seen if len(played.actions) > 1 else played.seen[:2]  # a verdict's info is no leak
    return "\n".join(seen)


def _answers(stage: Stage, subject: Subject, played: Playthrough) -> list[str]:
    task = stage.task(played.key)
    attempts = [attempt.actions for attempt in subject.domain.alternatives(task)]
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


def _draw(subject: Subject, level: int, seed: int, split: str) -> Task:
    kind = "test" if split == "test" else "train"
    return draw_task(subject.domain.tasks, TaskKey(subject.entry.id, level, seed, kind))  # type: ignore[arg-type]


def _near(train: Sequence[Task], test: Sequence[Task]) -> float:
    """Return how many test prompts have a near-duplicate among `train`: Jaccard of 13-character shingles >= 0.8."""
    known = [_shingles(task.prompt) for task in train]
    count = 0
    for task in test[:20]:
        mine = _shingles(task.prompt)
        count += any(len(mine & other) >= NEAR_DUPLICATE * len(mine | other) for other in known)
    return float(count)


def _shingles(text: str) -> set[str]:
    flat = plain(text)
    return {flat[k : k + SHINGLE_CHARS] for k in range(max(1, len(flat) - SHINGLE_CHARS + 1))}


def _in_fresh_process(domain_id: str, pairs: list[tuple[int, int]]) -> list[str]:
    code = (
        "import json, sys; from polyathlon.inspect.tasks import fingerprints; "
        "domain_id, pairs = json.load(sys.stdin); print(json.dumps(fingerprints(domain_id, pairs)))"
    )
    env = {**os.environ, "PYTHONHASHSEED": "4242", "TZ": "Asia/Kathmandu", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=json.dumps([domain_id, pairs]),
        capture_output=True,
        text=True,
        env=env,
        timeout=PROCESS_LIMIT_S,
        check=False,
    )
    if done.returncode != 0:
        return [f"the process failed: {done.stderr[-300:]}"] * len(pairs)
    fingerprint_list = json.loads(done.stdout)
    return [str(item) for item in fingerprint_list]
