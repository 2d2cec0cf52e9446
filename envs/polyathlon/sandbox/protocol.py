"""What a sandbox does, whatever holds it: the types every backend and every caller shares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, Self, TypeAlias

from polyathlon.canonical import Json
from polyathlon.tree import Tree

Reason = Literal["exit", "signal", "timeout", "idle_timeout", "oom", "pids", "disk", "output_limit", "lost"]
Command: TypeAlias = Sequence[str] | str
"""An argv, or a text that `bash -c` runs."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What one sandbox may use. Sizes in bytes, times in seconds, all per sandbox and not per process.

    `disk_bytes` and `max_files` hold for `/workspace`, `/tmp` and `/dev/shm` together, layers of snapshots included. A
    few processes of the sandbox's own come on top of `max_processes`. `cpu_s` is CPU time in sum; `cores` is how many
    cores' worth of it may be used at once, and what `nproc` shows inside, rounded up. A command that writes more than
    `output_bytes` to both streams is killed; of what it wrote, a Report keeps `kept_bytes` a stream, head and tail.
    """

    memory_bytes: int = 256 * 2**20
    disk_bytes: int = 64 * 2**20
    max_files: int = 20_000
    max_processes: int = 64
    cpu_s: float = 60.0
    cores: float = 1.0
    output_bytes: int = 4 * 2**20
    kept_bytes: int = 256 * 2**10


@dataclass(frozen=True, slots=True)
class Usage:
    """What was used, by the kernel's own count; None where nothing counts it on this machine.

    Of a Report: CPU time of that command alone, and the sandbox's state at its end. Of a Sandbox: since it opened.
    `peak_memory_bytes` is the highest sum over all processes since the sandbox opened, page cache and files included.
    """

    cpu_s: float | None = None
    peak_memory_bytes: int | None = None
    disk_bytes: int | None = None
    num_files: int | None = None


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
    usage: Usage = field(default_factory=Usage)

    @property
    def ok(self) -> bool:
        return self.reason == "exit" and self.exit_code == 0


@dataclass(frozen=True, slots=True)
class SandboxRecord:
    """What an episode's sandbox was, to go with the episode: enough to say later whether two were alike.

    `layers` are digests of the snapshot layers below the workspace, lowest first; none for one opened on a tree.
    """

    backend: str
    kernel: str
    capabilities: tuple[str, ...]
    limits: Limits
    layers: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)

    def as_dict(self) -> dict[str, Json]:
        """Return the fields as plain JSON."""
        amounts: dict[str, Json] = {name: getattr(self.limits, name) for name in Limits.__slots__}
        used: dict[str, Json] = {name: getattr(self.usage, name) for name in Usage.__slots__}
        return {
            "backend": self.backend,
            "kernel": self.kernel,
            "capabilities": list(self.capabilities),
            "limits": amounts,
            "layers": list(self.layers),
            "packages": list(self.packages),
            "usage": used,
        }


class Snapshot(Protocol):
    """The files of a sandbox at one moment, as layers that never change. It outlives the sandbox it was taken of.

    Files, with modes, times, links and attributes, and the shell's directory and variables: no process, no memory, no
    open descriptor. What goes on from it, by `restore` and `fork`, finds `/tmp` and `/dev/shm` as they were too. What
    leaves the episode has `/workspace` alone: `Room.open`, where a judge's programs shall find no file that a policy
    left in their home, `to_tar`, and `layers`.
    """

    @property
    def layers(self) -> tuple[str, ...]:
        """Digests of the layers, lowest first. Equal layers have equal digests on every machine."""
        ...

    def to_tar(self) -> bytes:
        """Return all layers as one tar, with whiteouts and extended attributes: `Room.load` opens it anywhere.

        Pipes and sockets are left out. It costs what the files weigh, as `layers` does at the first call.

        Raises:
            SandboxError: folders are nested deeper than 256, or all names together take more than 64 MiB.
            SandboxLost: whatever held the snapshot is gone.

        """
        ...

    def close(self) -> None:
        """Free it, once no sandbox stands on it any more. May be called twice."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...


class Shell(Protocol):
    """A persistent bash: directory, variables and functions last from one command to the next."""

    def run(self, command: str, *, timeout_s: float = 30.0, idle_s: float | None = None) -> Report:
        """Run `command`, with both streams in `stdout`, in order. Its standard input is empty.

        A timeout kills the command's whole tree, the shell and its background jobs included; see `fresh_shell`.

        Raises:
            SandboxLost: the sandbox died for a reason that is not the command's.

        """
        ...


class Terminal(Protocol):
    """A program on a terminal of its own: for editors, pagers, debuggers and prompts, which draw on a screen."""

    @property
    def alive(self) -> bool:
        """Whether the program still runs."""
        ...

    def send_keys(self, *keys: str) -> None:
        """Type text or named keys ("Enter", "Escape", "Tab", "Up", "C-c", "F1", ...); text in any other form is typed.

        Raises:
            SandboxError: no such key, or the program takes no more input.
            SandboxLost: the sandbox died.

        """
        ...

    def screen(self, *, quiet_s: float = 0.1, timeout_s: float = 5.0) -> str:
        """Return the screen as text, once nothing was drawn for `quiet_s`, or after `timeout_s`.

        A row is a line, without blanks at its end; empty rows at the bottom are left out. A program that has drawn
        nothing at all yet is waited for.
        """
        ...

    def resize(self, *, columns: int, rows: int) -> None:
        """Change the size, of which the program is told by SIGWINCH.

        Raises:
            SandboxError: no terminal has that size.

        """
        ...

    def close(self) -> None:
        """Kill the program. May be called twice."""
        ...


class Sandbox(Protocol):
    """One isolated world with a `/workspace` of its own. Single use: closed, never cleaned and lent again.

    The shell and each `run` share `/workspace`, `/tmp` and the limits, and nothing else: they do not see each other's
    processes or sockets.
    """

    def run(
        self,
        command: Command,
        *,
        timeout_s: float = 30.0,
        idle_s: float | None = None,
        stdin: bytes = b"",
        env: Mapping[str, str] | None = None,
        limits: Limits | None = None,
    ) -> Report:
        """Run `command` in `/workspace` and wait for it. Nothing it started lives on.

        A text is run by `bash -c`. What is killed for its time, and has a handler for SIGTERM, gets a second to use it.
        `idle_s` ends it after so long without output. `limits` may narrow `cpu_s`, `output_bytes` and `kept_bytes` for
        this command; its other fields are the sandbox's.

        All processes of one command share a user and can change each other. So a program that is judged is a command
        of its own, fed through `stdin` and judged by its Report: it is never a child of the code that judges it.

        Raises:
            SandboxLost: the sandbox died for a reason that is not the command's.

        """
        ...

    def shell(self) -> Shell:
        """Return the sandbox's one persistent shell, started at the first call."""
        ...

    def terminal(self, command: Command = ("bash",), *, columns: int = 80, rows: int = 24) -> Terminal:
        """Start `command` on a terminal of its own, and return it.

        Raises:
            SandboxRefused: this backend has no terminals.

        """
        ...

    def put(self, tree: Tree) -> None:
        """Write `tree` under `/workspace`, with its modes and times; existing paths are replaced.

        Raises:
            SandboxError: it does not fit, or holds an entry of kind "other".

        """
        ...

    def apply(self, patch: str) -> None:
        """Apply a unified diff under `/workspace`: all of it, or nothing.

        Raises:
            PatchRefused: it does not apply; names the file and the hunk, and what stands there instead.
            SandboxError: the result does not fit.

        """
        ...

    def get(self) -> Tree:
        """Return all that lies under `/workspace`, read from outside, without following links, devices or pipes.

        What the payload can do, it cannot make this fail: a file beyond the sandbox's own size in sum (by holes, or by
        many names), or a folder nested deeper than 64, is there as an entry of kind "other". Call `kill` first for a
        tree that nothing changes while it is read.

        Raises:
            SandboxLost: the sandbox died.

        """
        ...

    def snapshot(self) -> Snapshot:
        """Freeze the files as they are and return them. The cost does not grow with the workspace.

        Kills every process first: their memory is not kept. The shell's next command starts in a fresh shell that takes
        over its directory, variables, functions, aliases and options, but no job.

        Raises:
            SandboxRefused: this backend has no snapshots.

        """
        ...

    def restore(self, snapshot: Snapshot) -> None:
        """Set `/workspace`, `/tmp` and `/dev/shm` back to `snapshot`, and kill every process.

        The shell goes on with the directory, variables and so on that it had at the snapshot.

        Raises:
            SandboxError: the snapshot is closed, or holds more than this sandbox may.
            SandboxRefused: this backend has no snapshots.

        """
        ...

    def fork(self) -> Sandbox:
        """Return a new sandbox that goes on from here as this one does, as by `snapshot`, with the same limits.

        Both start with the same files and the same state of the shell; from then on neither sees the other's.

        Raises:
            SandboxRefused: this backend has no snapshots.

        """
        ...

    def usage(self) -> Usage:
        """Return what was used since the sandbox opened."""
        ...

    def record(self) -> SandboxRecord:
        """Return what this sandbox is, and what it has used so far."""
        ...

    def kill(self) -> None:
        """Kill every process, the shell included. The files stay, for `get`.

        Any thread may call this while another waits in `run`: that one returns then, with the report of a kill.
        """
        ...

    def close(self) -> None:
        """Kill every process and free everything. May be called twice."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...


class Room(Protocol):
    """Makes fresh sandboxes. `judge` gets one; a question's verifier never touches it."""

    def open(
        self,
        files: Tree | Snapshot,
        *,
        limits: Limits | None = None,
        packages: tuple[str, ...] = (),
        needs: frozenset[str] = frozenset(),
        readonly: Tree | None = None,
    ) -> Sandbox:
        """Return a fresh sandbox whose `/workspace` holds `files`. Close it, or use it in a `with` block.

        `readonly` is at `/judge`, where no program of the sandbox can write: hidden tests, beside files that a policy
        made. It counts towards the limits.

        `packages` are import names, such as ("numpy", "trimesh"), that `python3` inside can import, with nothing else
        that is installed here. `needs` names capabilities of the backend record without which a task makes no sense,
        such as "memory of all processes": see `polyathlon doctor`.

        Raises:
            SandboxRefused: nothing on this machine can isolate, or it lacks what is needed; says what to install.

        """
        ...

    def load(self, tar: bytes) -> Snapshot:
        """Return the snapshot that `Snapshot.to_tar` wrote, here or on another machine.

        Raises:
            SandboxError: it is no such tar, or its layers do not match their digests.
            SandboxRefused: this backend has no snapshots.

        """
        ...
