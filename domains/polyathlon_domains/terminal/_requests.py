"""Requests about a tree of files: one value that is worded, compiled to bash, and answered in Python."""

from __future__ import annotations

# sound everywhere, in: words and paths of our own trees
# sound everywhere, int: the request's own bound
# sound everywhere, endswith: paths of our own trees
import fnmatch
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from polyathlon import Entry, Json, Tree
from polyathlon.canonical import expect_list, expect_map, expect_text

MODES = {
    "u=x": (0o100, "executable by owner"),
    "g=w": (0o020, "writable by group"),
    "o=r": (0o004, "readable by others"),
}
_MODE_GLOBS = {"u=x": "???x*", "g=w": "?????w*", "o=r": "???????r*"}


@dataclass(frozen=True, slots=True)
class Atom:
    """One condition on a file; `about` is what it looks at, `value` what it asks, `negated` turns it round.

    name: one or two globs; size: ("over" | "under", bytes); time: ("since" | "before", UTC day); mode: a key of MODES;
    word: a word that some line holds; depth: nothing, the file lies directly in the place.
    """

    about: str
    value: tuple[str, ...]
    negated: bool = False

    def holds(self, path: str, entry: Entry, place: str) -> bool:
        return self._asks(path, entry, place) is not self.negated

    def _asks(self, path: str, entry: Entry, place: str) -> bool:
        if self.about == "name":
            return any(fnmatch.fnmatchcase(path.rsplit("/", 1)[-1], glob) for glob in self.value)
        if self.about == "size":
            size, bound = len(entry.data), int(self.value[1])
            return size > bound if self.value[0] == "over" else size < bound
        if self.about == "time":
            return (day_of(entry.mtime_s) >= self.value[1]) is (self.value[0] == "since")
        if self.about == "mode":
            return entry.mode & MODES[self.value[0]][0] != 0
        if self.about == "word":
            return self.value[0] in entry.text().split()
        return "/" not in (path if place == "." else path.removeprefix(f"{place}/"))


@dataclass(frozen=True, slots=True)
class Request:
    """What to print (`want`) of the files under `place` for which all `atoms` hold, and the text that is banned.

    `odd` trees hold names with spaces, newlines and leading dashes: paths then end in NUL.
    """

    place: str
    atoms: tuple[Atom, ...]
    want: str
    odd: bool = False
    ban: str = ""

    def to_json(self) -> Mapping[str, Json]:
        atoms: list[Json] = [
            {"about": atom.about, "value": list(atom.value), "negated": atom.negated} for atom in self.atoms
        ]
        return {"place": self.place, "atoms": atoms, "want": self.want, "odd": self.odd, "ban": self.ban}

    @classmethod
    def from_json(cls, value: Json) -> Request:
        row = expect_map(value)
        atoms = []
        for each in map(expect_map, expect_list(row["atoms"])):
            words = tuple(map(expect_text, expect_list(each["value"])))
            atoms.append(Atom(expect_text(each["about"]), words, each["negated"] is True))
        want, place, ban = expect_text(row["want"]), expect_text(row["place"]), expect_text(row["ban"])
        return cls(place, tuple(atoms), want, row["odd"] is True, ban)


def day_of(mtime_s: int) -> str:
    """Return the UTC day of a time in seconds since the epoch, as 2024-03-05."""
    return time.strftime("%Y-%m-%d", time.gmtime(mtime_s))


def matches(request: Request, tree: Tree, *, without: int | None = None) -> list[tuple[str, Entry]]:
    """Return the files of `tree` that `request` asks about, by path; `without` leaves one atom out."""
    atoms = [atom for place, atom in enumerate(request.atoms) if place != without]
    inside = "" if request.place == "." else f"{request.place}/"
    return [
        (path, entry)
        for path, entry in sorted(tree.entries.items())
        if entry.kind == "file"
        and path.startswith(inside)
        and all(atom.holds(path, entry, request.place) for atom in atoms)
    ]


def _column(files: Sequence[tuple[str, Entry]]) -> int:
    cells = [line.split() for _, entry in files for line in entry.text().splitlines()]
    return sum(int(cell[1]) for cell in cells if len(cell) > 1)


ANSWERS: Mapping[str, Callable[[Sequence[tuple[str, Entry]]], str]] = {
    "count": lambda files: str(len(files)),
    "bytes": lambda files: str(sum(len(entry.data) for _, entry in files)),
    "lines": lambda files: str(sum(entry.data.count(b"\n") for _, entry in files)),
    "largest": lambda files: str(max((len(entry.data) for _, entry in files), default=0)),
    "newest": lambda files: day_of(max((entry.mtime_s for _, entry in files), default=0)),
    "folders": lambda files: str(len({path.rpartition("/")[0] for path, _ in files})),
    "distinct": lambda files: str(len({line for _, entry in files for line in entry.text().splitlines()})),
    "column": lambda files: str(_column(files)),
}
"""What is printed as one value, by `want`; "paths" is the list itself."""


def answer(request: Request, files: Sequence[tuple[str, Entry]]) -> tuple[str, ...]:
    """Return what is to be printed about `files`: the sorted paths, or one value."""
    if request.want == "paths":
        return tuple(sorted(path for path, _ in files))
    return (ANSWERS[request.want](files),)


_FOUND = {  # what find does with each file, then the programs after it
    "count": ("-printf x", "wc -c"),
    "bytes": ("-printf '%s\\n'", "awk '{s+=$1}END{print s}'"),
    "lines": ("-exec cat {} +", "wc -l"),
    "largest": ("-printf '%s\\n'", "sort -n", "tail -1"),
    "newest": ("-printf '%TY-%Tm-%Td\\n'", "sort", "tail -1"),
    "folders": ("-printf '%h\\0'", "sort -zu", "tr -cd '\\0'", "wc -c"),
    "distinct": ("-exec cat {} +", "sort -u", "wc -l"),
    "column": ("-exec cat {} +", "awk '{s+=$2}END{print s}'"),
}
_ADDING = {
    "bytes": '{ while read n;do ((s+=n));done;echo "$s";}',
    "column": '{ while read _ n _;do ((s+=n));done;echo "$s";}',
}
_LOOPED = {  # what a loop over "$f" does, then the programs after it
    "paths": ("printf '%s\\n' \"$f\"",),
    "count": ("printf x", "wc -c"),
    "bytes": ('stat -c%s "$f"', _FOUND["bytes"][1]),
    "lines": ('cat "$f"', "wc -l"),
    "largest": ('stat -c%s "$f"', "sort -n", "tail -1"),
    "newest": ('date -r "$f" +%F', "sort", "tail -1"),
    "folders": ("printf '%s\\0' \"${f%/*}\"", "sort -zu", "tr -cd '\\0'", "wc -c"),
    "distinct": ('cat "$f"', "sort -u", "wc -l"),
    "column": ('cat "$f"', _FOUND["column"][1]),
}


def compile_request(request: Request) -> str:
    """Return the reference command: find, then programs in a pipe; or a loop where find is banned."""
    looped = request.ban == "find"
    stages = [_loop(request), *_LOOPED[request.want][1:]] if looped else _search(request)
    if request.ban == "awk" and request.want in _ADDING:
        stages[-1] = _ADDING[request.want]
    if request.ban != "|":
        return "|".join(stages)
    command = stages[0]
    for stage in stages[1:]:
        command = f"{stage} < <({command})"
    return command


def _search(request: Request) -> list[str]:
    depth = ["-maxdepth 1"] if any(atom.about == "depth" for atom in request.atoms) else []
    tests = [_find_test(atom) for atom in request.atoms if atom.about != "depth"]
    command = " ".join(["find", request.place, *depth, "-type f", *tests])
    if request.want == "paths":
        return [f"{command} -print0" if request.odd else command]
    if request.want == "count" and not request.odd:
        return [command, "wc -l"]
    action, *programs = _FOUND[request.want]
    return [f"{command} {action}", *programs]


def _find_test(atom: Atom) -> str:
    first = atom.value[-1]
    if atom.about == "name":
        globs = " -o ".join(f"-name '{glob}'" for glob in atom.value)
        test = f"\\( {globs} \\)" if len(atom.value) > 1 else globs
    elif atom.about == "size":
        test = f"-size {'+' if atom.value[0] == 'over' else '-'}{first}c"
    elif atom.about == "time":
        test = f"-newermt {first}" if atom.value[0] == "since" else f"! -newermt {first}"
    elif atom.about == "mode":
        test = f"-perm -{first}"
    else:
        test = f"-exec grep -qw {first} {{}} \\;"
    return f"! {test}" if atom.negated else test


def _loop(request: Request) -> str:
    stars = "*" if any(atom.about == "depth" for atom in request.atoms) else "**"
    pattern = f"./{stars}" if request.place == "." else f"{request.place}/{stars}"
    atoms = sorted(request.atoms, key=lambda atom: atom.about != "name")  # a test that starts no program goes first
    tests = " && ".join(_loop_test(atom) for atom in atoms if atom.about != "depth")
    action = _LOOPED[request.want][0]
    if request.want == "paths" and request.odd:
        action = "printf '%s\\0' \"$f\""
    return f'shopt -s globstar dotglob;for f in {pattern};do [ -f "$f" ] && {tests} && {action};done'


def _loop_test(atom: Atom) -> str:
    first = atom.value[-1]
    if atom.about == "name":
        test = " || ".join(f"${{f##*/}} == {glob}" for glob in atom.value)
        return f"[[ ! ( {test} ) ]]" if atom.negated else f"[[ {test} ]]"
    if atom.about == "size":
        test = f'(($(stat -c%s "$f"){">" if atom.value[0] == "over" else "<"}{first}))'
    elif atom.about == "time":
        test = f'[[ {"! " if atom.value[0] == "since" else ""}$(date -r "$f" +%F) < {first} ]]'
    elif atom.about == "mode":
        test = f'[[ $(stat -c%A "$f") == {_MODE_GLOBS[first]} ]]'
    else:
        test = f'grep -qw {first} "$f"'
    return f"! {test}" if atom.negated else test
