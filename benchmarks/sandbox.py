"""What a sandbox costs, as ratios to `exec true` on the same machine in the same minute.

    python benchmarks/sandbox.py [--rounds N] [--alive N]

The rows are measured in turns, so that a busy neighbour slows all of them. It slows long rows more than short ones, so
on a busy machine the ratio of the fastest is nearer the truth than the ratio of medians. Goals, for medians on a quiet
machine: cold start at most 15 times `exec true`, a shell round trip under 0.3 ms, a warm claim (a sandbox from the pool
and its first shell command) and a judge in the warm Python under 3 and 8 ms. `--alive` sandboxes are opened at the end,
each with a shell, and told what they cost in memory and how long they take to go; 2,000 need 24 GiB.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable

from polyathlon.sandbox.admission import Policy, read_vitals
from polyathlon.sandbox.bubblewrap import BubblewrapRoom
from polyathlon.sandbox.choose import default_room
from polyathlon.sandbox.protocol import Limits, Room, Sandbox, Snapshot
from polyathlon.sandbox.warm import judge_cold
from polyathlon.tree import Tree
from polyathlon.verify.program import run_cases
from polyathlon.verify.sql import run_query

FILES = Tree.of({f"src/file_{number}.txt": "some text\n" * 40 for number in range(50)})
SHELL_COMMANDS_A_ROUND = 20
GOALS = {
    "cold start: open, run true, close": "<= 15 x",
    "shell round trip: true": "<= 0.3 ms",
    "warm claim: spare, first shell command": "<= 3 ms",
    "warm Python judge: pass": "<= 8 ms",
}
PROGRAM = "def f(xs, k):\n    return [x * k for x in xs]"
CASES = [[[1, 2, number], 3] for number in range(6)]
SCHEMA = ("CREATE TABLE t (a INTEGER, b TEXT)",)
DATABASES = [{"t": [[number, str(number % 7)] for number in range(50)]}] * 3


class ColdRoom:
    """Opens sandboxes and keeps no warm Python."""

    def __init__(self, room: Room) -> None:
        self._room = room

    def open(
        self,
        files: Tree | Snapshot,
        *,
        limits: Limits | None = None,
        packages: tuple[str, ...] = (),
        needs: frozenset[str] = frozenset(),
    ) -> Sandbox:
        return self._room.open(files, limits=limits, packages=packages)

    def load(self, tar: bytes) -> Snapshot:
        return self._room.load(tar)


def exec_true() -> None:
    # posix_spawn: what it costs to run a program at all, and not to fork this interpreter
    os.waitpid(os.posix_spawn("/usr/bin/true", ["true"], {}), 0)


def measure(rounds: int) -> dict[str, list[float]]:
    """Return {what: milliseconds, sorted}."""
    room = default_room()
    room.open(Tree()).close()
    room.judge_python("pass", stdin=b"")
    pooled, bare = BubblewrapRoom(spares=2), BubblewrapRoom()
    cold_room = ColdRoom(bare)
    kept = room.open(FILES)
    shell = kept.shell()

    def cold() -> None:
        with bare.open(Tree()) as sandbox:
            assert sandbox.run(["true"]).ok

    def cold_shell() -> None:
        with bare.open(Tree()) as sandbox:
            assert sandbox.shell().run("true").ok

    tasks: dict[str, tuple[Callable[[], object], int]] = {
        "exec true": (exec_true, 3),
        "python3 -I -c pass, outside": (lambda: subprocess.run([sys.executable, "-I", "-c", "pass"], check=True), 1),
        "open and close": (lambda: bare.open(Tree()).close(), 1),
        "cold start: open, run true, close": (cold, 1),
        "cold start: open, first shell command, close": (cold_shell, 1),
        "run round trip: true": (lambda: kept.run(["true"]), 1),
        "run round trip: python3 -I -c pass": (lambda: kept.run(["python3", "-I", "-c", "pass"]), 1),
        "shell round trip: true": (lambda: shell.run("true"), SHELL_COMMANDS_A_ROUND),
        "warm Python judge: pass": (lambda: room.judge_python("pass", stdin=b""), 1),
        "cold Python judge: pass": (
            lambda: judge_cold(cold_room, "pass", stdin=b"", packages=(), limits=None, timeout_s=30),
            1,
        ),
        "six cases of a program, warm": (lambda: run_cases(room, PROGRAM, entry="f", arguments=CASES), 1),
        "six cases of a program, cold": (lambda: run_cases(cold_room, PROGRAM, entry="f", arguments=CASES), 1),
        "a query on three databases, warm": (lambda: query(room), 1),
        "a query on three databases, cold": (lambda: query(cold_room), 1),
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
    times["warm claim: spare, first shell command"] = claims(pooled, rounds)
    pooled.close()
    kept.close()
    bare.close()
    return {name: sorted(each) for name, each in times.items()}


def query(room: Room) -> None:
    run_query(room, "SELECT b, count(*) FROM t GROUP BY b", schema=SCHEMA, databases=DATABASES)


def claims(room: BubblewrapRoom, rounds: int) -> list[float]:
    """Return the milliseconds of claims, each made when a spare stands ready."""
    times: list[float] = []
    for _ in range(8):
        room.open(Tree()).close()
    while len(times) < rounds:
        while not room.pool.num_spares():
            room.pool.claim(((), Limits(max_files=1)))  # keeps its thread at work, and takes nothing away
            time.sleep(0.02)
        started_s = time.perf_counter()
        sandbox = room.open(Tree())
        sandbox.shell().run("true")
        times.append((time.perf_counter() - started_s) * 1e3)
        sandbox.close()
    return times


def stand(num: int) -> None:
    """Open `num` sandboxes, each with a shell that has answered; print their memory and their end."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    room = BubblewrapRoom(Policy(most_alive=num + 1, reserve=0.01))
    limits = Limits(memory_bytes=64 * 2**20)
    room.open(Tree(), limits=limits).close()
    before, started_s = read_vitals().available_bytes, time.perf_counter()
    opened = [room.open(Tree(), limits=limits) for _ in range(num)]
    for sandbox in opened:
        assert sandbox.shell().run("true").ok
    took_s, after = time.perf_counter() - started_s, read_vitals().available_bytes
    started_s = time.perf_counter()
    room.close()
    ended_s = time.perf_counter() - started_s
    each_mib = (before - after) / num / 2**20
    print(f"{num} alive: {num / took_s:.0f} a second; {each_mib:.2f} MiB each, goal 1.5; gone in {ended_s:.2f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=60, help="how often each row is measured (default 60)")
    parser.add_argument("--alive", type=int, default=300, help="how many stand at once at the end (default 300)")
    arguments = parser.parse_args()
    times = measure(arguments.rounds)
    unit = times["exec true"][len(times["exec true"]) // 2]
    fastest = times["exec true"][0]
    print(f"{'':46}{'min ms':>9}{'median ms':>11}{'p95 ms':>9}{'x true (min)':>14}{'x true (median)':>17}  goal")
    for name, each in times.items():
        median = each[len(each) // 2]
        late = each[int(0.95 * (len(each) - 1))]
        ratios = f"{each[0] / fastest:14.1f}{median / unit:17.1f}"
        print(f"{name:46}{each[0]:9.2f}{median:11.2f}{late:9.2f}{ratios}  {GOALS.get(name, '')}")
    stand(arguments.alive)


if __name__ == "__main__":
    main()
