"""A tree of files with all that a snapshot keeps of it: read, written and digested, however hostile its owner was.

A tree is a row of nodes, each folder's before what it holds, with a None where a folder ends. So no path is ever
put together, and nesting without end is no trouble.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_BLOCK = 4096
_CHUNK = 2**20
_ZEROS = bytes(_BLOCK)
TRUSTED, BY_USER = MARKS = ("trusted.overlay.", "user.overlay.")

NodeKind = Literal["file", "dir", "symlink", "link", "gone", "fifo", "socket"]


class Node(NamedTuple):
    """One entry of a folder; the top folder's own name is empty.

    `data` is what is not zero of a file: (offset, bytes), in order. `target` is a symlink's. A "link" is one more name
    of the node with the number `size`, counted from 0 over all nodes before it. "gone" hides what a lower layer has
    there; an `opaque` folder hides all that lower layers have in it.
    """

    name: str
    kind: NodeKind
    mode: int = 0
    mtime_ns: int = 0
    size: int = 0
    data: tuple[tuple[int, bytes], ...] = ()
    target: str = ""
    opaque: bool = False
    attributes: dict[str, bytes] = {}  # noqa: RUF012  # never changed


Step = Node | None


class MovedFolder(Exception):
    """A folder of a layer stands for one of another name below it: the layer makes no sense by itself."""


def read_nodes(top: str, *, marks: str) -> Iterator[Step]:
    """Yield all that lies under `top`, a layer as it was frozen or the sum of some as the kernel shows it.

    `marks` is overlayfs's prefix: attributes of the other one are a payload's. Nothing may change the tree meanwhile.

    Raises:
        MovedFolder: see there.
        OSError: `top` is gone.

    """
    seen: dict[tuple[int, int], int] = {}
    folder = os.open(top, _FOLDER)
    try:
        yield _folder_node("", folder, marks)
        number = 1
        left = [sorted(os.listdir(folder), reverse=True)]
        while left:
            if not left[-1]:
                left.pop()
                yield None
                if left:
                    folder = step_into(folder, "..")
                continue
            name = left[-1].pop()
            entry = os.stat(name, dir_fd=folder, follow_symlinks=False)
            if stat.S_ISDIR(entry.st_mode):
                folder = step_into(folder, name)
                yield _folder_node(name, folder, marks)
                left.append(sorted(os.listdir(folder), reverse=True))
            else:
                single = entry.st_nlink == 1 or stat.S_ISCHR(entry.st_mode)  # all whiteouts are names of one
                first = number if single else seen.setdefault((entry.st_dev, entry.st_ino), number)
                yield Node(name, "link", size=first) if first != number else _leaf(folder, name, entry)
            number += 1
    finally:
        os.close(folder)


def write_nodes(top: str, steps: Iterable[Step], *, uid: int, gid: int, marks: str) -> None:
    """Write a tree into `top`, an empty folder to be, all of it owned by `uid`. `marks` is overlayfs's prefix.

    A folder beside it, of its name and `.links`, is used meanwhile.

    Raises:
        OSError: no room.

    """
    links = f"{top}.links"
    os.mkdir(links)
    kept: dict[int, str] = {}
    folder = -1
    folders: list[Node] = []
    try:
        for number, node in enumerate_nodes(steps):
            if node is None:
                ended = folders.pop()
                os.chmod(folder, ended.mode)
                os.utime(folder, ns=(ended.mtime_ns, ended.mtime_ns))
                if folders:
                    folder = step_into(folder, "..")
            elif node.kind == "dir":
                os.mkdir(node.name if folders else top, 0o700, dir_fd=folder if folders else None)
                folder = step_into(folder, node.name) if folders else os.open(top, _FOLDER)
                os.chown(folder, uid, gid)
                _set_attributes(f"/proc/self/fd/{folder}", node, marks)
                folders.append(node)
            elif node.kind == "link":
                os.link(kept[node.size], node.name, dst_dir_fd=folder, follow_symlinks=False)
            else:
                _write_leaf(folder, node, uid=uid, gid=gid)
                kept[number] = f"{links}/{number}"
                if node.kind != "gone":
                    os.link(node.name, kept[number], src_dir_fd=folder, follow_symlinks=False)
    finally:
        if folder >= 0:
            os.close(folder)
        for name in os.listdir(links):
            os.unlink(f"{links}/{name}")
        os.rmdir(links)


def step_into(folder: int, name: str) -> int:
    """Return folder `name` of `folder`, opened, with `folder` closed."""
    below = os.open(name, _FOLDER, dir_fd=folder)
    os.close(folder)
    return below


def enumerate_nodes(steps: Iterable[Step]) -> Iterator[tuple[int, Step]]:
    """Yield each step with the number of its node; a folder's end has the number of the next."""
    number = 0
    for step in steps:
        yield number, step
        number += step is not None


def portable(steps: Iterable[Step]) -> Iterator[Step]:
    """Yield the tree as another machine can hold it: no pipes, no sockets, and no attributes but the user's."""
    lost: set[int] = set()
    for number, step in enumerate_nodes(steps):
        if step is None:
            yield None
        elif step.kind in ("fifo", "socket") or (step.kind == "link" and step.size in lost):
            lost.add(number)
            yield Node(step.name, "gone")
        else:
            own = {key: value for key, value in step.attributes.items() if key.startswith("user.")}
            yield step._replace(attributes=own)


def sparse(data: bytes, *, offset: int = 0) -> list[tuple[int, bytes]]:
    """Return the stretches of `data` that hold more than zeros, in blocks of 4 KiB. `offset` is a multiple of that."""
    found: list[tuple[int, int]] = []
    for start in range(0, len(data), _BLOCK):
        end = min(start + _BLOCK, len(data))
        if data[start:end] == _ZEROS[: end - start]:
            continue
        if found and found[-1][1] == start:
            found[-1] = (found[-1][0], end)
        else:
            found.append((start, end))
    return [(offset + start, data[start:end]) for start, end in found]


def _folder_node(name: str, folder: int, marks: str) -> Node:
    entry = os.fstat(folder)
    attributes = _attributes(f"/proc/self/fd/{folder}")
    if marks == TRUSTED and f"{marks}redirect" in attributes:  # of an ordinary user the kernel follows none
        raise MovedFolder(name)
    opaque = attributes.get(f"{marks}opaque") == b"y"
    return Node(
        name,
        "dir",
        stat.S_IMODE(entry.st_mode),
        entry.st_mtime_ns,
        opaque=opaque,
        attributes={key: value for key, value in attributes.items() if not key.startswith(MARKS)},
    )


def _leaf(folder: int, name: str, entry: os.stat_result) -> Node:
    mode, mtime_ns = stat.S_IMODE(entry.st_mode), entry.st_mtime_ns
    if stat.S_ISLNK(entry.st_mode):
        return Node(name, "symlink", 0o777, mtime_ns, target=os.readlink(name, dir_fd=folder))
    if stat.S_ISFIFO(entry.st_mode) or stat.S_ISSOCK(entry.st_mode):
        return Node(name, "fifo" if stat.S_ISFIFO(entry.st_mode) else "socket", mode, mtime_ns)
    if not stat.S_ISREG(entry.st_mode):  # a whiteout: a payload can make no other device
        return Node(name, "gone")
    fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    try:
        attributes = {k: v for k, v in _attributes(f"/proc/self/fd/{fd}").items() if not k.startswith(MARKS)}
        data = tuple(_read(fd, entry.st_size))
        return Node(name, "file", mode, mtime_ns, entry.st_size, data, attributes=attributes)
    finally:
        os.close(fd)


def _read(fd: int, size: int) -> list[tuple[int, bytes]]:
    """Return the stretches of a file that hold more than zeros, without reading its holes."""
    found: list[tuple[int, bytes]] = []
    place = 0
    while place < size:
        try:
            start = os.lseek(fd, place, os.SEEK_DATA)
        except OSError as error:
            if error.errno == errno.ENXIO:  # nothing but a hole from here on
                break
            raise
        end = min(os.lseek(fd, start, os.SEEK_HOLE), size)
        start -= start % _BLOCK
        for chunk in range(start, end, _CHUNK):
            found += sparse(os.pread(fd, min(_CHUNK, end - chunk), chunk), offset=chunk)
        place = end
    joined: list[tuple[int, bytes]] = []
    run: list[bytes] = []
    for position, (offset, data) in enumerate(found):
        run.append(data)
        if position + 1 == len(found) or found[position + 1][0] != offset + len(data):
            whole = b"".join(run)
            joined.append((offset + len(data) - len(whole), whole))
            run = []
    return joined


def _attributes(path: str) -> dict[str, bytes]:
    with contextlib.suppress(OSError):  # a file system without any
        return {name: os.getxattr(path, name) for name in os.listxattr(path)}
    return {}


def _write_leaf(folder: int, node: Node, *, uid: int, gid: int) -> None:
    if node.kind == "gone":
        os.mknod(node.name, stat.S_IFCHR, os.makedev(0, 0), dir_fd=folder)
        return
    if node.kind == "symlink":
        os.symlink(node.target, node.name, dir_fd=folder)
        os.chown(node.name, uid, gid, dir_fd=folder, follow_symlinks=False)
    elif node.kind == "file":
        fd = os.open(node.name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=folder)
        try:
            os.ftruncate(fd, node.size)
            for offset, data in node.data:
                view = memoryview(data)
                while view:
                    written = os.pwrite(fd, view, offset)
                    view, offset = view[written:], offset + written
            os.fchown(fd, uid, gid)
            os.fchmod(fd, node.mode)
            _set_attributes(f"/proc/self/fd/{fd}", node, "")
        finally:
            os.close(fd)
    else:
        kind = stat.S_IFIFO if node.kind == "fifo" else stat.S_IFSOCK
        os.mknod(node.name, kind | 0o600, dir_fd=folder)
        os.chown(node.name, uid, gid, dir_fd=folder)
        os.chmod(node.name, node.mode, dir_fd=folder)
    os.utime(node.name, ns=(node.mtime_ns, node.mtime_ns), dir_fd=folder, follow_symlinks=False)


def _set_attributes(path: str, node: Node, marks: str) -> None:
    for name, value in node.attributes.items():
        os.setxattr(path, name, value)
    if node.opaque:
        os.setxattr(path, f"{marks}opaque", b"y")
