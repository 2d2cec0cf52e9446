"""Twin trees for a request: same shape, other answers, each one nastier than the one before."""

from __future__ import annotations

# sound everywhere, in: outputs and paths of our own
# sound everywhere, int: the request's own bound, and modes of a list
# sound everywhere, endswith: paths of our own trees
import calendar

import numpy as np

from polyathlon import Entry, Tree
from polyathlon.errors import TaskError
from polyathlon_domains.terminal._requests import MODES, Atom, Request, answer, matches

NUM_TWINS = 4
DAY_S = 86_400
NUM_LINES = 60
WORDS = (
    "alpha",
    "bison",
    "cedar",
    "delta",
    "ember",
    "fjord",
    "grain",
    "heron",
    "inlet",
    "jetty",
    "kiosk",
    "lemon",
    "maple",
    "north",
    "ocean",
    "prism",
)
PLACES = ("docs", "src", "data", "logs", "etc", "lib", "web", "old")
SUFFIXES = ("log", "txt", "csv", "cfg", "md", "py", "sh", "bak", "tmp", "dat")
_ODD = ("two words", "line\nbreak", "-dash", "star*", 'quo"te', "tab\there")
_MAX_TRIES = 200


def twins(request: Request, rng: np.random.Generator) -> tuple[Tree, ...]:
    """Return four trees on which `request` has four different answers.

    In the first, only the first half of the atoms tells files apart; the second has every atom, and values right at
    the bounds; the third has directories named like files, and hidden files; the fourth has all of that and, where the
    request says so, odd names. No answer equals that of a request with all atoms left out or, from the second tree on,
    with one left out: a command that ignores part of the request matches fewer trees, one that ignores it all, none.

    Raises:
        TaskError: no such trees were found.

    """
    trees: list[Tree] = []
    seen: set[tuple[str, ...]] = set()
    for place in range(NUM_TWINS):
        for _ in range(_MAX_TRIES):
            tree = _Grower(request, place, rng).grow()
            wanted = answer(request, matches(request, tree))
            if wanted not in seen and wanted not in _lazy_answers(request, tree, place):
                break
        else:
            raise TaskError(f"no twin tree {place} for {request}")
        seen.add(wanted)
        trees.append(tree)
    return tuple(trees)


def _lazy_answers(request: Request, tree: Tree, place: int) -> set[tuple[str, ...]]:
    bare = Request(request.place, (), request.want)
    everywhere = Request(".", (), request.want)
    lazy = {answer(request, matches(each, tree)) for each in (bare, everywhere)}
    lazy |= {answer(request, [])}
    if request.place != ".":
        moved = Request(".", tuple(atom for atom in request.atoms if atom.about != "depth"), request.want)
        lazy.add(answer(request, matches(moved, tree)))
    active = _num_active(request, place)
    return lazy | {answer(request, matches(request, tree, without=left_out)) for left_out in range(active)}


def _num_active(request: Request, place: int) -> int:
    return (len(request.atoms) + 1) // 2 if place == 0 else len(request.atoms)


class _Dice:
    """Small draws from one generator, taken from it in bulk: one by one they would cost more than the tree."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.shares: list[float] = []

    def share(self) -> float:
        """Return a number in [0, 1)."""
        if not self.shares:
            self.shares = self.rng.random(512).tolist()
        return self.shares.pop()

    def whole(self, low: int, high: int) -> int:
        """Return a whole number in [low, high)."""
        return low + int(self.share() * (high - low))


class _Grower:
    """Grows one tree: files that match, files that miss by one atom, files outside the place, and strays."""

    def __init__(self, request: Request, place: int, rng: np.random.Generator) -> None:
        self.request, self.dice, self.place = request, _Dice(rng), place
        self.entries: dict[str, Entry] = {}
        self.pool = _pool(request, rng)
        self.bounds, self.folders, self.odd = place >= 1, place >= 2, place == NUM_TWINS - 1 and request.odd

    def grow(self) -> Tree:
        atoms = self.request.atoms
        num_active = _num_active(self.request, self.place)
        every = [True] * len(atoms)
        # among many matches the largest or newest hardly ever depends on each of the atoms
        most = 5 if self.request.want in ("largest", "newest") else 24
        for _ in range(self.dice.whole(most // 5, most)):
            self._add(every, inside=True)
        for missed in range(num_active):
            for _ in range(self.dice.whole(1, 4)):
                self._add([index != missed for index in range(len(atoms))], inside=True)
        if self.request.place != ".":
            for _ in range(self.dice.whole(1, 4)):
                self._add(every, inside=False)
        for _ in range(self.dice.whole(1, 4)):
            truths = [index >= num_active or self.dice.share() < 0.5 for index in range(len(atoms))]
            self._add(truths, inside=True)
        if self.folders:
            for _ in range(2):
                self._add_folder(every)
        return Tree(self.entries)

    def _add(self, truths: list[bool], *, inside: bool) -> None:
        path = self._path(truths, inside=inside)
        size = self._size(truths)
        mode, mtime_s = self._mode(truths), self._mtime_s(truths)
        self.entries[path] = Entry("file", mode, self._data(size, truths), mtime_s)

    def _add_folder(self, truths: list[bool]) -> None:
        path = self._path(truths, inside=True)
        self.entries[path] = Entry("dir", 0o755 | self._mode(truths), b"", self._mtime_s(truths))

    def _asked(self, about: str, truths: list[bool]) -> tuple[Atom | None, bool]:
        """Return the atom about something, and whether its own test (negation undone) is to hold."""
        for atom, truth in zip(self.request.atoms, truths, strict=True):
            if atom.about == about:
                return atom, truth is not atom.negated
        return None, True

    def _pick(self, *items: str) -> str:
        return items[self.dice.whole(0, len(items))]

    def _path(self, truths: list[bool], *, inside: bool) -> str:
        depth_atom, shallow = self._asked("depth", truths)
        for _ in range(_MAX_TRIES):
            deep = self.dice.share() < 0.6 if depth_atom is None else not shallow
            parts = [] if self.request.place == "." else [self.request.place]
            if not inside:
                others = [place for place in PLACES if place != self.request.place]
                parts = [] if self.dice.share() < 0.3 else [self._pick(*others)]
            if deep:
                parts += [self._pick(*WORDS[:4])] + ([self._pick(*WORDS[4:8])] if self.dice.share() < 0.5 else [])
            path = "/".join([*parts, self._name(truths)])
            if path not in self.entries and not any(other.startswith(f"{path}/") for other in self.entries):
                return path
        raise TaskError(f"no free name for {self.request}")

    def _name(self, truths: list[bool]) -> str:
        atom, asked = self._asked("name", truths)
        middle = f"{self._pick(*WORDS)[: self.dice.whole(1, 6)]}{self.dice.whole(0, 100)}"
        if self.odd and self.dice.share() < 0.5:
            middle = self._pick(*_ODD) + middle
        if atom is None:
            dot = "." if self.folders and self.dice.share() < 0.15 else ""
            return f"{dot}{middle}.{self._pick(*SUFFIXES)}"
        start, _, end = self._pick(*atom.value).partition("*")
        if asked:
            return f"{start}{middle}{end}"
        for _ in range(_MAX_TRIES):
            slip = self._pick("end", "start", "tail", "both")
            other_end = f".{self._pick(*SUFFIXES)}"
            name = {
                "end": f"{start}{middle}{other_end}",
                "start": f"{middle}{end}",
                "tail": f"{start}{middle}{end}.{self._pick('gz', 'old', '1')}",
                "both": f"{middle}{other_end}",
            }[slip]
            if not atom.holds(name, Entry(), ".") is not atom.negated:
                return name
        raise TaskError(f"every name matches {atom}")

    def _size(self, truths: list[bool]) -> int:
        atom, asked = self._asked("size", truths)
        if atom is None:
            return self.dice.whole(0, 260)
        bound = int(atom.value[1])
        bigger = asked if atom.value[0] == "over" else not asked
        if self.bounds and self.dice.share() < 0.4:
            strict = (1, 0) if atom.value[0] == "over" else (0, -1)
            return bound + strict[0 if bigger else 1]
        gap = self.dice.whole(2, 120)
        return bound + gap if bigger else max(bound - gap, 0)

    def _mtime_s(self, truths: list[bool]) -> int:
        atom, asked = self._asked("time", truths)
        if atom is None:
            return 1_650_000_000 + self.dice.whole(0, 700) * DAY_S + self._second()
        year, month, day = map(int, atom.value[1].split("-"))
        bound = calendar.timegm((year, month, day, 0, 0, 0))
        later = asked if atom.value[0] == "since" else not asked
        days = 0 if self.bounds and self.dice.share() < 0.5 else self.dice.whole(1, 200)
        return (bound + days * DAY_S if later else bound - (days + 1) * DAY_S) + self._second()

    def _second(self) -> int:
        return self.dice.whole(60, DAY_S - 60)

    def _mode(self, truths: list[bool]) -> int:
        atom, asked = self._asked("mode", truths)
        mode = int(self._pick("420", "384", "493", "436", "416", "448"))
        if atom is None:
            return mode
        bit = MODES[atom.value[0]][0]
        return mode | bit if asked else mode & ~bit

    def _data(self, size: int, truths: list[bool]) -> bytes:
        atom, asked = self._asked("word", truths)
        data = ""
        if atom is not None:
            near = f"{atom.value[0]}s" if self.bounds else self.pool[0].split()[0]
            data = f"{atom.value[0] if asked else near} {self.dice.whole(1, 90)}\n"
            size = max(size, len(data) + 1)
        place = self.dice.whole(0, len(self.pool))
        while len(data) < size:
            line = self.pool[place % len(self.pool)]
            left = size - len(data)
            data += line if len(line) <= left else "." * (left - 1) + "\n"
            place += 1
        return data.encode("ascii")


def _pool(request: Request, rng: np.random.Generator) -> list[str]:
    """Return lines such as "cedar 17 heron": no word in them is one that `request` looks for."""
    banned = [atom.value[0] for atom in request.atoms if atom.about == "word"]
    words = [word for word in WORDS if word not in banned]
    picks = rng.integers(0, len(words), (NUM_LINES, 2)).tolist()
    numbers = rng.integers(1, 400, NUM_LINES).tolist()
    return [f"{words[one]} {number} {words[two]}\n" for (one, two), number in zip(picks, numbers, strict=True)]
