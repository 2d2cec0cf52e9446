"""The contracts: what a domain ships, and the values that pass between it, its environment and its judge."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias, runtime_checkable

import numpy as np

from polyathlon.canonical import Json, check_json
from polyathlon.errors import DomainError
from polyathlon.sandbox.protocol import Room, Snapshot
from polyathlon.tree import Tree

Split = Literal["train", "test"]
Core: TypeAlias = Mapping[str, Json]
"""All that decides a task's answer, and nothing else: plain JSON."""

MAX_PARTIAL_REWARD = 0.5


@dataclass(frozen=True, slots=True)
class Brief:
    """A rendered core: what the policy is asked and shown, and what only the verifier sees. All plain JSON."""

    prompt: str
    hidden: Mapping[str, Json] = field(default_factory=dict)
    public: Mapping[str, Json] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_json(self.hidden, where="hidden")
        check_json(self.public, where="public")


@dataclass(frozen=True, slots=True)
class Task:
    """One task: its identity, and its brief. The same (domain, level, seed, split) is the same task everywhere.

    `id` is "<namespace>/<domain>-vN:<level>:<split>:<seed>". `level` counts from 0, the easiest. `content_hash` is the
    hash of the core alone: two tasks that differ in wording only share it.
    """

    id: str
    level: int
    seed: int
    split: Split
    prompt: str
    public: Mapping[str, Json]
    hidden: Mapping[str, Json]
    content_hash: str


class TaskSource(Protocol):
    """A distribution of tasks, in two halves: what decides the answer, and the wording around it."""

    def draw(self, rng: np.random.Generator, level: int) -> Core:
        """Return the core of one task of `level`: plain JSON that fixes the answer."""
        ...

    def render(self, core: Core, rng: np.random.Generator) -> Brief:
        """Return `core` in words, names and layout drawn from `rng`. Must not change the answer."""
        ...


@dataclass(frozen=True, slots=True)
class Observation:
    """What the policy sees after an action. `error` marks an action that could not be carried out."""

    text: str
    finished: bool = False
    error: bool = False


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """One tool of a workspace; `parameters` is a JSON Schema of type object."""

    name: str
    description: str
    parameters: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call that the workspace carried out, in its ledger. `ok` is false when the tool refused it."""

    name: str
    arguments: Mapping[str, Json]
    result: Json = None
    ok: bool = True


@dataclass(frozen=True, slots=True)
class Evidence:
    """What an episode left behind, frozen: all that progress and verdict may read.

    `answer` is the submitted answer, or None when there was none. `ledger` holds the calls in order. `tree` is the
    workspace's files, empty where there are none. `state` is the final state of a tool world or a game.
    """

    answer: str | None = None
    ledger: tuple[Call, ...] = ()
    tree: Tree = field(default_factory=Tree)
    state: Json = None


class Workspace(Protocol):
    """A world that a policy acts in, one message at a time."""

    @property
    def tools(self) -> Sequence[ToolSpec]:
        """The tools that a `<tool_call>` may name here."""
        ...

    @property
    def instructions(self) -> str:
        """How to act here, for a policy that has room to be told. The prompt alone is enough for a human."""
        ...

    def act(self, action: str) -> Observation:
        """Carry out one message of the policy. Whatever the text, this returns; it never raises for a bad message.

        Raises:
            SandboxLost: the world itself broke.

        """
        ...

    def evidence(self) -> Evidence:
        """Return what is there to judge now. May be called between any two actions."""
        ...

    def close(self) -> None:
        """Free everything. May be called twice."""
        ...


@dataclass(frozen=True, slots=True)
class WorkspaceState:
    """A workspace at one moment, to go back to any number of times. `values` is its own affair, and never changed.

    `files` is a snapshot of its sandbox, None where none was open.
    """

    values: object
    files: Snapshot | None = None


@runtime_checkable
class BranchingWorkspace(Workspace, Protocol):
    """A workspace that can go back: what makes an episode one that `DomainEnv.fork` can branch."""

    def snapshot(self) -> WorkspaceState:
        """Return what is needed to go on from here, here or in another workspace of the same task.

        Raises:
            SandboxRefused: its sandboxes have no snapshots.

        """
        ...

    def restore(self, state: WorkspaceState) -> None:
        """Go back to `state`: from here on, all is as it was from there on."""
        ...


@dataclass(frozen=True, slots=True)
class Verdict:
    """The judgement of one episode. Build it with `passing`, `failing` or `invalid`.

    `reward` is the only trained number: 1 when passed, else at most 0.5, and None when `valid` is false (the verifier
    or the sandbox broke): an invalid episode is discarded, it is never worth zero. `parts` are named numbers to read.
    """

    reward: float | None
    passed: bool
    valid: bool = True
    reason: str = ""
    parts: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.valid:
            if self.reward is not None or self.passed:
                raise DomainError("An invalid verdict has reward None and has not passed. Use Verdict.invalid(reason).")
            return
        ceiling = 1.0 if self.passed else MAX_PARTIAL_REWARD
        if self.reward is None or not math.isfinite(self.reward) or not 0.0 <= self.reward <= ceiling:
            raise DomainError(f"The reward is {self.reward}; it must lie in [0, {ceiling}] here. See Verdict.failing.")
        if self.passed and self.reward != 1.0:
            raise DomainError(f"A passed episode has reward 1, not {self.reward}.")

    def as_dict(self) -> dict[str, float | bool | str | dict[str, float] | None]:
        """Return the fields by name, a fresh dict each time: what `info["verdict"]` holds."""
        return {
            "reward": self.reward,
            "passed": self.passed,
            "valid": self.valid,
            "reason": self.reason,
            "parts": dict(self.parts),
        }

    @classmethod
    def passing(cls, parts: Mapping[str, float] | None = None) -> Verdict:
        """Return the verdict of a right answer: reward 1."""
        return cls(reward=1.0, passed=True, parts=parts or {})

    @classmethod
    def failing(cls, reason: str, *, progress: float = 0.0, parts: Mapping[str, float] | None = None) -> Verdict:
        """Return the verdict of an answer that is not right: reward 0.5 x `progress`, progress in [0, 1].

        Raises:
            DomainError: progress is not a finite number in [0, 1].

        """
        if not math.isfinite(progress) or not 0.0 <= progress <= 1.0:
            raise DomainError(f"Progress is {progress}; it must lie in [0, 1].")
        return cls(reward=MAX_PARTIAL_REWARD * progress, passed=False, reason=reason, parts=parts or {})

    @classmethod
    def invalid(cls, reason: str) -> Verdict:
        """Return the verdict of an episode that cannot be judged: no reward, to be discarded."""
        return cls(reward=None, passed=False, valid=False, reason=reason)


class Verifier(Protocol):
    """Judges evidence. Pure: the same task and evidence give the same verdict; `room` makes fresh sandboxes."""

    def judge(self, task: Task, evidence: Evidence, room: Room) -> Verdict:
        """Return the verdict.

        Raises:
            VerifierError, SandboxLost: this episode cannot be judged; it becomes an invalid verdict.

        """
        ...


class ProgressVerifier(Verifier, Protocol):
    """A verifier that can also say how far an unfinished episode has come."""

    def progress(self, task: Task, evidence: Evidence) -> float:
        """Return progress in [0, 1] above the untouched state, from `evidence` alone; never runs anything."""
        ...


Script: TypeAlias = Generator[str, Observation, None]
"""A way to act: yields an action, receives the Observation. The first action is what next() yields."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """A fixed way to act, for inspection: the actions in order, and a name that says what it tries."""

    name: str
    actions: tuple[str, ...]


Attempts: TypeAlias = Callable[[Task], Sequence[Attempt]]


def _none(_: Task) -> Sequence[Attempt]:
    return ()


def _unproven(_: Task, __: Sequence[str]) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Domain:
    """Everything one domain ships.

    `solve` is the reference. The others are what the inspection needs: `alternatives` are other right ways,
    `equivalents` rewrites of the right answer that must pass, `distractors` plausible wrong ways that must not,
    `exploits` hacks that must not pay more than the declared floor, and `shortcuts` ways to guess that read the prompt
    and do not solve it, which must earn no more than the floor on average. `proves_right` decides, without the
    verifier, whether actions solve a task: a mutant of the reference that happens to be right is no fault. Without it,
    every mutant counts as wrong.
    """

    tasks: TaskSource
    open_workspace: Callable[[Task, Room], Workspace]
    verifier: Verifier
    solve: Callable[[Task], Script]
    alternatives: Attempts = _none
    equivalents: Attempts = _none
    distractors: Attempts = _none
    exploits: Attempts = _none
    shortcuts: Attempts = _none
    proves_right: Callable[[Task, Sequence[str]], bool] = _unproven


def answering(answer: str) -> Script:
    """Return the script that sends `answer` as its one message."""
    yield answer
