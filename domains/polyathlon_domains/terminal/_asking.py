"""Requests drawn and put into words."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from polyathlon_domains.terminal._requests import MODES, Atom, Request, day_of
from polyathlon_domains.terminal._twins import DAY_S, PLACES, SUFFIXES, WORDS

TEMPLATES = ("Bash one-liner: {ask}.", "One bash command: {ask}.", "In bash, {ask}.")
ASKS = {
    "paths": ("print the paths, any order, of files {which}", "list files {which}, a path a line, any order"),
    "count": ("count the files {which}", "print how many files lie {which}"),
    "bytes": ("print the total bytes of the files {which}",),
    "lines": ("print the total number of lines of the files {which}",),
    "largest": ("print the size in bytes of the largest file {which}",),
    "newest": ("print the date (YYYY-MM-DD, UTC) of the newest file {which}",),
    "folders": ("print how many directories directly hold a file {which}",),
    "distinct": ("print how many different lines occur in the files {which}",),
    "column": ("print the sum of column 2 (integers, blank-separated) over the files {which}",),
}
ODD_PATHS = "print the NUL-terminated paths, any order, of files {which}"
TOTALS = tuple(want for want in ASKS if want not in ("paths", "count"))
# (kinds of atoms, how many, chance of a negation, what to print, odd names?, banned words) a level
_LEVELS: tuple[tuple[tuple[str, ...], tuple[int, int], float, tuple[str, ...], bool, tuple[str, ...]], ...] = (
    (("size", "size", "time", "name"), (1, 1), 0.0, ("paths", "count"), False, ("",)),
    (("name", "size", "time", "mode"), (2, 2), 0.0, ("paths", "count"), False, ("",)),
    (("name", "size", "time", "mode", "depth"), (3, 3), 0.5, ("paths", "count"), True, ("",)),
    (("name", "size", "time", "mode", "word"), (2, 3), 0.4, TOTALS, True, ("",)),
    (("name", "size", "time", "mode", "word", "depth"), (3, 4), 0.4, TOTALS, True, ("find", "awk", "|")),
)


def draw_request(rng: np.random.Generator, level: int) -> Request:
    """Return a request of `level`."""
    kinds, (fewest, most), negation, wants, odd, bans = _LEVELS[level]
    wanted = int(rng.integers(fewest, most + 1))
    abouts: list[str] = []
    while len(abouts) < wanted:
        about = kinds[int(rng.integers(len(kinds)))]
        if about not in abouts and (abouts or about not in ("mode", "depth")):
            abouts.append(about)
    atoms = [_draw_atom(rng, about, negation=negation, wide=level >= 2) for about in abouts]
    want, ban = wants[int(rng.integers(len(wants)))], bans[int(rng.integers(len(bans)))]
    if ban == "awk":
        want = ("bytes", "column")[int(rng.integers(2))]
    if want == "folders" and "depth" in abouts:
        want = "lines"
    atoms = [_told_apart(atom, want) for atom in atoms]
    place = "." if level > 0 and rng.random() < 0.25 else PLACES[int(rng.integers(len(PLACES)))]
    return Request(place, tuple(atoms), want, odd, ban)


def word_request(request: Request, rng: np.random.Generator) -> str:
    """Return `request` in words drawn from `rng`."""
    asks = (ODD_PATHS,) if request.want == "paths" and request.odd else ASKS[request.want]
    ask = asks[int(rng.integers(len(asks)))].format(which=_which(request))
    prompt = TEMPLATES[int(rng.integers(len(TEMPLATES)))].format(ask=ask)
    if request.ban:
        prompt += f" The command may not contain {request.ban}"
        prompt += " anywhere."
    if request.odd:
        prompt += " Odd names occur."
    return prompt


def _draw_atom(rng: np.random.Generator, about: str, *, negation: float, wide: bool) -> Atom:
    value: tuple[str, ...] = ()
    if about == "name":
        globs = [_draw_glob(rng) for _ in range(2 if wide and rng.random() < 0.3 else 1)]
        value = tuple(dict.fromkeys(globs))
    elif about == "size":
        value = (("over", "under")[int(rng.integers(2))], str(int(rng.integers(60, 1000))))
    elif about == "time":
        sign = ("since", "before")[int(rng.integers(2))]
        value = (sign, day_of(1_640_995_200 + int(rng.integers(0, 1200)) * DAY_S))
    elif about == "mode":
        value = ([*MODES][int(rng.integers(len(MODES)))],)
    elif about == "word":
        value = (WORDS[int(rng.integers(len(WORDS)))],)
    negatable = about in ("name", "mode", "word")
    return Atom(about, value, negated=negatable and bool(rng.random() < negation))


def _told_apart(atom: Atom, want: str) -> Atom:
    """Return `atom`, turned where an extreme would not notice it: the newest file is never told apart by a "since"."""
    if (atom.about, want) == ("time", "newest"):
        return replace(atom, value=("before", atom.value[1]))
    if (atom.about, want) == ("size", "largest"):
        return replace(atom, value=("under", atom.value[1]))
    return atom


def _draw_glob(rng: np.random.Generator) -> str:
    letters = "".join("abcdefghijklmnopqrstuvwxyz"[int(place)] for place in rng.integers(0, 26, 2))
    return f"{letters}*.{SUFFIXES[int(rng.integers(len(SUFFIXES)))]}"


def _which(request: Request) -> str:
    shallow = any(atom.about == "depth" for atom in request.atoms)
    under = f"directly in {request.place}" if shallow else f"under {request.place}"
    conditions = [_worded(atom) for atom in request.atoms if atom.about != "depth"]
    return f"{under} {' and '.join(conditions)}"


def _worded(atom: Atom) -> str:
    text = {
        "name": f"named {' or '.join(atom.value)}",
        "size": f"{atom.value[0]} {atom.value[-1]} bytes",
        "time": f"modified {atom.value[0]} {atom.value[-1]} UTC",
        "mode": MODES.get(atom.value[0], (0, ""))[1],
        "word": f"containing the word {atom.value[0]}",
    }[atom.about]
    return f"not {text}" if atom.negated else text
