"""Episodes inside one worker: tasks drawn once, worlds opened at the first action, rebuilt from a history when needed.

The rules of an episode are those of `polyathlon.env.DomainEnv` (a test compares them); what differs is that a world is
opened late, that the trainer decides which message is the last, and that an episode may be judged where it stands.
"""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass

import msgspec

from polyathlon.clip import clip_text
from polyathlon.domain import Domain, Task, Verdict, Workspace
from polyathlon.drawing import TaskKey, draw_task
from polyathlon.env import judge_evidence, record_of
from polyathlon.errors import EpisodeLost
from polyathlon.registration import load_domain
from polyathlon.sandbox.choose import default_room
from polyathlon.sandbox.protocol import Room
from polyathlon_trainer.rollout.messages import (
    Act,
    Acted,
    Judge,
    Order,
    Pose,
    Posed,
    Recite,
    Report,
    Solve,
    Solved,
    clean,
)

NUM_TASKS_KEPT = 512
MAX_WORLDS = 256
"""Worlds open at once in a worker; the one that was idle longest is closed, and rebuilt if its episode goes on."""

MAX_UNUSED = 64

NUM_ENDINGS_KEPT = 1_024
"""Episodes of one message that are remembered: a sharp policy says the same thing again and again to the same task."""


class WorldDiverged(Exception):
    """A rebuilt world did not say again what it had said before."""


@dataclass(slots=True)
class _World:
    """An open episode: its task, its workspace and what was said in it so far."""

    task: Task
    domain: Domain
    workspace: Workspace
    said: list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class _Judged:
    """A verdict, and the record of the sandbox it was earned in, as JSON."""

    verdict: Verdict
    sandbox: str


class Worlds:
    """All open episodes of a worker, by name."""

    def __init__(self) -> None:
        self._open: dict[str, _World] = {}
        self._unused: dict[TaskKey, Workspace] = {}
        self._endings: dict[tuple[TaskKey, str], Acted] = {}
        self._room: Room = default_room()

    def carry_out(self, order: Order) -> Report:
        """Return the report of `order`, with its `seconds` still 0.

        Raises:
            PolyathlonError: whatever stood in the way, named after its boundary.
            WorldDiverged: the history did not repeat.

        """
        match order:
            case Pose():
                return self._pose(order)
            case Act():
                return self._act(order)
            case Judge():
                return self._judge(order)
            case Recite():
                task = _task(order.key)
                action = next(load_domain(order.key.domain_id).solve(task))
                return Solved(order.ticket, clean(task.prompt), "", ((clean(action), ""),), 0.0)
            case Solve():
                return self._solve(order)

    def close(self) -> None:
        """Close every world."""
        for name in list(self._open):
            self._drop(name)
        for key in list(self._unused):
            self._unused.pop(key).close()

    def drop(self, name: str) -> None:
        """Close the world of the episode `name`, if it is open."""
        if name in self._open:
            self._drop(name)

    def _pose(self, order: Pose) -> Posed:
        task = _task(order.key)
        workspace = self._workspace(order.key)
        self._unused[order.key] = workspace
        if len(self._unused) > MAX_UNUSED:
            self._unused.pop(next(iter(self._unused))).close()
        return Posed(order.ticket, clean(task.prompt), clean(workspace.instructions), 0.0)

    def _act(self, order: Act) -> Acted:
        """Carry out a message. The end of an episode of one message is a function of task and message: judged once."""
        only = (order.key, order.action) if order.last and not order.history else None
        if only is not None and (ending := self._endings.get(only)) is not None:
            self.drop(order.episode)
            return msgspec.structs.replace(ending, ticket=order.ticket)
        acted = self._act_anew(order)
        if only is not None:
            self._endings[only] = acted
            if len(self._endings) > NUM_ENDINGS_KEPT:
                self._endings.pop(next(iter(self._endings)))
        return acted

    def _act_anew(self, order: Act) -> Acted:
        world = self._world(order.episode, order.key, order.history)
        observation = world.workspace.act(order.action)
        text = clean(clip_text(observation.text))
        if observation.finished or order.last:
            judged = self._end(order.episode, world)
            return _acted(order.ticket, text, judged, truncated=not observation.finished)
        world.said.append((order.action, text))
        return Acted(order.ticket, text, 0.0)

    def _judge(self, order: Judge) -> Acted:
        world = self._world(order.episode, order.key, order.history)
        return _acted(order.ticket, "", self._end(order.episode, world), truncated=True)

    def _solve(self, order: Solve) -> Solved:
        name = f"solve:{order.ticket}"
        world = self._world(name, order.key, ())
        script = world.domain.solve(world.task)
        turns: list[tuple[str, str]] = []
        action, finished = next(script), False
        while not finished and len(turns) < order.max_turns:
            observation = world.workspace.act(action)
            turns.append((clean(action), clean(clip_text(observation.text))))
            finished = observation.finished
            if not finished:
                try:
                    action = script.send(observation)
                except StopIteration:
                    break
        instructions = clean(world.workspace.instructions)
        verdict = self._end(name, world).verdict
        return Solved(order.ticket, clean(world.task.prompt), instructions, tuple(turns), 0.0, verdict.reward)

    def _end(self, name: str, world: _World) -> _Judged:
        """Return the verdict, never an invalid one, and what the sandbox was; close the world."""
        verdict, kind = judge_evidence(world.domain, world.task, world.workspace.evidence(), self._room)
        record = record_of(world.workspace)
        self._drop(name)
        if verdict.reward is None:
            raise EpisodeLost(verdict.reason, kind)
        return _Judged(verdict, "" if record is None else json.dumps(record.as_dict()))

    def _world(self, name: str, key: TaskKey, history: tuple[tuple[str, str], ...]) -> _World:
        world = self._open.pop(name, None)
        if world is not None and tuple(world.said) != history:
            world.workspace.close()
            world = None
        if world is None:
            world = self._rebuild(key, history)
        self._open[name] = world  # newest last
        if len(self._open) > MAX_WORLDS:
            self._drop(next(iter(self._open)))
        return world

    def _rebuild(self, key: TaskKey, history: tuple[tuple[str, str], ...]) -> _World:
        task, domain = _task(key), load_domain(key.domain_id)
        world = _World(task, domain, self._workspace(key), [])
        for action, said in history:
            observation = world.workspace.act(action)
            again = clean(clip_text(observation.text))
            if again != said or observation.finished:
                world.workspace.close()
                raise WorldDiverged(f"{task.id}: turn {len(world.said) + 1} of a rebuilt episode went another way.")
            world.said.append((action, again))
        return world

    def _workspace(self, key: TaskKey) -> Workspace:
        """Return an untouched workspace of the task: the one that was opened to read its instructions, or a new one."""
        waiting = self._unused.pop(key, None)
        return waiting or load_domain(key.domain_id).open_workspace(_task(key), self._room)

    def _drop(self, name: str) -> None:
        self._open.pop(name).workspace.close()


@functools.lru_cache(maxsize=NUM_TASKS_KEPT)
def _task(key: TaskKey) -> Task:
    return draw_task(load_domain(key.domain_id).tasks, key)


def _acted(ticket: int, observation: str, judged: _Judged, *, truncated: bool) -> Acted:
    verdict = judged.verdict
    return Acted(
        ticket,
        observation,
        0.0,
        reward=verdict.reward,
        passed=verdict.passed,
        truncated=truncated,
        reason=clean(verdict.reason),
        parts={name: float(value) for name, value in verdict.parts.items()},
        sandbox=judged.sandbox,
    )
