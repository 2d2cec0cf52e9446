"""Where no control group counts a sandbox's memory or CPU time: both are summed over its processes, every tick."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field

from . import processes
from .cgroups import Counters


def _memory_file() -> int:
    fd = os.memfd_create("oom", os.MFD_CLOEXEC)
    os.pwrite(fd, b"oom_kill 0\n", 0)
    return fd


@dataclass(slots=True)
class Watchdog:
    """What watches one sandbox.

    `counter` is a descriptor of a file that reads as the kernel's own would, "oom_kill 2". It bounds a sandbox less
    tightly than the kernel does: what is allocated and freed between two ticks is not seen.
    """

    memory_bytes: int
    counter: int = field(default_factory=_memory_file)
    num_kills: int = 0

    def look(self, inits: Sequence[int | None]) -> list[float]:
        """Kill the largest process below `inits` when their sum is over the limit; return each one's CPU seconds."""
        trees = [[] if init is None else processes.below(init) for init in inits]
        found = [process for tree in trees for process in tree]
        if sum(process.memory_bytes for process in found) > self.memory_bytes:
            sizes = {process.pid: processes.own_memory_bytes(process) for process in found}
            if sum(sizes.values()) > self.memory_bytes:
                self.num_kills += 1
                os.pwrite(self.counter, b"oom_kill %d\n" % self.num_kills, 0)
                processes.kill(max(found, key=lambda process: sizes[process.pid]))
        roots = [None if init is None else processes.read_process(init) for init in inits]
        return [
            sum(process.cpu_s for process in tree) + (root.cpu_s if root is not None else 0.0)
            for tree, root in zip(trees, roots, strict=True)
        ]

    def close(self) -> None:
        os.close(self.counter)


def watchdog_for(counters: Counters, *, memory_bytes: int) -> Watchdog | None:
    """Return what watches where the kernel has no such counters, None where it counts memory and CPU time itself."""
    if counters.oom and counters.cpu:
        return None
    return Watchdog(sys.maxsize if counters.oom else memory_bytes)
