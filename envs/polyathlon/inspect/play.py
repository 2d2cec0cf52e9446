"""Acting out a script in a domain's environment, and keeping everything that was seen on the way."""

from __future__ import annotations

import functools
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from polyathlon.canonical import Json, canonical_json
from polyathlon.domain import Domain, Evidence, Observation, Script, Task, ToolSpec, Verdict
from polyathlon.drawing import TaskKey, draw_task
from polyathlon.env import DomainEnv, judge_evidence
from polyathlon.inspect.depth import Depth
from polyathlon.inspect.fingerprint import fingerprint
from polyathlon.inspect.histogram import INVALID_BIN, NUM_BINS, bin_of
from polyathlon.inspect.remembering import Remembering
from polyathlon.inspect.replay import replay_command
from polyathlon.inspect.rule import Tier
from polyathlon.plugins import Entry
from polyathlon.sandbox.protocol import Room

MAX_CHARS_KEPT = 100_000
NUM_ATTEMPT_SEEDS = 16
SANDBOX_ATTEMPTS_ONE_IN = 16  # an episode in a sandbox costs a hundred questions

Source = Literal["reference", "blind", "mutant", "attack", "rewrite"]
"""Where an episode's actions come from: the domain's solution, knowing nothing, a wrong answer, a hack, a right one."""


@dataclass(frozen=True, slots=True)
class Subject:
    """The domain under inspection, and how much of it is looked at: tasks a level, and up to which tier of checks."""

    entry: Entry
    domain: Domain
    room: Room
    num_seeds: int
    tier: Tier = 1

    @property
    def costly(self) -> bool:
        """Whether episodes need a sandbox, and so cost a hundred questions each."""
        return bool(self.entry.row.needs)

    @property
    def num_attempt_seeds(self) -> int:
        """On how many tasks a level every attempt is played; 4 of 64 in a sandbox."""
        few = max(1, self.num_seeds // SANDBOX_ATTEMPTS_ONE_IN)
        return few if self.costly else min(NUM_ATTEMPT_SEEDS, self.num_seeds)

    @property
    def proves(self) -> bool:
        """Whether what is found may be certified."""
        return Depth(self.num_seeds, self.tier).proves

    @property
    def levels(self) -> range:
        return range(self.entry.row.levels)

    def task_keys(self, num_seeds: int | None = None) -> list[TaskKey]:
        """Return the keys looked at: `num_seeds` a level, level by level."""
        seeds = range(min(num_seeds or self.num_seeds, self.num_seeds))
        return [TaskKey(self.entry.id, level, seed) for level in self.levels for seed in seeds]

    def replay(self, key: TaskKey, actions: Sequence[str] = ()) -> str:
        """Return the command that plays the task of `key` again, with `actions` where they can be typed."""
        return replay_command(key.domain_id, key.level, key.seed, actions)


@dataclass(frozen=True, slots=True)
class Playthrough:
    """One episode as it went; a lost episode has an invalid verdict. `cpu_s` is this process's, no sandbox's."""

    key: TaskKey
    task: Task
    actions: tuple[str, ...]
    verdict: Verdict
    evidence: Evidence | None
    cpu_s: float
    wall_s: float

    @property
    def reward(self) -> float:
        """The reward, or -1 for an invalid episode."""
        return -1.0 if self.verdict.reward is None else self.verdict.reward


class Stage:
    """One environment of the subject, for one episode after another. Use it in a `with` block.

    Tasks, tools, short episodes and verdicts are remembered: the checks of an inspection ask for the same ones.
    `source` is what the episodes of the check at work count as in its histogram of rewards; None: they are not counted.
    """

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self._env = DomainEnv(subject.entry.id, lost="truncate", room=subject.room)
        self._verifier = Remembering(subject.domain.verifier)
        self._tasks: dict[TaskKey, Task] = {}
        self._as_drawn: dict[TaskKey, str] = {}
        self._tools: dict[TaskKey, tuple[ToolSpec, ...]] = {}
        self._played: dict[tuple[TaskKey, tuple[str, ...]], Playthrough] = {}
        self.source: Source | None = None
        self._counted: set[tuple[Source, TaskKey, tuple[str, ...]]] = set()
        self._rewards: dict[Source, list[int]] = {}
        self._touched: set[TaskKey] = set()
        self._changed: set[TaskKey] = set()
        self._fresh: set[TaskKey] = set()

    def __enter__(self) -> Stage:
        return self

    def __exit__(self, *_: object) -> None:
        self._env.close()

    @functools.cached_property
    def solved(self) -> tuple[Playthrough, ...]:
        """The domain's own reference, played on every key."""
        return tuple(self.solve(key) for key in self.subject.task_keys())

    def count_solved(self) -> None:
        """Count what the reference earned on every key, whichever check asked for it first."""
        for played in self.solved:
            self._count("reference", played.actions, played)

    def task(self, key: TaskKey) -> Task:
        """Return the task of `key`, the one object that all its episodes are given."""
        if key not in self._tasks:
            self._tasks[key] = draw_task(self.subject.domain.tasks, key)
            self._as_drawn[key] = fingerprint(self._tasks[key])
        return self._tasks[key]

    def as_drawn(self, key: TaskKey) -> str:
        """Return the fingerprint that the task of `key` had before any episode."""
        self.task(key)
        return self._as_drawn[key]

    def tools(self, key: TaskKey) -> tuple[ToolSpec, ...]:
        """Return the tools of the workspace that `key` opens."""
        if key not in self._tools:
            self._begin(key)
            self._env.close()
        return self._tools[key]

    def solve(self, key: TaskKey) -> Playthrough:
        """Play the domain's own reference. It is counted where the check at work is about the reference."""
        played = self._play(key, self.subject.domain.solve(self.task(key)))
        if self.source == "reference":
            self._count("reference", played.actions, played)
        return self._kept(played.actions, played)

    def play(self, key: TaskKey, actions: Iterable[str], *, source: Source | None = None) -> Playthrough:
        """Play fixed actions; when they run out before the end, the policy falls silent until its turns are over.

        The reward is counted under `source`, or under that of the check at work.
        """
        asked = tuple(actions)
        known = self._played.get((key, asked))
        played = known or self._kept(asked, self._play(key, _fixed(asked)))
        if counted := source or self.source:
            self._count(counted, asked, played)
        return played

    def take_rewards(self) -> Mapping[str, tuple[int, ...]]:
        """Return the histograms of what was played since the last call, each way of acting on a task counted once."""
        taken: dict[str, tuple[int, ...]] = {source: tuple(counts) for source, counts in sorted(self._rewards.items())}
        self._rewards, self._counted = {}, set()
        return taken

    def take_changes(self) -> tuple[TaskKey, ...]:
        """Return the tasks that episodes since the last call have left other than they were drawn, in order."""
        self._notice_changes()
        fresh, self._fresh = self._fresh, set()
        return tuple(sorted(fresh, key=_order))

    def remember_changes(self, keys: Iterable[TaskKey]) -> None:
        """Take note of tasks that an episode changed in an inspection that this one goes on with."""
        self._changed |= set(keys)

    @property
    def changed(self) -> tuple[TaskKey, ...]:
        """All tasks that episodes have changed so far, in order."""
        self._notice_changes()
        return tuple(sorted(self._changed, key=_order))

    def look(self, key: TaskKey) -> str:
        """Return what is shown to a policy that says nothing useful, before any verdict: prompt, info and replies."""
        prompt, info = self._begin(key)
        seen = [prompt, text_of(info)]
        for turn in range(self.subject.entry.row.max_turns - 1):
            text, _, terminated, truncated, info = self._env.step("x" if turn == 0 else "")
            if terminated or truncated:  # a verdict's info is no leak
                break
            seen += [text, text_of(info)]
        self._env.close()
        return "\n".join(seen)

    def judge_again(self, playthrough: Playthrough) -> Verdict:
        """Return a second verdict on the evidence of `playthrough`, from the domain's own verifier."""
        assert playthrough.evidence is not None
        subject = self.subject
        self._touched.add(playthrough.key)
        return judge_evidence(subject.domain, playthrough.task, playthrough.evidence, subject.room)[0]

    def _begin(self, key: TaskKey) -> tuple[str, dict[str, Any]]:
        self._touched.add(key)
        prompt, info = self._env.begin(self.task(key), verifier=self._verifier)
        self._tools[key] = tuple(ToolSpec(**tool) for tool in info["tools"])
        return prompt, info

    def _notice_changes(self) -> None:
        found = {key for key in self._touched if fingerprint(self._tasks[key]) != self._as_drawn[key]}
        self._touched, self._changed, self._fresh = set(), self._changed | found, self._fresh | found

    def _count(self, source: Source, asked: tuple[str, ...], played: Playthrough) -> None:
        way = (source, played.key, asked)
        if way in self._counted:
            return
        if sum(map(len, asked)) <= MAX_CHARS_KEPT:
            self._counted.add(way)
        reward = played.verdict.reward
        self._rewards.setdefault(source, [0] * NUM_BINS)[INVALID_BIN if reward is None else bin_of(reward)] += 1

    def _kept(self, asked: tuple[str, ...], played: Playthrough) -> Playthrough:
        if played.verdict.valid and sum(map(len, asked)) <= MAX_CHARS_KEPT:
            self._played[played.key, asked] = played
        return played

    def _play(self, key: TaskKey, script: Script) -> Playthrough:
        task = self.task(key)
        began_s, cpu_began_s = time.perf_counter(), time.process_time()
        prompt, info = self._begin(key)
        actions: list[str] = []
        observation = Observation(prompt)
        while not observation.finished:
            action = _next(script, observation, first=not actions)
            actions.append(action)
            text, _, terminated, truncated, info = self._env.step(action)
            observation = Observation(text, finished=terminated or truncated, error=bool(info["error"]))
        script.close()
        verdict = Verdict(**info["verdict"])
        cpu_s, wall_s = time.process_time() - cpu_began_s, time.perf_counter() - began_s
        return Playthrough(key, task, tuple(actions), verdict, self._env.evidence, cpu_s, wall_s)


def _order(key: TaskKey) -> tuple[int, int, str]:
    return key.level, key.seed, key.split


def text_of(info: dict[str, Json]) -> str:
    """Return what an `info` shows, as one text."""
    return canonical_json({key: value for key, value in info.items() if key not in ("instructions", "tools")})


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
