"""Reading what a command writes, within bounds: the head and the tail are kept, the middle is counted."""

from __future__ import annotations

import math
import os
import select
import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from polyathlon.sandbox.protocol import Limits

_CHUNK_BYTES = 65536


@dataclass(slots=True)
class Stream:
    """Bytes as they come: at most `kept_bytes` of them stay."""

    kept_bytes: int
    num_bytes: int = 0
    _head: bytearray = field(default_factory=bytearray)
    _tail: bytearray = field(default_factory=bytearray)

    def add(self, data: bytes) -> None:
        self.num_bytes += len(data)
        room = self.kept_bytes // 2 - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        self._tail += data
        longest = self.kept_bytes - self.kept_bytes // 2
        if len(self._tail) > 2 * longest + _CHUNK_BYTES:
            del self._tail[:-longest]

    @property
    def clipped(self) -> bool:
        return self.num_bytes > self.kept_bytes

    def bytes(self) -> bytes:
        """Return all of it, or its head and tail around a mark that says how many bytes were cut."""
        if not self.clipped:
            return bytes(self._head + self._tail)
        tail = self._tail[-(self.kept_bytes - self.kept_bytes // 2) :]
        cut = self.num_bytes - len(self._head) - len(tail)
        return b"%b\n[... %d bytes cut ...]\n%b" % (bytes(self._head), cut, bytes(tail))


@dataclass(frozen=True, slots=True)
class Watch:
    """Why watching ended: `line` has word, the deadline passed, nothing was written, or too much was."""

    over: bool
    timed_out: bool = False
    idled: bool = False
    flooded: bool = False


def watch(
    streams: Mapping[int, Stream],
    line: socket.socket | int,
    *,
    deadline_s: float,
    limits: Limits,
    idle_s: float | None = None,
) -> Watch:
    """Read `streams`, by descriptor, until `line` is readable or one of these is reached.

    They are `deadline_s` (monotonic), `idle_s` seconds without a byte, and more bytes than `limits` allows. Descriptors
    must not block. On return everything written so far has been read.
    """
    poll = select.poll()
    for fd in (line, *streams):
        poll.register(fd, select.POLLIN)
    where = line if isinstance(line, int) else line.fileno()
    idle_end_s = _idle_end_s(idle_s)
    while True:
        left_s = min(deadline_s, idle_end_s) - time.monotonic()
        ready = {fd for fd, _ in poll.poll(max(0.0, left_s) * 1000)}
        for fd in ready & streams.keys():
            if _read_some(fd, streams[fd]):
                idle_end_s = _idle_end_s(idle_s)
            else:
                poll.unregister(fd)
        over = where in ready
        if over:
            drain(streams)
        if sum(stream.num_bytes for stream in streams.values()) > limits.output_bytes:
            return Watch(over=over, flooded=True)
        now_s = time.monotonic()
        if over or now_s >= min(deadline_s, idle_end_s):
            late = now_s >= deadline_s
            return Watch(over=over, timed_out=late and not over, idled=not (late or over))


def _idle_end_s(idle_s: float | None) -> float:
    return math.inf if idle_s is None else time.monotonic() + idle_s


def drain(streams: Mapping[int, Stream]) -> None:
    """Read what is there now, at most a pipe's worth each: a writer that goes on does not hold us."""
    for fd, stream in streams.items():
        for _ in range(32):
            if not _read_some(fd, stream):
                break


def _read_some(fd: int, stream: Stream) -> bool:
    """Read once; return whether more may come at once or later."""
    try:
        data = os.read(fd, _CHUNK_BYTES)
    except BlockingIOError:
        return False
    stream.add(data)
    return bool(data)
