"""Around one command in a sandbox: its words and environment, the pipes it writes to, and why it ended."""

from __future__ import annotations

import contextlib
import os
import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Self

from polyathlon.errors import SandboxError, SandboxLost
from polyathlon.sandbox.client import Lease
from polyathlon.sandbox.line import Ending, ended
from polyathlon.sandbox.protocol import Command, Limits, Reason, Report
from polyathlon.sandbox.streams import Stream, Watch, drain, watch

GRACE_S = 1.0
"""How long a command whose time is up may take to end by itself, if something in it has a handler for SIGTERM.

It is worth having: `make` removes its half-made targets then, scripts remove what they had put aside, servers write
their state; without it the files of a timed-out command are a wreck. Where nothing has such a handler (most programs:
no shell, no Python has one by itself) it costs nothing, as there is nothing to wait for.
"""

_SIGXCPU, _SIGXFSZ = 128 + 24, 128 + 25
_LAST_SIGNAL = 128 + 64


def argv_of(command: Command) -> list[str]:
    """Return the argv of `command`: a text is `bash -c`, and no option of it when it begins with a hyphen.

    Raises:
        SandboxError: it is empty, or holds a NUL byte.

    """
    argv = ["bash", "-c", "--", command] if isinstance(command, str) else list(command)
    if not argv:
        raise SandboxError("Nothing to run: the command is empty.")
    return [word(text) for text in argv]


def narrowed(own: Limits, asked: Limits | None) -> Limits:
    """Return the limits of one command: the sandbox's own, or less where `asked` says less."""
    if asked is None:
        return own
    return replace(
        own,
        cpu_s=min(own.cpu_s, asked.cpu_s),
        output_bytes=min(own.output_bytes, asked.output_bytes),
        kept_bytes=min(own.kept_bytes, asked.kept_bytes),
    )


def word(text: str) -> str:
    """Return `text` as an argument that any program can be given: a lone surrogate becomes its three bytes.

    Raises:
        SandboxError: it holds a NUL byte.

    """
    if "\0" in text:
        raise SandboxError(f"{text[:200]!r} holds a NUL byte; no argument or variable can.")
    return os.fsdecode(utf8(text))


def utf8(text: str) -> bytes:
    """Return `text` in UTF-8, whatever it holds: undecodable bytes of a file name as they were."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


def options(environment: Mapping[str, str], *, directory: str) -> list[str]:
    """Return bwrap's options for one command: its environment and the directory it starts in.

    Raises:
        SandboxError: a name that no variable can have.

    """
    words = ["--chdir", directory]
    for name, value in environment.items():
        if not name or "=" in name:
            raise SandboxError(f"{name!r} is no name of an environment variable.")
        words += ["--setenv", word(name), word(value)]
    return words


class Pipes:
    """Pipes whose far ends a command writes to. Use in a `with` block; pass `sinks` on, then close them."""

    def __init__(self, num_pipes: int, *, kept_bytes: int) -> None:
        self.streams: dict[int, Stream] = {}
        self.sinks: list[int] = []
        for _ in range(num_pipes):
            source, sink = os.pipe()
            os.set_blocking(source, False)
            self.streams[source] = Stream(kept_bytes)
            self.sinks.append(sink)

    def close_sinks(self) -> None:
        while self.sinks:
            os.close(self.sinks.pop())

    def close(self) -> None:
        self.close_sinks()
        while self.streams:
            os.close(self.streams.popitem()[0])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@dataclass(frozen=True, slots=True)
class Counts:
    """What the kernel had counted against a sandbox at one moment."""

    oom: int
    pids: int
    full: bool

    @classmethod
    def of(cls, lease: Lease) -> Counts:
        """Return the counts of now."""
        return cls(lease.count("oom"), lease.count("pids"), lease.full())

    def limit_hit(self, after: Counts) -> Reason | None:
        """Return the limit that the sandbox ran into between here and `after`, if any."""
        if after.oom > self.oom:
            return "oom"
        if after.pids > self.pids:
            return "pids"
        return "disk" if after.full and not self.full else None


def end(line: socket.socket, streams: Mapping[int, Stream], seen: Watch, limits: Limits) -> Ending:
    """Return how the command of `line` ended, after killing it unless it was `seen` to be over.

    One whose time is up gets GRACE_S first, if it can use it; what it writes then is kept.
    """
    if not seen.over:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # it has ended just now, or the launcher has
            if seen.timed_out or seen.idled:
                line.send(b"end")
                seen = watch(streams, line, deadline_s=time.monotonic() + GRACE_S, limits=limits)
            if not seen.over:
                line.send(b"kill")
    ending = ended(line)
    drain(streams)
    return ending


def kill_reason(seen: Watch, ending: Ending) -> Reason | None:
    """Return why the sandbox killed the command, or None when it did not."""
    if seen.flooded:
        return "output_limit"
    if seen.idled:
        return "idle_timeout"
    return "timeout" if seen.timed_out or ending.cpu_spent else None


def own_reason(exit_code: int, limit_hit: Reason | None) -> Reason:
    """Return why a command that the sandbox did not kill ended. One that succeeded hit no limit that matters."""
    if exit_code == 0:
        return "exit"
    if limit_hit is not None:
        return limit_hit
    if exit_code == _SIGXCPU:
        return "timeout"
    if exit_code == _SIGXFSZ:
        return "disk"
    return "signal" if 128 < exit_code <= _LAST_SIGNAL else "exit"


def unstarted(error: bytes, limit_hit: Reason | None, *, wall_s: float) -> Report:
    """Return the report of a command that never ran. `error` is bwrap's own: the payload has written nothing yet.

    A program that cannot be run ends with 127 when there is none, else with 126, as in a shell.

    Raises:
        SandboxLost: the command is not to blame: the sandbox is broken.

    """
    if limit_hit in ("oom", "pids"):
        return Report(None, limit_hit, wall_s=wall_s)
    if b"Resource temporarily unavailable" in error:
        return Report(None, "pids", wall_s=wall_s)
    if error.startswith(b"bwrap: execvp ") or b"Argument list too long" in error:
        code = 127 if b"No such file" in error else 126
        return Report(code, "exit", stderr=error.removeprefix(b"bwrap: execvp "), wall_s=wall_s)
    if error.startswith(b"bwrap: Can't chdir to "):  # the payload has shut its own workspace
        return Report(126, "exit", stderr=error.removeprefix(b"bwrap: "), wall_s=wall_s)
    raise SandboxLost(f"A command could not be started: {error.decode(errors='replace').strip() or 'no word of why'}.")
