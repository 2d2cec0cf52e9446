"""What snapshots cost, as ratios to `exec true` on the same machine in the same minute.

    python benchmarks/snapshots.py [--rounds N]

On a workspace of 50 MB in 2,048 files, as it is, 20 layers deep, and with a shell to pause, beside a small one: the
cost must not depend on the size. Rows are measured in turns. On a busy machine the ratio of the fastest is nearer the
truth than that of medians. Goal, for the median on a quiet machine: a fork in 5 ms.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from typing import TypeVar

import numpy as np

from polyathlon.sandbox.bubblewrap import BubblewrapRoom
from polyathlon.sandbox.protocol import Limits
from polyathlon.sandbox.snapshot import BubblewrapSnapshot
from polyathlon.tree import Tree

NUM_FILES = 2_048
FILE_BYTES = 50_000_000 // NUM_FILES
LIMITS = Limits(disk_bytes=256 * 2**20, memory_bytes=512 * 2**20)
DEEP = 20
T = TypeVar("T")


def exec_true() -> None:
    os.waitpid(os.posix_spawn("/usr/bin/true", ["true"], {}), 0)


def large_tree() -> Tree:
    data = np.random.default_rng(0).bytes(FILE_BYTES)
    return Tree.of({f"d{number % 32}/f{number}": data for number in range(NUM_FILES)})


class Clock:
    """Milliseconds of each kind of step."""

    def __init__(self) -> None:
        self.times: dict[str, list[float]] = {}

    def time(self, name: str, task: Callable[[], T]) -> T:
        started_s = time.perf_counter()
        result = task()
        self.times.setdefault(name, []).append((time.perf_counter() - started_s) * 1e3)
        return result


def measure(rounds: int) -> dict[str, list[float]]:
    """Return {what: milliseconds, sorted}."""
    room, clock = BubblewrapRoom(), Clock()
    starts = {}
    for size, tree in (("small", Tree.of({"a": "b"})), ("50 MB", large_tree())):
        with room.open(tree, limits=LIMITS) as sandbox:
            starts[size] = sandbox.snapshot()
    with room.open(starts["50 MB"], limits=LIMITS) as sandbox:
        for _ in range(DEEP):
            sandbox.snapshot().close()
        starts[f"50 MB, {DEEP} deep"] = sandbox.snapshot()
    for _ in range(rounds):
        for _ in range(3):
            clock.time("exec true", exec_true)
        for size, start in starts.items():
            measure_once(room, clock, size, start)
    for start in starts.values():
        start.close()
    room.close()
    return {name: sorted(each) for name, each in clock.times.items()}


def measure_once(room: BubblewrapRoom, clock: Clock, size: str, start: BubblewrapSnapshot) -> None:
    opened = clock.time(f"open on a snapshot, {size}", lambda: room.open(start, limits=LIMITS))
    with opened as sandbox:
        clock.time(f"snapshot, {size}", sandbox.snapshot).close()
        clock.time(f"restore, {size}", lambda: sandbox.restore(start))
        with clock.time(f"fork, {size}", sandbox.fork) as fork:
            clock.time(f"first command of a fork, {size}", lambda: fork.run(["true"]))
        sandbox.shell().run("x=1")
        clock.time(f"snapshot with a shell to pause, {size}", sandbox.snapshot).close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=40, help="how often each row is measured (default 40)")
    times = measure(parser.parse_args().rounds)
    true = times["exec true"]
    print(f"{'':42}{'min ms':>9}{'median ms':>11}{'p95 ms':>9}{'x true (min)':>14}{'x true (median)':>17}")
    for name, each in times.items():
        median, late = each[len(each) // 2], each[int(0.95 * (len(each) - 1))]
        ratios = f"{each[0] / true[0]:14.1f}{median / true[len(true) // 2]:17.1f}"
        print(f"{name:42}{each[0]:9.2f}{median:11.2f}{late:9.2f}{ratios}")


if __name__ == "__main__":
    main()
