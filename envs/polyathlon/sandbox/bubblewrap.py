"""Sandboxes by bubblewrap: every command in namespaces of its own, around one workspace that outlives it."""

from __future__ import annotations

import contextlib
import functools
import os
import platform
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Self

from polyathlon.errors import SandboxError
from polyathlon.patch import apply_patch, paths_of
from polyathlon.sandbox.admission import Gate, Policy
from polyathlon.sandbox.client import LauncherProcess, Lease, OpenOp
from polyathlon.sandbox.commands import (
    Counts,
    Pipes,
    argv_of,
    end,
    kill_reason,
    narrowed,
    options,
    own_reason,
    unstarted,
)
from polyathlon.sandbox.launcher.files import Row
from polyathlon.sandbox.launcher.wire import memory_file
from polyathlon.sandbox.pool import Kind, Pool
from polyathlon.sandbox.protocol import Command, Limits, Report, SandboxRecord, Snapshot, Usage
from polyathlon.sandbox.shell import BubblewrapShell, SavedShell
from polyathlon.sandbox.snapshot import BubblewrapSnapshot
from polyathlon.sandbox.snapshot_tar import read_tar
from polyathlon.sandbox.streams import watch
from polyathlon.sandbox.system import plan_system
from polyathlon.sandbox.terminal import TERMINAL_ENVIRONMENT, PtyTerminal, open_pty, terminal_argv
from polyathlon.sandbox.warm import judge_warm
from polyathlon.tree import Entry, Tree

_READY_LIMIT_S = 60.0
_KINDS = ("file", "dir", "symlink")


class BubblewrapRoom:
    """Makes sandboxes of bubblewrap. One launcher for each set of packages is started when first asked for."""

    def __init__(self, policy: Policy | None = None, *, spares: int = 0) -> None:
        """`policy` says how many sandboxes may start, and stand, at once; `spares`, how many of a kind wait for use."""
        self.capabilities: tuple[str, ...] = ()
        """What its sandboxes have been found to hold, for their records: whoever probes it fills this in."""

        self._lock = threading.Lock()
        self._policy = policy
        self._spares = spares
        self._begin()

    def _begin(self) -> None:
        self._pid = os.getpid()
        self._launchers: dict[tuple[str, ...], LauncherProcess] = {}
        self.gate = Gate(self._policy)
        self.pool: Pool[BubblewrapSandbox] = Pool(self._make_spare, calm=self.gate.calm, most=self._spares)

    def open(
        self,
        files: Tree | Snapshot,
        *,
        limits: Limits | None = None,
        packages: tuple[str, ...] = (),
        needs: frozenset[str] = frozenset(),
        readonly: Tree | None = None,
    ) -> BubblewrapSandbox:
        """Return a fresh sandbox; see Room.open. What a task `needs` is checked by who has probed the room."""
        del needs
        kind = tuple(sorted(set(packages))), limits or Limits()
        launcher = self.launcher(packages)
        if not isinstance(files, Tree):
            with _held_by(launcher, files) as snapshot:
                sandbox = self.stand_on(snapshot, kind, op="open")
        else:
            # The shell of a spare has begun already, and sees no /judge.
            sandbox = (self.pool.claim(kind) if readonly is None else None) or self._make(kind)
        try:
            if isinstance(files, Tree) and len(files):
                sandbox.put(files)
            if readonly is not None:
                sandbox.put_readonly(readonly)
        except BaseException:
            sandbox.close()
            raise
        return sandbox

    def load(self, tar: bytes) -> BubblewrapSnapshot:
        """Return the snapshot that `Snapshot.to_tar` wrote; see Room.load."""
        return _load_into(self.launcher(), tar)

    def stand_on(self, snapshot: BubblewrapSnapshot, kind: Kind, *, op: OpenOp) -> BubblewrapSandbox:
        """Return a sandbox on `snapshot`, of its launcher."""
        return self._start(snapshot.launcher, kind, snapshot, op)

    def _make(self, kind: Kind) -> BubblewrapSandbox:
        return self._start(self.launcher(kind[0]), kind, None, "open")

    def _start(
        self, launcher: LauncherProcess, kind: Kind, snapshot: BubblewrapSnapshot | None, op: OpenOp
    ) -> BubblewrapSandbox:
        gate = self.gate
        with gate.start(kind[1].memory_bytes) as ticket:
            lease = launcher.open_box(kind[1], snapshot=None if snapshot is None else snapshot.lease, op=op)
            leave = functools.partial(gate.leave, ticket)
            return BubblewrapSandbox(self, launcher, lease, kind, layered=snapshot is not None, on_close=leave)

    def _make_spare(self, kind: Kind) -> BubblewrapSandbox:
        sandbox = self._make(kind)
        sandbox.shell().run(":", timeout_s=_READY_LIMIT_S)  # a shell is what takes longest to start
        return sandbox

    def judge_python(
        self,
        source: str,
        *,
        stdin: bytes,
        packages: tuple[str, ...] = (),
        limits: Limits | None = None,
        timeout_s: float = 30.0,
    ) -> Report:
        """Run a program of ours in a fork of a warm Python; see warm.judge_python."""
        launcher = self.launcher(packages)
        return judge_warm(launcher, source, stdin=stdin, limits=limits or Limits(), timeout_s=timeout_s)

    def launcher(self, packages: tuple[str, ...] = ()) -> LauncherProcess:
        """Return the launcher that offers `packages`, started when there is none."""
        with self._lock:
            if self._pid != os.getpid():  # a fork: the launchers are the parent's
                self._begin()
            key = tuple(sorted(set(packages)))
            if key not in self._launchers:
                self._launchers[key] = LauncherProcess(plan_system(key))
            return self._launchers[key]

    def close(self) -> None:
        """End all launchers, and with them every sandbox that is still open."""
        self.pool.close()
        with self._lock:
            for launcher in self._launchers.values():
                launcher.close()
            self._launchers.clear()


class BubblewrapSandbox:
    """One sandbox. Not thread-safe, but for `kill`."""

    def __init__(
        self,
        room: BubblewrapRoom,
        launcher: LauncherProcess,
        lease: Lease,
        kind: Kind,
        *,
        layered: bool,
        on_close: Callable[[], None],
    ) -> None:
        """Take over `lease`; `layered` says whether it stands on a snapshot."""
        self._packages, self.limits = kind
        self.environment = launcher.plan.environment
        self.lease = lease
        self._room, self._launcher, self._on_close = room, launcher, on_close
        self._layered = layered
        self._readonly: Tree | None = None
        self._mounts: tuple[str, ...] = ()
        self._saved_shell = SavedShell()
        self._shell: BubblewrapShell | None = None
        self._terminals: list[PtyTerminal] = []

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
        """Run `command` and wait; see Sandbox.run."""
        argv, limits = argv_of(command), narrowed(self.limits, limits)
        started_s = time.monotonic()
        before = Counts.of(self.lease)
        fed = memory_file("stdin", stdin) if stdin else os.open("/dev/null", os.O_RDONLY)
        with Pipes(2, kept_bytes=limits.kept_bytes) as pipes:
            try:
                words = [*self._mounts, *options({**self.environment, **(env or {})}, directory="/workspace")]
                line = self.lease.spawn(argv, words, [fed, *pipes.sinks], cpu_s=limits.cpu_s)
            finally:
                os.close(fed)
                pipes.close_sinks()
            with line:
                deadline_s = started_s + timeout_s
                seen = watch(pipes.streams, line, deadline_s=deadline_s, limits=limits, idle_s=idle_s)
                ending = end(line, pipes.streams, seen, limits)
            out, err = pipes.streams.values()
        limit_hit = before.limit_hit(Counts.of(self.lease))
        reason = kill_reason(seen, ending)
        if reason is None and not ending.started:
            return unstarted(err.bytes(), limit_hit, wall_s=time.monotonic() - started_s)
        return Report(
            exit_code=None if reason else ending.exit_code,
            reason=reason or own_reason(ending.exit_code, limit_hit),
            stdout=out.bytes(),
            stderr=err.bytes(),
            clipped=out.clipped or err.clipped,
            wall_s=time.monotonic() - started_s,
            usage=self.lease.usage(ending.cpu_s),
        )

    def shell(self) -> BubblewrapShell:
        """Return the one persistent shell."""
        if self._shell is None:
            self._shell = BubblewrapShell(
                self.lease, self.limits, self.environment, mounts=self._mounts, saved=self._saved_shell
            )
        return self._shell

    def terminal(self, command: Command = ("bash",), *, columns: int = 80, rows: int = 24) -> PtyTerminal:
        """Start `command` on a terminal; see Sandbox.terminal."""
        argv, environment = terminal_argv(argv_of(command)), {**self.environment, **TERMINAL_ENVIRONMENT}
        master, theirs = open_pty(columns=columns, rows=rows)
        try:
            words = [*self._mounts, *options(environment, directory="/workspace")]
            line = self.lease.spawn(argv, words, [theirs] * 3, cpu_s=self.limits.cpu_s)
        except BaseException:
            os.close(master)
            raise
        finally:
            os.close(theirs)
        terminal = PtyTerminal(master, line, columns=columns, rows=rows, output_bytes=self.limits.output_bytes)
        self._terminals = [each for each in self._terminals if not each.closed] + [terminal]
        return terminal

    def put(self, tree: Tree) -> None:
        """Write `tree` under /workspace."""
        self.lease.write(_rows(tree))

    def put_readonly(self, tree: Tree) -> None:
        """Write `tree` where every command from now on sees it at /judge, and none can change it."""
        self._readonly = tree
        self.lease.write(_rows(tree), folder="judge")
        self._mounts = ("--ro-bind", f"{self._launcher.plan.at}/box/judge", "/judge")

    def get(self) -> Tree:
        """Return all that lies under /workspace; see Sandbox.get."""
        return _tree(self.lease.read())

    def apply(self, patch: str) -> None:
        """Apply a unified diff under /workspace; see Sandbox.apply."""
        changes = apply_patch(_tree(self.lease.read(paths_of(patch))), patch)
        self.lease.change(_rows(Tree(changes.written)), changes.removed)

    def snapshot(self) -> BubblewrapSnapshot:
        """Freeze the files and return them; see Sandbox.snapshot."""
        saved = self._saved_shell if self._shell is None else self._shell.saved()
        lease = self.lease.snapshot()
        self._layered = True
        return BubblewrapSnapshot(self._launcher, lease, saved)

    def restore(self, snapshot: Snapshot) -> None:
        """Set the files back to `snapshot`; see Sandbox.restore."""
        with _held_by(self._launcher, snapshot) as held:
            if self._shell is not None:
                self._shell.close()
            self.lease.restore(held.lease)
            self._layered, self._saved_shell = True, held.saved_shell
            if self._shell is not None:
                self._shell.start(held.saved_shell)
            if self._readonly is not None:
                self.put_readonly(self._readonly)

    def fork(self) -> BubblewrapSandbox:
        """Return a new sandbox on the same files; see Sandbox.fork."""
        with self.snapshot() as snapshot:
            other = self._room.stand_on(snapshot, (self._packages, self.limits), op="fork")
        other._readonly, other._mounts = self._readonly, self._mounts
        other._saved_shell = snapshot.saved_shell
        return other

    def usage(self) -> Usage:
        """Return what was used since it opened."""
        return self.lease.usage(self.lease.cpu_s())

    def record(self) -> SandboxRecord:
        """Return what it is, and what it has used so far."""
        return SandboxRecord(
            backend="bubblewrap",
            kernel=platform.release(),
            capabilities=self._room.capabilities,
            limits=self.limits,
            layers=self.lease.digests() if self._layered else (),
            packages=self._packages,
            usage=self.usage(),
        )

    def kill(self) -> None:
        """Kill every process; the files stay. Any thread may call this: a `run` that waits then returns."""
        if self._shell is not None:
            self._shell.expect_death()
        self.lease.kill()

    def close(self) -> None:
        """Kill and free everything. May be called twice."""
        for terminal in self._terminals:
            terminal.forget()
        if self._shell is not None:
            self._shell.forget()
        self.lease.close()
        self._on_close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@contextlib.contextmanager
def _held_by(launcher: LauncherProcess, snapshot: Snapshot) -> Iterator[BubblewrapSnapshot]:
    """Lend `snapshot`, or, when another launcher or backend holds it, a copy."""
    if isinstance(snapshot, BubblewrapSnapshot) and snapshot.launcher is launcher:
        yield snapshot
        return
    with _load_into(launcher, snapshot.to_tar()) as copy:
        yield copy


def _load_into(launcher: LauncherProcess, tar: bytes) -> BubblewrapSnapshot:
    return BubblewrapSnapshot(launcher, launcher.load(read_tar(tar)), SavedShell())


def _rows(tree: Tree) -> list[Row]:
    for path, entry in tree.entries.items():
        if entry.kind not in _KINDS:
            raise SandboxError(f"{path} is of kind {entry.kind!r}; a workspace is given {', '.join(_KINDS)} only.")
    return [(path, entry.kind, entry.mode, entry.data, entry.mtime_s) for path, entry in tree.entries.items()]


def _tree(rows: list[Row]) -> Tree:
    return Tree({path: Entry(kind, mode, data, mtime_s) for path, kind, mode, data, mtime_s in rows})
