"""Many inspections at a time, each in a process of its own: none can take down another, and none outlives us."""

from __future__ import annotations

import contextlib
import math
import os
import signal
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from multiprocessing import connection, get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path

from polyathlon.errors import PolyathlonError
from polyathlon.inspect.depth import USUAL, Depth
from polyathlon.inspect.finding import Inspection
from polyathlon.inspect.inspector import Begun, Noted, inspect_domain
from polyathlon.inspect.lifeline import end_with_parent
from polyathlon.registration import registry

END_LIMIT_S = 5.0
SANDBOX_COST = 8.0
"""What a domain in a sandbox takes, in inspections of a question domain: roughly, to begin with the longest."""

_SPAWN = get_context("spawn")


@dataclass(slots=True)
class _Running:
    domain_id: str
    process: BaseProcess
    ends_s: float
    last: Begun | None = None


def cost_of(domain_id: str) -> float:
    """Return about how long an inspection takes, in inspections of a question domain; 1 for an unknown id."""
    try:
        row = registry().entry(domain_id).row
    except PolyathlonError:
        return 1.0
    return (SANDBOX_COST if row.needs else 1.0) * (2.0 if row.max_turns > 1 else 1.0)


def inspect_domains(
    domain_ids: Sequence[str],
    *,
    depth: Depth = USUAL,
    num_jobs: int = 1,
    cache: Path | None = None,
    limit_s: float = math.inf,
    tell: Callable[[Begun | Noted], None] = lambda word: None,
) -> Generator[Inspection, None, None]:
    """Yield an inspection a domain as each is done, `num_jobs` at a time, the longest begun first.

    Each runs in a fresh process, which ends when this generator or this process does. Results are kept in the folder
    `cache`. `tell` is called with what the inspections under way have come to. One that takes more than `limit_s` on
    the clock is ended: what its checks had found until then is kept, and it is `broken`.
    """
    waiting = sorted(domain_ids, key=cost_of, reverse=True)
    running: dict[Connection, _Running] = {}
    try:
        while waiting or running:
            while waiting and len(running) < num_jobs:
                line, started = _start(waiting.pop(0), depth, cache, limit_s)
                running[line] = started
            left_s = min(one.ends_s for one in running.values()) - time.monotonic()
            for ready in connection.wait(list(running), None if left_s == math.inf else max(0.0, left_s)):
                assert isinstance(ready, Connection)
                word = _word(ready, running[ready])
                if isinstance(word, Begun):
                    running[ready].last = word
                if isinstance(word, Begun | Noted):
                    tell(word)
                    continue
                process = running.pop(ready).process
                process.join(END_LIMIT_S)
                _end(process)
                ready.close()
                yield word
            for late in [line for line, one in running.items() if one.ends_s <= time.monotonic()]:
                ended = running.pop(late)
                _end(ended.process)
                late.close()
                yield _cut_short(ended, limit_s)
    finally:
        for left, abandoned in running.items():
            _end(abandoned.process)
            left.close()


def _cut_short(ended: _Running, limit_s: float) -> Inspection:
    last = ended.last
    found = Inspection(ended.domain_id) if last is None or last.so_far is None else last.so_far
    at_work = "loading" if last is None else last.check
    return replace(
        found, broken=f"{at_work}: the inspection took more than {limit_s:.0f} s, and was ended", wall_s=limit_s
    )


def _start(domain_id: str, depth: Depth, cache: Path | None, limit_s: float) -> tuple[Connection, _Running]:
    line, theirs = _SPAWN.Pipe(duplex=False)
    process = _SPAWN.Process(target=_work, args=(domain_id, depth, cache, theirs, os.getpid()), name=domain_id)
    process.start()
    theirs.close()  # so that its death ends the line
    return line, _Running(domain_id, process, time.monotonic() + limit_s)


def _work(domain_id: str, depth: Depth, cache: Path | None, line: Connection, parent_pid: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the parent ends us
    end_with_parent(parent_pid)
    with contextlib.suppress(BrokenPipeError):  # whoever asked was killed, and we end with it
        line.send(inspect_domain(domain_id, depth=depth, cache=cache, tell=line.send))


def _word(line: Connection, running: _Running) -> Begun | Noted | Inspection:
    try:
        word = line.recv()
    except (EOFError, ConnectionResetError):
        running.process.join(END_LIMIT_S)
        return Inspection(
            running.domain_id, broken=f"the inspecting process ended early, exit code {running.process.exitcode}"
        )
    assert isinstance(word, Begun | Noted | Inspection)
    return word


def _end(process: BaseProcess) -> None:
    """End a process, gently at first; its sandboxes and its own children end with it."""
    process.terminate()
    process.join(END_LIMIT_S)
    if process.is_alive():
        process.kill()
        process.join()
