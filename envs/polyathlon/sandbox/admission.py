"""How many sandboxes may start, and stand, at once: two gates that wait for the machine instead of drowning it.

`Queue` decides and knows neither clock nor kernel; `Gate` holds threads back by it.
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from polyathlon.errors import SandboxLost

_POLL_S = 0.02
_ADAPT_S = 0.5
_SHRINK = 0.7


@dataclass(frozen=True, slots=True)
class Vitals:
    """How this machine is doing: memory that could be had, and the share of the last 10 s that tasks waited for it."""

    available_bytes: int
    stalled: float = 0.0


@dataclass(frozen=True, slots=True)
class Policy:
    """What the gates allow one process. `reserve` is the share of its memory limit that a sandbox is counted for."""

    starts_at_once: int = max(1, (os.cpu_count() or 1) // 2)
    most_alive: int = 4_000
    spare_bytes: int = 512 * 2**20
    reserve: float = 0.125
    most_stalled: float = 0.2
    wait_s: float = 120.0


@dataclass(slots=True)
class _Ask:
    memory_bytes: int
    until_s: float


@dataclass(slots=True)
class Queue:
    """Who may start next. Strictly in order of asking, so that nobody starves; a ticket names who asked.

    The number alive is capped: the cap falls by three tenths when memory is short, and grows by one each half second
    while it is not. One at least may always stand, or nothing would ever end.
    """

    policy: Policy
    waiting: OrderedDict[int, _Ask] = field(default_factory=OrderedDict)
    starting: set[int] = field(default_factory=set)
    alive: dict[int, int] = field(default_factory=dict)
    cap: float = 0.0
    _num_asked: int = 0
    _adapted_s: float = float("-inf")

    def __post_init__(self) -> None:
        self.cap = self.cap or float(self.policy.most_alive)

    def ask(self, now_s: float, memory_bytes: int) -> int:
        """Stand in line for a sandbox of this memory limit; return the ticket."""
        self._num_asked += 1
        self.waiting[self._num_asked] = _Ask(memory_bytes, now_s + self.policy.wait_s)
        return self._num_asked

    def admit(self, now_s: float, vitals: Vitals) -> list[int]:
        """Return the tickets that may start now; they count as starting, and alive, from here on."""
        self._adapt(now_s, vitals)
        admitted = []
        available = vitals.available_bytes - self.policy.spare_bytes
        for ticket, ask in list(self.waiting.items()):
            reserved = int(ask.memory_bytes * self.policy.reserve)
            crowded = self.alive and (len(self.alive) + 1 > self.cap or reserved > available)
            if crowded or len(self.starting) >= self.policy.starts_at_once:
                break
            available -= reserved
            del self.waiting[ticket]
            self.starting.add(ticket)
            self.alive[ticket] = reserved
            admitted.append(ticket)
        return admitted

    def started(self, ticket: int) -> None:
        """Its sandbox stands."""
        self.starting.discard(ticket)

    def left(self, ticket: int) -> None:
        """Its sandbox is gone, or was never had. May be said twice."""
        self.waiting.pop(ticket, None)
        self.starting.discard(ticket)
        self.alive.pop(ticket, None)

    def late(self, now_s: float) -> list[int]:
        """Return the tickets that have waited longer than anybody shall."""
        return [ticket for ticket, ask in self.waiting.items() if now_s >= ask.until_s]

    def _adapt(self, now_s: float, vitals: Vitals) -> None:
        if now_s < self._adapted_s + _ADAPT_S:
            return
        self._adapted_s = now_s
        short = vitals.available_bytes < self.policy.spare_bytes or vitals.stalled > self.policy.most_stalled
        if short:
            self.cap = max(1.0, min(self.cap, len(self.alive)) * _SHRINK)
        else:
            self.cap = min(self.cap + 1.0, float(self.policy.most_alive))


def read_vitals() -> Vitals:
    """Return how this machine is now. Pressure is 0.0 where the kernel does not tell it."""
    with open("/proc/meminfo", encoding="ascii") as file:
        available = next(int(line.split()[1]) * 1024 for line in file if line.startswith("MemAvailable:"))
    stalled = 0.0
    with contextlib.suppress(OSError):
        text = Path("/proc/pressure/memory").read_text(encoding="ascii")
        stalled = float(text.split("avg10=")[1].split()[0]) / 100
    return Vitals(available, stalled)


class Gate:
    """Holds threads back until the queue lets them start. Thread-safe.

    Starts are counted over all processes of this machine (of one network namespace): a start holds one of a few names
    that the kernel frees with its holder.
    """

    def __init__(self, policy: Policy | None = None, *, vitals: Callable[[], Vitals] = read_vitals) -> None:
        self.queue = Queue(policy or Policy())
        self._vitals = vitals
        self._changed = threading.Condition()
        self._let_in: set[int] = set()

    @contextlib.contextmanager
    def start(self, memory_bytes: int) -> Iterator[int]:
        """Give the ticket of a sandbox that may start now; leave the block once it stands. Tell `leave` when it goes.

        Raises:
            SandboxLost: no place was free in time; says what the machine lacked.

        """
        ticket = self._wait(memory_bytes)
        try:
            with self._slot():
                yield ticket
        except BaseException:
            self.leave(ticket)
            raise
        with self._changed:
            self.queue.started(ticket)
            self._changed.notify_all()

    def leave(self, ticket: int) -> None:
        """Give the place of a sandbox back. May be called twice."""
        with self._changed:
            self.queue.left(ticket)
            self._changed.notify_all()

    def calm(self) -> bool:
        """Whether nobody waits, and memory for many more is there."""
        vitals = self._vitals()
        with self._changed:
            policy = self.queue.policy
            return (
                not self.queue.waiting
                and vitals.available_bytes > 2 * policy.spare_bytes
                and vitals.stalled <= policy.most_stalled
            )

    def _wait(self, memory_bytes: int) -> int:
        with self._changed:
            ticket = self.queue.ask(time.monotonic(), memory_bytes)
            while True:
                vitals = self._vitals()
                self._let_in.update(self.queue.admit(time.monotonic(), vitals))
                if ticket in self._let_in:
                    self._let_in.discard(ticket)
                    self._changed.notify_all()
                    return ticket
                if ticket in self.queue.late(time.monotonic()):
                    self.queue.left(ticket)
                    raise SandboxLost(self._excuse(vitals))
                self._changed.wait(_POLL_S)

    def _excuse(self, vitals: Vitals) -> str:
        queue = self.queue
        return (
            f"No place for another sandbox within {queue.policy.wait_s:.0f} s: {len(queue.alive)} stand, "
            f"{len(queue.starting)} start, {int(queue.cap)} may; {vitals.available_bytes >> 20} MiB of memory are "
            f"available. Close sandboxes, run fewer workers, or wait."
        )

    @contextlib.contextmanager
    def _slot(self) -> Iterator[None]:
        """Hold one of this machine's places to start in."""
        end_s = time.monotonic() + self.queue.policy.wait_s
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as claim:
            while not self._claim(claim):
                if time.monotonic() > end_s:
                    raise SandboxLost(self._excuse(self._vitals()))
                time.sleep(_POLL_S / 10)
            yield

    def _claim(self, claim: socket.socket) -> bool:
        for number in range(self.queue.policy.starts_at_once):
            with contextlib.suppress(OSError):
                claim.bind(f"\0polyathlon-start-{os.geteuid()}-{number}")
                return True
        return False
