"""How the trainer and the launcher talk: one packet a message, its body in a memory file so that any size fits."""

from __future__ import annotations

import json
import os
import socket
from array import array
from collections.abc import Sequence

MAX_FDS = 32


def memory_file(name: str, data: bytes) -> int:
    """Return a descriptor of an anonymous file that holds `data`, placed at its start."""
    fd = os.memfd_create(name, os.MFD_CLOEXEC)
    with open(fd, "wb", closefd=False) as file:
        file.write(data)
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


def send(line: socket.socket, body: dict[str, object], fds: Sequence[int] = ()) -> None:
    """Send one message. The receiver gets its own copies of `fds`."""
    carrier = memory_file("message", json.dumps(body).encode("ascii"))
    try:
        socket.send_fds(line, [b"."], [carrier, *fds])
    finally:
        os.close(carrier)


def receive(line: socket.socket) -> tuple[dict[str, object], list[int]] | None:
    """Return the next message and its descriptors, or None when the other end is closed."""
    # Not socket.recv_fds: it drops its flags, and every command would inherit the descriptors.
    fds = array("i")
    data, ancillary, _, _ = line.recvmsg(16, socket.CMSG_SPACE(MAX_FDS * fds.itemsize), socket.MSG_CMSG_CLOEXEC)
    for _, _, packed in ancillary:
        fds.frombytes(packed[: len(packed) - len(packed) % fds.itemsize])
    if not data or not fds:
        return None
    with open(fds[0], "rb") as file:
        file.seek(0)
        body: dict[str, object] = json.loads(file.read())
    return body, fds[1:].tolist()
