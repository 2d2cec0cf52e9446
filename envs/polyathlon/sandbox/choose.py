"""Which sandboxes this process uses: chosen once, proven by attack at the first use, refused when they do not hold."""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable

from polyathlon.errors import SandboxError, SandboxRefused
from polyathlon.sandbox.bubblewrap import BubblewrapRoom
from polyathlon.sandbox.probe import Record, probe, require
from polyathlon.sandbox.protocol import Limits, Report, Room, Sandbox, Snapshot
from polyathlon.sandbox.warm import PythonRoom, judge_cold
from polyathlon.sandbox.warm_proof import prove_warm
from polyathlon.tree import Tree

VARIABLE = "POLYATHLON_SANDBOX"
NUM_SPARES = 2
BACKENDS: dict[str, Callable[[], Room]] = {"bubblewrap": lambda: BubblewrapRoom(spares=NUM_SPARES)}


class ProvenRoom:
    """A room that attacks itself before its first sandbox is lent, and lends none when an attack succeeds."""

    def __init__(self, room: Room, *, backend: str) -> None:
        self._room = room
        self._backend = backend
        self._lock = threading.Lock()
        self._record: Record | None = None
        self._warm: dict[tuple[str, ...], Record | str] = {}

    def record(self) -> Record:
        """Return what the backend holds here, probed once."""
        with self._lock:
            if self._record is None:
                self._record = probe(self._room, backend=self._backend)
                if isinstance(self._room, BubblewrapRoom):  # its sandboxes' records say what was proved
                    self._room.capabilities = tuple(c.name for c in self._record.capabilities if c.held)
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
            SandboxRefused: there is no isolation here, or not what the task `needs`; says what is missing.

        """
        require(self.record(), needs)
        return self._room.open(files, limits=limits, packages=packages, needs=needs, readonly=readonly)

    def load(self, tar: bytes) -> Snapshot:
        """Return the snapshot of a tar; see Room.load."""
        require(self.record())
        return self._room.load(tar)

    def rest(self) -> None:
        """Close the sandboxes that stand ready for nobody yet: what is open then, somebody holds."""
        if isinstance(self._room, BubblewrapRoom):
            self._room.pool.rest()

    def warm_record(self, packages: tuple[str, ...] = ()) -> Record | str:
        """Return what judges forked from the warm Python with `packages` hold, or why there is none; tried once."""
        cold = self.record()
        with self._lock:
            if packages not in self._warm:
                self._warm[packages] = self._prove_warm(packages, cold)
            return self._warm[packages]

    def judge_python(
        self,
        source: str,
        *,
        stdin: bytes,
        packages: tuple[str, ...] = (),
        limits: Limits | None = None,
        timeout_s: float = 30.0,
    ) -> Report:
        """Run a program of ours in a fresh, empty sandbox; see warm.judge_python.

        In a fork of the warm Python where its walls have proved to be the sandbox's, else in a cold Python.

        Raises:
            SandboxRefused: there is no isolation here; says what is missing.

        """
        require(self.record())
        record = self.warm_record(packages)
        if isinstance(self._room, PythonRoom) and isinstance(record, Record) and not record.missing:
            judge = self._room.judge_python
            return judge(source, stdin=stdin, packages=packages, limits=limits, timeout_s=timeout_s)
        return judge_cold(self._room, source, stdin=stdin, packages=packages, limits=limits, timeout_s=timeout_s)

    def _prove_warm(self, packages: tuple[str, ...], cold: Record) -> Record | str:
        if not isinstance(self._room, PythonRoom):
            return f"{self._backend} keeps no warm Python"
        held = frozenset(capability.name for capability in cold.capabilities if capability.held)
        try:
            return prove_warm(self._room, packages=packages, kernel=cold.kernel, held=held)
        except SandboxError as error:
            return str(error)


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
