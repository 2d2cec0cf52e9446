"""A tree of files as a value: what a workspace starts from, and what a verifier reads at the end."""

from __future__ import annotations

import hashlib
import io
import itertools
import os
import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from polyathlon.canonical import Json, canonical_json

MAX_TAR_BYTES = 1 << 30
MAX_TAR_ENTRIES = 100_000


@dataclass(frozen=True, slots=True)
class Entry:
    """One path of a tree. `mode` is the permission bits (0o7777); `data` is a file's bytes or a symlink's target.

    `mtime_s` is whole seconds since the epoch; it takes no part in the digest.
    """

    kind: Literal["file", "dir", "symlink", "other"] = "file"
    mode: int = 0o644
    data: bytes = b""
    mtime_s: int = 0

    def text(self) -> str:
        """Return the bytes as UTF-8 text, undecodable bytes replaced: never raises."""
        return self.data.decode("utf-8", errors="replace")


@dataclass(frozen=True, slots=True)
class Tree:
    """Entries by path, relative to the workspace's root: "src/main.c", never "/x", "./x" or "a/../b"."""

    entries: Mapping[str, Entry] = field(default_factory=dict)

    @classmethod
    def of(cls, files: Mapping[str, str | bytes | Entry]) -> Tree:
        """Return a tree of `files`; text is encoded as UTF-8. Parents need not be named.

        Raises:
            ValueError: a path is absolute, empty, or leaves the root.

        """
        entries: dict[str, Entry] = {}
        for path, content in files.items():
            _check_path(path)
            if isinstance(content, str):
                content = content.encode("utf-8")
            entries[path] = content if isinstance(content, Entry) else Entry(data=content)
        return cls(entries)

    def __contains__(self, path: str) -> bool:
        return path in self.entries

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self.entries))

    def __len__(self) -> int:
        return len(self.entries)

    def get(self, path: str) -> Entry | None:
        return self.entries.get(path)

    def text(self, path: str) -> str | None:
        """Return the text of the regular file at `path`, or None when there is no such regular file."""
        entry = self.entries.get(path)
        return entry.text() if entry is not None and entry.kind == "file" else None

    def with_files(self, files: Mapping[str, str | bytes | Entry]) -> Tree:
        """Return this tree with `files` added or replaced."""
        return Tree({**self.entries, **Tree.of(files).entries})

    def without(self, *paths: str) -> Tree:
        """Return this tree less `paths` and all that lies below them."""
        gone = tuple(f"{path}/" for path in paths)
        return Tree({p: e for p, e in self.entries.items() if p not in paths and not p.startswith(gone)})

    @classmethod
    def from_tar(cls, data: bytes, *, max_bytes: int = MAX_TAR_BYTES, max_entries: int = MAX_TAR_ENTRIES) -> Tree:
        """Return the tree in a tar that nobody vouches for. Owners are not read; a hard link becomes a file of its own.

        `max_bytes` bounds the files in sum, hard links counted each time.

        Raises:
            ValueError: it is no whole, uncompressed tar, is too large, or has an entry that no tree may have: a path
                out of it, a link out of it, a path below a link or a file, one path twice, a device, a pipe, a file
                with holes.

        """
        reading = _Reading(max_bytes)
        try:
            with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as archive:
                for number, member in enumerate(archive):
                    if number >= max_entries:
                        raise ValueError(f"The archive has more than {max_entries} entries.")
                    reading.take(archive, member)
        except (tarfile.TarError, EOFError, OverflowError, RecursionError) as error:
            raise ValueError(f"The archive is no whole, uncompressed tar: {error}.") from error
        return cls(reading.entries)

    def to_tar(self) -> bytes:
        """Return this tree as a tar: equal trees with equal times, equal bytes.

        Raises:
            ValueError: it has an entry of kind "other", which no archive can hold.

        """
        kinds = {"file": tarfile.REGTYPE, "dir": tarfile.DIRTYPE, "symlink": tarfile.SYMTYPE}
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w:", format=tarfile.PAX_FORMAT) as archive:
            for path, entry in sorted(self.entries.items()):
                if entry.kind not in kinds:
                    raise ValueError(f"{path!r} is of kind {entry.kind!r}; an archive holds files, folders and links.")
                member = tarfile.TarInfo(path)
                member.type, member.mode, member.mtime = kinds[entry.kind], entry.mode, entry.mtime_s
                if entry.kind == "symlink":
                    member.linkname = os.fsdecode(entry.data)
                else:
                    member.size = len(entry.data)
                archive.addfile(member, io.BytesIO(entry.data))
        return out.getvalue()

    def digest(self) -> str:
        """Return the SHA-256 over paths, kinds, modes and contents: equal trees, equal digests."""
        rows: Json = [
            [path, entry.kind, entry.mode, hashlib.sha256(entry.data).hexdigest()]
            for path, entry in sorted(self.entries.items())
        ]
        return hashlib.sha256(canonical_json(rows).encode("ascii")).hexdigest()


@dataclass(slots=True)
class _Reading:
    """What has been read of a tar. `above` are the folders that hold something, named in it or not."""

    left_bytes: int
    entries: dict[str, Entry] = field(default_factory=dict)
    above: set[str] = field(default_factory=set)

    def take(self, archive: tarfile.TarFile, member: tarfile.TarInfo) -> None:
        path = _plain(member.name)
        if path == "" and member.isdir():
            return  # the top itself
        _check_path(path)
        entry = self._read(archive, member, path)
        if path in self.entries:
            raise ValueError(f"{path!r} is there twice.")
        if entry.kind != "dir" and path in self.above:
            raise ValueError(f"{path!r} is no folder, and something lies below it.")
        for folder in _above(path):
            if folder in self.entries and self.entries[folder].kind != "dir":
                raise ValueError(f"{path!r} lies below {folder!r}, which is no folder.")
            self.above.add(folder)
        self.entries[path] = entry
        self.left_bytes -= len(entry.data)

    def _read(self, archive: tarfile.TarFile, member: tarfile.TarInfo, path: str) -> Entry:
        mode, mtime_s = member.mode & 0o7777, int(member.mtime)
        if member.isdir():
            return Entry("dir", mode, b"", mtime_s)
        if member.issym():
            _check_link(path, member.linkname)
            return Entry("symlink", mode, os.fsencode(member.linkname), mtime_s)
        if member.islnk():
            first = self.entries.get(_plain(member.linkname))
            if first is None or first.kind != "file":
                raise ValueError(f"{path!r} is a hard link to {member.linkname[:200]!r}, which is no file before it.")
            self._make_room(path, len(first.data))
            return first
        if not member.isreg() or member.issparse():
            raise ValueError(f"{path!r} is a device, a pipe or a file with holes; a tree has files, folders and links.")
        self._make_room(path, member.size)
        file = archive.extractfile(member)
        content = b"" if file is None else file.read()
        if len(content) != member.size:
            raise ValueError(f"{path!r} should have {member.size} bytes, and the archive ends before.")
        return Entry("file", mode, content, mtime_s)

    def _make_room(self, path: str, num_bytes: int) -> None:
        if num_bytes > self.left_bytes:
            raise ValueError(f"{path!r}: the files of the archive are too large in sum.")


def _plain(path: str) -> str:
    """Return a path of a tar without its "./"."""
    return "/".join(part for part in path.split("/") if part != ".")


def _above(path: str) -> Iterator[str]:
    """Yield the folders above `path`, the nearest first."""
    while path := path.rpartition("/")[0]:
        yield path


def _check_link(path: str, target: str) -> None:
    """Refuse a link that leaves the tree, whatever else is a link in it: ".." may only stand at its start."""
    parts = target.split("/")
    climbs = sum(1 for _ in itertools.takewhile(lambda part: part in ("..", "."), parts))
    height = sum(part == ".." for part in parts[:climbs])
    if not target or "\0" in target or target.startswith("/") or ".." in parts[climbs:] or height > path.count("/"):
        raise ValueError(f"{path!r} is a link to {target[:200]!r}, which may leave the tree.")


def _check_path(path: str) -> None:
    parts = path.split("/")
    if path.startswith("/") or "\0" in path or any(part in ("", ".", "..") for part in parts):
        raise ValueError(f"{path!r} is no path inside a workspace. Write it relative, without '.', '..' or '//'.")
