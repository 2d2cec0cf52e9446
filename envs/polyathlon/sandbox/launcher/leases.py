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


class Refused(OSError):
    """What was asked cannot be done, and nothing is lost by it."""


@dataclass(slots=True)
class Lease:
    """A box and the socket of its owner: when that closes, the box goes."""

    line: socket.socket
    box: Box
    jobs: list[Job] = field(default_factory=list)
    closing: bool = False
    waiting: tuple[socket.socket, Callable[[], None]] | None = None
    """What is to be done once the last job has ended, and who waits for it."""

    def when_idle(self, line: socket.socket, work: Callable[[], None]) -> None:
        """Kill every process of the box, and do `work` once the last one is gone."""
        for job in self.jobs:
            job.kill()
        self.waiting = line, work
        self.go_on()

    def go_on(self) -> None:
        """Do what was put off, if nothing runs any more."""
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
