"""Messages on a socket: a length of four bytes, then JSON."""

from __future__ import annotations

import json
import socket

from polyathlon.canonical import Json

MAX_MESSAGE_BYTES = 256 << 20


def send(line: socket.socket, message: Json) -> None:
    """Send one message, whole."""
    data = json.dumps(message, separators=(",", ":")).encode("ascii")
    line.sendall(len(data).to_bytes(4, "big") + data)


def receive(line: socket.socket) -> Json:
    """Return the next message.

    Raises:
        EOFError: the other side is gone, or said what is no message.

    """
    length = int.from_bytes(_exactly(line, 4), "big")
    if length > MAX_MESSAGE_BYTES:
        raise EOFError(f"a message of {length} bytes")
    message: Json = json.loads(_exactly(line, length))
    return message


def _exactly(line: socket.socket, num_bytes: int) -> bytes:
    parts: list[bytes] = []
    while num_bytes:
        part = line.recv(min(num_bytes, 1 << 20))
        if not part:
            raise EOFError("the line is closed")
        parts.append(part)
        num_bytes -= len(part)
    return b"".join(parts)
