"""A sandbox that runs nothing: answers from a table, files in memory. For tests of what uses a sandbox."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

from polyathlon.errors import SandboxError, SandboxLost
from polyathlon.patch import apply_patch
from polyathlon.sandbox.launcher.digests import digest_nodes
from polyathlon.sandbox.protocol import Command, Limits, Report, SandboxRecord, Snapshot, Usage
from polyathlon.sandbox.snapshot_tar import read_tar, write_tar
from polyathlon.sandbox.snapshot_tree import layers_tree, tree_steps
from polyathlon.tree import Entry, Tree

Effect = Callable[[Tree], tuple[Report, Tree]]
"""What a command does: from the files before to its report and the files after."""
Answer = Report | Effect


def printing(text: str, *, exit_code: int = 0) -> Report:
    """Return the report of a command that wrote `text` to its standard output and ended."""
    return Report(exit_code, "exit", stdout=text.encode("utf-8"))


@dataclass(slots=True)
class ScriptedRoom:
    """Makes scripted sandboxes. `answers` is by command: the shell's text, or argv joined by single spaces.

    A command that is not there ends with 127 and says so. `screens` is what a command shows on a terminal: a screen at
    its start, another after each time keys are sent; it ends after the last. `opened` keeps every sandbox made.
    """

    answers: Mapping[str, Answer] = field(default_factory=dict)
    screens: Mapping[str, Sequence[str]] = field(default_factory=dict)
    opened: list[ScriptedSandbox] = field(default_factory=list)

    def open(
        self,
        files: Tree | Snapshot,
        *,
        limits: Limits | None = None,
        packages: tuple[str, ...] = (),
        needs: frozenset[str] = frozenset(),
        readonly: Tree | None = None,
    ) -> ScriptedSandbox:
        """Return a fresh sandbox that holds `files`; `readonly` is kept beside. Limits hold back nothing here.

        Whatever a task needs is there.
        """
        del needs
        sandbox = ScriptedSandbox(self, limits or Limits(), packages, readonly=readonly or Tree())
        sandbox.put(files if isinstance(files, Tree) else _tree_of(files))
        self.opened.append(sandbox)
        return sandbox

    def load(self, tar: bytes) -> ScriptedSnapshot:
        """Return the snapshot of a tar; see Room.load."""
        return ScriptedSnapshot(layers_tree(read_tar(tar)))


@dataclass(slots=True)
class ScriptedSnapshot:
    """The files of a scripted sandbox at one moment: one layer."""

    tree: Tree
    closed: bool = False

    @property
    def layers(self) -> tuple[str, ...]:
        return (digest_nodes(tree_steps(self.tree)),)

    def to_tar(self) -> bytes:
        return write_tar([tree_steps(self.tree)])

    def close(self) -> None:
        """Note that it was closed. May be called twice."""
        self.closed = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _tree_of(snapshot: Snapshot) -> Tree:
    if not isinstance(snapshot, ScriptedSnapshot):
        return layers_tree(read_tar(snapshot.to_tar()))
    if snapshot.closed:
        raise SandboxError("That snapshot is closed.")
    return snapshot.tree


@dataclass(frozen=True, slots=True)
class Asked:
    """One command that a scripted sandbox was asked to run."""

    command: str
    stdin: bytes = b""
    env: Mapping[str, str] = field(default_factory=dict)


class ScriptedSandbox:
    """One scripted sandbox. `asked` is what it was asked to run, in order."""

    def __init__(self, room: ScriptedRoom, limits: Limits, packages: tuple[str, ...], *, readonly: Tree) -> None:
        self.limits = limits
        self.readonly = readonly
        self.packages = packages
        self.asked: list[Asked] = []
        self.closed = False
        self._room = room
        self._tree = Tree()

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
        """Return the answer for `command`, a text or an argv.

        An answer whose `wall_s` exceeds `timeout_s` becomes a timeout, one that exceeds `idle_s` and says nothing an
        idle timeout. Other limits hold back nothing.
        """
        del limits
        if not command:
            raise SandboxError("Nothing to run: the command is empty.")
        return self.answer(Asked(_line(command), stdin, env or {}), timeout_s, idle_s)

    def answer(self, asked: Asked, timeout_s: float, idle_s: float | None) -> Report:
        """Look the command up, carry out its effect, and note it."""
        self._refuse_when_closed()
        self.asked.append(asked)
        unknown = Report(127, "exit", stderr=f"{asked.command}: not scripted\n".encode())
        found = self._room.answers.get(asked.command, unknown)
        report, tree = (found, self._tree) if isinstance(found, Report) else found(self._tree)
        if report.wall_s > timeout_s:
            return Report(None, "timeout", wall_s=timeout_s)
        if idle_s is not None and report.wall_s > idle_s and not report.stdout + report.stderr:
            return Report(None, "idle_timeout", wall_s=idle_s)
        self._tree = tree
        return report

    def shell(self) -> ScriptedShell:
        """Return the shell, which answers from the same table."""
        self._refuse_when_closed()
        return ScriptedShell(self)

    def terminal(self, command: Command = ("bash",), *, columns: int = 80, rows: int = 24) -> ScriptedTerminal:
        """Return a terminal that shows the screens of `command`. Its size changes nothing."""
        del columns, rows
        self._refuse_when_closed()
        line = _line(command)
        self.asked.append(Asked(line))
        if line not in self._room.screens:
            raise SandboxError(f"{line}: no screens are scripted for it.")
        return ScriptedTerminal(list(self._room.screens[line]))

    def put(self, tree: Tree) -> None:
        """Add `tree` to the files, with the folders it needs."""
        self._refuse_when_closed()
        parents = {os.path.dirname(path) for path in tree}
        while any(parents):
            missing = {path: Entry("dir", 0o755) for path in parents if path and path not in self._tree}
            self._tree = self._tree.with_files(missing)
            parents = {os.path.dirname(path) for path in parents}
        self._tree = self._tree.with_files(tree.entries)

    def apply(self, patch: str) -> None:
        """Apply a unified diff to the files."""
        self._refuse_when_closed()
        changes = apply_patch(self._tree, patch)
        self._tree = self._tree.without(*changes.removed)
        self.put(Tree(changes.written))

    def usage(self) -> Usage:
        """Return what the files take; nothing else is used here."""
        sizes = [len(entry.data) for entry in self._tree.entries.values()]
        return Usage(disk_bytes=sum(sizes), num_files=len(sizes))

    def record(self) -> SandboxRecord:
        """Return what it is: nothing that holds anything back."""
        return SandboxRecord("scripted", "none", (), self.limits, packages=self.packages, usage=self.usage())

    def get(self) -> Tree:
        """Return the files."""
        self._refuse_when_closed()
        return self._tree

    def snapshot(self) -> ScriptedSnapshot:
        """Return the files as they are."""
        return ScriptedSnapshot(self.get())

    def restore(self, snapshot: Snapshot) -> None:
        """Set the files back."""
        self._refuse_when_closed()
        self._tree = _tree_of(snapshot)

    def fork(self) -> ScriptedSandbox:
        """Return another one on the same files, that answers from the same table."""
        other = ScriptedSandbox(self._room, self.limits, self.packages, readonly=self.readonly)
        other.restore(self.snapshot())
        return other

    def kill(self) -> None:
        """Do nothing: nothing runs."""

    def close(self) -> None:
        """End it. May be called twice."""
        self.closed = True

    def _refuse_when_closed(self) -> None:
        if self.closed:
            raise SandboxLost("This sandbox is closed. Open another one.")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@dataclass(frozen=True, slots=True)
class ScriptedShell:
    """The shell of a scripted sandbox: both streams in `stdout`, as of a real one."""

    sandbox: ScriptedSandbox

    def run(self, command: str, *, timeout_s: float = 30.0, idle_s: float | None = None) -> Report:
        """Return the answer for `command`."""
        report = self.sandbox.answer(Asked(command), timeout_s, idle_s)
        return Report(
            report.exit_code,
            report.reason,
            stdout=report.stdout + report.stderr,
            clipped=report.clipped,
            wall_s=report.wall_s,
            fresh_shell=report.exit_code is None,
        )


@dataclass(slots=True)
class ScriptedTerminal:
    """A terminal that shows one screen after the other. `sent` is what was typed, a tuple each time."""

    screens: list[str]
    sent: list[tuple[str, ...]] = field(default_factory=list)
    closed: bool = False

    @property
    def alive(self) -> bool:
        return not self.closed and len(self.screens) > 1

    def send_keys(self, *keys: str) -> None:
        """Take note of the keys, and go on to the next screen."""
        if not self.alive:
            raise SandboxError("The program on this terminal has ended; it takes no keys.")
        self.sent.append(keys)
        self.screens.pop(0)

    def screen(self, *, quiet_s: float = 0.1, timeout_s: float = 5.0) -> str:
        """Return the screen of now, at once."""
        del quiet_s, timeout_s
        return self.screens[0]

    def resize(self, *, columns: int, rows: int) -> None:
        """Do nothing: the screens are as they are written."""
        del columns, rows

    def close(self) -> None:
        """End it. May be called twice."""
        self.closed = True


def _line(command: Command) -> str:
    return command if isinstance(command, str) else " ".join(command)
