"""What passes between the trainer and an env worker: orders one way, reports the other, in frames of msgpack.

Every order can be carried out by any worker at any time: it names its task by key and brings its episode's history,
so that a worker that does not hold the episode builds it again.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import TypeAlias

import msgspec

from polyathlon.drawing import TaskKey
from polyathlon_trainer.episode import FailureKind

HEADER = struct.Struct(">I")
"""A frame is its length in bytes, big-endian, and then a list of orders or of reports."""


class Pose(msgspec.Struct, frozen=True, tag="pose"):
    """Draw the task and report its prompt."""

    ticket: int
    key: TaskKey


class Act(msgspec.Struct, frozen=True, tag="act"):
    """Carry out one message of the policy, after the (action, observation) pairs of `history`.

    `last` says that it is the last that the episode may have: the worker judges after it.
    """

    ticket: int
    key: TaskKey
    episode: str
    history: tuple[tuple[str, str], ...]
    action: str
    last: bool


class Judge(msgspec.Struct, frozen=True, tag="judge"):
    """Judge the episode as it stands: the policy has no room left to act."""

    ticket: int
    key: TaskKey
    episode: str
    history: tuple[tuple[str, str], ...]


class Recite(msgspec.Struct, frozen=True, tag="recite"):
    """Report the first message of the reference without a world: all there is of an episode of one turn."""

    ticket: int
    key: TaskKey


class Solve(msgspec.Struct, frozen=True, tag="solve"):
    """Play the reference in the real world, at most `max_turns` messages, and report what was said and the verdict."""

    ticket: int
    key: TaskKey
    max_turns: int


Order: TypeAlias = Pose | Act | Judge | Recite | Solve


class Ready(msgspec.Struct, frozen=True, tag="ready"):
    """The worker has started."""


class Posed(msgspec.Struct, frozen=True, tag="posed"):
    """The task's prompt, and how to act in its workspace."""

    ticket: int
    prompt: str
    instructions: str
    seconds: float


class Acted(msgspec.Struct, frozen=True, tag="acted"):
    """What came of an action. `reward` is None while the episode goes on; the other fields are then empty.

    `seconds` is the time this order took in the worker. `sandbox` is the record of the episode's sandbox in JSON, ""
    when it had none.
    """

    ticket: int
    observation: str
    seconds: float
    reward: float | None = None
    passed: bool = False
    truncated: bool = False
    reason: str = ""
    parts: dict[str, float] = {}
    sandbox: str = ""


class Solved(msgspec.Struct, frozen=True, tag="solved"):
    """A reference episode as (action, observation) pairs. `reward` is None when it was recited and not judged."""

    ticket: int
    prompt: str
    instructions: str
    turns: tuple[tuple[str, str], ...]
    seconds: float
    reward: float | None = None


class Broke(msgspec.Struct, frozen=True, tag="broke"):
    """The order could not be carried out. `diverged`: a rebuilt world did not repeat what it had said before."""

    ticket: int
    kind: FailureKind
    message: str
    seconds: float = 0.0
    diverged: bool = False


Report: TypeAlias = Posed | Acted | Solved | Broke

_orders = msgspec.msgpack.Decoder(list[Order])
_reports = msgspec.msgpack.Decoder(list[Ready | Report])


def frame(messages: Sequence[Order] | Sequence[Report | Ready]) -> bytes:
    """Return `messages` as one frame. Text that is not Unicode (a lone surrogate) must have been replaced before."""
    body = msgspec.msgpack.encode(messages)
    return HEADER.pack(len(body)) + body


def read_orders(body: bytes) -> list[Order]:
    """Return the orders of one frame's body."""
    return _orders.decode(body)


def read_reports(body: bytes) -> list[Ready | Report]:
    """Return the reports of one frame's body."""
    return _reports.decode(body)


def clean(text: str) -> str:
    """Return `text` with whatever cannot be sent (lone surrogates) replaced by question marks."""
    return text.encode("utf-8", errors="replace").decode("utf-8")
