"""Acting out a script in a domain's environment, and keeping everything that was seen on the way."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from polyathlon.canonical import Json, canonical_json
from polyathlon.domain import Domain, Evidence, Observation, Script, Task, ToolSpec, Verdict
from polyathlon.drawing import TaskKey
from polyathlon.env import DomainEnv, judge_evidence
from polyathlon.plugins import Entry
from polyathlon.sandbox.protocol import Room


@dataclass(frozen=True, slots=True)
class Subject:
    """The domain under inspection, and how much of it is looked at."""

    entry: Entry
    domain: Domain
    room: Room
    num_seeds: int

    def task_keys(self, num_seeds: int | None = None) -> list[TaskKey]:
        """Return the keys looked at: `num_seeds` a level, level by level."""
        seeds = range(min(num_seeds or self.num_seeds, self.num_seeds))
        return [TaskKey(self.entry.id, level, seed) for level in range(self.entry.row.levels) for seed in seeds]

    def replay(self, key: TaskKey) -> str:
        return f"polyathlon play {key.domain_id} --level {key.level} --seed {key.seed}"


@dataclass(frozen=True, slots=True)
class Playthrough:
    """One episode as it went. `seen` is all text the policy was given; a lost episode has an invalid verdict."""

    key: TaskKey
    task: Task
    actions: tuple[str, ...]
    seen: tuple[str, ...]
    verdict: Verdict
    evidence: Evidence | None
    wall_s: float

    @property
    def reward(self) -> float:
        """The reward, or -1 for an invalid episode."""
        return -1.0 if self.verdict.reward is None else self.verdict.reward


class Stage:
    """One environment of the subject, used for one episode after another."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self._env = DomainEnv(subject.entry.id, lost="truncate", room=subject.room)

    def __enter__(self) -> Stage:
        return self

    def __exit__(self, *_: object) -> None:
        self._env.close()

    def task(self, key: TaskKey) -> Task:
        """Return the task of `key`, as the environment draws it."""
        self._reset(key)
        task = self._env.task
        assert task is not None
        return task

    def tools(self, key: TaskKey) -> tuple[ToolSpec, ...]:
        """Return the tools of the workspace that `key` opens."""
        _, info = self._reset(key)
        return tuple(ToolSpec(**tool) for tool in info["tools"])

    def solve(self, key: TaskKey) -> Playthrough:
        """Play the domain's own reference."""
        return self._play(key, self.subject.domain.solve(self.task(key)))

    def play(self, key: TaskKey, actions: Iterable[str]) -> Playthrough:
        """Play fixed actions; when they run out before the end, the policy falls silent until its turns are over."""
        return self._play(key, _fixed(actions))

    def judge_again(self, playthrough: Playthrough) -> Verdict:
        """Return a second verdict on the evidence of `playthrough`."""
        assert playthrough.evidence is not None
        subject = self.subject
        return judge_evidence(subject.domain, playthrough.task, playthrough.evidence, subject.room)[0]

    def _reset(self, key: TaskKey) -> tuple[str, dict[str, Any]]:
        return self._env.reset(seed=key.seed, options={"level": key.level, "split": key.split})

    def _play(self, key: TaskKey, script: Script) -> Playthrough:
        began = time.perf_counter()
        prompt, info = self._reset(key)
        task = self._env.task
        assert task is not None
        actions: list[str] = []
        seen = [prompt, text_of(info)]
        observation = Observation(prompt)
        ended = False
        while not ended:
            action = _next(script, observation, first=not actions)
            actions.append(action)
            text, _, terminated, truncated, info = self._env.step(action)
            ended = terminated or truncated
            observation = Observation(text, finished=ended, error=bool(info["error"]))
            seen.append(text)
            if not ended:
                seen.append(text_of(info))
        script.close()
        verdict = Verdict(**info["verdict"])
        wall_s = time.perf_counter() - began
        return Playthrough(key, task, tuple(actions), tuple(seen), verdict, self._env.evidence, wall_s)


def text_of(info: dict[str, Json]) -> str:
    """Return what an `info` shows, as one text."""
    return canonical_json({key: value for key, value in info.items() if key not in ("instructions", "tools")})


def silent(playthrough: Playthrough) -> Playthrough:
    """Return `playthrough` without the texts seen: enough to compare, and small enough to keep many."""
    return replace(playthrough, seen=())


def _fixed(actions: Iterable[str]) -> Script:
    for action in actions:  # noqa: UP028  # `yield from` would hand the observations to a plain iterator
        yield action
    while True:
        yield ""


def _next(script: Script, observation: Observation, *, first: bool) -> str:
    try:
        return next(script) if first else script.send(observation)
    except StopIteration:
        return ""
