"""Reading and writing a workspace whose owner may be hostile: no link is ever followed, every size is bounded."""

from __future__ import annotations

import contextlib
import os
import stat
from dataclasses import dataclass, field

MAX_DEPTH = 64
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
Row = tuple[str, str, int, bytes, int]
"""Path, kind ("file", "dir", "symlink", "other"), permission bits, bytes, whole seconds since the epoch."""


class TooMuch(Exception):
    """The workspace holds more than its limits allow; the message says what."""


@dataclass(slots=True)
class _Reading:
    max_entries: int
    max_bytes: int
    rows: list[Row] = field(default_factory=list)
    num_bytes: int = 0

    def add(self, path: str, kind: str, entry: os.stat_result, data: bytes) -> None:
        self.num_bytes += len(data)
        if len(self.rows) >= self.max_entries:
            raise TooMuch(f"more than {self.max_entries} files")
        if self.num_bytes > self.max_bytes:
            raise TooMuch(f"more than {self.max_bytes} bytes (holes in files count)")
        self.rows.append((path, kind, stat.S_IMODE(entry.st_mode), data, int(entry.st_mtime)))


def read_tree(top: str, *, max_entries: int, max_bytes: int) -> list[Row]:
    """Return a row for all that lies under `top`, folders before what they hold. Devices and pipes are not opened.

    Raises:
        TooMuch: more entries, bytes or depth than allowed.
        OSError: `top` is gone.

    """
    reading = _Reading(max_entries, max_bytes)
    fd = os.open(top, _FOLDER)
    try:
        _read_folder(fd, "", reading, depth=0)
    finally:
        os.close(fd)
    return reading.rows


def _read_folder(folder: int, prefix: str, reading: _Reading, *, depth: int) -> None:
    if depth > MAX_DEPTH:
        raise TooMuch(f"folders nested deeper than {MAX_DEPTH}")
    for name in sorted(os.listdir(folder)):
        # A name may vanish or change its kind while a payload still runs: then it is as if it had never been there.
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            _read_entry(folder, name, f"{prefix}{name}", reading, depth=depth)


def _read_entry(folder: int, name: str, path: str, reading: _Reading, *, depth: int) -> None:
    entry = os.stat(name, dir_fd=folder, follow_symlinks=False)
    if stat.S_ISDIR(entry.st_mode):
        fd = os.open(name, _FOLDER, dir_fd=folder)
        try:
            reading.add(path, "dir", os.fstat(fd), b"")
            _read_folder(fd, f"{path}/", reading, depth=depth + 1)
        finally:
            os.close(fd)
    elif stat.S_ISLNK(entry.st_mode):
        reading.add(path, "symlink", entry, os.fsencode(os.readlink(name, dir_fd=folder)))
    elif stat.S_ISREG(entry.st_mode):
        _read_file(folder, name, path, reading)
    else:
        reading.add(path, "other", entry, b"")


def _read_file(folder: int, name: str, path: str, reading: _Reading) -> None:
    # O_PATH opens nothing yet, so that a name swapped for a pipe or a device after the stat cannot block or act.
    handle = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    try:
        entry = os.fstat(handle)
        if not stat.S_ISREG(entry.st_mode):
            return
        if entry.st_size + reading.num_bytes > reading.max_bytes:
            raise TooMuch(f"more than {reading.max_bytes} bytes (holes in files count)")
        with open(f"/proc/self/fd/{handle}", "rb") as file:
            reading.add(path, "file", entry, file.read(entry.st_size + 1))
    finally:
        os.close(handle)


def write_tree(top: str, rows: list[Row], *, uid: int, gid: int) -> None:
    """Write `rows` under `top`, owned by `uid`. What stands in the way is replaced, links included.

    Raises:
        OSError: no room, or a path that is too long.

    """
    root = os.open(top, _FOLDER)
    folders: list[Row] = []
    try:
        for path, kind, mode, data, mtime_s in sorted(rows):
            parent = _enter(root, path.split("/")[:-1], uid, gid)
            try:
                if kind == "dir":
                    os.close(_make_folder(parent, path.split("/")[-1], uid, gid))
                    folders.append((path, kind, mode, data, mtime_s))
                else:
                    _write_leaf(parent, (path.split("/")[-1], kind, mode, data, mtime_s), uid, gid)
            finally:
                os.close(parent)
        for path, _, mode, _, mtime_s in reversed(folders):
            fd = _enter(root, path.split("/"), uid, gid)
            os.fchmod(fd, mode)
            os.utime(fd, (mtime_s, mtime_s))
            os.close(fd)
    finally:
        os.close(root)


def _enter(root: int, names: list[str], uid: int, gid: int) -> int:
    fd = os.dup(root)
    for name in names:
        try:
            below = _make_folder(fd, name, uid, gid)
        finally:
            os.close(fd)
        fd = below
    return fd


def _make_folder(parent: int, name: str, uid: int, gid: int) -> int:
    """Return the descriptor of folder `name`, made anew when there is none."""
    try:
        return os.open(name, _FOLDER, dir_fd=parent)
    except (FileNotFoundError, NotADirectoryError, OSError):
        _remove(parent, name)
    os.mkdir(name, 0o755, dir_fd=parent)
    fd = os.open(name, _FOLDER, dir_fd=parent)
    os.fchown(fd, uid, gid)
    return fd


def _write_leaf(parent: int, row: Row, uid: int, gid: int) -> None:
    name, kind, mode, data, mtime_s = row
    _remove(parent, name)
    if kind == "symlink":
        os.symlink(os.fsdecode(data), name, dir_fd=parent)
        os.chown(name, uid, gid, dir_fd=parent, follow_symlinks=False)
        os.utime(name, (mtime_s, mtime_s), dir_fd=parent, follow_symlinks=False)
        return
    fd = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=parent)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(fd, view) :]
        os.fchown(fd, uid, gid)
        os.fchmod(fd, mode)
        os.utime(fd, (mtime_s, mtime_s))
    finally:
        os.close(fd)


def _remove(parent: int, name: str) -> None:
    """Remove `name`, with all below it when it is a folder."""
    try:
        os.unlink(name, dir_fd=parent)
    except FileNotFoundError:
        return
    except IsADirectoryError:
        fd = os.open(name, _FOLDER, dir_fd=parent)
        try:
            for inner in os.listdir(fd):
                _remove(fd, inner)
        finally:
            os.close(fd)
        os.rmdir(name, dir_fd=parent)
