"""Mount namespaces as values: made by a child process, held by descriptors, gone with the last of them."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
from collections.abc import Callable
from dataclasses import astuple, dataclass

from . import kernel, wire
from .layers import Layer, Layers


@dataclass(frozen=True, slots=True)
class World:
    """Descriptors of a mount namespace, and of the user namespace above it where the caller has no privileges."""

    mounts: int
    users: int | None

    def enter(self) -> None:
        """Enter the namespaces, in a child process that keeps its privileges over them."""
        if self.users is not None:
            kernel.setns(self.users, kernel.NEW_USER)
        kernel.setns(self.mounts, kernel.NEW_MOUNTS)

    def close(self) -> None:
        """Let go of the namespaces."""
        os.close(self.mounts)
        if self.users is not None:
            os.close(self.users)


@dataclass(frozen=True, slots=True)
class Made:
    """What a child has made: a world, its layers, and a folder of the tmpfs that is written to, to ask what is left."""

    world: World
    layers: Layers
    top: int

    def close(self) -> None:
        """Let go of all of it."""
        self.world.close()
        os.close(self.top)


class Making:
    """A child that makes a world. Ask `take` for it once the child has ended, or to wait for that."""

    def __init__(self, work: Callable[[], tuple[Layers, str]]) -> None:
        """Start a child that does `work` in a namespace of its own; `work` returns the layers and the folder to ask."""
        self._line, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.pid = os.fork()
        if self.pid == 0:
            _make(work, theirs)
        theirs.close()

    def take(self) -> Made:
        """Return what the child has made.

        Raises:
            OSError: it failed, or was killed.

        """
        with self._line:
            message = wire.receive(self._line)
        if message is None:
            raise OSError("the process that makes the namespaces died")
        body, fds = message
        if "error" in body:
            raise OSError(int(str(body["errno"])), str(body["error"]))
        layers = body["layers"]
        assert isinstance(layers, list)
        users = fds[2] if len(fds) > 2 else None
        return Made(World(fds[0], users), tuple(Layer(*layer) for layer in layers), fds[1])


def _make(work: Callable[[], tuple[Layers, str]], line: socket.socket) -> None:
    try:
        signal.set_wakeup_fd(-1)
        before = os.stat("/proc/self/ns/user").st_ino
        layers, top = work()
        places = ["/proc/self/ns/mnt", top]
        # A user namespace that we entered or made is needed to enter again; the one we share with our parent is not.
        if os.stat("/proc/self/ns/user").st_ino != before:
            places.append("/proc/self/ns/user")
        fds = [os.open(path, (os.O_PATH if path == top else os.O_RDONLY) | os.O_CLOEXEC) for path in places]
        wire.send(line, {"layers": [list(astuple(layer)) for layer in layers]}, fds)
    except BaseException as error:  # a forked child: nothing may escape into the parent's code
        number = error.errno if isinstance(error, OSError) else None
        with contextlib.suppress(OSError):
            wire.send(line, {"error": str(error), "errno": number or 0})
    finally:
        os._exit(0)
