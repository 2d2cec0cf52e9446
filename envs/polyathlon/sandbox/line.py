"""Questions to a launcher, over a socket that stands for what it has lent; a snapshot is one such."""

from __future__ import annotations

import contextlib
import json
import marshal
import os
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from polyathlon.errors import SandboxError, SandboxLost
from polyathlon.sandbox.launcher import wire
from polyathlon.sandbox.launcher.trees import Node, Step

ANSWER_LIMIT_S = 30.0


@dataclass(frozen=True, slots=True)
class Ending:
    """How a job of the launcher ended. `exit_code` follows the shell: 128 + n for signal n."""

    exit_code: int
    started: bool
    cpu_spent: bool
    cpu_s: float


class Line:
    """A socket to the launcher that stands for something lent, and questions asked over it."""

    def __init__(self, line: socket.socket) -> None:
        self._line = line
        self._closed = False

    def _refuse_when_closed(self) -> None:
        if self._closed:
            raise SandboxLost("This sandbox or snapshot is closed. Open another one.")

    def _ask(self, body: dict[str, object], fds: Sequence[int]) -> socket.socket:
        self._refuse_when_closed()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.settimeout(ANSWER_LIMIT_S)
        try:
            with theirs:
                wire.send(self._line, body, [theirs.fileno(), *fds])
        except OSError as error:
            ours.close()
            raise SandboxLost(f"The sandbox is gone ({error}). Discard the episode.") from error
        return ours

    def _rows(self, body: dict[str, object], data: Sequence[int] = ()) -> list[Any]:
        """Ask for rows, through a pipe of their own, and return them."""
        source, sink = os.pipe()
        try:
            line = self._ask(body, [sink, *data])
        except BaseException:
            os.close(source)
            raise
        finally:
            os.close(sink)
        with line, open(source, "rb") as file:
            written = file.read()
            ended(line)
        if not written:
            raise SandboxLost("The process that reads and writes the workspace died. Discard the episode.")
        kind, value = marshal.loads(written)  # from the launcher's own code, never from a payload
        if kind == "error":
            raise SandboxError(f"The workspace cannot be read or written: {value}.")
        return list(value)

    def digests(self) -> tuple[str, ...]:
        """Return the digest of each layer's workspace, lowest first."""
        return tuple(map(str, self._rows({"op": "digest"})))

    def _hang_up(self) -> None:
        """Wait until the launcher has freed what this stands for."""
        self._closed = True
        try:
            self._line.shutdown(socket.SHUT_WR)
            while self._line.recv(16):
                pass
        except OSError:
            pass  # the launcher is gone, and all of it with it
        self._line.close()


class SnapshotLease(Line):
    """One snapshot of a launcher, by its number there."""

    def __init__(self, line: socket.socket, number: int) -> None:
        super().__init__(line)
        line.settimeout(ANSWER_LIMIT_S)
        self.number = number

    def read(self) -> list[list[Step]]:
        """Return the nodes of each layer's workspace, lowest first; see launcher.trees."""
        return [[row and Node(*row) for row in rows] for rows in self._rows({"op": "read"})]

    def close(self) -> None:
        """Let the launcher free it, without waiting for that. May be called twice."""
        self._closed = True
        self._line.close()


def ended(line: socket.socket) -> Ending:
    """Return how the job of `line` ended, waiting for it at most 30 s.

    Raises:
        SandboxLost: the launcher died, or did not answer.

    """
    answer = answer_of(line)
    if "error" in answer:
        raise SandboxLost(f"The launcher could not start a command ({answer['error']}).")
    code = os.waitstatus_to_exitcode(answer["status"])
    return Ending(
        exit_code=code if code >= 0 else 128 - code,
        started=answer["started"],
        cpu_spent=answer["cpu_spent"],
        cpu_s=answer["cpu_s"],
    )


def answer_of(line: socket.socket) -> dict[str, Any]:
    """Return the launcher's last word on `line`, waiting for it at most 30 s.

    Raises:
        SandboxLost: the launcher died, or did not answer.

    """
    try:
        data = _last_word(line)
    except TimeoutError as error:
        raise SandboxLost(f"Waited {ANSWER_LIMIT_S:.0f} s for a killed command to be gone.") from error
    except OSError as error:
        raise SandboxLost(f"The sandbox launcher is gone ({error}).") from error
    if not data:
        raise SandboxLost("The sandbox launcher died while a command ran.")
    answer: dict[str, Any] = json.loads(data)
    return answer


def _last_word(line: socket.socket) -> bytes:
    # A "kill" that crosses the answer is never read: the kernel tells us of that first, once, and of the answer then.
    with contextlib.suppress(ConnectionResetError):
        return line.recv(4096)
    return line.recv(4096)


def receive(line: socket.socket, what: str) -> tuple[dict[str, object], list[int]]:
    """Return the launcher's answer and its descriptors.

    Raises:
        SandboxLost: there is none.

    """
    try:
        message = wire.receive(line)
    except TimeoutError as error:
        raise SandboxLost(f"Waited too long {what}.") from error
    if message is None:
        raise SandboxLost(f"The sandbox launcher died while asked {what}; its last words are on stderr.")
    return message


def failure(answer: Mapping[str, object], what: str) -> SandboxError:
    """Return the error that the launcher answered with."""
    text = f"{what}: {answer['error']}."
    return SandboxError(text) if answer.get("refused") else SandboxLost(text)


def strings(value: object) -> list[str]:
    """Return a list of texts of an answer as such."""
    assert isinstance(value, list)
    return value
