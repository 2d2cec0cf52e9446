"""Reading and writing a workspace whose owner may be hostile: no link is ever followed, every size is bounded."""

from __future__ import annotations

import contextlib
import os
import stat
from dataclasses import dataclass, field
from typing import Literal

MAX_DEPTH = 64
_MAX_NAME_BYTES = 16 * 2**20
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
Kind = Literal["file", "dir", "symlink", "other"]
Row = tuple[str, Kind, int, bytes, int]
"""Path, kind, permission bits, bytes, whole seconds since the epoch."""


@dataclass(slots=True)
class _Reading:
    left_bytes: int
    left_name_bytes: int = _MAX_NAME_BYTES
    rows: list[Row] = field(default_factory=list)

    def add(self, path: str, kind: Kind, entry: os.stat_result, data: bytes) -> None:
        self.left_bytes -= len(data)
        self.rows.append((path, kind, stat.S_IMODE(entry.st_mode), data, int(entry.st_mtime)))


def read_tree(top: str, *, max_bytes: int) -> list[Row]:
    """Return a row for all that lies under `top`, folders before what they hold. Devices and pipes are not opened.

    What does not fit is there, as of kind "other": files beyond `max_bytes` in sum (files of holes, and one file under
    many names, can get there in any sandbox), and folders nested too deep or with too many long names, without what
    they hold. So the owner of a workspace cannot make it unreadable.

    Raises:
        OSError: `top` is gone.

    """
    reading = _Reading(max_bytes)
    fd = os.open(top, _FOLDER)
    try:
        _read_folder(fd, sorted(os.listdir(fd)), "", reading, depth=0)
    finally:
        os.close(fd)
    return reading.rows


def read_paths(top: str, paths: list[str], *, max_bytes: int) -> list[Row]:
    """Return the rows of `paths`, and of what lies above them, where there is anything; of nothing below them.

    Raises:
        OSError: `top` is gone.

    """
    reading = _Reading(max_bytes)
    read: set[str] = set()
    root = os.open(top, _FOLDER)
    try:
        for path in sorted(paths):
            with contextlib.suppress(OSError):  # there is nothing, or it changes just now
                _read_way(root, path.split("/"), reading, read)
    finally:
        os.close(root)
    return reading.rows


def _read_way(root: int, names: list[str], reading: _Reading, read: set[str]) -> None:
    folder = os.dup(root)
    try:
        for depth in range(1, len(names) + 1):
            path, name = "/".join(names[:depth]), names[depth - 1]
            entry = os.stat(name, dir_fd=folder, follow_symlinks=False)
            is_folder = stat.S_ISDIR(entry.st_mode)
            if path not in read:
                read.add(path)
                if is_folder:
                    reading.add(path, "dir", entry, b"")
                else:
                    _read_entry(folder, name, path, reading, depth=depth)
            below = os.open(name, _FOLDER, dir_fd=folder)  # fails below anything but a folder
            os.close(folder)
            folder = below
    finally:
        os.close(folder)


def _read_folder(folder: int, names: list[str], prefix: str, reading: _Reading, *, depth: int) -> None:
    for name in names:
        # A name may vanish or change its kind while a payload still runs: then it is as if it had never been there.
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            _read_entry(folder, name, f"{prefix}{name}", reading, depth=depth)


def _read_below(folder: int, path: str, reading: _Reading, *, depth: int) -> None:
    names = sorted(os.listdir(folder))
    cost = sum(len(path) + len(name) + 1 for name in names)
    if depth > MAX_DEPTH or cost > reading.left_name_bytes:
        reading.add(path, "other", os.fstat(folder), b"")
        return
    reading.left_name_bytes -= cost
    reading.add(path, "dir", os.fstat(folder), b"")
    _read_folder(folder, names, f"{path}/", reading, depth=depth)


def _read_entry(folder: int, name: str, path: str, reading: _Reading, *, depth: int) -> None:
    entry = os.stat(name, dir_fd=folder, follow_symlinks=False)
    if stat.S_ISDIR(entry.st_mode):
        fd = os.open(name, _FOLDER, dir_fd=folder)
        try:
            _read_below(fd, path, reading, depth=depth + 1)
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
        if entry.st_size > reading.left_bytes:
            reading.add(path, "other", entry, b"")
            return
        with open(f"/proc/self/fd/{handle}", "rb") as file:
            reading.add(path, "file", entry, file.read(entry.st_size))
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


def change_tree(top: str, rows: list[Row], removed: list[str], *, uid: int, gid: int) -> None:
    """Write the files `rows` under `top`, owned by `uid`, and remove the files `removed`: all, or nothing.

    New content is written aside first, which may fail, and takes its places then, which needs no room. Times are now's.

    Raises:
        OSError: no room, or a path that is too long; what was there before is there still.

    """
    aside = f".{os.urandom(12).hex()}"
    made: list[tuple[int, str]] = []
    waiting: list[tuple[int, str]] = []
    root = os.open(top, _FOLDER)
    try:
        for path, _, mode, data, _ in rows:
            *folders, name = path.split("/")
            parent = _make_way(root, folders, made, uid, gid)
            waiting.append((parent, name))
            _create(parent, f"{aside}{len(waiting)}", (mode, data, None), uid, gid)
        for number, (parent, name) in enumerate(waiting, 1):
            os.rename(f"{aside}{number}", name, src_dir_fd=parent, dst_dir_fd=parent)
    except OSError:
        for number, (parent, _) in enumerate(waiting, 1):
            with contextlib.suppress(OSError):
                os.unlink(f"{aside}{number}", dir_fd=parent)
        for parent, name in reversed(made):
            with contextlib.suppress(OSError):
                os.rmdir(name, dir_fd=parent)
        raise
    else:
        for path in removed:
            *folders, name = path.split("/")
            waiting.append((_make_way(root, folders, made, uid, gid), name))
            with contextlib.suppress(FileNotFoundError):
                os.unlink(name, dir_fd=waiting[-1][0])
    finally:
        for fd in (root, *(parent for parent, _ in (*waiting, *made))):
            os.close(fd)


def _make_way(root: int, names: list[str], made: list[tuple[int, str]], uid: int, gid: int) -> int:
    """Return the descriptor of the folder at the end of `names`; note in `made` those that there were not.

    Raises:
        OSError: a link or a file stands in the way.

    """
    fd = os.dup(root)
    for name in names:
        try:
            try:
                below = os.open(name, _FOLDER, dir_fd=fd)
            except FileNotFoundError:
                below = _make_folder(fd, name, uid, gid)
                made.append((os.dup(fd), name))
        finally:
            os.close(fd)
        fd = below
    return fd


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
    except OSError:  # there is none, or a link or a file stands there
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
    _create(parent, name, (mode, data, mtime_s), uid, gid)


def _create(parent: int, name: str, content: tuple[int, bytes, int | None], uid: int, gid: int) -> None:
    """Make the file `name` with `content`: its mode, its bytes and its time, None for now."""
    mode, data, mtime_s = content
    fd = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=parent)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(fd, view) :]
        os.fchown(fd, uid, gid)
        os.fchmod(fd, mode)
        if mtime_s is not None:
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
