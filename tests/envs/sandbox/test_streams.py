"""Head and tail are kept, the middle is counted, and reading ends when it must."""

from __future__ import annotations

import os
import socket
import time

from polyathlon.sandbox.protocol import Limits
from polyathlon.sandbox.streams import Stream, Watch, watch


def test_what_fits_is_whole() -> None:
    stream = Stream(kept_bytes=10)
    for part in (b"01234", b"", b"56789"):
        stream.add(part)
    assert (stream.bytes(), stream.clipped) == (b"0123456789", False)


def test_what_does_not_fit_keeps_head_and_tail_around_a_mark() -> None:
    stream = Stream(kept_bytes=5)
    for part in (b"abc", b"def", b"ghi"):
        stream.add(part)
    assert (stream.bytes(), stream.clipped) == (b"ab\n[... 4 bytes cut ...]\nghi", True)


def test_a_long_stream_takes_bounded_memory() -> None:
    stream = Stream(kept_bytes=100)
    for _ in range(1000):
        stream.add(b"x" * 10_000)
    stream.add(b"end")
    assert stream.num_bytes == 10_000_003
    assert len(stream._tail) <= 2 * 50 + 65536 + 10_000
    assert stream.bytes().endswith(b"xend")


def test_word_on_the_line_ends_it_after_all_that_was_written() -> None:
    source, sink = os.pipe()
    os.set_blocking(source, False)
    ours, theirs = socket.socketpair()
    os.write(sink, b"x" * 50_000)
    theirs.send(b"over")
    streams = {source: Stream(kept_bytes=100_000)}
    seen = watch(streams, ours, deadline_s=time.monotonic() + 5, limits=Limits())
    assert seen == Watch(over=True)
    assert streams[source].num_bytes == 50_000
    _close(source, sink, ours, theirs)


def test_the_deadline_ends_it() -> None:
    ours, theirs = socket.socketpair()
    assert watch({}, ours, deadline_s=time.monotonic() + 0.05, limits=Limits()) == Watch(over=False, timed_out=True)
    _close(ours, theirs)


def test_too_much_ends_it() -> None:
    source, sink = os.pipe()
    os.set_blocking(source, False)
    ours, theirs = socket.socketpair()
    os.write(sink, b"x" * 101)
    streams = {source: Stream(kept_bytes=10)}
    seen = watch(streams, ours, deadline_s=time.monotonic() + 5, limits=Limits(output_bytes=100))
    assert seen == Watch(over=False, flooded=True)
    _close(source, sink, ours, theirs)


def _close(*opened: int | socket.socket) -> None:
    for one in opened:
        if isinstance(one, int):
            os.close(one)
        else:
            one.close()
