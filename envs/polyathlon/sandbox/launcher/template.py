"""The read-only system that every sandbox of one room sees, assembled once in a private mount namespace."""

from __future__ import annotations

import contextlib
import os
import shutil

from . import kernel
from .layers import MAX_LAYERS


def build_template(plan: dict[str, object]) -> None:
    """Enter a private mount namespace and build under `plan["at"]`: `root/` (the system), `tools/` and `box/`.

    `layers/` and `top/` are where the mounts of a box with snapshots go; see layers.py.

    Without privileges this enters a user namespace first, which maps the caller's own user and nobody else.
    """
    uid, gid = os.geteuid(), os.getegid()
    kernel.unshare(kernel.NEW_MOUNTS if uid == 0 else kernel.NEW_MOUNTS | kernel.NEW_USER)
    if uid != 0:
        kernel.map_only_myself(uid, gid)
    kernel.mount("", "/", "", flags=kernel.MS_REC | kernel.MS_PRIVATE)
    at = _text(plan["at"])
    kernel.mount("tmpfs", at, "tmpfs", flags=kernel.MS_NOSUID | kernel.MS_NODEV, data="mode=755,size=16m")
    for name in ("root", "tools", "box", "empty", "top", "layers", *(f"layers/{n}" for n in range(MAX_LAYERS))):
        os.mkdir(f"{at}/{name}", 0o755)
    _make_system(plan, at)
    _bind(f"{at}/root", f"{at}/root")  # a mount of its own
    for source, path in _pairs(plan["binds"]):
        _bind(source, f"{at}/root{path}")
    for path in _list(plan["masks"]):
        _bind(f"{at}/empty", f"{at}/root{path}")
    with contextlib.suppress(OSError):  # bwrap does the same at each start, a mount at a time, where it finds it undone
        kernel.make_read_only(f"{at}/root")


def _make_system(plan: dict[str, object], at: str) -> None:
    root = f"{at}/root"
    for path in _list(plan["folders"]):
        os.makedirs(root + path, mode=0o755, exist_ok=True)
    for path, target in _pairs(plan["links"]):
        os.makedirs(os.path.dirname(root + path), mode=0o755, exist_ok=True)
        os.symlink(target, root + path)
    for path, text in _pairs(plan["files"]):
        with open(root + path, "w", encoding="utf-8") as file:
            file.write(text)
    for source, path in _pairs(plan["copies"]):
        os.makedirs(os.path.dirname(at + path), mode=0o755, exist_ok=True)
        shutil.copyfile(source, at + path)
        os.chmod(at + path, 0o755)


def _bind(source: str, target: str) -> None:
    if os.path.isdir(source):
        os.makedirs(target, mode=0o755, exist_ok=True)
    elif not os.path.exists(target):
        os.makedirs(os.path.dirname(target), mode=0o755, exist_ok=True)
        os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o644))
    kernel.mount(source, target, "", flags=kernel.MS_BIND | kernel.MS_REC)


def _text(value: object) -> str:
    assert isinstance(value, str)
    return value


def _list(value: object) -> list[str]:
    assert isinstance(value, list)
    return value


def _pairs(value: object) -> list[tuple[str, str]]:
    assert isinstance(value, list)
    return [(source, target) for source, target in value]
