"""The mounts of a box with snapshots: frozen layers below, an overlay on top. All of it runs in child processes.

A box that was never frozen is a tmpfs at `box/`. Freezing moves that tmpfs to `layers/0`; of a box that is an overlay
already, it moves the tmpfs with its upper folder from `top/` to `layers/<n>`. An overlay then goes to `box/`, with a
new tmpfs at `top/` for what is written from now on. So freezing costs the same whatever was written.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import time
from collections.abc import Iterable
from dataclasses import dataclass

from . import kernel
from .trees import MARKS, TRUSTED, Step, read_nodes, step_into, write_nodes

MAX_DEPTH = 32
MAX_LAYERS = 100
SCRATCH = (("tmp", 0o1777), ("shm", 0o1777))
FOLDERS = (("workspace", 0o755), *SCRATCH)

_OWN_INODES = 16  # our folders, overlayfs's, and what the attributes of a few take
_LEAST_BYTES = 4096  # tmpfs takes 0 for no limit
_FLAGS = kernel.MS_NOSUID | kernel.MS_NODEV
_EXACT = "redirect_dir=on,index=on,xino=on,metacopy=off"
_BY_USER = "userxattr"
_TOP = "upperdir=../top/files,workdir=../top/work"


@dataclass(frozen=True, slots=True)
class Layer:
    """A frozen layer: its folder under `layers/`, and the bytes and files that it holds."""

    path: str
    num_bytes: int
    num_files: int


Layers = tuple[Layer, ...]


def weight(layers: Layers) -> dict[str, object]:
    """Return what `layers` hold in sum, as an answer tells it."""
    return {
        "below_bytes": sum(layer.num_bytes for layer in layers),
        "below_files": sum(layer.num_files for layer in layers),
    }


@dataclass(frozen=True, slots=True)
class Place:
    """Where a box stands, and what it may hold in all: bytes and files of all layers and the top together."""

    at: str
    num_bytes: int
    num_files: int
    uid: int
    gid: int

    def room(self, layers: Layers) -> str:
        """Return the mount options of a tmpfs for what is left beside `layers`."""
        return _sized(
            self.num_bytes - sum(layer.num_bytes for layer in layers),
            self.num_files - sum(layer.num_files for layer in layers),
        )

    def crowded(self, layers: Layers) -> bool:
        """Whether one layer in place of these may give back much of the room: there are many, or they are large."""
        if len(layers) < 2:
            return False
        upper_bytes = sum(layer.num_bytes for layer in layers[1:])
        upper_files = sum(layer.num_files for layer in layers[1:])
        return (
            len(layers) > MAX_DEPTH
            or upper_bytes > (self.num_bytes - layers[0].num_bytes) / 2
            or upper_files > (self.num_files - layers[0].num_files) / 2
        )


def make_plain(place: Place) -> None:
    """Mount the tmpfs of a new box."""
    kernel.mount("tmpfs", f"{place.at}/box", "tmpfs", flags=_FLAGS, data=place.room(()))
    _make_folders(f"{place.at}/box", FOLDERS, place)


def make_marks(path: str) -> str:
    """Return the prefix of the attributes that overlayfs can keep its notes in, on the tmpfs at `path`.

    Raises:
        OSError: ENOTSUP, when there is none.

    """
    for marks in MARKS:
        with contextlib.suppress(OSError):
            os.setxattr(path, f"{marks}trial{os.getpid()}", b"")  # another child may try on the same folder just now
            os.removexattr(path, f"{marks}trial{os.getpid()}")
            return marks
    raise OSError(
        errno.ENOTSUP, "snapshots need attributes on tmpfs: Linux 6.6 for an ordinary user, CONFIG_TMPFS_XATTR as root"
    )


def takes_long(place: Place, layers: Layers) -> bool:
    """Whether `freeze` and what may follow will have to look at every file."""
    if not layers:
        return False
    top = Layer("", *_held(f"{place.at}/top"))
    return place.crowded((*layers, top)) or bool(_changed_links(place))


def freeze(place: Place, layers: Layers) -> Layers:
    """Take the overlay away, or the plain tmpfs, and return `layers` with what was on top as the last one.

    Raises:
        OSError: nothing was done.

    """
    at = place.at
    mount = f"{at}/layers/{len(layers)}"
    if not layers:
        make_marks(f"{at}/box")
        kernel.move(f"{at}/box", mount)
        return (_frozen(mount, "0", own=len(FOLDERS) + 1),)
    if len(layers) >= MAX_LAYERS:
        raise OSError(errno.EMLINK, f"there are {MAX_LAYERS} layers already, and they do not fit into one")
    _complete_links(place)
    kernel.unmount(f"{at}/box")
    kernel.move(f"{at}/top", mount)
    return (*layers, _frozen(mount, f"{len(layers)}/files", own=6))


def stack(place: Place, layers: Layers) -> None:
    """Mount an overlay on `layers`, with a new tmpfs for what is written."""
    _mount_overlay(place.at, layers, _TOP, marks=_make_top(place, layers))


def stack_afresh(place: Place, layers: Layers) -> None:
    """Do as `stack` does, with the workspace alone: /tmp and /dev/shm are empty."""
    marks = _make_top(place, layers)
    files = f"{place.at}/top/files"
    _make_folders(files, SCRATCH, place)
    for name, _ in SCRATCH:
        os.setxattr(f"{files}/{name}", f"{marks}opaque", b"y")
    _mount_overlay(place.at, layers, _TOP, marks=marks)


def show(place: Place, layers: Layers) -> None:
    """Mount the sum of `layers`, read-only, at `box/`."""
    if len(layers) == 1:  # an overlay has two layers at least
        kernel.mount(f"{place.at}/layers/{layers[0].path}", f"{place.at}/box", "", flags=kernel.MS_BIND)
        return
    _mount_overlay(place.at, layers, "ro", marks=make_marks(place.at))


def add(place: Place, layers: Layers, workspace: Iterable[Step]) -> Layers:
    """Return `layers` and one more on them, which holds `workspace`. The lowest has the other folders too."""
    mount = f"{place.at}/layers/{len(layers)}"
    kernel.mount("tmpfs", mount, "tmpfs", flags=_FLAGS, data=place.room(layers))
    files = f"{mount}/files"
    os.mkdir(files, 0o755)
    _make_folders(files, () if layers else SCRATCH, place)
    write_nodes(f"{files}/workspace", workspace, uid=place.uid, gid=place.gid, marks=make_marks(mount))
    return (*layers, _frozen(mount, f"{len(layers)}/files", own=4))


def squash(place: Place, layers: Layers) -> Layers:
    """Copy the sum of `layers` into one that takes their place, and return it; or `layers`, where that fails."""
    at, top = place.at, f"{place.at}/top"
    num_bytes = sum(layer.num_bytes for layer in layers)
    kernel.mount(
        "tmpfs", top, "tmpfs", flags=_FLAGS, data=_sized(num_bytes, sum(layer.num_files for layer in layers) * 2)
    )
    try:
        marks = make_marks(top)
        _mount_overlay(at, layers, "ro", marks=marks)
        try:
            write_nodes(f"{top}/files", read_nodes(f"{at}/box", marks=marks), uid=place.uid, gid=place.gid, marks=marks)
        finally:
            kernel.unmount(f"{at}/box")
    except OSError:
        kernel.unmount(top)
        return layers
    for number in range(len(layers)):
        kernel.unmount(f"{at}/layers/{number}")
    kernel.move(top, f"{at}/layers/0")
    return (_frozen(f"{at}/layers/0", "0/files", own=2),)


def _make_top(place: Place, layers: Layers) -> str:
    top = f"{place.at}/top"
    kernel.mount("tmpfs", top, "tmpfs", flags=_FLAGS, data=place.room(layers))
    for name in ("files", "work"):
        os.mkdir(f"{top}/{name}", 0o755)
    return make_marks(top)


def _sized(num_bytes: int, num_files: int) -> str:
    return f"mode=755,size={max(num_bytes, _LEAST_BYTES)},nr_inodes={max(num_files, 0) + _OWN_INODES}"


def _make_folders(top: str, folders: tuple[tuple[str, int], ...], place: Place) -> None:
    for name, mode in folders:
        os.mkdir(f"{top}/{name}")
        os.chmod(f"{top}/{name}", mode)
        os.chown(f"{top}/{name}", place.uid, place.gid)


def _frozen(mount: str, path: str, *, own: int) -> Layer:
    kernel.mount("", mount, "", flags=_FLAGS | kernel.MS_REMOUNT | kernel.MS_BIND | kernel.MS_RDONLY)
    num_bytes, num_files = _held(mount)
    return Layer(path, num_bytes, max(0, num_files - own))


def _held(mount: str) -> tuple[int, int]:
    room = os.statvfs(mount)
    return (room.f_blocks - room.f_bfree) * room.f_frsize, room.f_files - room.f_ffree


def _mount_overlay(at: str, layers: Layers, places: str, *, marks: str) -> None:
    os.chdir(f"{at}/layers")  # names from here are short: all options together may take 4 KiB
    lower = ":".join(layer.path for layer in reversed(layers))
    for options in (_EXACT, "metacopy=off") if marks == TRUSTED else (_BY_USER,):
        with contextlib.suppress(_Unknown):
            _try_overlay(f"{at}/box", f"lowerdir={lower},{places},{options}")
            break
    else:
        raise OSError(errno.EINVAL, "overlayfs takes none of the options that a snapshot needs")
    os.chdir("/")


class _Unknown(Exception):
    """This kernel's overlayfs does not know an option."""


def _try_overlay(target: str, data: str) -> None:
    places = data.replace(",ro,", ",")
    flags = _FLAGS | (kernel.MS_RDONLY if places != data else 0)
    for attempt in range(100):
        try:
            kernel.mount("overlay", target, "overlay", flags=flags, data=places)
        except OSError as error:
            if error.errno == errno.EINVAL:
                raise _Unknown from error
            if error.errno != errno.EBUSY or attempt == 99:
                raise
            time.sleep(0.002)  # the last process of the box lets go of the former overlay just now
        else:
            return


def _complete_links(place: Place) -> None:
    """Copy up each name of a file of several names, where one such file was changed under one of them.

    overlayfs joins the names of one file by an index that belongs to one top only, and is lost when that is frozen.
    Only where it has entries is there anything to do.
    """
    if not _changed_links(place):
        return
    at = place.at
    roomy = _sized(place.num_bytes * 2, place.num_files * 2)
    kernel.mount("", f"{at}/top", "", flags=_FLAGS | kernel.MS_REMOUNT, data=roomy)
    folder = os.open(f"{at}/box", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    left = [os.listdir(folder)]
    while left:
        if not left[-1]:
            left.pop()
            folder = step_into(folder, "..")
            continue
        name = left[-1].pop()
        entry = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if stat.S_ISDIR(entry.st_mode):
            folder = step_into(folder, name)
            left.append(os.listdir(folder))
        elif entry.st_nlink > 1:
            times = (entry.st_atime_ns, entry.st_mtime_ns)  # set to what they are: that alone copies it up
            os.utime(name, ns=times, dir_fd=folder, follow_symlinks=False)
    os.close(folder)


def _changed_links(place: Place) -> list[str]:
    with contextlib.suppress(FileNotFoundError):
        return os.listdir(f"{place.at}/top/work/index")
    return []
