"""Around one command in a sandbox: its words and environment, the pipes it writes to, and why it ended."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from polyathlon.errors import SandboxError, SandboxLost
from polyathlon.sandbox.client import Lease
from polyathlon.sandbox.line import Ending
from polyathlon.sandbox.protocol import Reason, Report
from polyathlon.sandbox.streams import Stream, Watch

_SIGXCPU, _SIGXFSZ = 128 + 24, 128 + 25
_LAST_SIGNAL = 128 + 64


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


def kill_reason(seen: Watch, ending: Ending) -> Reason | None:
    """Return why the sandbox killed the command, or None when it did not."""
    if seen.flooded:
        return "output_limit"
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
