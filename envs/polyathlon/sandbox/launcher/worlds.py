"""Mount namespaces as values: made here or by a child process, held by descriptors, gone with the last of them."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
from collections.abc import Callable
from dataclasses import astuple, dataclass

from . import kernel, wire
from .layers import Layer, Layers

Work = Callable[[], tuple[Layers, str]]
"""Makes a mount namespace and stays in it; returns its layers, and a folder of the tmpfs that is written to."""


@dataclass(frozen=True, slots=True)
class World:
    """Descriptors of a mount namespace, and of the user namespace above it where the caller has no privileges."""

    mounts: int
    users: int | None

    def enter(self) -> None:
        """Enter the namespaces. There is no way back from a user namespace: that is for child processes."""
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
    """A new world, its layers, and a folder of the tmpfs that is written to, to ask what is left."""

    world: World
    layers: Layers
    top: int

    def close(self) -> None:
        """Let go of all of it."""
        self.world.close()
        os.close(self.top)


class Making:
    """Work that makes a world: done already, when `pid` is None, else by that child. `take` what it made."""

    def __init__(self, *, pid: int | None, result: Callable[[], Made]) -> None:
        self.pid = pid
        self._result = result

    def take(self) -> Made:
        """Return what was made, waiting for it.

        Raises:
            OSError: it failed, or its child was killed.

        """
        return self._result()


def make_here(work: Work) -> Making:
    """Do `work` in this process, which comes back to its own mount namespace: a tenth of what a child costs."""
    home = os.open("/proc/self/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)
    try:
        layers, top = work()
        fds = _open_parts(["/proc/self/ns/mnt", top])
    finally:
        kernel.setns(home, kernel.NEW_MOUNTS)
        os.close(home)
    made = Made(World(fds[0], None), layers, fds[1])
    return Making(pid=None, result=lambda: made)


def make_in_child(work: Work) -> Making:
    """Have a child do `work`: it may enter a user namespace, and take its time."""
    line, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    pid = os.fork()
    if pid == 0:
        _make(work, theirs)
    theirs.close()
    return Making(pid=pid, result=lambda: _receive(line))


def _receive(line: socket.socket) -> Made:
    with line:
        message = wire.receive(line)
    if message is None:
        raise OSError("the process that makes the namespaces died")
    body, fds = message
    if "error" in body:
        raise OSError(int(str(body["errno"])), str(body["error"]))
    layers = body["layers"]
    assert isinstance(layers, list)
    return Made(World(fds[0], fds[2] if len(fds) > 2 else None), tuple(Layer(*layer) for layer in layers), fds[1])


def _make(work: Work, line: socket.socket) -> None:
    try:
        signal.set_wakeup_fd(-1)
        before = os.stat("/proc/self/ns/user").st_ino
        layers, top = work()
        parts = ["/proc/self/ns/mnt", top]
        # A user namespace that we entered or made is needed to enter again; the one we share with our parent is not.
        if os.stat("/proc/self/ns/user").st_ino != before:
            parts.append("/proc/self/ns/user")
        wire.send(line, {"layers": [list(astuple(layer)) for layer in layers]}, _open_parts(parts))
    except BaseException as error:  # a forked child: nothing may escape into the parent's code
        number = error.errno if isinstance(error, OSError) else None
        with contextlib.suppress(OSError):
            wire.send(line, {"error": str(error), "errno": number or 0})
    finally:
        os._exit(0)


def _open_parts(paths: list[str]) -> list[int]:
    return [os.open(path, (os.O_RDONLY if "/ns/" in path else os.O_PATH) | os.O_CLOEXEC) for path in paths]
