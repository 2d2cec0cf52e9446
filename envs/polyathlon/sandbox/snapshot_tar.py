"""Layers as one tar, the same bytes for the same layers, and back: whatever a tar holds, only sound layers come out.

`snapshot.json` comes first: the version and the digest of each layer. The layers follow, lowest first, in folders `0/`,
`1/`, ... in the form that `tar --xattrs` gives overlayfs's own: a character device 0/0 hides what is below, and the
attribute `trusted.overlay.opaque` all that is in a folder below. Owners are 0. Holes are
GNU's sparse files of version 1.0.
"""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal, InvalidOperation
from pathlib import PurePosixPath
from typing import cast

from polyathlon.canonical import canonical_json, expect_list, expect_map, parse_json
from polyathlon.errors import SandboxError
from polyathlon.sandbox.launcher.digests import digest_nodes
from polyathlon.sandbox.launcher.trees import Node, Step, enumerate_nodes, portable, sparse

MAX_LAYERS = 100
MAX_NODES = 1_000_000
MAX_FILE_BYTES = 2**34
MAX_DEPTH = 256
MAX_NAME_BYTES = 64 * 2**20

_HEAD = "snapshot.json"
_VERSION = 1
_ATTRIBUTE = "SCHILY.xattr."
_OPAQUE = f"{_ATTRIBUTE}trusted.overlay.opaque"
_SPARSE = "GNU.sparse."

Steps = Sequence[Step]


def write_tar(layers: Sequence[Iterable[Step]]) -> bytes:
    """Return one tar of `layers`, lowest first.

    Raises:
        SandboxError: a folder is nested deeper than 256, or all names together are too long, for a tar.

    """
    trees = [list(portable(steps)) for steps in layers]
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT, encoding="utf-8") as tar:
        head = canonical_json({"version": _VERSION, "layers": [digest_nodes(steps) for steps in trees]}).encode("ascii")
        _add(tar, tarfile.TarInfo(_HEAD), head, mode=0o644)
        left_bytes = MAX_NAME_BYTES
        for number, steps in enumerate(trees):
            paths: dict[int, str] = {}
            for place, path, node in _paths(steps):
                left_bytes -= len(path)
                if left_bytes < 0 or path.count("/") > MAX_DEPTH:
                    raise SandboxError("The snapshot's folders are nested too deep, or its names too long, for a tar.")
                paths[place] = f"{number}/{path}" if path else str(number)
                _add_node(tar, paths[place], node, paths.get(node.size, "") if node.kind == "link" else "")
    return buffer.getvalue()


def read_tar(data: bytes) -> list[Steps]:
    """Return the layers of a tar that `write_tar` wrote, lowest first.

    Raises:
        SandboxError: it is something else: names what is wrong, and at which path.

    """
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:", encoding="utf-8") as tar:
            digests, layers = _read(tar, data)
    except (tarfile.TarError, ValueError, KeyError, TypeError, RecursionError, EOFError, OverflowError) as error:
        raise SandboxError(f"This is no tar of a snapshot: {type(error).__name__}: {error}.") from error
    for number, (steps, digest) in enumerate(zip(layers, digests, strict=True)):
        if digest_nodes(steps) != digest:
            raise SandboxError(f"Layer {number} of the tar does not match its digest: the tar was changed.")
    return layers


def _add_node(tar: tarfile.TarFile, path: str, node: Node, first: str) -> None:
    info = tarfile.TarInfo(path)
    info.pax_headers = {f"{_ATTRIBUTE}{key}": _text(value) for key, value in sorted(node.attributes.items())}
    if node.opaque:
        info.pax_headers[_OPAQUE] = "y"
    if node.kind != "gone":
        info.pax_headers["mtime"] = f"{Decimal(node.mtime_ns).scaleb(-9):f}"
    data = b""
    if node.kind == "file" and _is_whole(node):
        data = b"".join(stretch for _, stretch in node.data)
    elif node.kind == "file":
        data = _sparse_data(node)
        parts = PurePosixPath(path)
        info.name = f"{parts.parent}/GNUSparseFile.0/{parts.name}"
        info.pax_headers |= {
            f"{_SPARSE}major": "1",
            f"{_SPARSE}minor": "0",
            f"{_SPARSE}name": path,
            f"{_SPARSE}realsize": str(node.size),
        }
    elif node.kind == "gone":
        info.type = tarfile.CHRTYPE
    elif node.kind == "dir":
        info.type = tarfile.DIRTYPE
    elif node.kind == "symlink":
        info.type, info.linkname = tarfile.SYMTYPE, node.target
    else:
        info.type, info.linkname = tarfile.LNKTYPE, first
    _add(tar, info, data, mode=node.mode)


def _add(tar: tarfile.TarFile, info: tarfile.TarInfo, data: bytes, *, mode: int) -> None:
    info.mode, info.size = mode, len(data)
    tar.addfile(info, io.BytesIO(data))


def _is_whole(node: Node) -> bool:
    return sum(len(data) for _, data in node.data) == node.size


def _sparse_data(node: Node) -> bytes:
    """Return the map of a sparse file, padded to a block, and its data."""
    stretches = [*node.data, (node.size, b"")]
    numbers = [len(stretches), *(number for offset, data in stretches for number in (offset, len(data)))]
    table = "".join(f"{number}\n" for number in numbers).encode("ascii")
    return table + bytes(-len(table) % 512) + b"".join(data for _, data in node.data)


def _paths(steps: Iterable[Step]) -> Iterator[tuple[int, str, Node]]:
    """Yield each node with its number and its path; the top's is empty."""
    folders: list[str] = []
    for number, step in enumerate_nodes(steps):
        if step is None:
            folders.pop()
            continue
        path = f"{folders[-1]}/{step.name}" if folders and folders[-1] else step.name
        yield number, path, step
        if step.kind == "dir":
            folders.append(path)


def _text(value: bytes) -> str:
    return value.decode("utf-8", "surrogateescape")


def _read(tar: tarfile.TarFile, data: bytes) -> tuple[list[str], list[Steps]]:
    digests: list[str] = []
    layers: list[_Layer] = []
    left_bytes = MAX_NAME_BYTES
    for count, info in enumerate(tar):
        left_bytes -= len(info.name)
        if count > MAX_NODES or left_bytes < 0:
            raise ValueError(f"it has more than {MAX_NODES} entries, or too long names")
        if count == 0:
            digests = _read_head(info, data)
            continue
        number = info.name.partition("/")[0]
        if number == str(len(layers)) == info.name:
            layers.append(_Layer(number))
        if not layers or number != layers[-1].name:
            raise ValueError(f"{info.name[:200]!r} lies in no layer, or not in the last one begun")
        layers[-1].add(info, data)
    if not digests or len(layers) != len(digests):
        raise ValueError(f"it says that it has {len(digests)} layers, and has {len(layers)}; one is the least")
    return digests, [layer.steps() for layer in layers]


def _read_head(info: tarfile.TarInfo, data: bytes) -> list[str]:
    if info.name != _HEAD or not info.isreg() or info.sparse is not None:
        raise ValueError(f"its first entry is {info.name[:200]!r}, not {_HEAD}")
    head = expect_map(parse_json(data[info.offset_data : info.offset_data + info.size].decode("ascii")))
    digests = [str(digest) for digest in expect_list(head["layers"])]
    if head["version"] != _VERSION or len(digests) > MAX_LAYERS:
        raise ValueError(f"version {_VERSION} with at most {MAX_LAYERS} layers can be read")
    return digests


class _Layer:
    """One layer while it is read: every entry must follow its folder and come in order, so that none comes twice."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._steps: list[Step] = []
        self._open: list[tuple[str, str]] = []  # folders that are being filled, with the last name in each
        self._files: dict[str, int] = {}
        self._num_nodes = 0

    def steps(self) -> Steps:
        """Return all steps, with every folder ended."""
        return [*self._steps, *(None for _ in self._open)]

    def add(self, info: tarfile.TarInfo, data: bytes) -> None:
        folder, _, name = info.name.rpartition("/")
        while self._open and self._open[-1][0] != folder:
            self._open.pop()
            self._steps.append(None)
        if self._num_nodes and not self._open:
            raise ValueError(f"{info.name[:200]!r} lies in no folder that comes just before it")
        if self._open:
            if name in ("", ".", "..") or "\0" in name or len(name.encode("utf-8", "surrogateescape")) > 255:
                raise ValueError(f"{info.name[:200]!r} is no path inside a layer")
            if name <= self._open[-1][1]:
                raise ValueError(f"{info.name[:200]!r} is there twice, or out of order")
            self._open[-1] = folder, name
        node = self._node(name if self._open else "", info, data)
        if node.kind == "dir":
            self._open.append((info.name, ""))
        elif not self._open:
            raise ValueError(f"layer {self.name} is no folder")
        elif node.kind in ("file", "symlink"):
            self._files[info.name] = self._num_nodes
        if len(self._open) > MAX_DEPTH:
            raise ValueError(f"{info.name[:200]!r} is nested deeper than {MAX_DEPTH}")
        self._steps.append(node)
        self._num_nodes += 1

    def _node(self, name: str, info: tarfile.TarInfo, data: bytes) -> Node:
        if info.ischr() and (info.devmajor, info.devminor) == (0, 0):
            return Node(name, "gone")
        if info.islnk():
            if info.linkname not in self._files:
                raise ValueError(f"{info.name[:200]!r} is a link to {info.linkname[:200]!r}, no file before it")
            return Node(name, "link", size=self._files[info.linkname])
        if not 0 <= info.mode <= 0o7777:
            raise ValueError(f"{info.name[:200]!r} has the mode {info.mode:o}")
        mtime_ns, attributes = _mtime_ns(info), _attributes(info)
        if info.isdir():
            opaque = info.pax_headers.get(_OPAQUE) == "y"
            return Node(name, "dir", info.mode, mtime_ns, opaque=opaque, attributes=attributes)
        if info.issym() and info.linkname and "\0" not in info.linkname:
            return Node(name, "symlink", 0o777, mtime_ns, target=info.linkname)
        if not info.isreg():
            raise ValueError(f"{info.name[:200]!r} is of type {info.type!r}; only files, folders and links are taken")
        return Node(name, "file", info.mode, mtime_ns, info.size, _stretches(info, data), attributes=attributes)


def _stretches(info: tarfile.TarInfo, data: bytes) -> tuple[tuple[int, bytes], ...]:
    """Return what is not zero of a file, without making its holes."""
    if not 0 <= info.size <= MAX_FILE_BYTES:
        raise ValueError(f"{info.name[:200]!r} has {info.size} bytes; at most {MAX_FILE_BYTES} are taken")
    found: list[tuple[int, bytes]] = []
    place, end = info.offset_data, 0
    table = [(0, info.size)] if info.sparse is None else cast(list[tuple[int, int]], info.sparse)
    for offset, size in table:
        if size == 0:
            continue
        if offset < end or offset % 4096 or size < 0 or offset + size > info.size or place + size > len(data):
            raise ValueError(f"{info.name[:200]!r} has a table of holes that makes no sense")
        found += sparse(data[place : place + size], offset=offset)
        place, end = place + size, offset + size
    return tuple(found)


def _mtime_ns(info: tarfile.TarInfo) -> int:
    try:
        mtime_ns = int(Decimal(info.pax_headers["mtime"]) * 10**9)
    except (KeyError, InvalidOperation, OverflowError, ValueError):
        raise ValueError(f"{info.name[:200]!r} has no time in its extended header") from None
    if abs(mtime_ns) >= 2**62:
        raise ValueError(f"{info.name[:200]!r} has a time that is out of range")
    return mtime_ns


def _attributes(info: tarfile.TarInfo) -> dict[str, bytes]:
    attributes = {}
    for key, value in info.pax_headers.items():
        name = key.removeprefix(_ATTRIBUTE)
        if key == name or (key == _OPAQUE and info.isdir()):
            continue
        if not name.startswith("user.") or name.startswith("user.overlay."):
            raise ValueError(f"{info.name[:200]!r} has the attribute {name[:100]!r}; only those of users are taken")
        attributes[name] = value.encode("utf-8", "surrogateescape")
    return attributes
