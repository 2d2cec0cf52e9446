"""The snapshots of a launcher: taken of boxes, loaded, found again, and boxes set back to them."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Callable

from . import layers
from .box import Amounts, User
from .frozen import Frozen, start_freezing, start_loading, start_stacking
from .jobs import Job
from .layers import weight
from .leases import Kept, Lease, Refused, tell
from .worlds import Making

_NOTHING_DONE = (errno.ENOTSUP, errno.EMLINK)


class Shelf:
    """Holds snapshots by number. `keep` watches a new one, `add` a job of a lease, and `close` ends a lease."""

    def __init__(
        self,
        *,
        keep: Callable[[Kept], None],
        add: Callable[[Lease | Kept, Job], None],
        close: Callable[[Lease | Kept], None],
    ) -> None:
        self._keep, self._add, self._close = keep, add, close
        self._num_snapshots = 0
        self._kept: dict[int, Kept] = {}

    def find(self, body: dict[str, object], amounts: Amounts) -> Frozen:
        """Return the snapshot that a message names, for a box of these limits.

        Raises:
            Refused: it is closed, or does not fit.

        """
        kept = self._kept.get(int(str(body["snapshot"])))
        if kept is None or kept.frozen is None:
            raise Refused("that snapshot is closed")
        if not kept.frozen.fits(amounts):
            raise Refused("the snapshot holds more bytes or files than the sandbox may")
        return kept.frozen

    def forget(self, kept: Kept) -> None:
        """Strike it off: its owner is gone."""
        self._kept.pop(kept.number, None)

    def freeze(self, lease: Lease, line: socket.socket, owner: socket.socket) -> None:
        """Make a snapshot of an idle box, for `owner`; tell `line`."""
        making = start_freezing(lease.box)

        def conclude() -> None:
            box = lease.box
            try:
                made = making.take()
            except OSError as error:
                owner.close()
                tell(line, {"error": str(error), "refused": error.errno in _NOTHING_DONE})
                if error.errno not in _NOTHING_DONE:
                    self._close(lease)
                return
            kept = self._new(owner)
            kept.frozen = Frozen(box.at, box.user.share(), box.world, made.layers)
            box.world, box.layers = made.world, made.layers
            tell(line, {"snapshot": kept.number, **weight(made.layers)}, [made.top])

        self._finish(lease, line, making, conclude)

    def restore(self, lease: Lease, line: socket.socket, body: dict[str, object]) -> None:
        """Put an idle box on a snapshot; tell `line`."""
        frozen = self.find(body, lease.box.amounts)
        user = frozen.user.share()
        making = start_stacking(frozen, lease.box.amounts.place(frozen.at, user), layers.stack)

        def conclude() -> None:
            box = lease.box
            try:
                made = making.take()
            except OSError as error:  # the box is as it was
                user.free()
                tell(line, {"error": str(error), "refused": True})
                return
            box.world.close()
            box.user.free()
            box.world, box.layers, box.user = made.world, made.layers, user
            tell(line, {"uid": user.uid, **weight(made.layers)}, [made.top])

        self._finish(lease, line, making, conclude)

    def load(self, at: str, user: User, sockets: tuple[socket.socket, socket.socket], trees: int) -> None:
        """Make a snapshot from the nodes in the file `trees`. `sockets` are its owner, and who is to be told."""
        owner, line = sockets
        making = start_loading(at, user, trees)
        kept = self._new(owner)

        def conclude() -> None:
            try:
                made = making.take()
            except OSError as error:
                user.free()
                tell(line, {"error": str(error), "refused": True})
                return
            os.close(made.top)
            kept.frozen = Frozen(at, user, made.world, made.layers)
            tell(line, {"snapshot": kept.number})

        self._finish(kept, line, making, conclude)

    def _finish(self, lease: Lease | Kept, line: socket.socket, making: Making, conclude: Callable[[], None]) -> None:
        """Conclude at once what is done already, else when its child has ended."""
        if making.pid is not None:
            self._add(lease, Job(line, making.pid, None, conclude=conclude))
            return
        conclude()
        line.close()

    def _new(self, owner: socket.socket) -> Kept:
        self._num_snapshots += 1
        kept = self._kept[self._num_snapshots] = Kept(owner, self._num_snapshots)
        self._keep(kept)
        return kept
