"""The launcher's loop: opens boxes, starts commands in them, and sees to it that nothing outlives its owner."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import json
import marshal
import math
import os
import resource
import selectors
import signal
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from . import cgroups, kernel, wire
from .box import Amounts, Box, User, claim_user, open_box
from .jobs import Bwrap, Job, Order, fork
from .template import build_template
from .watchdog import Watchdog, watchdog_for
from .zygote import Judgement, WarmPython

_TICK_S = 0.25
_WATCHED_TICK_S = 0.1  # where a sum over processes is the limit, it must be taken often
_ENDING_TICK_S = 0.02


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
        self._cpus = sorted(os.sched_getaffinity(0))
        self._leases: list[Lease] = []
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
        running = [lease for lease in self._leases if lease.jobs]
        judging = self._warm is not None and self._warm.busy
        if not running and not judging:
            return None
        if any(job.ending for lease in running for job in lease.jobs):
            return _ENDING_TICK_S
        return _WATCHED_TICK_S if self._watched() else _TICK_S

    def _watched(self) -> bool:
        """Whether something runs that no control group counts."""
        judging = self._warm is not None and self._warm.watched
        return judging or any(lease.jobs and lease.watchdog is not None for lease in self._leases)

    def _tick(self) -> None:
        running = [lease for lease in self._leases if lease.jobs]
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
            if body.get("op") == "judge":
                self._judge(line, Amounts.read(body), fds[1:])
            else:
                self._open(line, Amounts.read(body))
        except OSError as error:
            with contextlib.suppress(OSError):  # the asker may be gone
                wire.send(line, {"error": str(error)})
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

    def _hold(self, amounts: Amounts, undo: contextlib.ExitStack) -> tuple[User, cgroups.Group]:
        """Return a user and control groups that nobody else has; `undo` gives them back."""
        self._num_boxes += 1
        user = claim_user(self._first_uid, os.getpid() * 64 + self._num_boxes)
        if user.claim is not None:
            undo.callback(user.claim.close)
        group = cgroups.make_group(
            self._parents,
            f"{self._mark}{self._num_boxes}",
            memory_bytes=amounts.memory_bytes,
            processes=amounts.processes,
            cores=amounts.cores,
        )
        undo.callback(group.remove)
        return user, group

    def _judge(self, line: socket.socket, amounts: Amounts, streams: list[int]) -> None:
        """Have the warm Python fork a judge; `line` is told how it ended."""
        with contextlib.ExitStack() as undo:
            if self._warm is None:
                self._warm = WarmPython(self._plan, self._selector)
            user, group = self._hold(amounts, undo)
            undo.pop_all()
        judgement = Judgement(line, -1, amounts, user, group, cpus=self._choose_cpus(amounts.cores))
        self._warm.judge(judgement, streams, first_uid=self._first_uid)

    def _open(self, line: socket.socket, amounts: Amounts) -> None:
        with contextlib.ExitStack() as undo:
            user, group = self._hold(amounts, undo)
            box, workspace = open_box(self._at, amounts, user, group)
            undo.pop_all()
        counters = {name: path for name, path in dataclasses.asdict(group.counters).items() if path}
        watchdog = watchdog_for(group.counters, memory_bytes=amounts.memory_bytes)
        if watchdog is not None:
            counters.setdefault("oom", f"/proc/self/fd/{watchdog.counter}")
        lease = Lease(line, box, watchdog)
        self._leases.append(lease)
        self._watch(line, lambda: self._on_lease(lease))
        fds = [os.open(path, os.O_RDONLY | os.O_CLOEXEC) for path in counters.values()]
        wire.send(line, {"uid": user.uid, "counters": list(counters)}, [workspace, *fds])
        for fd in (workspace, *fds):
            os.close(fd)

    def _on_lease(self, lease: Lease) -> None:
        message = wire.receive(lease.line)
        if message is None:
            self._close(lease)
            return
        body, fds = message
        line = socket.socket(fileno=fds[0])
        if body["op"] == "kill":
            lease.emptied.append(line)
            for job in lease.commands:
                job.kill()
            return
        try:
            job = self._start(lease, line, body, fds[1:])
        except OSError as error:  # out of processes, memory or descriptors: this command is lost, not the launcher
            with contextlib.suppress(OSError):
                line.send(json.dumps({"error": str(error)}).encode("ascii"))
            line.close()
        else:
            lease.jobs.append(job)
            self._watch(line, lambda: self._on_job(job))
        finally:
            for fd in fds[1:]:
                os.close(fd)

    def _start(self, lease: Lease, line: socket.socket, body: dict[str, object], fds: list[int]) -> Job:
        box = lease.box
        if body["op"] == "spawn":
            lease.num_jobs += 1
            cpu_s = min(box.amounts.cpu_s, float(str(body["cpu_s"])))
            order = Order(_words(body["command"]), _words(body["options"]), cpu_s, self._choose_cpus(box.amounts.cores))
            return self._bwrap.spawn(box, line, order, fds, str(lease.num_jobs))
        if body["op"] == "read":
            paths = None if body["paths"] is None else _words(body["paths"])
            return fork(line, lambda: box.read(paths, fds[0]))
        with open(fds[1], "rb", closefd=False) as file:
            file.seek(0)
            rows, removed = marshal.load(file)  # from the trainer, never from a payload
        if body["op"] == "change":
            return fork(line, lambda: box.change(rows, removed, fds[0]))
        return fork(line, lambda: box.write(rows, fds[0]))

    def _choose_cpus(self, cores: float) -> frozenset[int]:
        """Return the CPUs that the fewest commands are bound to, `cores` rounded up; none where all may be used.

        What is bound can unbind itself. It is the quota that holds; this makes `nproc` tell the truth about it.
        """
        count = max(1, math.ceil(cores))
        if count >= len(self._cpus):
            return frozenset()
        orders = [job.order.cpus for lease in self._leases for job in lease.jobs if job.order is not None]
        judges = self._warm.cpus if self._warm is not None else []
        bound = collections.Counter(cpu for cpus in (*orders, *judges) for cpu in cpus)
        self._cpus = self._cpus[1:] + self._cpus[:1]  # among equals, another one each time
        return frozenset(sorted(self._cpus, key=lambda cpu: bound[cpu])[:count])

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
            if lease.emptied and not lease.commands:
                while lease.emptied:
                    with lease.emptied.pop() as asker, contextlib.suppress(OSError):
                        asker.send(b"gone")
            if lease.closing and not lease.jobs:
                self._free(lease)
        self._orphans_cpu_s.clear()

    def _finish(self, lease: Lease, job: Job) -> None:
        """Tell the waiter once the whole tree is gone: bwrap may end a moment before the processes it leaves us."""
        started = job.finish()
        if job.init is not None:
            job.reaped_cpu_s += self._orphans_cpu_s.get(job.init, 0.0)
        cpu_s = job.cpu_s()
        lease.ended_cpu_s += cpu_s
        if job.group is not None:
            job.group.remove()
        answer = {"status": job.status, "started": started, "cpu_spent": job.cpu_spent, "cpu_s": cpu_s}
        with contextlib.suppress(OSError):
            job.line.send(json.dumps(answer).encode("ascii"))
        with contextlib.suppress(KeyError):
            self._selector.unregister(job.line)
        job.line.close()
        lease.jobs.remove(job)

    def _close(self, lease: Lease) -> None:
        with contextlib.suppress(KeyError):
            self._selector.unregister(lease.line)
        lease.closing = True
        for job in lease.jobs:
            job.kill()
        if not lease.jobs:
            self._free(lease)

    def _free(self, lease: Lease) -> None:
        if lease in self._leases:
            self._leases.remove(lease)
            lease.box.free()
            if lease.watchdog is not None:
                lease.watchdog.close()
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
