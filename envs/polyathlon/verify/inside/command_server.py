"""Runs one shell command that nobody trusts on one tree of files after another.

Sent as text to an isolated interpreter. Standard input: one Python literal, an object with `nonce`, `command`, `trees`
(lists of [path, kind, mode, bytes, seconds since the epoch]), `wall_s`, `max_bytes`. Standard output: one line
`<nonce> ready`, then for each tree, in turn, a line `<nonce> <number> <status> <output in hexadecimal>`; the status is
a shell's, or -1 where the command took too long, or wrote too much. What a right output is, is not known here.

Ends with 1 when a command failed, so that the sandbox names a limit that was hit.
"""

from __future__ import annotations

import _signal as signal  # type: ignore[import-not-found]  # the part of signal that is written in C
import os
import select
import sys
import time
from binascii import hexlify

TYPE_CHECKING = False  # importing typing would cost more than all else here
if TYPE_CHECKING:
    from typing import Any

_PAGE_BYTES, _READS_A_TURN, _FLOOD_BYTES = 2**16, 32, 2**22


def plant(top: str, rows: list[tuple[str, str, int, bytes, int]]) -> None:
    """Write a tree under `top`; folders get their modes and times last."""
    os.mkdir(top)
    folders = []
    for path, kind, mode, data, mtime_s in sorted(rows):
        place = f"{top}/{path}"
        if kind == "dir":
            os.makedirs(place, exist_ok=True)
            folders.append((place, mode, mtime_s))
            continue
        parent = os.path.dirname(place)
        if not os.path.isdir(parent):
            os.makedirs(parent)
        if kind == "symlink":
            os.symlink(os.fsdecode(data), place)
        else:
            fd = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            os.write(fd, data)
            os.fchmod(fd, mode)
            os.close(fd)
        os.utime(place, (mtime_s, mtime_s), follow_symlinks=False)
    for place, mode, mtime_s in reversed(folders):
        os.chmod(place, mode)
        os.utime(place, (mtime_s, mtime_s))


def run(command: str, place: str, *, wall_s: float, max_bytes: int) -> tuple[int, bytes]:
    """Return the status of `command` in `place`, and what it wrote until it ended; what it left behind is not heard."""
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    null = os.open(os.devnull, os.O_RDWR)
    os.chdir(place)
    pid = os.posix_spawn(
        "/bin/bash",
        ["bash", "-c", command],
        {**os.environ, "LC_ALL": "C", "TZ": "UTC", "PWD": place, "OLDPWD": "/workspace"},
        file_actions=[(os.POSIX_SPAWN_DUP2, null, 0), (os.POSIX_SPAWN_DUP2, writer, 1), (os.POSIX_SPAWN_DUP2, null, 2)],
        setsigdef=[signal.SIGPIPE, signal.SIGXFSZ],
    )
    os.chdir("/")
    os.close(writer)
    os.close(null)
    ended, status = os.pidfd_open(pid), -1
    data, deadline = b"", time.monotonic() + wall_s
    watched = [reader, ended]
    while status == -1 and len(data) < _FLOOD_BYTES and time.monotonic() < deadline:
        ready, _, _ = select.select(watched, [], [], max(0.0, deadline - time.monotonic()))
        if ended in ready:
            code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
            status = code if code >= 0 else 128 - code
        for _ in range(_READS_A_TURN):
            chunk = read_some(reader)
            data += chunk or b""
            if not chunk:
                break
        if chunk == b"":  # it has closed its output, and may go on
            watched = [ended]
    if status == -1:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    os.close(reader)
    os.close(ended)
    return status, data[: max_bytes + 1]


def read_some(reader: int) -> bytes | None:
    """Return what is there now; None where that is nothing, b"" where nothing will come."""
    try:
        return os.read(reader, _PAGE_BYTES)
    except BlockingIOError:
        return None


def main() -> None:
    """Serve the one request on standard input."""
    request: dict[str, Any] = eval(sys.stdin.buffer.read())  # noqa: S307  # a literal that the judge wrote
    for number, rows in enumerate(request["trees"]):
        plant(f"/workspace/{number}", rows)
    nonce = request["nonce"].encode("ascii")
    os.write(1, nonce + b" ready\n")
    failed = False
    for number in range(len(request["trees"])):
        place = f"/workspace/{number}"
        try:
            status, data = run(request["command"], place, wall_s=request["wall_s"], max_bytes=request["max_bytes"])
        except OSError:  # no process, or the tree is gone: an earlier run saw to that
            status, data = 126, b""
        failed = failed or status != 0
        line = b"%s %d %d %s\n" % (nonce, number, status, hexlify(data))
        while line:
            line = line[os.write(1, line) :]
        if status == -1:
            break
    sys.exit(int(failed))


if __name__ == "__main__":
    main()
