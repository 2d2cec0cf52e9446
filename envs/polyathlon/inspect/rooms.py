"""Rooms for inspection: one that notes what goes into its sandboxes, and three that fail in the ways rooms fail."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, cast

from polyathlon.errors import SandboxLost, SandboxRefused
from polyathlon.sandbox import warm
from polyathlon.sandbox.protocol import Command, Limits, Report, Room, Sandbox, Shell, Snapshot
from polyathlon.sandbox.scripted import ScriptedRoom
from polyathlon.tree import Tree

MAX_NOTED_BYTES = 8 << 20


class WatchedRoom:
    """Lends the sandboxes of `room`, and notes all that is given into them. `num_used` counts sandboxes and judges."""

    def __init__(self, room: Room) -> None:
        self._room = room
        self.num_used = 0
        self.given: list[bytes] = []
        self._left_bytes = MAX_NOTED_BYTES

    def note(self, data: bytes | str) -> None:
        """Keep what was given, as far as there is room for it."""
        kept = (data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data)[: self._left_bytes]
        self._left_bytes -= len(kept)
        self.given.append(kept)

    def note_tree(self, tree: Tree) -> None:
        """Keep the names and contents of files."""
        for path, entry in tree.entries.items():
            self.note(path)
            self.note(entry.data)

    def open(
        self,
        files: Tree | Snapshot,
        *,
        limits: Limits | None = None,
        packages: tuple[str, ...] = (),
        needs: frozenset[str] = frozenset(),
        readonly: Tree | None = None,
    ) -> Sandbox:
        """Return a sandbox of the room, watched."""
        self.num_used += 1
        for tree in (files, readonly):
            if isinstance(tree, Tree):
                self.note_tree(tree)
        sandbox = self._room.open(files, limits=limits, packages=packages, needs=needs, readonly=readonly)
        return cast(Sandbox, _WatchedSandbox(self, sandbox))

    def load(self, tar: bytes) -> Snapshot:
        """Return the room's snapshot of a tar."""
        return self._room.load(tar)

    def judge_python(
        self,
        source: str,
        *,
        stdin: bytes,
        packages: tuple[str, ...] = (),
        limits: Limits | None = None,
        timeout_s: float = 30.0,
    ) -> Report:
        """Run a program as the room does, noting its source and its input."""
        self.num_used += 1
        self.note(source)
        self.note(stdin)
        return warm.judge_python(self._room, source, stdin=stdin, packages=packages, limits=limits, timeout_s=timeout_s)


class _WatchedSandbox:
    """A sandbox whose inputs are noted; all else it does as it is."""

    def __init__(self, room: WatchedRoom, sandbox: Sandbox) -> None:
        self._room, self._sandbox = room, sandbox

    def __getattr__(self, name: str) -> Any:  # what gives nothing in is passed on
        return getattr(self._sandbox, name)

    def run(self, command: Command, *, stdin: bytes = b"", env: Mapping[str, str] | None = None, **rest: Any) -> Report:
        self._room.note(command if isinstance(command, str) else "\n".join(command))
        self._room.note(stdin)
        self._room.note("\n".join(f"{key}={value}" for key, value in (env or {}).items()))
        return self._sandbox.run(command, stdin=stdin, env=env, **rest)

    def shell(self) -> Shell:
        return cast(Shell, _WatchedShell(self._room, self._sandbox.shell()))

    def put(self, tree: Tree) -> None:
        self._room.note_tree(tree)
        self._sandbox.put(tree)

    def apply(self, patch: str) -> None:
        self._room.note(patch)
        self._sandbox.apply(patch)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._sandbox.close()


class _WatchedShell:
    def __init__(self, room: WatchedRoom, shell: Shell) -> None:
        self._room, self._shell = room, shell

    def run(self, command: str, **rest: Any) -> Report:
        self._room.note(command)
        return self._shell.run(command, **rest)


class RefusingRoom:
    """Has no sandbox to lend: isolation is not possible here. `num_used` counts how often it was asked."""

    def __init__(self) -> None:
        self.num_used = 0

    def open(
        self,
        files: Tree | Snapshot,
        *,
        limits: Limits | None = None,
        packages: tuple[str, ...] = (),
        needs: frozenset[str] = frozenset(),
        readonly: Tree | None = None,
    ) -> Sandbox:
        """Refuse."""
        del files, limits, packages, needs, readonly
        self.num_used += 1
        raise SandboxRefused("this room refuses, so that an inspection sees what becomes of it")

    def load(self, tar: bytes) -> Snapshot:
        """Refuse."""
        del tar
        self.num_used += 1
        raise SandboxRefused("this room refuses, so that an inspection sees what becomes of it")


class LosingRoom:
    """Lends sandboxes that die at the first command. `num_used` counts the commands."""

    def __init__(self) -> None:
        self.num_used = 0

    def open(
        self,
        files: Tree | Snapshot,
        *,
        limits: Limits | None = None,
        packages: tuple[str, ...] = (),
        needs: frozenset[str] = frozenset(),
        readonly: Tree | None = None,
    ) -> Sandbox:
        """Return a sandbox that dies when it is used."""
        del limits, packages, needs, readonly
        return cast(Sandbox, _DyingSandbox(self, files if isinstance(files, Tree) else Tree()))

    def load(self, tar: bytes) -> Snapshot:
        """Return a snapshot that holds nothing of use: whatever is opened on it dies."""
        return ScriptedRoom().load(tar)

    def judge_python(
        self,
        source: str,
        *,
        stdin: bytes,
        packages: tuple[str, ...] = (),
        limits: Limits | None = None,
        timeout_s: float = 30.0,
    ) -> Report:
        """Report that the sandbox was lost."""
        del source, stdin, packages, limits, timeout_s
        self.num_used += 1
        return Report(None, "lost")


class _DyingSandbox:
    """Reports `lost` for the first command, as a backend may; whatever is asked of it after that raises."""

    def __init__(self, room: LosingRoom, files: Tree) -> None:
        self._room, self._files, self._dead = room, files, False

    def run(self, *_: object, **__: object) -> Report:
        self._room.num_used += 1
        if self._dead:
            raise SandboxLost("this sandbox died, so that an inspection sees what becomes of it")
        self._dead = True
        return Report(None, "lost")

    def shell(self) -> _DyingSandbox:
        return self

    def get(self) -> Tree:
        if self._dead:
            raise SandboxLost("this sandbox died, so that an inspection sees what becomes of it")
        return self._files

    def put(self, tree: Tree) -> None:
        self._files = self._files.with_files(tree.entries)

    def kill(self) -> None:
        """Nothing runs."""

    def close(self) -> None:
        """Nothing is held."""

    def record(self) -> None:
        return None

    def __getattr__(self, name: str) -> Any:
        raise SandboxLost(f"this sandbox died before {name}, so that an inspection sees what becomes of it")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class BareRoom:
    """Lends sandboxes in which no program is installed: every command ends with 127. `num_used` counts them."""

    def __init__(self) -> None:
        self._room = ScriptedRoom()

    @property
    def num_used(self) -> int:
        return sum(len(sandbox.asked) for sandbox in self._room.opened)

    def open(
        self,
        files: Tree | Snapshot,
        *,
        limits: Limits | None = None,
        packages: tuple[str, ...] = (),
        needs: frozenset[str] = frozenset(),
        readonly: Tree | None = None,
    ) -> Sandbox:
        """Return a sandbox that finds no program."""
        sandbox = self._room.open(files, limits=limits, packages=packages, needs=needs, readonly=readonly)
        return cast(Sandbox, sandbox)

    def load(self, tar: bytes) -> Snapshot:
        """Return the snapshot of a tar."""
        return self._room.load(tar)
