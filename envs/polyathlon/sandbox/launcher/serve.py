"""The launcher's loop: opens boxes, starts commands in them, and sees to it that nothing outlives its owner."""

from __future__ import annotations

import contextlib
import json
import marshal
import os
import selectors
import signal
import socket
import time
from collections.abc import Callable

from . import cgroups, kernel, layers, wire
from .box import Amounts, Box, claim_user, open_box
from .frozen import start_stacking
from .jobs import Bwrap, Job, fork
from .leases import Kept, Lease, Refused
from .shelf import Shelf
from .template import build_template

_TICK_S = 0.25


class Launcher:
    """One room's launcher. `serve` returns when the owner is gone and everything is cleaned up."""

    def __init__(self, control: socket.socket, plan: dict[str, object]) -> None:
        self._control = control
        self._at = str(plan["at"])
        self._first_uid = _int(plan["first_uid"])
        seccomp = wire.memory_file("seccomp", bytes.fromhex(str(plan["seccomp"])))
        self._bwrap = Bwrap(str(plan["bwrap"]), tuple(_words(plan["profile"])), seccomp)
        self._parents = cgroups.find_parents()
        cgroups.sweep(self._parents)
        self._mark = cgroups.owner_mark()
        self._num_boxes = 0
        self._shelf = Shelf(keep=self._keep, add=self._add, close=self._close)
        self._leases: list[Lease | Kept] = []
        self._selector = selectors.DefaultSelector()
        self._over = False
        self._next_check_s = 0.0
        # A forked copy of the owner may hold its sockets open after its death: the process itself is watched too.
        self._owner = os.pidfd_open(_int(plan["owner"]))

    @property
    def controllers(self) -> list[str]:
        """What control groups can limit here."""
        return [name for parent in self._parents for name in parent.controllers]

    def serve(self) -> None:
        """Answer until the control socket closes."""
        wake, bell = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(bell, warn_on_full_buffer=False)
        self._watch(self._control, self._on_control)
        self._selector.register(self._owner, selectors.EVENT_READ, self._end)
        self._selector.register(wake, selectors.EVENT_READ, lambda: _drain(wake))
        while not self._over or self._leases:
            for key, _ in self._selector.select(_TICK_S if self._any_jobs() else None):
                if self._selector.get_map().get(key.fd) is key:  # not closed by one before it
                    key.data()
            self._reap()
            if time.monotonic() >= self._next_check_s:
                self._next_check_s = time.monotonic() + _TICK_S
                self._check_cpu()

    def _watch(self, line: socket.socket, call: Callable[[], None]) -> None:
        self._selector.register(line, selectors.EVENT_READ, call)

    def _any_jobs(self) -> bool:
        return any(lease.jobs for lease in self._leases)

    def _on_control(self) -> None:
        message = wire.receive(self._control)
        if message is None:
            self._end()
            return
        body, fds = message
        line = socket.socket(fileno=fds[0])
        try:
            if body["op"] == "load":
                self._load(socket.socket(fileno=fds[1]), line, fds[2])
            else:
                self._open(line, body)
        except OSError as error:
            with contextlib.suppress(OSError):  # the asker may be gone
                wire.send(line, {"error": str(error), "refused": isinstance(error, Refused)})
            line.close()
        finally:
            if len(fds) > 2:
                os.close(fds[2])

    def _end(self) -> None:
        self._over = True
        for watched in (self._control, self._owner):
            with contextlib.suppress(KeyError):
                self._selector.unregister(watched)
        for lease in list(self._leases):
            self._close(lease)

    def _open(self, line: socket.socket, body: dict[str, object]) -> None:
        self._num_boxes += 1
        amounts = Amounts.read(body)
        below = self._shelf.find(body, amounts) if "snapshot" in body else None
        with contextlib.ExitStack() as undo:
            user = below.user.share() if below else claim_user(self._first_uid, os.getpid() * 64 + self._num_boxes)
            undo.callback(user.free)
            group = cgroups.make_group(
                self._parents,
                f"{self._mark}{self._num_boxes}",
                memory_bytes=amounts.memory_bytes,
                processes=amounts.processes,
            )
            undo.callback(group.remove)
            if below is None:
                box, top = open_box(self._at, amounts, user, group)
            else:
                stack = layers.stack if body["op"] == "fork" else layers.stack_afresh
                made = start_stacking(below, amounts.place(self._at, user), stack).take()
                box, top = Box(self._at, amounts, user, group, made.world, made.layers), made.top
            undo.pop_all()
        lease = Lease(line, box)
        self._leases.append(lease)
        self._watch(line, lambda: self._on_lease(lease))
        counters = group.counters
        fds = [os.open(path, os.O_RDONLY | os.O_CLOEXEC) for path in (counters.oom, counters.pids) if path]
        names = [name for name, path in (("oom", counters.oom), ("pids", counters.pids)) if path]
        wire.send(line, {"uid": user.uid, "counters": names}, [top, *fds])
        for fd in (top, *fds):
            os.close(fd)

    def _on_lease(self, lease: Lease | Kept) -> None:
        message = wire.receive(lease.line)
        if message is None:
            self._close(lease)
            return
        body, fds = message
        line = socket.socket(fileno=fds[0])
        try:
            job = self._start(lease, line, body, fds[1:])
        except OSError as error:  # out of processes, memory or descriptors: this command is lost, not the launcher
            with contextlib.suppress(OSError):
                line.send(json.dumps({"error": str(error)}).encode("ascii"))
            line.close()
        else:
            if job is not None:
                self._add(lease, job)
        finally:
            for fd in fds[1:]:
                os.close(fd)

    def _add(self, lease: Lease | Kept, job: Job) -> None:
        lease.jobs.append(job)
        self._watch(job.line, lambda: self._on_job(job))

    def _start(self, lease: Lease | Kept, line: socket.socket, body: dict[str, object], fds: list[int]) -> Job | None:
        """Return the job that does what is asked, or None when something else has to end first."""
        if isinstance(lease, Kept):
            frozen = lease.frozen
            assert frozen is not None, "its owner is told of it once it is made"
            return fork(line, lambda: frozen.digest(fds[0]) if body["op"] == "digest" else frozen.read(fds[0]))
        box = lease.box
        if body["op"] == "spawn":
            return self._bwrap.spawn(box, line, (_words(body["options"]), _words(body["command"])), fds)
        if body["op"] == "read":
            return fork(line, lambda: box.read(fds[0]))
        if body["op"] == "write":
            with open(fds[1], "rb", closefd=False) as file:
                file.seek(0)
                rows = marshal.load(file)  # from the trainer, never from a payload
            return fork(line, lambda: box.write(rows, fds[0], folder=str(body["folder"])))
        if body["op"] == "snapshot":
            owner = socket.socket(fileno=os.dup(fds[0]))
            lease.when_idle(line, lambda: self._shelf.freeze(lease, line, owner))
        else:
            lease.when_idle(line, lambda: self._shelf.restore(lease, line, body))
        return None

    def _load(self, owner: socket.socket, line: socket.socket, trees: int) -> None:
        self._num_boxes += 1
        with contextlib.ExitStack() as undo:
            user = claim_user(self._first_uid, os.getpid() * 64 + self._num_boxes)
            undo.callback(user.free)
            self._shelf.load(self._at, user, (owner, line), trees)
            undo.pop_all()

    def _keep(self, kept: Kept) -> None:
        self._leases.append(kept)
        self._watch(kept.line, lambda: self._on_lease(kept))

    def _on_job(self, job: Job) -> None:
        """Any word on a job's line, or its end, means: kill it."""
        try:
            over = not job.line.recv(16)
        except ConnectionResetError:
            over = True
        if over:
            self._selector.unregister(job.line)
        job.kill()

    def _reap(self) -> None:
        jobs = {job.pid: job for lease in self._leases for job in lease.jobs}
        while (ended := _wait_any()) is not None:
            pid, status = ended
            if pid in jobs:
                jobs[pid].status = status
        for lease in list(self._leases):
            for job in [job for job in lease.jobs if job.status is not None]:
                self._finish(lease, job)
            if lease.closing and not lease.jobs:
                self._free(lease)
            elif isinstance(lease, Lease):
                lease.go_on()

    def _finish(self, lease: Lease | Kept, job: Job) -> None:
        """Tell the waiter once the whole tree is gone: bwrap may end a moment before the processes it leaves us."""
        answer = {"status": job.status, "started": job.finish(), "cpu_spent": job.cpu_spent}
        with contextlib.suppress(OSError):
            if job.conclude is not None:
                job.conclude()
            else:
                job.line.send(json.dumps(answer).encode("ascii"))
        with contextlib.suppress(KeyError):
            self._selector.unregister(job.line)
        job.line.close()
        lease.jobs.remove(job)

    def _check_cpu(self) -> None:
        for lease in self._leases:
            if isinstance(lease, Lease) and lease.jobs and lease.box.group.cpu_s() > lease.box.amounts.cpu_s:
                for job in lease.jobs:
                    if job.status_fd is not None:  # a command, and no child of ours that sees to the files
                        job.cpu_spent = True
                        job.kill()

    def _close(self, lease: Lease | Kept) -> None:
        with contextlib.suppress(KeyError):
            self._selector.unregister(lease.line)
        lease.closing = True
        for job in lease.jobs:
            job.kill()
        if not lease.jobs:
            self._free(lease)

    def _free(self, lease: Lease | Kept) -> None:
        if isinstance(lease, Kept):
            self._shelf.forget(lease)
        if lease in self._leases:
            self._leases.remove(lease)
            lease.free()
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
    wire.send(control, {"controllers": launcher.controllers})
    launcher.serve()


def _wait_any() -> tuple[int, int] | None:
    """Return (pid, status) of one child that has ended, or None when there is none now."""
    try:
        pid, status = os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        return None
    return (pid, status) if pid else None


def _drain(fd: int) -> None:
    with contextlib.suppress(BlockingIOError):
        while os.read(fd, 4096):
            pass


def _words(value: object) -> list[str]:
    assert isinstance(value, list)
    return value


def _int(value: object) -> int:
    assert isinstance(value, int)
    return value


if __name__ == "__main__":
    main()
