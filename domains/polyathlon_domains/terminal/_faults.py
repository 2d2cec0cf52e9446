"""Faults of Makefiles: where one does harm, and what it does to rebuilds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from polyathlon import Json
from polyathlon.canonical import expect_list, expect_map, expect_text
from polyathlon_domains.terminal._build import INDEX, Needs, Project, rebuilt

Style = Literal["explicit", "patterns", "variables"]
STYLES: tuple[Style, ...] = ("explicit", "patterns", "variables")
PATTERNS = {
    "generated": "gen/%.inc: conf/%.conf",
    "page": "build/%.page: src/%.txt",
    "table": "build/%.tbl: data/%.csv",
}
MAX_TOUCHES = 5


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing wrong with the Makefile, at a target; `other` is the prerequisite it is about, where there is one."""

    kind: str
    target: str
    other: str = ""

    def to_json(self) -> Mapping[str, Json]:
        return {"kind": self.kind, "target": self.target, "other": self.other}


LOUD = (
    "spaces",
    "own-output",
    "first-only",
    "no-directory",
    "wrong-file",
    "typo",
    "pattern",
    "self-reference",
    "late-list",
)
"""The clean build fails, or gives wrong outputs."""
SILENT = ("missing", "extra", "directory-newer", "phony-file", "newer-only", "append")
"""The clean build is right; what is rebuilt after a change is not."""


def faults_from_json(value: Json) -> tuple[Fault, ...]:
    rows = [expect_map(row) for row in expect_list(value)]
    return tuple(Fault(*(expect_text(row[key]) for key in ("kind", "target", "other"))) for row in rows)


def kind_of(target: str) -> str:
    """Return what makes `target`: "generated", "page", "table", "index" or "join"."""
    if target == INDEX:
        return "index"
    kinds = {"inc": "generated", "page": "page", "tbl": "table"}
    return kinds.get(target.rpartition(".")[2], "join")


def draw_fault(rng: np.random.Generator, project: Project, style: Style, kind: str) -> Fault | None:
    """Return a fault of `kind` at a place where it does harm, or None where the project has none."""
    needs, pages = project.needs(), [*project.pages]
    joins = [path for path, members in project.joins.items() if len(members) > 1]
    fragments = [path for path in project.includes if path.startswith("inc/")]
    included = [(page, path) for page in pages for path in needs[page][1:]]
    spare = [(page, path) for page in pages for path in fragments if path not in needs[page]]
    patterned = style != "explicit"
    places: dict[str, Sequence[tuple[str, str]]] = {
        "spaces": [(path, "") for path in needs],
        "own-output": [(path, "") for path in (*pages, *project.tables, *project.generated)],
        "first-only": [(path, "") for path in joins],
        "no-directory": [("build", ""), ("dist", "")],
        "wrong-file": [(path, "") for path in (*project.joins, *project.tables)],
        "typo": [("all", "")],
        "pattern": [(path, "") for path in (*pages, *project.tables, *project.generated)] if patterned else [],
        "self-reference": [("all", "")] if style == "variables" else [],
        "late-list": [(project.books[0], "")] if style == "variables" and _differ(project) else [],
        "missing": included,
        "extra": spare,
        "directory-newer": [(path, "") for path in (*pages, *project.tables)],
        "phony-file": [(path, "") for path in (*project.generated, *project.tables)],
        "newer-only": [(path, "") for path in joins],
        "append": [(path, "") for path in (*project.tables, *project.joins)],
    }
    if not places[kind]:
        return None
    target, other = places[kind][int(rng.integers(len(places[kind])))]
    return Fault(kind, target, other)


def _differ(project: Project) -> bool:
    return len({project.joins[book] for book in project.books}) > 1


def right_after_touch(needs: Needs, style: Style, faults: Sequence[Fault], source: str) -> bool:
    """Return whether the Makefile with the silent ones of `faults` does the right thing after `source` changed."""
    written: dict[str, Sequence[str]] = dict(needs)
    always: set[str] = set()
    for fault in faults:
        if fault.kind == "missing":
            written[fault.target] = [path for path in written[fault.target] if path != fault.other]
        elif fault.kind == "extra":
            written[fault.target] = [*written[fault.target], fault.other]
        elif fault.kind == "phony-file":
            always.add(fault.target)
        elif fault.kind == "directory-newer":
            always |= _same_rule(needs, style, fault)
    wanted = rebuilt(needs, {source})
    done = rebuilt(written, {source, *always})
    if done != wanted:
        return False
    for fault in faults:
        if fault.kind == "append" and done & _same_rule(needs, style, fault):
            return False
        stale = fault.target in done  # sound: a set of paths
        if fault.kind == "newer-only" and stale and not set(needs[fault.target]) <= done:
            return False
    return True


def _same_rule(needs: Needs, style: Style, fault: Fault) -> set[str]:
    """Return the targets that the faulty rule makes: all of a kind where it is a pattern."""
    kind = kind_of(fault.target)
    if style == "explicit" or kind not in PATTERNS:
        return {fault.target}
    return {path for path in needs if kind_of(path) == kind}


def draw_faults(
    rng: np.random.Generator,
    project: Project,
    style: Style,
    kinds: Sequence[str],
    wanted: int,
    taken: Sequence[Fault] = (),
) -> list[Fault]:
    """Return up to `wanted` faults, of different kinds but for missing prerequisites, no two at one target."""
    faults: list[Fault] = []
    for place in rng.permutation(len(kinds)).tolist() * 2:
        if len(faults) == wanted:
            break
        again = kinds[place] in {fault.kind for fault in faults} and kinds[place] != "missing"
        fault = None if again else draw_fault(rng, project, style, kinds[place])
        if fault is not None and fault.target not in {other.target for other in (*faults, *taken)}:
            faults.append(fault)
    return faults


def draw_touches(rng: np.random.Generator, project: Project, style: Style, faults: Sequence[Fault]) -> list[str]:
    """Return sources to touch: for each fault one that shows it, then others, at most five, sorted."""
    sources = project.sources()
    sources = [sources[place] for place in rng.permutation(len(sources)).tolist()]
    needs, chosen = project.needs(), list[str]()
    for fault in faults:
        shown = (path for path in sources if not right_after_touch(needs, style, [fault], path))
        chosen += [path for path in [next(shown, None)] if path is not None]
    chosen = list(dict.fromkeys([*chosen, *sources]))[:MAX_TOUCHES]
    return sorted(chosen)


def idle_share(project: Project, style: Style, faults: Sequence[Fault], touches: Sequence[str]) -> float:
    """Return the share of touches that come out right with all silent faults left in, or with everything rebuilt."""
    needs = project.needs()
    left = sum(right_after_touch(needs, style, faults, path) for path in touches)
    everything = sum(rebuilt(needs, {path}) == set(needs) for path in touches)  # sound: sets of paths
    return max(left, everything) / len(touches)
