"""Unified diffs on trees of files: applied exactly, as a whole, or refused with the place that does not fit."""

from __future__ import annotations

import bisect
import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from polyathlon.errors import PatchRefused
from polyathlon.tree import Entry, Tree

if TYPE_CHECKING:
    from unidiff.patch import Hunk as ParsedHunk
    from unidiff.patch import PatchedFile

MAX_CHARS = 2_000_000
MAX_FILES = 200
MAX_HUNKS = 2_000
MAX_SEARCHED_BYTES = 512 * 2**20
"""How much text may be searched for hunks that do not stand where they say."""

_NOWHERE = "/dev/null"
_NOTHING_CHANGED = "Nothing was changed."
_EPOCH = re.compile(r"1970-01-01|1969-12-31")  # how `diff -N` dates a file that is not there
_ESCAPES = {"a": 7, "b": 8, "t": 9, "n": 10, "v": 11, "f": 12, "r": 13, '"': 34, "\\": 92}
_ESCAPE = re.compile(rb"\\([0-7]{3}|.)", re.DOTALL)
_MADE = ("new mode", "new file mode")
_MOVES = ("rename from", "rename to", "copy from", "copy to")
_MODES = {"100644": 0o644, "100755": 0o755}


@dataclass(frozen=True, slots=True)
class Changes:
    """What a patch makes of a tree: the files it writes, whole, and those it removes. Folders stay, even when empty."""

    written: Mapping[str, Entry]
    removed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Hunk:
    """`start` is the line that the old side claims to begin at, from 1. Lines keep their ends."""

    name: str
    start: int
    old: tuple[bytes, ...]
    new: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class _FilePatch:
    """The change of one file. `old` is None for one that it makes, `new` for one that it removes."""

    old: str | None
    new: str | None
    moves: bool
    copies: bool
    mode: int | None
    hunks: tuple[_Hunk, ...]

    @property
    def name(self) -> str:
        return self.new or self.old or ""


def apply_patch(tree: Tree, patch: str) -> Changes:
    """Return what `patch`, a unified diff, makes of `tree`. Of the tree it needs `paths_of(patch)`, and what is above.

    Plain diffs and git's are read: files made, removed, renamed and copied, and their modes, text lines alone. A hunk
    must fit exactly. It may stand elsewhere than it says, if there is just one place where it fits.

    Raises:
        PatchRefused: it does not apply, is no diff, or leaves the workspace; names file, hunk and line.

    """
    now = dict(tree.entries)
    budget = _Budget()
    for file in _read(patch):
        _apply_file(now, file, budget)
    written = {path: entry for path, entry in now.items() if tree.get(path) != entry}
    return Changes(written, tuple(path for path in tree if path not in now))


def paths_of(patch: str) -> tuple[str, ...]:
    """Return every path that `patch` names.

    Raises:
        PatchRefused: it is no diff, or a path leaves the workspace.

    """
    return tuple(sorted({path for file in _read(patch) for path in (file.old, file.new) if path is not None}))


@dataclass(slots=True)
class _Budget:
    left_bytes: int = MAX_SEARCHED_BYTES


def _read(patch: str) -> list[_FilePatch]:
    from unidiff.errors import UnidiffParseError  # only who applies a patch pays for it
    from unidiff.patch import PatchSet

    if len(patch) > MAX_CHARS:
        raise PatchRefused(f"The patch has {len(patch)} characters; at most {MAX_CHARS} are read. {_NOTHING_CHANGED}")
    try:
        patch.encode("utf-8")
    except UnicodeEncodeError as error:
        raise PatchRefused(f"The patch is not Unicode at character {error.start}. {_NOTHING_CHANGED}") from error
    lines = _Lines(patch if patch.endswith("\n") else f"{patch}\n")
    try:
        parsed = PatchSet(lines)
    except (UnidiffParseError, ValueError) as error:
        raise PatchRefused(
            f"The patch is no unified diff at its line {lines.number}: {str(error).strip()[:300]}. {_NOTHING_CHANGED}"
        ) from error
    num_hunks = sum(len(file) for file in parsed)
    if len(parsed) > MAX_FILES or num_hunks > MAX_HUNKS:
        raise PatchRefused(
            f"The patch has {len(parsed)} files and {num_hunks} hunks; at most {MAX_FILES} and {MAX_HUNKS} are read. "
            f"{_NOTHING_CHANGED}"
        )
    if not parsed:
        raise PatchRefused(f"The patch names no file. Begin each with its --- and +++ lines. {_NOTHING_CHANGED}")
    return [_read_file(file) for file in parsed]


@dataclass(slots=True)
class _Lines:
    """The lines of a text, counted as they are taken. They end at line feeds alone."""

    text: str
    number: int = 0

    def __iter__(self) -> Iterator[str]:
        start = 0
        while start < len(self.text):
            end = self.text.index("\n", start) + 1
            self.number += 1
            yield self.text[start:end]
            start = end


def _read_file(parsed: PatchedFile) -> _FilePatch:
    info = [line.rstrip("\n") for line in parsed.patch_info or ()]
    said = {word: line.removeprefix(f"{word} ") for line in info for word in _MADE if line.startswith(f"{word} ")}
    named = {word: line.removeprefix(f"{word} ") for line in info for word in _MOVES if line.startswith(f"{word} ")}
    source, target = _unquoted(parsed.source_file), _unquoted(parsed.target_file)
    if source.startswith(("a/", _NOWHERE)) and target.startswith(("b/", _NOWHERE)):
        source, target = (path if path == _NOWHERE else path[2:] for path in (source, target))
    for word, path in named.items():
        source, target = (_unquoted(path), target) if word.endswith("from") else (source, _unquoted(path))
    name = source if target == _NOWHERE else target
    if parsed.is_binary_file:
        raise PatchRefused(f"{name[:200]}: a binary patch; only lines of text are patched. {_NOTHING_CHANGED}")
    modes = {said.get("new mode"), said.get("new file mode"), parsed.source_mode, parsed.target_mode} - {None}
    if any(mode not in _MODES for mode in modes):
        raise PatchRefused(
            f"{name[:200]}: mode {', '.join(sorted(map(str, modes)))}; a patch makes files of mode 100644 and 100755, "
            f"no links. {_NOTHING_CHANGED}"
        )
    mode = said.get("new mode") or said.get("new file mode")
    missing = source == _NOWHERE or (
        parsed.source_timestamp is not None and bool(_EPOCH.match(parsed.source_timestamp))
    )
    gone = target == _NOWHERE or (parsed.target_timestamp is not None and bool(_EPOCH.match(parsed.target_timestamp)))
    file = _FilePatch(
        old=None if missing else _checked(source),
        new=None if gone else _checked(target),
        moves="rename to" in named,
        copies="copy to" in named,
        mode=None if mode is None else _MODES[mode],
        hunks=tuple(_read_hunk(hunk, number) for number, hunk in enumerate(parsed, 1)),
    )
    made_empty = file.old is None and "new file mode" in said
    if not (file.hunks or file.moves or file.copies or file.mode is not None or made_empty or file.new is None):
        raise PatchRefused(f"{name[:200]}: named, but without a hunk. {_NOTHING_CHANGED}")
    return file


def _read_hunk(parsed: ParsedHunk, number: int) -> _Hunk:
    sides: dict[str, list[bytes]] = {"-": [], "+": []}
    last = ""
    for line in parsed:
        if line.line_type in ("-", "+", " "):
            for side in ("-", "+") if line.line_type == " " else (line.line_type,):
                sides[side].append(line.value.encode("utf-8"))
            last = line.line_type
        elif line.line_type == "\\":
            for side in ("-", "+") if last == " " else (last,):
                if side and sides[side]:
                    sides[side][-1] = sides[side][-1].removesuffix(b"\n")
    name = f"hunk {number} (@@ -{parsed.source_start},{parsed.source_length} @@)"
    return _Hunk(name, parsed.source_start, tuple(sides["-"]), tuple(sides["+"]))


def _apply_file(now: dict[str, Entry], file: _FilePatch, budget: _Budget) -> None:
    old, new = _places(now, file)
    for path in filter(None, (old, new)):
        _check_way(now, path)
    if new is not None and new != old and new in now:
        raise PatchRefused(f"{new}: it is to be made, and is there already. {_NOTHING_CHANGED}")
    before = Entry()
    if old is not None:
        if old not in now:
            raise PatchRefused(f"{old}: there is no such file. {_NOTHING_CHANGED}")
        before = now[old]
        if before.kind != "file":
            raise PatchRefused(f"{old}: it is no regular file, but a {before.kind}. {_NOTHING_CHANGED}")
    data = _apply_hunks(before.data, file, budget)
    if new is None and data:
        raise PatchRefused(f"{old}: it is to be removed, but {len(data)} bytes of it would remain. {_NOTHING_CHANGED}")
    if old is not None and not file.copies and old != new:
        del now[old]
    if new is not None:
        now[new] = replace(before, data=data, mode=before.mode if file.mode is None else file.mode)


def _places(now: Mapping[str, Entry], file: _FilePatch) -> tuple[str | None, str | None]:
    """Return the paths that `file` reads and writes; of two names of one file (`x.orig` and `x`) the one there is."""
    old, new = file.old, file.new
    if old is None or new is None or old == new or file.moves or file.copies:
        if old == new and old not in now and file.hunks and all(not hunk.old for hunk in file.hunks):
            return None, new  # `diff -N` names a file that it makes on both sides
        return old, new
    there = [path for path in (old, new) if path in now]
    if len(there) != 1:
        which = "both are" if there else "neither is"
        raise PatchRefused(f"{old} and {new} are the names of one file, and {which} there. {_NOTHING_CHANGED}")
    return there[0], there[0]


def _check_way(now: Mapping[str, Entry], path: str) -> None:
    names = path.split("/")
    for depth in range(1, len(names)):
        above = "/".join(names[:depth])
        entry = now.get(above)
        if entry is not None and entry.kind != "dir":
            raise PatchRefused(f"{path}: {above} is a {entry.kind}, and no folder to go through. {_NOTHING_CHANGED}")


def _apply_hunks(data: bytes, file: _FilePatch, budget: _Budget) -> bytes:
    lines = [line + b"\n" for line in data.split(b"\n")]
    lines[-1] = lines[-1].removesuffix(b"\n")  # what comes after the last end of a line, mostly nothing
    starts = list(itertools.accumulate(map(len, lines), initial=0))
    if lines[-1] == b"":
        starts.pop()
        lines.pop()
    parts, done, shift = [], 0, 0
    for hunk in file.hunks:
        # a hunk without old lines stands after the line that it names, any other at it
        stated = hunk.start - (1 if hunk.old else 0) + shift
        needle = b"".join(hunk.old)
        position = starts[stated] if 0 <= stated < len(starts) else None
        if position is None or position < done or not _fits(data, needle, position):
            position = _search(data, needle, done, budget) if hunk.old else None
            if position is None:
                raise PatchRefused(f"{file.name}: {hunk.name} {_misfit(lines, hunk, stated)} {_NOTHING_CHANGED}")
            if position < 0:
                raise PatchRefused(
                    f"{file.name}: {hunk.name} does not stand at line {stated + 1}, and fits in more than one other "
                    f"place. Give it more lines of context. {_NOTHING_CHANGED}"
                )
            shift += bisect.bisect_left(starts, position) - stated
        parts += [data[done:position], *hunk.new]
        done = position + len(needle)
    parts.append(data[done:])
    _check_ends(parts, file)
    return b"".join(parts)


def _fits(data: bytes, needle: bytes, position: int) -> bool:
    if not data.startswith(needle, position):
        return False
    return needle.endswith(b"\n") or not needle or position + len(needle) == len(data)


def _search(data: bytes, needle: bytes, start: int, budget: _Budget) -> int | None:
    """Return the one place from `start` on where `needle` stands as whole lines; None when none is, -1 for many."""
    budget.left_bytes -= len(data) - start
    if budget.left_bytes < 0:
        raise PatchRefused(f"Too many hunks do not stand where they say, in files too large. {_NOTHING_CHANGED}")
    if not needle.endswith(b"\n"):  # its last line has no end: it can only be the file's last
        position = len(data) - len(needle)
        whole = position == 0 or (position > 0 and data[position - 1 : position] == b"\n")
        return position if whole and position >= start and data.endswith(needle) else None
    first = start if start == 0 and data.startswith(needle) else data.find(b"\n" + needle, max(0, start - 1)) + 1
    if first == 0 and not (start == 0 and data.startswith(needle)):
        return None
    return first if data.find(b"\n" + needle, first) < 0 else -1


def _misfit(lines: list[bytes], hunk: _Hunk, stated: int) -> str:
    """Return what stands where the hunk should, at the first line that differs."""
    if not hunk.old:
        return f"goes after line {stated}, and the file has {len(lines)} lines."
    for number, wanted in enumerate(hunk.old, stated):
        if not 0 <= number < len(lines):
            return f"does not fit: line {number + 1} should be {_shown(wanted)}, and the file has {len(lines)} lines."
        if lines[number] != wanted:
            return f"does not fit: line {number + 1} should be {_shown(wanted)}, and is {_shown(lines[number])}."
    return "does not fit: it overlaps the hunk before it." if stated >= 0 else "does not fit anywhere."


def _check_ends(parts: list[bytes], file: _FilePatch) -> None:
    """Refuse a patch that would join two lines: one of its lines without an end is not the file's last."""
    whole = [part for part in parts if part]
    if any(not part.endswith(b"\n") for part in whole[:-1]):
        raise PatchRefused(f"{file.name}: a line without its end would stand before another. {_NOTHING_CHANGED}")


def _shown(line: bytes) -> str:
    return repr(line.decode("utf-8", errors="backslashreplace")[:120])


def _unquoted(path: str) -> str:
    """Return a path as it is, without the quotes and escapes that git gives to one of unusual characters."""
    if not (len(path) > 1 and path.startswith('"') and path.endswith('"')):
        return path
    data = _ESCAPE.sub(
        lambda match: bytes(
            [int(match[1], 8) & 255 if len(match[1]) == 3 else _ESCAPES.get(match[1].decode("latin-1"), 63)]
        ),
        path[1:-1].encode("utf-8"),
    )
    return data.decode("utf-8", errors="surrogateescape")


def _checked(path: str) -> str:
    try:
        Tree.of({path: b""})
    except ValueError as error:
        raise PatchRefused(f"{str(error)[:300]} {_NOTHING_CHANGED}") from error
    if len(path) > 1000:
        raise PatchRefused(f"{path[:100]}...: a path of {len(path)} characters. {_NOTHING_CHANGED}")
    return path
