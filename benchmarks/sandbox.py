"""What a sandbox costs, as ratios to `exec true` on the same machine in the same minute.

    python benchmarks/sandbox.py [--rounds N]

The rows are measured in turns, so that a busy neighbour slows all of them. It slows long rows more than short ones, so
on a busy machine the ratio of the fastest is nearer the truth than the ratio of medians. Goals, for medians on a quiet
machine: cold start at most 25 times `exec true`, a shell round trip under 1 ms.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable

from polyathlon.sandbox.choose import default_room
from polyathlon.tree import Tree

FILES = Tree.of({f"src/file_{number}.txt": "some text\n" * 40 for number in range(50)})
SHELL_COMMANDS_A_ROUND = 20
GOALS = {"cold start: open, run true, close": "<= 25 x", "shell round trip: true": "< 1 ms"}


def exec_true() -> None:
    # posix_spawn: what it costs to run a program at all, and not to fork this interpreter
    os.waitpid(os.posix_spawn("/usr/bin/true", ["true"], {}), 0)


def measure(rounds: int) -> dict[str, list[float]]:
    """Return {what: milliseconds, sorted}."""
    room = default_room()
    room.open(Tree()).close()
    kept = room.open(FILES)
    shell = kept.shell()

    def cold() -> None:
        with room.open(Tree()) as sandbox:
            assert sandbox.run(["true"]).ok

    def cold_shell() -> None:
        with room.open(Tree()) as sandbox:
            assert sandbox.shell().run("true").ok

    tasks: dict[str, tuple[Callable[[], object], int]] = {
        "exec true": (exec_true, 3),
        "python3 -I -c pass, outside": (lambda: subprocess.run([sys.executable, "-I", "-c", "pass"], check=True), 1),
        "open and close": (lambda: room.open(Tree()).close(), 1),
        "cold start: open, run true, close": (cold, 1),
        "cold start: open, first shell command, close": (cold_shell, 1),
        "run round trip: true": (lambda: kept.run(["true"]), 1),
        "run round trip: python3 -I -c pass": (lambda: kept.run(["python3", "-I", "-c", "pass"]), 1),
        "shell round trip: true": (lambda: shell.run("true"), SHELL_COMMANDS_A_ROUND),
        "put, 50 files": (lambda: kept.put(FILES), 1),
        "get, 50 files": (kept.get, 1),
    }
    times: dict[str, list[float]] = {name: [] for name in tasks}
    for _ in range(rounds):
        for name, (task, repeats) in tasks.items():
            for _ in range(repeats):
                started_s = time.perf_counter()
                task()
                times[name].append((time.perf_counter() - started_s) * 1e3)
    kept.close()
    return {name: sorted(each) for name, each in times.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=60, help="how often each row is measured (default 60)")
    times = measure(parser.parse_args().rounds)
    unit = times["exec true"][len(times["exec true"]) // 2]
    fastest = times["exec true"][0]
    print(f"{'':46}{'min ms':>9}{'median ms':>11}{'p95 ms':>9}{'x true (min)':>14}{'x true (median)':>17}  goal")
    for name, each in times.items():
        median = each[len(each) // 2]
        late = each[int(0.95 * (len(each) - 1))]
        ratios = f"{each[0] / fastest:14.1f}{median / unit:17.1f}"
        print(f"{name:46}{each[0]:9.2f}{median:11.2f}{late:9.2f}{ratios}  {GOALS.get(name, '')}")


if __name__ == "__main__":
    main()
