"""A program on a terminal: keys go in as bytes, what it draws is kept as a screen of characters."""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import socket
import struct
import termios
import time
from collections.abc import Callable, Sequence
from typing import Any, cast

from polyathlon.errors import SandboxError
from polyathlon.sandbox.keys import read_key
from polyathlon.sandbox.line import ended

MAX_COLUMNS, MAX_ROWS = 500, 200
TERMINAL_ENVIRONMENT = {"TERM": "linux"}
"""pyte draws what a Linux console does. On an "xterm" programs would switch screens and repeat characters."""

_TYPING_LIMIT_S = 5.0
_CHUNK_BYTES = 4096
_APPLICATION_CURSOR = 1 << 5  # as pyte keeps private mode 1


def terminal_argv(argv: Sequence[str]) -> list[str]:
    """Return the argv that makes a terminal on descriptor 0 the controlling one of `argv`.

    That must happen inside: a session is led by one of its own processes. util-linux and busybox have this program.
    """
    return ["setsid", "-c", "--", *argv]


def open_pty(*, columns: int, rows: int) -> tuple[int, int]:
    """Return the two ends of a terminal of that size: ours, which does not block, and the program's.

    Raises:
        SandboxError: no terminal has that size.

    """
    _check_size(columns, rows)
    ours, theirs = os.openpty()
    os.set_blocking(ours, False)
    _set_size(ours, columns, rows)
    return ours, theirs


class PtyTerminal:
    """A program on a terminal. Not thread-safe.

    Nothing is read but in `screen` and `send_keys`: a program that draws while nobody looks waits. One that has drawn
    more than `output_bytes` is killed.
    """

    def __init__(self, master: int, line: socket.socket, *, columns: int, rows: int, output_bytes: int) -> None:
        """Take over `master`, our end of a terminal, and `line`, on which the program's end is told."""
        self._master, self._line = master, line
        self._screen, self._stream = _pyte(columns, rows, self._answer)
        self._left_bytes = output_bytes
        self._drawn = False
        self._over = False
        self.closed = False

    @property
    def alive(self) -> bool:
        """Whether the program still runs."""
        if not self._over and not self.closed:
            poll = select.poll()
            poll.register(self._line, select.POLLIN)
            self._over = bool(poll.poll(0))
        return not (self._over or self.closed)

    def send_keys(self, *keys: str) -> None:
        """Type text or named keys; see Terminal.send_keys."""
        application = bool(self._screen.mode & {_APPLICATION_CURSOR})
        data = b"".join(read_key(key, application=application) for key in keys)
        deadline_s = time.monotonic() + _TYPING_LIMIT_S
        while data:
            if not self.alive:
                raise SandboxError("The program on this terminal has ended; it takes no keys.")
            self._read_for(0.0)  # one that waits for its drawing to be read reads no keys
            try:
                data = data[os.write(self._master, data) :]
            except BlockingIOError:
                if time.monotonic() > deadline_s:
                    raise SandboxError(
                        f"The program reads no keys: {len(data)} bytes are left after {_TYPING_LIMIT_S:.0f} s."
                    ) from None
                time.sleep(0.01)

    def screen(self, *, quiet_s: float = 0.1, timeout_s: float = 5.0) -> str:
        """Return the screen, a line for each row, without blanks at the ends of lines and without the last empty ones.

        A program that has just been started is waited for until it draws.
        """
        deadline_s = time.monotonic() + timeout_s
        while (left_s := deadline_s - time.monotonic()) > 0:
            if not self._read_for(min(left_s, quiet_s) if self._drawn else left_s):
                break
        lines = ["".join(line[x].data for x in range(self._screen.columns)).rstrip() for line in self._lines()]
        return "\n".join(lines).rstrip("\n")

    def resize(self, *, columns: int, rows: int) -> None:
        """Change the size; the program is told by SIGWINCH.

        Raises:
            SandboxError: no terminal has that size.

        """
        _check_size(columns, rows)
        self._screen.resize(rows, columns)
        if not self.closed:
            _set_size(self._master, columns, rows)

    def close(self) -> None:
        """Kill the program. May be called twice."""
        if not self.closed:
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # it has ended
                self._line.send(b"kill")
            try:
                ended(self._line)
            finally:
                self.forget()

    def forget(self) -> None:
        """Close our ends without waiting: for when the whole sandbox goes. What was drawn stays."""
        if not self.closed:
            self.closed = True
            os.close(self._master)
            self._line.close()

    def _lines(self) -> list[Any]:  # pyte's own rows of cells
        return [self._screen.buffer[y] for y in range(self._screen.lines)]

    def _read_for(self, wait_s: float) -> bool:
        """Draw what comes next within `wait_s`; return whether anything came.

        Raises:
            SandboxLost: the sandbox was closed.

        """
        if self.closed:
            return False
        poll = select.poll()
        poll.register(self._master, select.POLLIN)
        if not poll.poll(wait_s * 1000):
            return False
        try:
            data = os.read(self._master, _CHUNK_BYTES)
        except OSError:  # EIO: nobody holds the other end any more
            return False
        self._left_bytes -= len(data)
        if self._left_bytes < 0:
            self.close()
            return False
        self._drawn = True
        self._stream.feed(data)
        return True

    def _answer(self, text: str) -> None:
        """Write the terminal's own answer to a question of the program; one that does not listen misses it."""
        with contextlib.suppress(OSError):
            os.write(self._master, text.encode("ascii", "replace"))


def _pyte(columns: int, rows: int, answer: Callable[[str], None]) -> tuple[Any, Any]:
    """Return a screen, and the stream that draws on it."""
    import pyte  # only who opens a terminal pays for it

    class Screen(pyte.Screen):
        def write_process_input(self, data: str) -> None:
            answer(data)

    screen = Screen(columns, rows)
    return screen, pyte.ByteStream(cast(pyte.Screen, _Tolerant(screen)))


class _Tolerant:
    """A screen that ignores what it does not know, as a terminal does; pyte raises, for one number too many."""

    def __init__(self, screen: Any) -> None:
        self._screen = screen

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._screen, name)
        if not callable(found):
            return found

        def call(*arguments: Any, **options: Any) -> None:
            with contextlib.suppress(TypeError, ValueError, IndexError, KeyError, AssertionError):
                found(*arguments, **options)

        return call


def _check_size(columns: int, rows: int) -> None:
    if not (1 <= columns <= MAX_COLUMNS and 1 <= rows <= MAX_ROWS):
        raise SandboxError(
            f"A terminal of {columns} x {rows}: it has 1 to {MAX_COLUMNS} columns, 1 to {MAX_ROWS} rows."
        )


def _set_size(fd: int, columns: int, rows: int) -> None:
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
