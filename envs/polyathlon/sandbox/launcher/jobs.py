"""What runs on behalf of a box: a command under bwrap, or a child that reads or writes its files."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import socket
from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn

from . import kernel, wire
from .box import Box

_HIGH_FD = 64  # descriptors are parked from here on while 0, 1, 2, ... are laid out for the command


@dataclass(slots=True)
class Job:
    """A running command, or a child that reads or writes the workspace. `line` goes to whoever waits for it."""

    line: socket.socket
    pid: int
    status_fd: int | None
    status: int | None = None
    report: bytes = b""
    cpu_spent: bool = False
    conclude: Callable[[], None] | None = None
    """What answers on `line` once it has ended, in place of its status."""

    def read_report(self) -> None:
        """Take in what bwrap has written so far: its first process, and at the end the exit code."""
        if self.status_fd is not None:
            with contextlib.suppress(BlockingIOError):
                self.report += os.read(self.status_fd, 65536)

    @property
    def init(self) -> int | None:
        """The sandbox's first process: killing it kills the whole tree at once."""
        for line in self.report.splitlines():
            with contextlib.suppress(ValueError):
                document = json.loads(line)
                if "child-pid" in document:
                    return int(document["child-pid"])
        return None

    def kill(self) -> None:
        """Kill it, and all that it started."""
        if self.status is not None:
            return
        self.read_report()
        init = self.init
        _signal(init if init is not None and _parent_of(init) == self.pid else self.pid)

    def finish(self) -> bool:
        """Wait for what bwrap may have left to us, now that it has ended; return whether the command was started."""
        if self.status_fd is None:
            return True
        self.read_report()
        os.close(self.status_fd)
        init = self.init
        if init is not None and _parent_of(init) == os.getpid():
            _signal(init)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(init, 0)
        return b"exit-code" in self.report


@dataclass(frozen=True, slots=True)
class Bwrap:
    """How bwrap is started: its path, the options every command has, and a memory file with the system-call filter."""

    path: str
    profile: tuple[str, ...]
    seccomp: int

    def spawn(self, box: Box, line: socket.socket, words: tuple[list[str], list[str]], fds: list[int]) -> Job:
        """Start a command in `box`. `words` are its own options and its argv; `fds` become 0, 1, 2, ..."""
        options, command = words
        status_out, status_in = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(status_out, False)
        arguments = wire.memory_file("options", b"\0".join(os.fsencode(word) for word in (*self.profile, *options)))
        seccomp = os.open(f"/proc/self/fd/{self.seccomp}", os.O_RDONLY | os.O_CLOEXEC)  # with a place of its own
        argv = [os.fsencode(word) for word in command]

        def start() -> None:
            parent = os.getppid()
            box.become_payload()
            kernel.die_with_parent(parent, signal.SIGKILL)
            own = [str(number).encode() for number in _lay_out([*fds, arguments, seccomp, status_in])[len(fds) :]]
            os.chdir("/")
            os.execve(
                self.path,
                [b"bwrap", b"--args", own[0], b"--seccomp", own[1], b"--json-status-fd", own[2], b"--", *argv],
                {},  # /proc/1/environ of the sandbox is bwrap's
            )

        job = fork(line, start)
        job.status_fd = status_out
        for fd in (arguments, seccomp, status_in):
            os.close(fd)
        return job


def fork(line: socket.socket, work: Callable[[], None]) -> Job:
    """Return a child process that does `work` and ends."""
    pid = os.fork()
    if pid == 0:
        _in_child(work)
    return Job(line, pid, None)


def _in_child(work: Callable[[], None]) -> NoReturn:
    try:
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)  # Python ignores some of these, and a command would inherit that
        work()
        os._exit(0)
    except BaseException as error:  # a forked child: nothing may escape into the parent's code
        with contextlib.suppress(OSError):
            os.write(2, f"sandbox launcher: {type(error).__name__}: {error}\n".encode())
        os._exit(125)


def _lay_out(fds: list[int]) -> list[int]:
    """Move `fds` to 0, 1, 2, ... , inherited; return their numbers."""
    parked = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, _HIGH_FD) for fd in fds]
    for number, fd in enumerate(parked):
        os.dup2(fd, number, inheritable=True)
    return list(range(len(fds)))


def _parent_of(pid: int) -> int | None:
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return int(file.read().rpartition(")")[2].split()[1])
    except (FileNotFoundError, ProcessLookupError):
        return None


def _signal(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
