"""Tasks made ready to be attacked: the scene, its right answers, and how many of them are looked at."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from polyathlon.drawing import TaskKey
from polyathlon.inspect.attacks.attack import Scene
from polyathlon.inspect.attacks.rights import Rights
from polyathlon.inspect.play import Playthrough, Stage
from polyathlon.seeding import child


@dataclass(frozen=True, slots=True)
class Target:
    """One task under attack: its key, what an attack is given, and what counts as right."""

    key: TaskKey
    scene: Scene
    rights: Rights

    def rng(self, *names: str | int) -> np.random.Generator:
        """Return a generator that depends on the task and `names` alone."""
        return child("attacks", self.key.domain_id, self.key.level, self.key.seed, *names)


def target_of(stage: Stage, solved: Playthrough) -> Target:
    """Return the task of `solved` made ready; `solved` is the reference's episode."""
    subject = stage.subject
    kind, tools = subject.entry.row.kind, stage.tools(solved.key)
    scene = Scene.of(kind, solved.task, tools, solved.actions)
    return Target(solved.key, scene, Rights.of(subject.domain, solved.task, solved.actions, kind=kind, tools=tools))


def targets(stage: Stage, num_seeds: int) -> Iterator[Target]:
    """Yield the first `num_seeds` tasks of every level, level by level, that the reference solves."""
    for solved in stage.solved:
        if solved.key.seed < num_seeds and solved.verdict.passed:
            yield target_of(stage, solved)


def levels_of(stage: Stage) -> Sequence[int]:
    """Return the levels of the stage's domain, easiest first."""
    return range(stage.subject.entry.row.levels)
