"""The env worker: a spawned process that carries out orders one after the other. It never imports torch.

Started as `python -m polyathlon_trainer.rollout.worker FD HARD_LIMIT_S`, with a connected socket as descriptor FD.
It ends when the socket does, and ends itself when one order takes longer than HARD_LIMIT_S, whatever it hangs in.
"""

from __future__ import annotations

import faulthandler
import os
import queue
import socket
import sys
import threading
import time

import msgspec

from polyathlon.errors import DomainError, EpisodeLost, PolyathlonError, RegistryError, SandboxError, TaskError
from polyathlon_trainer.episode import FailureKind
from polyathlon_trainer.rollout.messages import HEADER, Broke, Order, Ready, Report, clean, frame, read_orders
from polyathlon_trainer.rollout.world import WorldDiverged, Worlds

CHUNK_BYTES = 1 << 16

NICENESS = 10
"""Workers yield to the learner: its threads meet at a barrier hundreds of times a step, and wait for the slowest."""


def main() -> None:
    """Serve orders from the descriptor named on the command line until it closes."""
    link = socket.socket(fileno=int(sys.argv[1]))
    os.nice(NICENESS)
    serve(link, hard_limit_s=float(sys.argv[2]))


def serve(link: socket.socket, *, hard_limit_s: float) -> None:
    """Carry out the orders that come over `link`, in order, and report each as it is done."""
    waiting: queue.SimpleQueue[Order] = queue.SimpleQueue()
    threading.Thread(target=_receive, args=(link, waiting), daemon=True).start()
    worlds = Worlds()
    link.sendall(frame([Ready()]))
    while True:
        order = waiting.get()
        # the watchdog is a thread of C: it ends this process even when something holds the interpreter's lock
        faulthandler.dump_traceback_later(hard_limit_s, exit=True)
        report = _report(worlds, order)
        faulthandler.cancel_dump_traceback_later()
        link.sendall(frame([report]))


def _receive(link: socket.socket, waiting: queue.SimpleQueue[Order]) -> None:
    """Read frames until the trainer is gone, then end the process at once, even in the middle of an order."""
    held = bytearray()
    while chunk := _read(link):
        held += chunk
        while len(held) >= HEADER.size:
            end = HEADER.size + HEADER.unpack_from(held)[0]
            if len(held) < end:
                break
            for order in read_orders(bytes(held[HEADER.size : end])):
                waiting.put(order)
            del held[:end]
    os._exit(0)


def _read(link: socket.socket) -> bytes:
    try:
        return link.recv(CHUNK_BYTES)
    except OSError:
        return b""


def _report(worlds: Worlds, order: Order) -> Report:
    """Return what came of `order`: whatever breaks in a domain becomes a failure that names its boundary."""
    start = time.monotonic()
    try:
        report = worlds.carry_out(order)
    except Exception as error:  # an episode becomes a Failure here, never a reward
        episode = getattr(order, "episode", None)
        if episode is not None:
            worlds.drop(episode)
        return Broke(
            order.ticket,
            _kind(error),
            clean(f"{type(error).__name__}: {error}"),
            seconds=time.monotonic() - start,
            diverged=isinstance(error, WorldDiverged),
        )
    return msgspec.structs.replace(report, seconds=time.monotonic() - start)


def _kind(error: Exception) -> FailureKind:
    """Return the boundary that `error` comes from. What a domain's own code raises is the task's."""
    if isinstance(error, EpisodeLost):
        return "sandbox" if error.kind == "sandbox" else "verifier"
    kinds: tuple[tuple[type[Exception], FailureKind], ...] = (
        (RegistryError, "registry"),
        (SandboxError, "sandbox"),
        (TaskError, "task"),
        (DomainError, "task"),
        (WorldDiverged, "worker"),
        (PolyathlonError, "worker"),
    )
    return next((kind for cls, kind in kinds if isinstance(error, cls)), "task")


if __name__ == "__main__":
    main()
