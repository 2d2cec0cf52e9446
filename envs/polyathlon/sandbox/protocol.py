"""What a sandbox does, whatever holds it: the types every backend and every caller shares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, Self

from polyathlon.tree import Tree

Reason = Literal["exit", "signal", "timeout", "oom", "pids", "disk", "output_limit", "lost"]


@dataclass(frozen=True, slots=True)
class Limits:
    """What one sandbox may use. Sizes in bytes, times in seconds, all per sandbox and not per process."""

    memory_bytes: int = 256 * 2**20
    disk_bytes: int = 64 * 2**20
    max_files: int = 20_000
    max_processes: int = 64
    cpu_s: float = 60.0
    output_bytes: int = 4 * 2**20


@dataclass(frozen=True, slots=True)
class Report:
    """How one command ended, told as a colleague would.

    `exit_code` is None when the command was killed; `reason` then says why. `stdout` and `stderr` are bytes with the
    middle cut when long; `clipped` is true when something was cut.
    """

    exit_code: int | None
    reason: Reason
    stdout: bytes = b""
    stderr: bytes = b""
    clipped: bool = False
    wall_s: float = 0.0

    @property
    def ok(self) -> bool:
        return self.reason == "exit" and self.exit_code == 0


class Shell(Protocol):
    """A persistent bash: directory, variables and functions last from one command to the next."""

    def run(self, command: str, *, timeout_s: float = 30.0) -> Report:
        """Run `command`, with both streams in `stdout`, in order. A timeout kills the command's whole tree."""
        ...


class Sandbox(Protocol):
    """One isolated world with a `/workspace` of its own. Single use: closed, never cleaned and lent again."""

    def run(
        self,
        argv: Sequence[str],
        *,
        timeout_s: float = 30.0,
        stdin: bytes = b"",
        env: Mapping[str, str] | None = None,
    ) -> Report:
        """Run `argv` in `/workspace` and wait for it. Nothing it started lives on.

        Raises:
            SandboxLost: the sandbox died for a reason that is not the command's.

        """
        ...

    def shell(self) -> Shell:
        """Return the sandbox's one persistent shell, started at the first call."""
        ...

    def put(self, tree: Tree) -> None:
        """Write `tree` under `/workspace`, with its modes and times; existing paths are replaced."""
        ...

    def get(self) -> Tree:
        """Return all that lies under `/workspace`, read without following links, devices or pipes.

        Raises:
            SandboxError: the tree holds more than the sandbox's own limits allow.

        """
        ...

    def close(self) -> None:
        """Kill every process and free everything. May be called twice."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...


class Room(Protocol):
    """Makes fresh sandboxes. `judge` gets one; a question's verifier never touches it."""

    def open(self, tree: Tree, *, limits: Limits | None = None) -> Sandbox:
        """Return a fresh sandbox whose `/workspace` holds `tree`. Close it, or use it in a `with` block.

        Raises:
            SandboxRefused: nothing on this machine can isolate; says what to install.

        """
        ...
