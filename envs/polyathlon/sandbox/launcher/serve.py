"""The launcher's loop: opens boxes, starts commands in them, and sees to it that nothing outlives its owner."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import marshal
import os
import resource
import selectors
import signal
import socket
import time
from collections.abc import Callable

from . import cgroups, kernel, layers, wire
from .box import Amounts, Box, User, claim_user, open_box
from .cpus import Cpus
from .frozen import Frozen, start_stacking
from .jobs import Bwrap, Job, Order, end_unknown, fork
from .leases import Kept, Lease, Refused, tell
from .shelf import Shelf
from .template import build_template
from .watchdog import watchdog_for
from .zygote import Judgement, WarmPython

_TICK_S = 0.25
_WATCHED_TICK_S = 0.1  # where a sum over processes is the limit, it must be taken often
_ENDING_TICK_S = 0.02


class Launcher:
    """One room's launcher. `serve` returns when the owner is gone and everything is cleaned up."""

    def __init__(self, control: socket.socket, plan: dict[str, object]) -> None:
        self._control = control
        self._plan = plan
        self._warm: WarmPython | None = None
        self._at = str(plan["at"])
        self._first_uid = _int(plan["first_uid"])
        seccomp = wire.memory_file("seccomp", bytes.fromhex(str(plan["seccomp"])))
        self._bwrap = Bwrap(str(plan["bwrap"]), tuple(_words(plan["profile"])), seccomp)
        self._parents = cgroups.find_parents()
        cgroups.sweep(self._parents)
        self._mark = cgroups.owner_mark()
        self._num_boxes = 0
        self._cpus = Cpus()
        self._shelf = Shelf(keep=self._keep, add=self._add, close=self._close)
        self._leases: list[Lease | Kept] = []
        self._selector = selectors.DefaultSelector()
        self._orphans_cpu_s: dict[int, float] = {}
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
            for key, _ in self._selector.select(self._wait_s()):
                if self._selector.get_map().get(key.fd) is key:  # not closed by one before it
                    key.data()
            self._reap()
            if self._warm is not None and not self._warm.alive:
                self._warm = None
            self._tick()

    def _watch(self, line: socket.socket, call: Callable[[], None]) -> None:
        self._selector.register(line, selectors.EVENT_READ, call)

    def _wait_s(self) -> float | None:
        """Return how long to wait for an event: for ever when nothing runs."""
        running = self._running()
        judging = self._warm is not None and self._warm.busy
        if not running and not judging:
            return None
        if any(job.ending for lease in running for job in lease.jobs):
            return _ENDING_TICK_S
        return _WATCHED_TICK_S if self._watched() else _TICK_S

    def _watched(self) -> bool:
        """Whether something runs that no control group counts."""
        judging = self._warm is not None and self._warm.watched
        return judging or any(lease.watchdog is not None for lease in self._running())

    def _running(self) -> list[Lease]:
        """Return the boxes in which something runs."""
        return [lease for lease in self._leases if isinstance(lease, Lease) and lease.jobs]

    def _tick(self) -> None:
        running = self._running()
        for lease in running:
            for job in lease.jobs:
                job.kill_when_deaf()
        if time.monotonic() < self._next_check_s:
            return
        self._next_check_s = time.monotonic() + (_WATCHED_TICK_S if self._watched() else _TICK_S)
        for lease in running:
            lease.check()
        if self._warm is not None:
            self._warm.check()
            self._warm.tidy()

    def _on_control(self) -> None:
        message = wire.receive(self._control)
        if message is None:
            self._end()
            return
        body, fds = message
        line = socket.socket(fileno=fds[0])
        try:
            if body["op"] == "judge":
                self._judge(line, Amounts.read(body), fds[1:])
            elif body["op"] == "load":
                self._load(socket.socket(fileno=os.dup(fds[1])), line, fds[2])
            else:
                self._open(line, body)
        except OSError as error:
            tell(line, {"error": str(error), "refused": isinstance(error, Refused)})
            line.close()
        finally:
            for fd in fds[1:]:
                os.close(fd)

    def _end(self) -> None:
        self._over = True
        for watched in (self._control, self._owner):
            with contextlib.suppress(KeyError):
                self._selector.unregister(watched)
        for lease in list(self._leases):
            self._close(lease)
        if self._warm is not None:
            self._warm.close()
            self._warm = None

    def _claim(self, undo: contextlib.ExitStack, below: Frozen | None = None) -> User:
        """Return the user of `below`, or one that nobody else has; `undo` gives it back."""
        self._num_boxes += 1
        start = os.getpid() * 64 + self._num_boxes
        user = below.user.share() if below is not None else claim_user(self._first_uid, start)
        undo.callback(user.free)
        return user

    def _group(self, amounts: Amounts, undo: contextlib.ExitStack) -> cgroups.Group:
        """Return control groups that nobody else has; `undo` gives them back."""
        group = cgroups.make_group(
            self._parents,
            f"{self._mark}{self._num_boxes}",
            memory_bytes=amounts.memory_bytes,
            processes=amounts.processes,
            cores=amounts.cores,
        )
        undo.callback(group.remove)
        return group

    def _judge(self, line: socket.socket, amounts: Amounts, streams: list[int]) -> None:
        """Have the warm Python fork a judge; `line` is told how it ended."""
        with contextlib.ExitStack() as undo:
            if self._warm is None:
                self._warm = WarmPython(self._plan, self._selector)
            user, group = self._claim(undo), self._group(amounts, undo)
            undo.pop_all()
        judgement = Judgement(line, -1, amounts, user, group, cpus=self._choose_cpus(amounts.cores))
        self._warm.judge(judgement, streams, first_uid=self._first_uid)

    def _open(self, line: socket.socket, body: dict[str, object]) -> None:
        amounts = Amounts.read(body)
        below = self._shelf.find(body, amounts) if "snapshot" in body else None
        with contextlib.ExitStack() as undo:
            user, group = self._claim(undo, below), self._group(amounts, undo)
            if below is None:
                box, top = open_box(self._at, amounts, user, group)
            else:
                stack = layers.stack if body["op"] == "fork" else layers.stack_afresh
                made = start_stacking(below, amounts.place(self._at, user), stack).take()
                box, top = Box(self._at, amounts, user, group, made.world, made.layers), made.top
            undo.pop_all()
        counters = {name: path for name, path in dataclasses.asdict(group.counters).items() if path}
        watchdog = watchdog_for(group.counters, memory_bytes=amounts.memory_bytes)
        if watchdog is not None:
            counters.setdefault("oom", f"/proc/self/fd/{watchdog.counter}")
        lease = Lease(line, box, watchdog)
        self._leases.append(lease)
        self._watch(line, lambda: self._on_lease(lease))
        fds = [os.open(path, os.O_RDONLY | os.O_CLOEXEC) for path in counters.values()]
        answer = {"uid": user.uid, "counters": list(counters), **layers.weight(box.layers)}
        tell(line, answer, [top, *fds])

    def _load(self, owner: socket.socket, line: socket.socket, trees: int) -> None:
        with contextlib.ExitStack() as undo:
            self._shelf.load(self._at, self._claim(undo), (owner, line), trees)
            undo.pop_all()

    def _keep(self, kept: Kept) -> None:
        self._leases.append(kept)
        self._watch(kept.line, lambda: self._on_lease(kept))

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
        match body["op"]:
            case "spawn":
                lease.num_jobs += 1
                cpu_s = min(box.amounts.cpu_s, float(str(body["cpu_s"])))
                cpus = self._choose_cpus(box.amounts.cores)
                order = Order(_words(body["command"]), _words(body["options"]), cpu_s, cpus)
                return self._bwrap.spawn(box, line, order, fds, str(lease.num_jobs))
            case "kill":
                lease.kill(line)
            case "snapshot":
                owner = socket.socket(fileno=os.dup(fds[0]))
                lease.when_idle(line, lambda: self._shelf.freeze(lease, line, owner))
            case "restore":
                lease.when_idle(line, lambda: self._shelf.restore(lease, line, body))
            case "digest":
                below = Frozen(box.at, box.user, box.world, box.layers)
                return fork(line, lambda: below.digest(fds[0]))
            case _:
                return _start_on_files(box, line, body, fds)
        return None

    def _choose_cpus(self, cores: float) -> frozenset[int]:
        orders = [job.order.cpus for lease in self._running() for job in lease.jobs if job.order is not None]
        return self._cpus.choose(cores, bound=[*orders, *(self._warm.cpus if self._warm is not None else ())])

    def _on_job(self, job: Job) -> None:
        """Any word on a job's line, or its end, means: kill it. "end" asks it to end by itself first."""
        try:
            said = job.line.recv(16)
        except ConnectionResetError:
            said = b""
        if not said:
            self._selector.unregister(job.line)
        if said == b"end":
            job.ask_to_end()
        else:
            job.kill()

    def _reap(self) -> None:
        jobs = {job.pid: job for lease in self._leases for job in lease.jobs}
        while (ended := _wait_any()) is not None:
            pid, status, cpu_s = ended
            if pid in jobs:
                jobs[pid].status = status
                jobs[pid].reaped_cpu_s += cpu_s
            else:  # the first process of a sandbox whose bwrap ended before it
                self._orphans_cpu_s[pid] = cpu_s
        for lease in list(self._leases):
            for job in [job for job in lease.jobs if job.status is not None]:
                self._finish(lease, job)
            if isinstance(lease, Lease):
                lease.go_on()
            if lease.closing and not lease.jobs:
                self._free(lease)
        self._orphans_cpu_s.clear()

    def _finish(self, lease: Lease | Kept, job: Job) -> None:
        """Tell the waiter once the whole tree is gone: bwrap may end a moment before the processes it leaves us."""
        started = job.finish()
        if job.init is not None:
            job.reaped_cpu_s += self._orphans_cpu_s.get(job.init, 0.0)
        elif job.order is not None:
            warm = [self._warm.pid] if self._warm is not None else []
            end_unknown({*warm, *(job.pid for held in self._leases for job in held.jobs)})
        cpu_s = job.cpu_s()
        if isinstance(lease, Lease):
            lease.ended_cpu_s += cpu_s
        if job.group is not None:
            job.group.remove()
        answer = {"status": job.status, "started": started, "cpu_spent": job.cpu_spent, "cpu_s": cpu_s}
        with contextlib.suppress(OSError):
            if job.conclude is not None:
                job.conclude()
            else:
                job.line.send(json.dumps(answer).encode("ascii"))
        with contextlib.suppress(KeyError):
            self._selector.unregister(job.line)
        job.line.close()
        lease.jobs.remove(job)

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
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # some ten for each sandbox; a payload has its own limit
    try:
        build_template(plan)
        launcher = Launcher(control, plan)
    except OSError as error:
        wire.send(control, {"error": str(error)})
        return
    wire.send(control, {"controllers": launcher.controllers})
    launcher.serve()


def _start_on_files(box: Box, line: socket.socket, body: dict[str, object], fds: list[int]) -> Job:
    """Return the child that reads or writes the files of `box`."""
    if body["op"] == "read":
        paths = None if body["paths"] is None else _words(body["paths"])
        return fork(line, lambda: box.read(paths, fds[0]))
    with open(fds[1], "rb", closefd=False) as file:
        file.seek(0)
        rows, removed = marshal.load(file)  # from the trainer, never from a payload
    if body["op"] == "change":
        return fork(line, lambda: box.change(rows, removed, fds[0]))
    return fork(line, lambda: box.write(rows, fds[0], folder=str(body["folder"])))


def _wait_any() -> tuple[int, int, float] | None:
    """Return (pid, status, CPU seconds) of one child that has ended, or None when there is none now."""
    try:
        pid, status, used = os.wait4(-1, os.WNOHANG)
    except ChildProcessError:
        return None
    return (pid, status, used.ru_utime + used.ru_stime) if pid else None


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
