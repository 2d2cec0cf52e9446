"""What a sandbox does, whatever holds it: the types every backend and every caller shares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, Self

from polyathlon.tree import Tree

Reason = Literal["exit", "signal", "timeout", "oom", "pids", "disk", "output_limit", "lost"]


@dataclass(frozen=True, slots=True)
class Limits:
    """What one sandbox may use. Sizes in bytes, times in seconds, all per sandbox and not per process.

    `disk_bytes` and `max_files` hold for `/workspace`, `/tmp` and `/dev/shm` together. A few processes of the sandbox's
    own come on top of `max_processes`. A command that writes more than
    `output_bytes` to both streams is killed; of what it wrote, a Report keeps `kept_bytes` a stream, head and tail.
    """

    memory_bytes: int = 256 * 2**20
    disk_bytes: int = 64 * 2**20
    max_files: int = 20_000
    max_processes: int = 64
    cpu_s: float = 60.0
    output_bytes: int = 4 * 2**20
    kept_bytes: int = 256 * 2**10


@dataclass(frozen=True, slots=True)
class Report:
    """How one command ended, told as a colleague would.

    `exit_code` is None when the sandbox killed the command; `reason` says why. A command that ended by itself keeps
    its code even where `reason` names a limit that it ran into (`oom`, `pids`, `disk`), or a signal: then it is 128 and
    the signal's number, as in a shell. A command that used up its CPU seconds reads `timeout`. `stdout` and `stderr`
    are bytes with the middle cut when long; `clipped` is true when something was cut. `fresh_shell` is true when the
    shell died of this command: the next one starts in a new shell, in the same directory, without its variables.
    """

    exit_code: int | None
    reason: Reason
    stdout: bytes = b""
    stderr: bytes = b""
    clipped: bool = False
    wall_s: float = 0.0
    fresh_shell: bool = False

    @property
    def ok(self) -> bool:
        return self.reason == "exit" and self.exit_code == 0


class Shell(Protocol):
    """A persistent bash: directory, variables and functions last from one command to the next."""

    def run(self, command: str, *, timeout_s: float = 30.0) -> Report:
        """Run `command`, with both streams in `stdout`, in order. Its standard input is empty.

        A timeout kills the command's whole tree, the shell and its background jobs included; see `fresh_shell`.

        Raises:
            SandboxLost: the sandbox died for a reason that is not the command's.

        """
        ...


class Sandbox(Protocol):
    """One isolated world with a `/workspace` of its own. Single use: closed, never cleaned and lent again.

    The shell and each `run` share `/workspace`, `/tmp` and the limits, and nothing else: they do not see each other's
    processes or sockets.
    """

    def run(
        self,
        argv: Sequence[str],
        *,
        timeout_s: float = 30.0,
        stdin: bytes = b"",
        env: Mapping[str, str] | None = None,
    ) -> Report:
        """Run `argv` in `/workspace` and wait for it. Nothing it started lives on.

        All processes of one command share a user and can change each other. So a program that is judged is a command
        of its own, fed through `stdin` and judged by its Report: it is never a child of the code that judges it.

        Raises:
            SandboxLost: the sandbox died for a reason that is not the command's.

        """
        ...

    def shell(self) -> Shell:
        """Return the sandbox's one persistent shell, started at the first call."""
        ...

    def put(self, tree: Tree) -> None:
        """Write `tree` under `/workspace`, with its modes and times; existing paths are replaced.

        Raises:
            SandboxError: it does not fit, or holds an entry of kind "other".

        """
        ...

    def halt(self) -> None:
        """Kill every process, the shell included. The files stay, for `get`."""
        ...

    def get(self) -> Tree:
        """Return all that lies under `/workspace`, read from outside, without following links, devices or pipes.

        What the payload can do, it cannot make this fail: a file beyond the sandbox's own size in sum (by holes, or by
        many names), or a folder nested deeper than 64, is there as an entry of kind "other". Call `halt` first for a
        tree that nothing changes while it is read.

        Raises:
            SandboxLost: the sandbox died.

        """
        ...

    def close(self) -> None:
        """Kill every process and free everything. May be called twice."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...


class Room(Protocol):
    """Makes fresh sandboxes. `judge` gets one; a question's verifier never touches it."""

    def open(self, tree: Tree, *, limits: Limits | None = None, packages: tuple[str, ...] = ()) -> Sandbox:
        """Return a fresh sandbox whose `/workspace` holds `tree`. Close it, or use it in a `with` block.

        `packages` are import names, such as ("numpy", "trimesh"), that `python3` inside can import, with nothing else
        that is installed here.

        Raises:
            SandboxRefused: nothing on this machine can isolate; says what to install.

        """
        ...
