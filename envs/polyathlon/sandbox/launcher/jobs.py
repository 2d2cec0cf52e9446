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

from . import kernel, processes, wire
from .box import Box
from .cgroups import JobGroup

_OF_STARTERS = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM)
_HIGH_FD = 64  # descriptors are parked from here on while 0, 1, 2, ... are laid out for the command


@dataclass(frozen=True, slots=True)
class Order:
    """A command to start: its argv, its options of bwrap, the most CPU seconds of it, and the CPUs it may use."""

    argv: list[str]
    options: list[str]
    cpu_s: float
    cpus: frozenset[int]


@dataclass(slots=True)
class Job:
    """A running command, or a child that reads or writes the workspace. `line` goes to whoever waits for it.

    `reaped_cpu_s` is what the kernel told of those of its processes that were waited for: not of killed ones, whose
    time was `seen_cpu_s` when it was last looked at.
    """

    line: socket.socket
    pid: int
    status_fd: int | None
    group: JobGroup | None = None
    order: Order | None = None
    status: int | None = None
    report: bytes = b""
    cpu_spent: bool = False
    ending: bool = False
    reaped_cpu_s: float = 0.0
    seen_cpu_s: float = 0.0
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

    def ask_to_end(self) -> None:
        """Ask what has a handler for SIGTERM to end; kill it all when nothing has one."""
        if self.status is None:
            self.read_report()
            self.ending = self.init is not None and processes.ask_to_end(self.init)
            if not self.ending:
                self.kill()

    def kill_when_deaf(self) -> None:
        """Kill it once nothing is left that was asked to end and may still do so."""
        if self.ending and (self.init is None or not processes.still_ending(self.init)):
            self.ending = False
            self.kill()

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
                _, _, used = os.wait4(init, 0)
                self.reaped_cpu_s += used.ru_utime + used.ru_stime
        return b"exit-code" in self.report

    def cpu_s(self) -> float:
        """Return the CPU seconds that the command has used: by its group, else by what is known without."""
        return max(self.reaped_cpu_s, self.seen_cpu_s) if self.group is None else self.group.cpu_s()


@dataclass(frozen=True, slots=True)
class Bwrap:
    """How bwrap is started: its path, the options every command has, and a memory file with the system-call filter."""

    path: str
    profile: tuple[str, ...]
    seccomp: int

    def spawn(self, box: Box, line: socket.socket, order: Order, fds: list[int], name: str) -> Job:
        """Start a command in `box`, `name` being unique in it; `fds` become 0, 1, 2, ..."""
        status_out, status_in = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(status_out, False)
        arguments = wire.memory_file(
            "options", b"\0".join(os.fsencode(word) for word in (*self.profile, *order.options))
        )
        seccomp = os.open(f"/proc/self/fd/{self.seccomp}", os.O_RDONLY | os.O_CLOEXEC)  # with a place of its own
        argv = [os.fsencode(word) for word in order.argv]
        group = box.group.open_job(name)

        def start() -> None:
            parent = os.getppid()
            if order.cpus:
                os.sched_setaffinity(0, order.cpus)
            box.become_payload(group, cpu_s=order.cpu_s)
            kernel.die_with_parent(parent, signal.SIGKILL)
            own = [str(number).encode() for number in _lay_out([*fds, arguments, seccomp, status_in])[len(fds) :]]
            os.chdir("/")
            box.limit_descriptors()
            os.execve(
                self.path,
                [b"bwrap", b"--args", own[0], b"--seccomp", own[1], b"--json-status-fd", own[2], b"--", *argv],
                {},  # /proc/1/environ of the sandbox is bwrap's
            )

        job = fork(line, start)
        job.status_fd, job.group, job.order = status_out, group, order
        for fd in (arguments, seccomp, status_in):
            os.close(fd)
        return job


def fork(line: socket.socket, work: Callable[[], None]) -> Job:
    """Return a child process that does `work` and ends."""
    pid = os.fork()
    if pid == 0:
        _in_child(work)
    return Job(line, pid, None)


def end_unknown(known: set[int]) -> None:
    """Kill our children but the `known`: first processes whose bwrap was killed before it could tell of them.

    Such a one waits for its bwrap for ever, and has been left to us.
    """
    for pid in processes.children(os.getpid()):
        if pid not in known:
            _signal(pid)


def reset_signals() -> None:
    """Give up what Python, or whoever started it, ignores: a command would inherit that."""
    for number in (signal.SIGCHLD, signal.SIGPIPE, signal.SIGXFSZ, *_OF_STARTERS):
        signal.signal(number, signal.SIG_DFL)


def _in_child(work: Callable[[], None]) -> NoReturn:
    try:
        signal.set_wakeup_fd(-1)
        reset_signals()
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
