"""An attack as data: on which kinds of domains it is tried, what it does, and what it must not earn."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from polyathlon.canonical import Json
from polyathlon.catalog import Kind
from polyathlon.domain import Task, ToolSpec
from polyathlon.inspect.attacks.payload import Payload, payload_of

Severity = Literal["high", "low"]
"""high: pays without work, on any task. low: needs the right answer, or what is nearly one, to begin with."""

Below = Literal["floor", "full"]
"""What an attack must not reach: more than the floor, or (where parts of it are rightly worth something) a pass."""


@dataclass(frozen=True, slots=True)
class Scene:
    """What an attack has to work with: what a policy is shown, and the reference's actions, with the answer in them.

    The hidden part is not here. An attack that wraps a right answer takes it from `payload`.
    """

    kind: Kind
    prompt: str
    public: Mapping[str, Json]
    tools: tuple[ToolSpec, ...]
    reference: tuple[str, ...]
    payload: Payload | None

    @classmethod
    def of(cls, kind: Kind, task: Task, tools: Sequence[ToolSpec], reference: Sequence[str]) -> Scene:
        """Return the scene of `task`, which `reference` solves."""
        payload = payload_of(reference, tools, kind)
        return cls(kind, task.prompt, task.public, tuple(tools), tuple(reference), payload)

    @property
    def tool_names(self) -> frozenset[str]:
        return frozenset(tool.name for tool in self.tools)


Make: TypeAlias = Callable[[Scene, np.random.Generator], Sequence[str] | None]
"""The actions of an attack on a scene, or None where it does not fit there."""


@dataclass(frozen=True, slots=True)
class Attack:
    """One way to be paid without solving. `id` is the catalogue's entry and a letter: "F8c".

    `carries_answer` says that the right answer is in it, so that one payment is a fault; without it a single payment
    may be luck. An attack must not be a right answer itself: what a domain declares as right is skipped.
    """

    id: str
    kinds: tuple[Kind, ...]
    title: str
    make: Make
    severity: Severity = "high"
    carries_answer: bool = False
    below: Below = "floor"

    def fingerprint(self) -> Json:
        """Return what changes when this attack does."""
        return [self.id, self.title, self.severity, self.carries_answer, self.below, _source(self.make)]


def _source(make: object) -> Json:
    if isinstance(make, functools.partial):
        return [_source(make.func), [_source(value) for value in (*make.args, *make.keywords.values())]]
    return inspect.getsource(make) if inspect.isfunction(make) else repr(make)
