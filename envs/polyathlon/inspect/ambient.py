"""D05 and D06: tasks that a foreign generator makes, where what is held still for it is different.

A generator of another library may draw from random numbers that belong to nobody, or list the members of a set. Who
wraps one holds these still, and its tasks repeat (D01). What that hides is looked at here.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from polyathlon.domain import Brief, Core, Domain, Evidence, Observation, Task, TaskSource
from polyathlon.drawing import TaskKey, draw_task
from polyathlon.env import judge_evidence
from polyathlon.errors import TaskError
from polyathlon.inspect.finding import CheckResult, Finding
from polyathlon.inspect.fingerprint import fingerprint
from polyathlon.inspect.play import Stage
from polyathlon.inspect.rewards import shares, tallies

NUM_DRAWS = 240
"""How many tasks are drawn twice in all, evenly over the levels."""
LIMIT_S = 20.0
"""After this time no further task is drawn."""
NOTHING_HELD = "it holds nothing still for its generator: D01 sees all there is to see"


@runtime_checkable
class HoldsStill(Protocol):
    """A task source that holds something still for a generator, and can draw where that is different."""

    def draw_elsewhere(self, rng: np.random.Generator, level: int) -> Core:
        """Return what `draw` returns where all that it holds still is different."""
        ...


@dataclass(frozen=True, slots=True)
class _Elsewhere:
    """The same source, where what it holds still is different."""

    source: TaskSource

    def draw(self, rng: np.random.Generator, level: int) -> Core:
        assert isinstance(self.source, HoldsStill)
        return self.source.draw_elsewhere(rng, level)

    def render(self, core: Core, rng: np.random.Generator) -> Brief:
        return self.source.render(core, rng)


def check_ambient(stage: Stage) -> tuple[CheckResult, CheckResult]:
    """D05 and D06: the same question must not have another answer there; and is the whole task the same there?"""
    subject = stage.subject
    source = subject.domain.tasks
    if not isinstance(source, HoldsStill):
        return CheckResult("D05", not_applicable=NOTHING_HELD), CheckResult("D06", not_applicable=NOTHING_HELD)
    torn: list[tuple[int, bool]] = []
    alike: list[tuple[int, bool]] = []
    faults: dict[str, list[Finding]] = {"D05": [], "D06": []}
    for key, here, there in _pairs(stage, source):
        alike.append((key.level, fingerprint(here) == fingerprint(there)))
        refused = "" if alike[-1][1] or here.prompt != there.prompt else _refusal(subject.domain, here, there, stage)
        torn.append((key.level, bool(refused)))
        if refused:
            text = (
                f"asked twice for the same question, the generator gives two answers: {refused}. Leave such items out."
            )
            faults["D05"].append(Finding(key.level, key.seed, text, subject.replay(key)))
        elif not alike[-1][1]:
            text = "under another hash seed and other random numbers of nobody's, the generator gives another task for "
            text += "the same seed. Here they are held still; whoever uses it without that gets other tasks each time."
            faults["D06"].append(Finding(key.level, key.seed, text, subject.replay(key)))
    levels = sorted({level for level, _ in alike})
    return (
        CheckResult("D05", tallies("D05", torn, levels), tuple(faults["D05"])),
        CheckResult("D06", shares("D06", alike, levels), tuple(faults["D06"])),
    )


def _pairs(stage: Stage, source: TaskSource) -> Iterator[tuple[TaskKey, Task, Task]]:
    """Yield tasks and what their keys give elsewhere, level after level, until the time is over."""
    subject, ends_s = stage.subject, time.monotonic() + LIMIT_S
    for seed in range(NUM_DRAWS // len(subject.levels)):
        for level in subject.levels:
            if time.monotonic() > ends_s:
                return
            key = TaskKey(subject.entry.id, level, seed)
            try:
                yield key, draw_task(source, key), draw_task(_Elsewhere(source), key)
            except TaskError:  # a task that cannot be drawn is for the checks that need it
                continue


def _refusal(domain: Domain, here: Task, there: Task, stage: Stage) -> str:
    """Return what the verifier of `here` refuses, of what solves `there`; an empty string when it passes it."""
    evidence, said = _solved(domain, there, stage)
    verdict, _ = judge_evidence(domain, here, evidence, stage.subject.room)
    own, own_said = _solved(domain, here, stage)
    passes_own = judge_evidence(domain, here, own, stage.subject.room)[0].passed
    return "" if verdict.passed or not passes_own else f"{own_said[:80]!r} passes, and {said[:80]!r} does not"


def _solved(domain: Domain, task: Task, stage: Stage) -> tuple[Evidence, str]:
    workspace = domain.open_workspace(task, stage.subject.room)
    script, observation, said = domain.solve(task), Observation(task.prompt), ""
    try:
        action = next(script)
        for _ in range(stage.subject.entry.row.max_turns):
            observation, said = workspace.act(action), action
            if observation.finished:
                break
            action = script.send(observation)
    except StopIteration:
        pass
    finally:
        script.close()
    evidence = workspace.evidence()
    workspace.close()
    return evidence, said
