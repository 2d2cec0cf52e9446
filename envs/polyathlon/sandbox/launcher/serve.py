"""The launcher's loop: opens boxes, starts commands in them, and sees to it that nothing outlives its owner."""

from __future__ import annotations

import contextlib
import fcntl
import json
import marshal
import os
import selectors
import signal
import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NoReturn

from . import cgroups, kernel, wire
from .box import Amounts, Box, claim_user, open_box
from .template import build_template

_TICK_S = 0.25
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


@dataclass(slots=True)
class Lease:
    """A box and the socket of its owner: when that closes, the box goes."""

    line: socket.socket
    box: Box
    jobs: list[Job] = field(default_factory=list)
    closing: bool = False


class Launcher:
    """One room's launcher. `serve` returns when the owner is gone and everything is cleaned up."""

    def __init__(self, control: socket.socket, plan: dict[str, object]) -> None:
        self._control = control
        self._at = str(plan["at"])
        self._bwrap = str(plan["bwrap"])
        self._profile = [str(word) for word in _list(plan["profile"])]
        self._first_uid = _int(plan["first_uid"])
        self._seccomp = wire.memory_file("seccomp", bytes.fromhex(str(plan["seccomp"])))
        self._parents = cgroups.find_parents()
        cgroups.sweep(self._parents)
        self._mark = cgroups.owner_mark()
        self._num_boxes = 0
        self._leases: list[Lease] = []
        self._selector = selectors.DefaultSelector()
        self._over = False

    def serve(self) -> None:
        """Answer until the control socket closes."""
        wake, bell = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(bell, warn_on_full_buffer=False)
        self._watch(self._control, self._on_control)
        self._selector.register(wake, selectors.EVENT_READ, lambda: _drain(wake))
        while not self._over or self._leases:
            for key, _ in self._selector.select(_TICK_S if self._any_jobs() else None):
                key.data()
            self._reap()
            self._check_cpu()

    def _watch(self, line: socket.socket, call: Callable[[], None]) -> None:
        self._selector.register(line, selectors.EVENT_READ, call)

    def _any_jobs(self) -> bool:
        return any(lease.jobs for lease in self._leases)

    def _on_control(self) -> None:
        message = wire.receive(self._control)
        if message is None:
            self._over = True
            self._selector.unregister(self._control)
            for lease in list(self._leases):
                self._close(lease)
            return
        body, fds = message
        line = socket.socket(fileno=fds[0])
        try:
            amounts = Amounts(**{name: body[name] for name in Amounts.__slots__})  # type: ignore[arg-type]  # checked by its sender
            self._open(line, amounts)
        except OSError as error:
            wire.send(line, {"error": str(error)})
            line.close()

    def _open(self, line: socket.socket, amounts: Amounts) -> None:
        self._num_boxes += 1
        user = claim_user(self._first_uid, os.getpid() * 64 + self._num_boxes)
        name = f"{self._mark}{self._num_boxes}"
        try:
            group = cgroups.make_group(
                self._parents, name, memory_bytes=amounts.memory_bytes, processes=amounts.processes
            )
        except OSError:
            if user.claim is not None:
                user.claim.close()
            raise
        try:
            box, workspace = open_box(self._at, amounts, user, group)
        except OSError:
            group.remove()
            if user.claim is not None:
                user.claim.close()
            raise
        lease = Lease(line, box)
        self._leases.append(lease)
        self._watch(line, lambda: self._on_lease(lease))
        counters = group.counters
        fds = [os.open(path, os.O_RDONLY | os.O_CLOEXEC) for path in (counters.oom, counters.pids) if path]
        names = [name for name, path in (("oom", counters.oom), ("pids", counters.pids)) if path]
        wire.send(line, {"uid": user.uid, "counters": names}, [workspace, *fds])
        for fd in (workspace, *fds):
            os.close(fd)

    def _on_lease(self, lease: Lease) -> None:
        message = wire.receive(lease.line)
        if message is None:
            self._close(lease)
            return
        body, fds = message
        line = socket.socket(fileno=fds[0])
        if body["op"] == "spawn":
            job = self._spawn(lease.box, line, body, fds[1:])
        elif body["op"] == "read":
            job = self._fork(line, lambda: lease.box.read(fds[1]))
        else:
            with open(fds[2], "rb", closefd=False) as file:
                file.seek(0)
                rows = marshal.load(file)  # from the trainer, never from a payload
            job = self._fork(line, lambda: lease.box.write(rows, fds[1]))
        for fd in fds[1:]:
            os.close(fd)
        lease.jobs.append(job)
        self._watch(line, lambda: self._on_job(job))

    def _on_job(self, job: Job) -> None:
        """Any word on a job's line, or its end, means: kill it."""
        if not job.line.recv(16):
            self._selector.unregister(job.line)
        self._kill(job)

    def _spawn(self, box: Box, line: socket.socket, body: dict[str, object], fds: list[int]) -> Job:
        options = [*self._profile, *(str(word) for word in _list(body["options"]))]
        command = [str(word) for word in _list(body["command"])]
        status_out, status_in = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(status_out, False)
        arguments = wire.memory_file("arguments", b"\0".join(os.fsencode(word) for word in options))
        seccomp = os.open(f"/proc/self/fd/{self._seccomp}", os.O_RDONLY | os.O_CLOEXEC)  # its own place in the file

        def start() -> None:
            parent = os.getppid()
            box.become_payload()
            kernel.die_with_parent(parent, signal.SIGKILL)
            numbers = _lay_out([*fds, arguments, seccomp, status_in])
            own = [str(number) for number in numbers[len(fds) :]]
            words = ["bwrap", "--args", own[0], "--seccomp", own[1], "--json-status-fd", own[2], "--", *command]
            os.chdir("/")
            os.execve(self._bwrap, [os.fsencode(word) for word in words], {})

        job = self._fork(line, start)
        job.status_fd = status_out
        for fd in (arguments, seccomp, status_in):
            os.close(fd)
        return job

    def _fork(self, line: socket.socket, work: Callable[[], None]) -> Job:
        pid = os.fork()
        if pid == 0:
            _in_child(work)
        return Job(line, pid, None)

    def _kill(self, job: Job) -> None:
        if job.status is not None:
            return
        job.read_report()
        init = job.init
        _signal(init if init is not None and _parent_of(init) == job.pid else job.pid)

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                pid = 0
            if pid == 0:
                break
            for lease in self._leases:
                for job in lease.jobs:
                    if job.pid == pid:
                        job.status = status
        for lease in list(self._leases):
            for job in [job for job in lease.jobs if job.status is not None]:
                self._finish(lease, job)
            if lease.closing and not lease.jobs:
                self._free(lease)

    def _finish(self, lease: Lease, job: Job) -> None:
        """Tell the waiter once the whole tree is gone: bwrap may end a moment before the processes it leaves us."""
        started = True
        if job.status_fd is not None:
            job.read_report()
            os.close(job.status_fd)
            started = b"exit-code" in job.report
            init = job.init
            if init is not None and _parent_of(init) == os.getpid():
                _signal(init)
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(init, 0)
        answer = {"status": job.status, "started": started, "cpu_spent": job.cpu_spent}
        with contextlib.suppress(OSError):
            job.line.send(json.dumps(answer).encode("ascii"))
        with contextlib.suppress(KeyError):
            self._selector.unregister(job.line)
        job.line.close()
        lease.jobs.remove(job)

    def _check_cpu(self) -> None:
        for lease in self._leases:
            if lease.jobs and lease.box.group.cpu_s() > lease.box.amounts.cpu_s:
                for job in lease.jobs:
                    job.cpu_spent = True
                    self._kill(job)

    def _close(self, lease: Lease) -> None:
        with contextlib.suppress(KeyError):
            self._selector.unregister(lease.line)
        lease.closing = True
        for job in lease.jobs:
            self._kill(job)
        if not lease.jobs:
            self._free(lease)

    def _free(self, lease: Lease) -> None:
        if lease in self._leases:
            self._leases.remove(lease)
            lease.box.free()
            lease.line.close()


def main() -> None:
    """Serve the socket on descriptor 0: the first message is the plan, the answer says how it went."""
    control = socket.socket(fileno=0)
    message = wire.receive(control)
    if message is None:
        return
    plan, _ = message
    kernel.adopt_orphans()
    try:
        build_template(plan)
        launcher = Launcher(control, plan)
    except OSError as error:
        wire.send(control, {"error": str(error)})
        return
    wire.send(control, {"controllers": [name for parent in launcher._parents for name in parent.controllers]})
    launcher.serve()


def _in_child(work: Callable[[], None]) -> NoReturn:
    try:
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)  # Python ignores some of these, and a command would inherit that
        work()
        os._exit(0)
    except BaseException as error:  # noqa: BLE001  # a forked child: nothing may escape into the parent's code
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


def _drain(fd: int) -> None:
    with contextlib.suppress(BlockingIOError):
        while os.read(fd, 4096):
            pass


def _list(value: object) -> list[object]:
    assert isinstance(value, list)
    return value


def _int(value: object) -> int:
    assert isinstance(value, int)
    return value


if __name__ == "__main__":
    main()
