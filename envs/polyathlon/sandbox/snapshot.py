"""Snapshots of the bubblewrap backend."""

from __future__ import annotations

import weakref
from typing import Self

from polyathlon.sandbox.client import LauncherProcess
from polyathlon.sandbox.line import SnapshotLease
from polyathlon.sandbox.shell import SavedShell
from polyathlon.sandbox.snapshot_tar import write_tar


class BubblewrapSnapshot:
    """Layers that a launcher holds. It is freed when closed, or when nobody holds it any more."""

    def __init__(self, launcher: LauncherProcess, lease: SnapshotLease, saved_shell: SavedShell) -> None:
        self.launcher = launcher
        self.lease = lease
        self.saved_shell = saved_shell
        self._layers: tuple[str, ...] | None = None
        self._end = weakref.finalize(self, lease.close)

    @property
    def layers(self) -> tuple[str, ...]:
        """Digests of the layers, lowest first; see Snapshot.layers. Read when first asked for."""
        if self._layers is None:
            self._layers = self.lease.digests()
        return self._layers

    def to_tar(self) -> bytes:
        """Return all layers as one tar; see Snapshot.to_tar."""
        return write_tar(self.lease.read())

    def close(self) -> None:
        """Free it. May be called twice."""
        self._end()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
