"""What a launcher has lent: boxes and snapshots, each with the socket of its owner."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from . import wire
from .box import Box
from .frozen import Frozen
from .jobs import Job
from .watchdog import Watchdog


class Refused(OSError):
    """What was asked cannot be done, and nothing is lost by it."""


@dataclass(slots=True)
class Lease:
    """A box and the socket of its owner: when that closes, the box goes. `emptied` are told when no command runs."""

    line: socket.socket
    box: Box
    watchdog: Watchdog | None
    jobs: list[Job] = field(default_factory=list)
    emptied: list[socket.socket] = field(default_factory=list)
    closing: bool = False
    num_jobs: int = 0
    ended_cpu_s: float = 0.0
    waiting: tuple[socket.socket, Callable[[], None]] | None = None
    """What is to be done once the last job has ended, and who waits for it."""

    @property
    def commands(self) -> list[Job]:
        """What runs for the payload: not what reads or writes its files for the owner."""
        return [job for job in self.jobs if job.order is not None]

    def check(self) -> None:
        """Kill what has used up its CPU seconds; what has used too much memory, where the kernel does not."""
        commands = self.commands
        for job in commands:
            job.read_report()
        watched = self.watchdog.look([job.init for job in commands]) if self.watchdog is not None else []
        spent_s = self.box.group.cpu_s()
        each_s = watched if spent_s is None else [job.cpu_s() for job in commands]
        all_spent = (self.ended_cpu_s + sum(watched) if spent_s is None else spent_s) > self.box.amounts.cpu_s
        for job, used_s in zip(commands, each_s, strict=True):
            job.seen_cpu_s = used_s
            if all_spent or (job.order is not None and used_s > job.order.cpu_s):
                job.cpu_spent = True
                job.kill()

    def kill(self, line: socket.socket) -> None:
        """Kill every command; tell `line` once the last one is gone."""
        self.emptied.append(line)
        for job in self.commands:
            job.kill()

    def when_idle(self, line: socket.socket, work: Callable[[], None]) -> None:
        """Kill every process of the box, and do `work` once the last one is gone."""
        for job in self.jobs:
            job.kill()
        self.waiting = line, work
        self.go_on()

    def go_on(self) -> None:
        """Tell who waits that no command runs, and do what was put off until nothing runs, once it is so."""
        if not self.commands:
            while self.emptied:
                with self.emptied.pop() as asker, contextlib.suppress(OSError):
                    asker.send(b"gone")
        if self.waiting is None or self.jobs or self.closing:
            return
        (line, work), self.waiting = self.waiting, None
        try:
            work()
        except OSError as error:  # out of processes or descriptors, or no such snapshot
            tell(line, {"error": str(error), "refused": isinstance(error, Refused)})
            line.close()

    def free(self) -> None:
        """Give the box back. Its jobs must be gone."""
        self.box.free()
        if self.watchdog is not None:
            self.watchdog.close()


@dataclass(slots=True)
class Kept:
    """A snapshot, once it is made, and the socket of its owner: when that closes, the snapshot goes."""

    line: socket.socket
    number: int
    frozen: Frozen | None = None
    jobs: list[Job] = field(default_factory=list)
    closing: bool = False

    def free(self) -> None:
        """Let go of the layers."""
        if self.frozen is not None:
            self.frozen.free()


def tell(line: socket.socket, body: dict[str, object], fds: Sequence[int] = ()) -> None:
    """Send an answer, if anybody still waits for it, and close `fds`."""
    try:
        with contextlib.suppress(OSError):
            wire.send(line, body, fds)
    finally:
        for fd in fds:
            os.close(fd)
