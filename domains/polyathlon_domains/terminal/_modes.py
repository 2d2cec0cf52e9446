"""A policy of modes: ordered rules over paths, worded, compiled to bash, and applied in Python."""

from __future__ import annotations

# sound everywhere, endswith: folders end with a slash
import fnmatch
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from polyathlon import Json
from polyathlon.canonical import expect_int, expect_list, expect_map, expect_text

Order = Literal["last", "first"]
Kind = Literal["dir", "file"]


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule: paths of `kind`, at or below `under` ("" is everywhere), whose last name matches `glob`, get `mode`.

    A rule with `path` is about that one path.
    """

    kind: Kind
    mode: int
    under: str = ""
    glob: str = "*"
    path: str = ""

    def about(self, path: str, kind: str) -> bool:
        if self.path:
            return path == self.path
        inside = not self.under or path == self.under or path.startswith(f"{self.under}/")
        return kind == self.kind and inside and fnmatch.fnmatchcase(path.rsplit("/", 1)[-1], self.glob)

    def worded(self, mode: str) -> str:
        if self.path:
            return f"the {'directory' if self.kind == 'dir' else 'file'} {self.path}: {mode}"
        if self.kind == "dir":
            return (
                f"{f'directory {self.under} and every directory below it' if self.under else 'every directory'}: {mode}"
            )
        named = "" if self.glob == "*" else f" named {self.glob}"
        return f"every file{named}{f' below {self.under}' if self.under else ''}: {mode}"

    def compiled(self) -> str:
        """Return the bash that carries the rule out; five digits: under four, chmod keeps a folder's setgid."""
        if self.path:
            return f"chmod {self.mode:05o} {shlex.quote(self.path)}"
        named = "" if self.glob == "*" else f" -name {shlex.quote(self.glob)}"
        place = shlex.quote(self.under) if self.under else ". -mindepth 1"
        return f"find {place} -type {self.kind[0]}{named} -exec chmod {self.mode:05o} {{}} +"

    def to_json(self) -> Mapping[str, Json]:
        return {"kind": self.kind, "mode": self.mode, "under": self.under, "glob": self.glob, "path": self.path}


@dataclass(frozen=True, slots=True)
class Policy:
    """Ordered rules; where several are about a path, the last or the first of them decides. One always is."""

    rules: tuple[Rule, ...]
    order: Order

    def mode(self, path: str, kind: str) -> int:
        fitting = [rule.mode for rule in self.rules if rule.about(path, kind)]
        return fitting[-1] if self.order == "last" else fitting[0]

    def compiled(self) -> str:
        """Return a bash script, a line a rule, in the order in which later lines decide."""
        rules = self.rules if self.order == "last" else self.rules[::-1]
        return "\n".join(["chmod -R u+rwX .", *(rule.compiled() for rule in rules)])

    def to_json(self) -> Mapping[str, Json]:
        return {"order": self.order, "rules": [rule.to_json() for rule in self.rules]}

    @classmethod
    def from_json(cls, value: Json) -> Policy:
        row = expect_map(value)
        rules = [_rule(expect_map(each)) for each in expect_list(row["rules"])]
        return cls(tuple(rules), "last" if row["order"] == "last" else "first")


def _rule(row: Mapping[str, Json]) -> Rule:
    kind: Kind = "dir" if row["kind"] == "dir" else "file"
    under, glob, path = expect_text(row["under"]), expect_text(row["glob"]), expect_text(row["path"])
    return Rule(kind, expect_int(row["mode"]), under, glob, path)


@dataclass(frozen=True, slots=True)
class Place:
    """A file or directory: the mode it starts with, and the one that the policy wants."""

    path: str
    kind: Kind
    start: int
    goal: int


def repaired_share(places: Sequence[Place], modes: Mapping[str, int]) -> float:
    """Return the share of wrong places set right, less the share of right ones broken: in [-1, 1]."""
    wrong = [place for place in places if place.start != place.goal]
    right = [place for place in places if place.start == place.goal]
    fixed = sum(modes[place.path] == place.goal for place in wrong)
    broken = sum(modes[place.path] != place.goal for place in right)
    return fixed / len(wrong) - (broken / len(right) if right else 0.0)


_PLAIN_MODES = (0o777, 0o775, 0o770, 0o755, 0o750, 0o700, 0o666, 0o664, 0o660, 0o644, 0o640, 0o600, 0o444, 0o400)


def blind_share(places: Sequence[Place]) -> float:
    """Return the best `repaired_share` of any policy-blind chmod: one mode for all directories, one for all files.

    Among the modes are each goal that occurs, leaving all as it is, and what `a+rX`, `go-w`, `u=rwX,go=rX` do: a
    `chmod -R` of any kind scores no more than this.
    """
    goals = {place.goal for place in places}
    ways = [{place.path: mode for place in places} for mode in sorted({*_PLAIN_MODES, *goals})]
    ways.append({place.path: place.start for place in places})
    ways.append({place.path: place.start & ~0o022 for place in places})
    ways.append({place.path: place.start | 0o444 | _execute(place) for place in places})
    ways.append({place.path: 0o644 | _execute(place) for place in places})
    best = {}
    for kind in ("dir", "file"):
        mine = [place for place in places if place.kind == kind]
        best[kind] = max(ways, key=lambda way, mine=mine: _gain(places, mine, way))  # type: ignore[misc]
    return repaired_share(places, {place.path: best[place.kind][place.path] for place in places})


def _execute(place: Place) -> int:
    return 0o111 if place.kind == "dir" or place.start & 0o111 else 0


def _gain(places: Sequence[Place], mine: Sequence[Place], modes: Mapping[str, int]) -> float:
    chosen = {place.path for place in mine}
    return repaired_share(places, {p.path: modes[p.path] if p.path in chosen else p.start for p in places})
