"""A sandbox that runs nothing: answers from a table, files in memory. For tests of what uses a sandbox."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

from polyathlon.errors import SandboxError, SandboxLost
from polyathlon.sandbox.launcher.digests import digest_nodes
from polyathlon.sandbox.protocol import Limits, Report, Snapshot
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

    A command that is not there ends with 127 and says so. `opened` keeps every sandbox made, in order.
    """

    answers: Mapping[str, Answer] = field(default_factory=dict)
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
        """Return a fresh sandbox that holds `files`; `readonly` is kept beside. Limits hold back nothing here."""
        sandbox = ScriptedSandbox(self.answers, limits or Limits(), packages, readonly=readonly or Tree())
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

    def __init__(
        self, answers: Mapping[str, Answer], limits: Limits, packages: tuple[str, ...], *, readonly: Tree
    ) -> None:
        self.limits = limits
        self.readonly = readonly
        self.packages = packages
        self.asked: list[Asked] = []
        self.closed = False
        self._answers = answers
        self._tree = Tree()

    def run(
        self,
        argv: Sequence[str],
        *,
        timeout_s: float = 30.0,
        stdin: bytes = b"",
        env: Mapping[str, str] | None = None,
    ) -> Report:
        """Return the answer for `argv`. An answer whose `wall_s` exceeds `timeout_s` becomes a timeout."""
        if not argv:
            raise SandboxError("Nothing to run: argv is empty.")
        return self.answer(Asked(" ".join(argv), stdin, env or {}), timeout_s)

    def answer(self, asked: Asked, timeout_s: float) -> Report:
        """Look the command up, carry out its effect, and note it."""
        self._refuse_when_closed()
        self.asked.append(asked)
        unknown = Report(127, "exit", stderr=f"{asked.command}: not scripted\n".encode())
        found = self._answers.get(asked.command, unknown)
        report, tree = (found, self._tree) if isinstance(found, Report) else found(self._tree)
        if report.wall_s > timeout_s:
            return Report(None, "timeout", wall_s=timeout_s)
        self._tree = tree
        return report

    def shell(self) -> ScriptedShell:
        """Return the shell, which answers from the same table."""
        self._refuse_when_closed()
        return ScriptedShell(self)

    def put(self, tree: Tree) -> None:
        """Add `tree` to the files, with the folders it needs."""
        self._refuse_when_closed()
        parents = {os.path.dirname(path) for path in tree}
        while any(parents):
            missing = {path: Entry("dir", 0o755) for path in parents if path and path not in self._tree}
            self._tree = self._tree.with_files(missing)
            parents = {os.path.dirname(path) for path in parents}
        self._tree = self._tree.with_files(tree.entries)

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
        other = ScriptedSandbox(self._answers, self.limits, self.packages, readonly=self.readonly)
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

    def run(self, command: str, *, timeout_s: float = 30.0) -> Report:
        """Return the answer for `command`."""
        report = self.sandbox.answer(Asked(command), timeout_s)
        return Report(
            report.exit_code,
            report.reason,
            stdout=report.stdout + report.stderr,
            clipped=report.clipped,
            wall_s=report.wall_s,
            fresh_shell=report.exit_code is None,
        )
