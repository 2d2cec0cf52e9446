"""A tree of files as a value: what a workspace starts from, and what a verifier reads at the end."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from polyathlon.canonical import Json, canonical_json


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

    def digest(self) -> str:
        """Return the SHA-256 over paths, kinds, modes and contents: equal trees, equal digests."""
        rows: Json = [
            [path, entry.kind, entry.mode, hashlib.sha256(entry.data).hexdigest()]
            for path, entry in sorted(self.entries.items())
        ]
        return hashlib.sha256(canonical_json(rows).encode("ascii")).hexdigest()


def _check_path(path: str) -> None:
    parts = path.split("/")
    if path.startswith("/") or "\0" in path or any(part in ("", ".", "..") for part in parts):
        raise ValueError(f"{path!r} is no path inside a workspace. Write it relative, without '.', '..' or '//'.")
