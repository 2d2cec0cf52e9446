"""Judging by a program of ours in a Python that is warm: forked from one that waits inside the read-only system.

What comes of it is what a fresh sandbox and a cold `python3 -c` would give, behind the same walls, some 30 ms sooner.
"""

from __future__ import annotations

import contextlib
import os
import socket
import time
from typing import Protocol, runtime_checkable

from polyathlon.errors import SandboxLost
from polyathlon.sandbox.client import LauncherProcess
from polyathlon.sandbox.commands import Counts, Pipes, kill_reason, own_reason, unstarted
from polyathlon.sandbox.launcher.wire import memory_file
from polyathlon.sandbox.line import Ending, answer_of
from polyathlon.sandbox.protocol import Limits, Report, Room, Usage
from polyathlon.sandbox.streams import drain, watch
from polyathlon.sandbox.system import python_command
from polyathlon.tree import Tree


@runtime_checkable
class PythonRoom(Protocol):
    """A room that keeps a warm Python."""

    def judge_python(
        self,
        source: str,
        *,
        stdin: bytes,
        packages: tuple[str, ...] = (),
        limits: Limits | None = None,
        timeout_s: float = 30.0,
    ) -> Report:
        """Do as the function `judge_python` does."""
        ...


def judge_python(
    room: Room,
    source: str,
    *,
    stdin: bytes,
    packages: tuple[str, ...] = (),
    limits: Limits | None = None,
    timeout_s: float = 30.0,
) -> Report:
    """Run a program of ours in a fresh, empty sandbox on `stdin`, and return its report: as `python3 -c source` would.

    `source` is trusted; it is what it reads and runs that is not. It must hold no secret: it is compiled, and the
    modules that its own import statements name are imported, in a process that outlives the judgement. In a room that
    keeps no warm Python, a cold one is started: behind the same walls, only slower.

    Raises:
        SandboxLost: the sandbox died for a reason that is not the program's.
        SandboxRefused: there is no isolation here.

    """
    if isinstance(room, PythonRoom):
        return room.judge_python(source, stdin=stdin, packages=packages, limits=limits, timeout_s=timeout_s)
    return judge_cold(room, source, stdin=stdin, packages=packages, limits=limits, timeout_s=timeout_s)


def judge_cold(
    room: Room, source: str, *, stdin: bytes, packages: tuple[str, ...], limits: Limits | None, timeout_s: float
) -> Report:
    """Do as `judge_python` does, in a sandbox opened for it."""
    with room.open(Tree(), limits=limits, packages=packages) as sandbox:
        command = [*python_command(packages), "-c", source]
        return sandbox.run(command, timeout_s=timeout_s, stdin=stdin, env={"PYTHONHASHSEED": "0"})


def judge_warm(launcher: LauncherProcess, source: str, *, stdin: bytes, limits: Limits, timeout_s: float) -> Report:
    """Do as `judge_python` does, in a fork of the launcher's warm Python."""
    started_s = time.monotonic()
    with Pipes(2, kept_bytes=limits.kept_bytes) as pipes:
        given = [memory_file("source", source.encode("utf-8", "surrogatepass"))]
        try:
            given.append(memory_file("stdin", stdin))
            line = launcher.judge(limits, [*given, *pipes.sinks])
        finally:
            for fd in given:
                os.close(fd)
            pipes.close_sinks()
        with line:
            seen = watch(pipes.streams, line, deadline_s=started_s + timeout_s, limits=limits)
            if not seen.over:
                with contextlib.suppress(BrokenPipeError):  # it has ended just now, or the launcher has
                    line.send(b"kill")
            ending, counts = _ending(line)
        drain(pipes.streams)
        out, err = pipes.streams.values()
    wall_s = time.monotonic() - started_s
    limit_hit = Counts(0, 0, full=False).limit_hit(counts)
    reason = kill_reason(seen, ending)
    if reason is None and not ending.started:
        return unstarted(err.bytes(), limit_hit, wall_s=wall_s)
    return Report(
        exit_code=None if reason else ending.exit_code,
        reason=reason or own_reason(ending.exit_code, limit_hit),
        stdout=out.bytes(),
        stderr=err.bytes(),
        clipped=out.clipped or err.clipped,
        wall_s=wall_s,
        usage=Usage(cpu_s=ending.cpu_s or None),
    )


def _ending(line: socket.socket) -> tuple[Ending, Counts]:
    """Return how the judge of `line` ended, and what was counted against it."""
    answer = answer_of(line)
    if "error" in answer:
        raise SandboxLost(f"The program was not judged to its end ({answer['error']}). Judge it again.")
    code = answer["exit_code"]
    ending = Ending(
        exit_code=137 if code is None else code,
        started=code is not None,
        cpu_spent=answer["cpu_spent"],
        cpu_s=answer["cpu_s"],
    )
    return ending, Counts(answer["oom"], answer["pids"], full=answer["full"])
