"""Which sandboxes this process uses: chosen once, proven by attack at the first use, refused when they do not hold."""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable

from polyathlon.errors import SandboxRefused
from polyathlon.sandbox.bubblewrap import BubblewrapRoom
from polyathlon.sandbox.probe import Record, probe, require
from polyathlon.sandbox.protocol import Limits, Room, Sandbox, Snapshot
from polyathlon.tree import Tree

VARIABLE = "POLYATHLON_SANDBOX"
BACKENDS: dict[str, Callable[[], Room]] = {"bubblewrap": BubblewrapRoom}


class ProvenRoom:
    """A room that attacks itself before its first sandbox is lent, and lends none when an attack succeeds."""

    def __init__(self, room: Room, *, backend: str) -> None:
        self._room = room
        self._backend = backend
        self._lock = threading.Lock()
        self._record: Record | None = None

    def record(self) -> Record:
        """Return what the backend holds here, probed once."""
        with self._lock:
            if self._record is None:
                self._record = probe(self._room, backend=self._backend)
            return self._record

    def open(
        self,
        files: Tree | Snapshot,
        *,
        limits: Limits | None = None,
        packages: tuple[str, ...] = (),
        needs: frozenset[str] = frozenset(),
        readonly: Tree | None = None,
    ) -> Sandbox:
        """Return a fresh sandbox; see Room.open.

        Raises:
            SandboxRefused: there is no isolation here; says what is missing.

        """
        require(self.record())
        return self._room.open(files, limits=limits, packages=packages, needs=needs, readonly=readonly)

    def load(self, tar: bytes) -> Snapshot:
        """Return the snapshot of a tar; see Room.load."""
        require(self.record())
        return self._room.load(tar)


def default_room() -> ProvenRoom:
    """Return this process's room. Costs nothing until `open`; POLYATHLON_SANDBOX names the backend.

    There is no fallback: where the backend does not hold, `open` refuses.

    Raises:
        SandboxRefused: no backend of that name.

    """
    return _room(os.environ.get(VARIABLE) or "bubblewrap", os.getpid())


@functools.cache
def _room(name: str, _: int) -> ProvenRoom:
    if name not in BACKENDS:
        raise SandboxRefused(
            f"{VARIABLE} is {name!r}; there is {', '.join(sorted(BACKENDS))}. Nothing runs unisolated."
        )
    return ProvenRoom(BACKENDS[name](), backend=name)
