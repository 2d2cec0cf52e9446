"""Sandboxes by bubblewrap: every command in namespaces of its own, around one workspace that outlives it."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Self

from polyathlon.errors import SandboxError
from polyathlon.sandbox.client import LauncherProcess, Lease
from polyathlon.sandbox.commands import Counts, Pipes, kill_reason, options, own_reason, unstarted, word
from polyathlon.sandbox.launcher.files import Row
from polyathlon.sandbox.launcher.wire import memory_file
from polyathlon.sandbox.line import ended
from polyathlon.sandbox.protocol import Limits, Report, Snapshot
from polyathlon.sandbox.shell import BubblewrapShell, ShellState
from polyathlon.sandbox.snapshot import BubblewrapSnapshot
from polyathlon.sandbox.snapshot_tar import read_tar
from polyathlon.sandbox.streams import drain, watch
from polyathlon.sandbox.system import plan_system
from polyathlon.tree import Entry, Tree

_KINDS = ("file", "dir", "symlink")


class BubblewrapRoom:
    """Makes sandboxes of bubblewrap. One launcher for each set of packages is started when first asked for."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._launchers: dict[tuple[str, ...], LauncherProcess] = {}
        self._pid = os.getpid()

    def open(
        self,
        files: Tree | Snapshot,
        *,
        limits: Limits | None = None,
        packages: tuple[str, ...] = (),
        needs: frozenset[str] = frozenset(),
        readonly: Tree | None = None,
    ) -> BubblewrapSandbox:
        """Return a fresh sandbox; see Room.open."""
        launcher = self.launcher(packages)
        limits = limits or Limits()
        if isinstance(files, Tree):
            sandbox = BubblewrapSandbox(launcher, limits, launcher.open_box(limits))
        else:
            with _held_by(launcher, files) as snapshot:
                sandbox = BubblewrapSandbox(launcher, limits, launcher.open_box(limits, snapshot=snapshot.lease))
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
        return load_into(self.launcher(), tar)

    def launcher(self, packages: tuple[str, ...] = ()) -> LauncherProcess:
        """Return the launcher that offers `packages`, started when there is none."""
        with self._lock:
            if self._pid != os.getpid():  # a fork: the launchers are the parent's
                self._launchers, self._pid = {}, os.getpid()
            key = tuple(sorted(set(packages)))
            if key not in self._launchers:
                self._launchers[key] = LauncherProcess(plan_system(key))
            return self._launchers[key]

    def close(self) -> None:
        """End all launchers, and with them every sandbox that is still open."""
        with self._lock:
            for launcher in self._launchers.values():
                launcher.close()
            self._launchers.clear()


class BubblewrapSandbox:
    """One sandbox. Not thread-safe."""

    def __init__(self, launcher: LauncherProcess, limits: Limits, lease: Lease) -> None:
        self.limits = limits
        self.environment = launcher.plan.environment
        self.lease = lease
        self._launcher = launcher
        self._readonly: Tree | None = None
        self._mounts: tuple[str, ...] = ()
        self._shell: BubblewrapShell | None = None
        self._shell_state = ShellState()

    def run(
        self,
        argv: Sequence[str],
        *,
        timeout_s: float = 30.0,
        stdin: bytes = b"",
        env: Mapping[str, str] | None = None,
    ) -> Report:
        """Run `argv` and wait; see Sandbox.run."""
        if not argv:
            raise SandboxError("Nothing to run: argv is empty.")
        started_s = time.monotonic()
        before = Counts.of(self.lease)
        fed = memory_file("stdin", stdin) if stdin else os.open("/dev/null", os.O_RDONLY)
        with Pipes(2, kept_bytes=self.limits.kept_bytes) as pipes:
            try:
                words = [*self._mounts, *options({**self.environment, **(env or {})}, directory="/workspace")]
                line = self.lease.spawn([word(text) for text in argv], words, [fed, *pipes.sinks])
            finally:
                os.close(fed)
                pipes.close_sinks()
            with line:
                seen = watch(pipes.streams, line, deadline_s=started_s + timeout_s, limits=self.limits)
                if not seen.over:
                    with contextlib.suppress(BrokenPipeError):  # it has ended just now, or the launcher has
                        line.send(b"kill")
                ending = ended(line)
            drain(pipes.streams)
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
        )

    def shell(self) -> BubblewrapShell:
        """Return the one persistent shell."""
        if self._shell is None:
            self._shell = BubblewrapShell(
                self.lease, self.limits, self.environment, mounts=self._mounts, state=self._shell_state
            )
        return self._shell

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
        return Tree({path: Entry(kind, mode, data, mtime_s) for path, kind, mode, data, mtime_s in self.lease.read()})

    def snapshot(self) -> BubblewrapSnapshot:
        """Freeze the files and return them; see Sandbox.snapshot."""
        state = ShellState() if self._shell is None else self._shell.pause()
        return BubblewrapSnapshot(self._launcher, self.lease.snapshot(), state)

    def restore(self, snapshot: Snapshot) -> None:
        """Set the files back to `snapshot`; see Sandbox.restore."""
        with _held_by(self._launcher, snapshot) as held:
            if self._shell is not None:
                self._shell.go_back(held.shell_state)
            self.lease.restore(held.lease)
            self._shell_state = held.shell_state
            if self._readonly is not None:
                self.put_readonly(self._readonly)

    def fork(self) -> BubblewrapSandbox:
        """Return a new sandbox on the same files; see Sandbox.fork."""
        with self.snapshot() as snapshot:
            lease = self._launcher.open_box(self.limits, snapshot=snapshot.lease, op="fork")
        other = BubblewrapSandbox(self._launcher, self.limits, lease)
        other._readonly, other._mounts = self._readonly, self._mounts
        other._shell_state = snapshot.shell_state
        return other

    def kill(self) -> None:
        """Kill every process; the files stay."""
        if self._shell is not None:
            self._shell.close()

    def close(self) -> None:
        """Kill and free everything. May be called twice."""
        if self._shell is not None:
            self._shell.forget()
        self.lease.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def load_into(launcher: LauncherProcess, tar: bytes) -> BubblewrapSnapshot:
    """Return the snapshot of `tar`, held by `launcher`."""
    return BubblewrapSnapshot(launcher, launcher.load(read_tar(tar)), ShellState())


@contextlib.contextmanager
def _held_by(launcher: LauncherProcess, snapshot: Snapshot) -> Iterator[BubblewrapSnapshot]:
    """Lend `snapshot`, or, when another launcher or backend holds it, a copy."""
    if isinstance(snapshot, BubblewrapSnapshot) and snapshot.launcher is launcher:
        yield snapshot
        return
    with load_into(launcher, snapshot.to_tar()) as copy:
        yield copy


def _rows(tree: Tree) -> list[Row]:
    for path, entry in tree.entries.items():
        if entry.kind not in _KINDS:
            raise SandboxError(f"{path} is of kind {entry.kind!r}; a workspace is given {', '.join(_KINDS)} only.")
    return [(path, entry.kind, entry.mode, entry.data, entry.mtime_s) for path, entry in tree.entries.items()]
