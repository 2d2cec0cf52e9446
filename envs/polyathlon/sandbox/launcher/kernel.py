"""The few Linux calls that Python 3.11 has no name for."""

from __future__ import annotations

import ctypes
import os

NEW_MOUNTS = 0x00020000
NEW_USER = 0x10000000
NEW_UTS, NEW_IPC, NEW_PIDS, NEW_NETWORK = 0x04000000, 0x08000000, 0x20000000, 0x40000000

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT = 0x1, 0x2, 0x4, 0x8, 0x20
MS_BIND, MS_MOVE, MS_REC, MS_PRIVATE = 0x1000, 0x2000, 0x4000, 0x40000
_MNT_DETACH = 2
_MOUNT_SETATTR, _AT_FDCWD, _AT_RECURSIVE = 442, -100, 0x8000
_ATTR_RDONLY, _ATTR_NOSUID, _ATTR_NODEV = 0x1, 0x2, 0x4
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36

_libc = ctypes.CDLL(None, use_errno=True)


def unshare(flags: int) -> None:
    """Leave the namespaces named by `flags` for new ones."""
    _check(_libc.unshare(flags), "unshare")


def setns(fd: int, kind: int) -> None:
    """Enter the namespace that `fd` refers to."""
    _check(_libc.setns(fd, kind), "setns")


def mount(source: str, target: str, kind: str, *, flags: int, data: str = "") -> None:
    """Mount as mount(2) does; empty strings stand for NULL."""
    arguments = (source.encode() or None, target.encode(), kind.encode() or None, ctypes.c_ulong(flags))
    _check(_libc.mount(*arguments, data.encode() or None), f"mount {source or kind} on {target}")


def move(source: str, target: str) -> None:
    """Move the mount at `source` to `target`."""
    mount(source, target, "", flags=MS_MOVE)


def unmount(path: str) -> None:
    """Take away the mount at `path`, at once; it is freed when nothing uses it any more."""
    _check(_libc.umount2(path.encode(), _MNT_DETACH), f"umount {path}")


def make_read_only(path: str) -> None:
    """Make the mount at `path`, and all mounts below it, read-only, without devices and setuid.

    Raises:
        OSError: ENOSYS before Linux 5.12.

    """
    attributes = (ctypes.c_uint64 * 4)(_ATTR_RDONLY | _ATTR_NOSUID | _ATTR_NODEV, 0, 0, 0)
    size = ctypes.c_size_t(ctypes.sizeof(attributes))
    arguments = (_AT_FDCWD, path.encode(), _AT_RECURSIVE, attributes, size)
    _check(_libc.syscall(_MOUNT_SETATTR, *arguments), f"mount_setattr {path}")


def die_with_parent(parent: int, signal_number: int) -> None:
    """Have the kernel send `signal_number` to this process when `parent` dies, or exit if it is dead already."""
    _check(_libc.prctl(_PR_SET_PDEATHSIG, signal_number, 0, 0, 0), "prctl")
    if os.getppid() != parent:
        os._exit(1)


def adopt_orphans() -> None:
    """Make this process the parent of its descendants' orphans, so that it can wait for all of them."""
    _check(_libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), "prctl")


def change_root(path: str) -> None:
    """Make the mount at `path` this process's root; what was there before is out of reach, for good."""
    os.chdir(path)
    _check(_libc.pivot_root(b".", b"."), f"pivot_root {path}")
    _check(_libc.umount2(b".", _MNT_DETACH), "umount2")
    os.chdir("/")


def map_only_myself(uid: int, gid: int, *, inside: int | None = None) -> None:
    """Map one user and one group into the user namespace this process has just made, as themselves or as `inside`."""
    user, group = (uid, gid) if inside is None else (inside, inside)
    for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {uid} 1"), ("gid_map", f"{group} {gid} 1")):
        with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
            file.write(text)


def _check(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
