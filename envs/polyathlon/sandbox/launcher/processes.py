"""Processes of a running command, seen from outside: who they are, what they use, and how they are asked to end."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_TERM_BIT = 1 << (signal.SIGTERM - 1)
_GONE = (FileNotFoundError, ProcessLookupError)


@dataclass(frozen=True, slots=True)
class Process:
    """One process at one moment. `cpu_s` includes its children that have ended and were waited for."""

    pid: int
    parent: int
    cpu_s: float
    memory_bytes: int


def below(pid: int) -> list[Process]:
    """Return what descends from `pid`, parents before their children; without `pid` itself."""
    found: list[Process] = []
    parents = [pid]
    for parent in parents:
        for child in children(parent):
            process = read_process(child)
            if process is not None and process.parent == parent:
                found.append(process)
                parents.append(child)
    return found


def read_process(pid: int) -> Process | None:
    """Return the process `pid`, None when it is gone."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            columns = file.read().rpartition(")")[2].split()
    except _GONE:
        return None
    cpu_s = sum(int(ticks) for ticks in columns[11:15]) / _TICKS_PER_S
    return Process(pid, int(columns[1]), cpu_s, int(columns[21]) * _PAGE_BYTES)


def own_memory_bytes(process: Process) -> int:
    """Return its memory, shared pages divided among those who share them: slower than `memory_bytes`, and fair."""
    try:
        with open(f"/proc/{process.pid}/smaps_rollup", encoding="ascii", errors="replace") as file:
            for line in file:
                if line.startswith("Pss:"):
                    return int(line.split()[1]) * 1024
    except OSError:  # gone, or not ours to look into
        pass
    return process.memory_bytes


def ask_to_end(init: int) -> bool:
    """Send SIGTERM to the tree below `init`, if one in it has a handler for it; return whether one has.

    Whoever waits for such a process and has no handler itself (the shell of a script around it) is stopped meanwhile:
    it would end first and take its child with it, or go on to its next command.
    """
    tree = below(init)
    handlers = {process.pid for process in tree if handles_term(process.pid)}
    if not handlers:
        return False
    parents = {process.pid: process.parent for process in tree}
    waiting = set()
    for pid in handlers:
        while (pid := parents.get(pid, init)) != init:
            waiting.add(pid)
    for process in tree:
        if process.pid in waiting - handlers:
            _send(process, signal.SIGSTOP)
    for process in tree:
        if process.pid in handlers:
            _send(process, signal.SIGTERM)
            _send(process, signal.SIGCONT)  # one that is stopped takes no signal
        elif process.pid not in waiting:
            _send(process, signal.SIGTERM)
    return True


def still_ending(init: int) -> bool:
    """Whether one below `init` that handles SIGTERM is still there."""
    return any(handles_term(process.pid) for process in below(init))


def handles_term(pid: int) -> bool:
    """Whether the process lives and has a handler of its own for SIGTERM."""
    try:
        with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as file:
            for line in file:
                if line.startswith("State:") and line.split()[1] in "ZX":
                    return False
                if line.startswith("SigCgt:"):
                    return bool(int(line.split()[1], 16) & _TERM_BIT)
    except _GONE:
        pass
    return False


def kill(process: Process) -> None:
    """Kill it alone."""
    _send(process, signal.SIGKILL)


def _send(process: Process, number: signal.Signals) -> None:
    """Send a signal to `process`, and to nobody who was given its number since."""
    with contextlib.suppress(OSError):
        fd = os.pidfd_open(process.pid)
        try:
            now = read_process(process.pid)
            if now is not None and now.parent == process.parent:
                signal.pidfd_send_signal(fd, number)
        finally:
            os.close(fd)


def children(pid: int) -> Iterator[int]:
    """Yield the children of process `pid`, none when it is gone."""
    with contextlib.suppress(*_GONE):
        for thread in os.listdir(f"/proc/{pid}/task"):
            with contextlib.suppress(*_GONE), open(f"/proc/{pid}/task/{thread}/children", encoding="ascii") as file:
                yield from map(int, file.read().split())
