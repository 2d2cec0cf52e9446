"""Control groups of one sandbox, where this machine lets us make any: limits, and the kernel's own counters."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from dataclasses import dataclass

PREFIX = "polyathlon-"
_V1 = ("memory", "pids", "cpuacct", "cpu")
_V2_LIMITS = ("memory", "pids", "cpu")
_PERIOD_US = 100_000
_SHORTEST_QUOTA_US = 1_000


@dataclass(frozen=True, slots=True)
class Parent:
    """A writable group that new groups go under.

    `controllers` names what it can do: limit "memory", "pids" and "cpu", count CPU time ("cpuacct"), "kill" at once.
    """

    path: str
    version: int
    controllers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Counters:
    """Paths of the kernel's counters of one sandbox; empty where there are none."""

    oom: str = ""
    pids: str = ""
    cpu: str = ""
    peak: str = ""


@dataclass(frozen=True, slots=True)
class JobGroup:
    """The group of one command, below its sandbox's: it counts, and lists the processes. It limits nothing."""

    path: str
    counter: str

    def cpu_s(self) -> float:
        """Return the CPU seconds used so far."""
        return _read_cpu_s(self.counter)

    def processes(self) -> list[int]:
        """Return the processes of the command, bwrap's own among them."""
        with open(f"{self.path}/cgroup.procs", encoding="ascii") as file:
            return [int(line) for line in file]

    def remove(self) -> None:
        """Remove it. Its processes must be gone; where the kernel still has them, it goes with its sandbox's."""
        with contextlib.suppress(OSError):
            os.rmdir(self.path)


@dataclass(frozen=True, slots=True)
class Group:
    """The groups of one sandbox: a directory in each hierarchy. Commands get theirs below `jobs`, where that is one."""

    paths: tuple[str, ...]
    counters: Counters
    jobs: str = ""

    def open_job(self, name: str) -> JobGroup | None:
        """Return a new group for one command, None where nothing counts CPU time."""
        if not self.jobs:
            return None
        path = f"{self.jobs}/{name}"
        os.mkdir(path)
        return JobGroup(path, f"{path}/{os.path.basename(self.counters.cpu)}")

    def entries(self, job: JobGroup | None = None) -> tuple[str, ...]:
        """Return where a process of one thread writes "0" to be moved in, and into `job`."""
        places = [job.path if job is not None and path == self.jobs else path for path in self.paths]
        # A v1 group can move a thread by itself: that skips a lock for which the kernel waits out a grace period.
        return tuple(
            f"{place}/tasks" if os.path.exists(f"{place}/tasks") else f"{place}/cgroup.procs" for place in places
        )

    def join(self, job: JobGroup | None = None) -> None:
        """Move the calling process, which has one thread, in and into `job`."""
        for path in self.entries(job):
            _write(path, "0")

    def kill(self) -> None:
        """Kill every process at once, where the kernel can: elsewhere this does nothing."""
        for path in self.paths:
            if os.path.exists(f"{path}/cgroup.kill"):
                _write(f"{path}/cgroup.kill", "1")

    def removed(self) -> bool:
        """Try to remove the directories; return whether all are gone: one with a zombie in it stays."""
        for path in self.paths:
            with contextlib.suppress(OSError):
                os.rmdir(path)
        return not any(map(os.path.exists, self.paths))

    def remove(self) -> None:
        """Remove the directories, those of commands included. Their processes must be gone."""
        for path in self.paths:
            with contextlib.suppress(OSError):
                for entry in os.scandir(path):
                    if entry.is_dir(follow_symlinks=False):
                        _remove(entry.path)
            _remove(path)

    def count(self, name: str) -> int:
        """Return the kernel's count of "oom" kills or refused "pids" so far; 0 where nothing counts."""
        path = self.counters.oom if name == "oom" else self.counters.pids
        if not path:
            return 0
        with open(path, encoding="ascii") as file:
            return parse_count(file.read(), name)

    def cpu_s(self) -> float | None:
        """Return the CPU seconds used so far, None where nothing counts them."""
        return _read_cpu_s(self.counters.cpu) if self.counters.cpu else None


def find_parents() -> list[Parent]:
    """Return the groups under which this process may make its own: none, some of version 1, one of version 2, or both.

    Where version 1 limits and version 2 has no controllers (a "hybrid" system), version 2 counts CPU time and kills.
    """
    own = {}
    with open("/proc/self/cgroup", encoding="utf-8") as file:
        for line in file:
            _, names, path = line.rstrip("\n").split(":", 2)
            for name in names.split(","):
                own[name] = path
    parents = []
    with open("/proc/self/mountinfo", encoding="utf-8") as file:
        for line in file:
            left, _, right = line.partition(" - ")
            point, kind, options = left.split()[4], right.split()[0], right.split()[-1].split(",")
            if kind == "cgroup":
                counted = tuple(name for name in _V1 if name in options)
                parents += [Parent(_inside(point, own[counted[0]]), 1, counted)] if counted else []
            elif kind == "cgroup2":
                place = _inside(point, own.get("", "/"))
                limits = _V2_LIMITS if _can_delegate(place) else ()
                parents.append(Parent(place, 2, (*limits, "cpuacct", "kill")))
    return _without_doubles([parent for parent in parents if os.access(parent.path, os.W_OK)])


def _without_doubles(parents: list[Parent]) -> list[Parent]:
    """Leave the counting of CPU time to version 2 where both could: each hierarchy costs every command a migration."""
    if all(parent.version == 1 for parent in parents):
        return parents
    spared = [
        Parent(parent.path, 1, tuple(name for name in parent.controllers if name != "cpuacct"))
        for parent in parents
        if parent.version == 1
    ]
    return [parent for parent in spared if parent.controllers] + [p for p in parents if p.version == 2]


def make_group(parents: list[Parent], name: str, *, memory_bytes: int, processes: int, cores: float) -> Group:
    """Make the groups of one sandbox and set its limits. With no parents: a group that limits nothing.

    Raises:
        OSError: the kernel refused; nothing is left behind.

    """
    paths: list[str] = []
    oom = pids = cpu = peak = jobs = ""
    throttled = cores < (os.cpu_count() or 1)
    try:
        for parent in parents:
            if parent.controllers == ("cpu",) and not throttled:
                continue
            path = f"{parent.path}/{name}"
            os.mkdir(path)
            paths.append(path)
            first = parent.version == 1
            if "memory" in parent.controllers:
                _limit_memory(path, memory_bytes, version=parent.version)
                oom = f"{path}/memory.oom_control" if first else f"{path}/memory.events"
                peak = f"{path}/memory.max_usage_in_bytes" if first else f"{path}/memory.peak"
            if "pids" in parent.controllers:
                _write(f"{path}/pids.max", str(processes))
                pids = f"{path}/pids.events"
            if "cpu" in parent.controllers:
                _weigh_cpu(path, os.getpriority(os.PRIO_PROCESS, 0), version=parent.version)
                if throttled:
                    _limit_cpu(path, cores, version=parent.version)
            if "cpuacct" in parent.controllers:
                cpu = f"{path}/cpuacct.usage" if first else f"{path}/cpu.stat"
                jobs = path
    except OSError:
        Group(tuple(paths), Counters()).remove()
        raise
    peak = peak if os.path.exists(peak) else ""  # version 2 counts it since Linux 5.19
    return Group(tuple(paths), Counters(oom=oom, pids=pids, cpu=cpu, peak=peak), jobs)


def sweep(parents: list[Parent]) -> None:
    """Remove the groups of launchers that are dead, after killing what is left in them."""
    for parent in parents:
        for name in os.listdir(parent.path):
            path = f"{parent.path}/{name}"
            if not name.startswith(PREFIX) or _alive(name) or not os.path.isdir(path):
                continue
            group = Group((path,), Counters())
            with contextlib.suppress(OSError):
                group.kill()
            for place, _, _ in os.walk(path):
                with contextlib.suppress(OSError), open(f"{place}/cgroup.procs", encoding="ascii") as file:
                    for pid in file:
                        os.kill(int(pid), signal.SIGKILL)
            group.remove()


def owner_mark() -> str:
    """Return the prefix of this process's groups: its pid and start time name it even after the pid is used again."""
    return f"{PREFIX}{os.getpid()}-{_state(os.getpid())[1]}-"


def _alive(name: str) -> bool:
    pid, started = name.removeprefix(PREFIX).split("-")[:2]
    try:
        state, now_started = _state(int(pid))
    except OSError:
        return False
    return now_started == started and state not in "ZX"  # one that nobody waited for is dead, too


def _state(pid: int) -> tuple[str, str]:
    """Return the state letter and the start time, in clock ticks since boot."""
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
        columns = file.read().rpartition(")")[2].split()
    return columns[0], columns[19]


def _inside(point: str, path: str) -> str:
    whole = point + path.rstrip("/")
    return whole if os.path.isdir(whole) else point


def _can_delegate(path: str) -> bool:
    try:
        with open(f"{path}/cgroup.controllers", encoding="ascii") as file:
            if not set(_V2_LIMITS) <= set(file.read().split()):
                return False
        _write(f"{path}/cgroup.subtree_control", "+memory +pids +cpu")
    except OSError:
        return False  # not ours, or it holds processes itself
    return True


def _limit_memory(path: str, memory_bytes: int, *, version: int) -> None:
    if version == 2:
        _write(f"{path}/memory.max", str(memory_bytes))
        with contextlib.suppress(OSError):  # no swap accounting
            _write(f"{path}/memory.swap.max", "0")
        return
    _write(f"{path}/memory.limit_in_bytes", str(memory_bytes))
    with contextlib.suppress(OSError):
        _write(f"{path}/memory.memsw.limit_in_bytes", str(memory_bytes))


def _limit_cpu(path: str, cores: float, *, version: int) -> None:
    quota_us = max(_SHORTEST_QUOTA_US, round(cores * _PERIOD_US))
    with contextlib.suppress(OSError):  # a group above allows less, and holds; or this kernel has no quotas
        if version == 2:
            _write(f"{path}/cpu.max", f"{quota_us} {_PERIOD_US}")
        else:
            _write(f"{path}/cpu.cfs_period_us", str(_PERIOD_US))
            _write(f"{path}/cpu.cfs_quota_us", str(quota_us))


def _weigh_cpu(path: str, niceness: int, *, version: int) -> None:
    """Give a group the weight of one process of `niceness`: to the scheduler a group is as any process beside it."""
    share = 1.25**-niceness
    with contextlib.suppress(OSError):
        if version == 2:
            _write(f"{path}/cpu.weight", str(max(1, round(100 * share))))
        else:
            _write(f"{path}/cpu.shares", str(max(2, round(1024 * share))))


def _read_cpu_s(path: str) -> float:
    with open(path, encoding="ascii") as file:
        return parse_cpu_s(file.read())


def parse_count(text: str, name: str) -> int:
    """Return the number of "oom" kills, or of refused "pids", in the text of a counter; 0 where it says none."""
    word = "oom_kill" if name == "oom" else "max"
    return next((int(line.split()[1]) for line in text.splitlines() if line.startswith(f"{word} ")), 0)


def parse_cpu_s(text: str) -> float:
    """Return the CPU seconds in the text of a counter of either version."""
    if text.startswith("usage_usec "):
        return int(text.split()[1]) / 1e6
    return int(text) / 1e9


def _remove(path: str) -> None:
    """Remove a group; a short wait covers the kernel's own clean-up after its last process."""
    for _ in range(50):
        with contextlib.suppress(FileNotFoundError):
            try:
                os.rmdir(path)
            except OSError:
                time.sleep(0.01)
                continue
        break


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="ascii") as file:
        file.write(text)
