"""Control groups of one sandbox, where this machine lets us make any: limits, and the kernel's own counters."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from dataclasses import dataclass

PREFIX = "polyathlon-"
_V1 = ("memory", "pids", "cpuacct")


@dataclass(frozen=True, slots=True)
class Parent:
    """A writable group that new groups go under. `controllers` names what it can limit."""

    path: str
    version: int
    controllers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Counters:
    """Paths of the kernel's counters of one sandbox; empty where there are none."""

    oom: str = ""
    pids: str = ""
    cpu: str = ""


@dataclass(frozen=True, slots=True)
class Group:
    """The groups of one sandbox: a directory in each hierarchy."""

    paths: tuple[str, ...]
    counters: Counters

    @property
    def entries(self) -> tuple[str, ...]:
        """Where a process of one thread writes "0" to be moved in."""
        # A v1 group can move a thread by itself: that skips a lock for which the kernel waits out a grace period.
        names = ("tasks", "cgroup.procs")
        return tuple(
            next(f"{path}/{name}" for name in names if os.path.exists(f"{path}/{name}")) for path in self.paths
        )

    def join(self) -> None:
        """Move the calling process in."""
        for path in self.entries:
            _write(path, "0")

    def removed(self) -> bool:
        """Try to remove the directories; return whether all are gone: one with a zombie in it stays."""
        for path in self.paths:
            with contextlib.suppress(OSError):
                os.rmdir(path)
        return not any(map(os.path.exists, self.paths))

    def remove(self) -> None:
        """Remove the directories. Their processes must be gone; a short wait covers the kernel's own clean-up."""
        for path in self.paths:
            for _ in range(50):
                with contextlib.suppress(FileNotFoundError):
                    try:
                        os.rmdir(path)
                    except OSError:
                        time.sleep(0.01)
                        continue
                break

    def count(self, name: str) -> int:
        """Return the kernel's count of "oom" kills or refused "pids" so far; 0 where nothing counts."""
        path = self.counters.oom if name == "oom" else self.counters.pids
        if not path:
            return 0
        word = "oom_kill" if name == "oom" else "max"
        with open(path, encoding="ascii") as file:
            return next((int(line.split()[1]) for line in file if line.startswith(f"{word} ")), 0)

    def cpu_s(self) -> float:
        """Return the CPU seconds used so far, 0.0 where nothing counts them."""
        if not self.counters.cpu:
            return 0.0
        with open(self.counters.cpu, encoding="ascii") as file:
            text = file.read()
        if self.counters.cpu.endswith("cpu.stat"):
            return int(text.split("usage_usec ")[1].split()[0]) / 1e6
        return int(text) / 1e9


def find_parents() -> list[Parent]:
    """Return the groups under which this process may make its own: none, some of version 1, or one of version 2."""
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
            elif kind == "cgroup2" and _can_delegate(_inside(point, own.get("", "/"))):
                parents.append(Parent(_inside(point, own.get("", "/")), 2, ("memory", "pids", "cpu")))
    return [parent for parent in parents if os.access(parent.path, os.W_OK)]


def make_group(parents: list[Parent], name: str, *, memory_bytes: int, processes: int) -> Group:
    """Make the groups of one sandbox and set its limits. With no parents: a group that limits nothing.

    Raises:
        OSError: the kernel refused; nothing is left behind.

    """
    paths: list[str] = []
    oom = pids = cpu = ""
    try:
        for parent in parents:
            path = f"{parent.path}/{name}"
            os.mkdir(path)
            paths.append(path)
            first = parent.version == 1
            if "memory" in parent.controllers:
                _limit_memory(path, memory_bytes, version=parent.version)
                oom = f"{path}/memory.oom_control" if first else f"{path}/memory.events"
            if "pids" in parent.controllers:
                _write(f"{path}/pids.max", str(processes))
                pids = f"{path}/pids.events"
            if "cpuacct" in parent.controllers or "cpu" in parent.controllers:
                cpu = f"{path}/cpuacct.usage" if first else f"{path}/cpu.stat"
    except OSError:
        Group(tuple(paths), Counters()).remove()
        raise
    return Group(tuple(paths), Counters(oom=oom, pids=pids, cpu=cpu))


def sweep(parents: list[Parent]) -> None:
    """Remove the groups of launchers that are dead, after killing what is left in them."""
    for parent in parents:
        for name in os.listdir(parent.path):
            path = f"{parent.path}/{name}"
            if not name.startswith(PREFIX) or _alive(name) or not os.path.isdir(path):
                continue
            with contextlib.suppress(OSError), open(f"{path}/cgroup.procs", encoding="ascii") as file:
                for pid in file:
                    os.kill(int(pid), signal.SIGKILL)
            Group((path,), Counters()).remove()


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
            if not {"memory", "pids", "cpu"} <= set(file.read().split()):
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


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="ascii") as file:
        file.write(text)
