"""Projects that build texts from texts: what depends on what, and what every output holds."""

from __future__ import annotations

# sound everywhere, endswith: the project's own paths and pages
# sound everywhere, int: the project's own tables
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from polyathlon import Json
from polyathlon.canonical import expect_list, expect_map, expect_text

Needs: TypeAlias = Mapping[str, Sequence[str]]
"""{output: what it is made from}, the main input first."""

INDEX = "dist/index.txt"
INCLUDE = "@include "
TOPICS = (
    *("intro", "setup", "usage", "limits", "backup", "upgrade", "network", "storage", "access", "alerts", "billing"),
    *("errors", "glossary", "history", "install", "layout", "license", "metrics", "quotas", "release", "search"),
)
VERBS = ("check", "restart", "archive", "rotate", "label", "count", "mount", "review", "publish", "freeze")
NOUNS = ("node", "ledger", "folder", "queue", "report", "token", "mirror", "batch", "sensor", "ticket")


@dataclass(frozen=True, slots=True)
class Size:
    """How many of each kind a level has, and whether fragments include fragments."""

    num_pages: int
    num_fragments: int
    num_generated: int
    num_tables: int
    num_parts: int
    num_books: int
    nested: bool


LEVELS = (
    Size(4, 3, 0, 1, 1, 1, nested=False),
    Size(4, 3, 1, 1, 2, 1, nested=False),
    Size(5, 4, 1, 2, 2, 2, nested=False),
    Size(6, 5, 2, 2, 3, 2, nested=True),
    Size(8, 6, 3, 3, 4, 3, nested=True),
)


@dataclass(frozen=True, slots=True)
class Project:
    """A dependency graph by paths.

    `includes`: of each page's source and each fragment, the files that it includes, in order. `generated`: gen/x.inc to
    its conf file. `tables`: build/x.tbl to its csv file. `joins`: parts (of pages and tables) and books (of parts),
    each with its members in order. The index lists the headings of all pages.
    """

    includes: Mapping[str, tuple[str, ...]]
    generated: Mapping[str, str]
    tables: Mapping[str, str]
    joins: Mapping[str, tuple[str, ...]]

    @property
    def pages(self) -> dict[str, str]:
        """{page: its source}, sorted."""
        sources = sorted(path for path in self.includes if path.startswith("src/"))
        return {f"build/{path[4:-4]}.page": path for path in sources}

    @property
    def books(self) -> list[str]:
        return [path for path in self.joins if path.startswith("dist/")]

    def needs(self) -> dict[str, tuple[str, ...]]:
        """Return {output: what it is made from}, the main input first; an output comes after those it is made from."""
        needs: dict[str, tuple[str, ...]] = {path: (conf,) for path, conf in self.generated.items()}
        for page, source in self.pages.items():
            needs[page] = (source, *sorted(self._reached(source)))
        needs |= {path: (csv,) for path, csv in self.tables.items()}
        needs |= self.joins
        return {**needs, INDEX: tuple(self.pages)}

    def _reached(self, path: str) -> set[str]:
        reached: set[str] = set()
        for inner in self.includes.get(path, ()):
            reached |= {inner, *self._reached(inner)}
        return reached

    def sources(self) -> list[str]:
        return sorted([*self.includes, *self.generated.values(), *self.tables.values()])

    def to_json(self) -> dict[str, Json]:
        return {
            "includes": {path: list(inner) for path, inner in self.includes.items()},
            "generated": dict(self.generated),
            "tables": dict(self.tables),
            "joins": {path: list(members) for path, members in self.joins.items()},
        }

    @classmethod
    def from_json(cls, value: Json) -> Project:
        row = expect_map(value)
        return cls(
            _lists(row["includes"]),
            {path: expect_text(conf) for path, conf in expect_map(row["generated"]).items()},
            {path: expect_text(csv) for path, csv in expect_map(row["tables"]).items()},
            _lists(row["joins"]),
        )


def _lists(value: Json) -> dict[str, tuple[str, ...]]:
    return {key: tuple(map(expect_text, expect_list(row))) for key, row in expect_map(value).items()}


def rebuilt(needs: Needs, changed: set[str]) -> set[str]:
    """Return the outputs that lie downstream of `changed`, those of them that are outputs themselves included."""
    grown = set(changed)
    for path, inputs in needs.items():  # inputs that are outputs come before what is made of them
        if not grown.isdisjoint(inputs):
            grown.add(path)
    return grown & set(needs)


def draw_project(rng: np.random.Generator, level: int) -> Project:
    """Return a project of `level`: every fragment and generated file is included, every page is in a part."""
    size = LEVELS[level]
    names = [TOPICS[place] for place in rng.permutation(len(TOPICS)).tolist()]
    pages = [names.pop() for _ in range(size.num_pages)]
    fragments = [f"inc/{names.pop()}.inc" for _ in range(size.num_fragments)]
    generated = {f"gen/{name}.inc": f"conf/{name}.conf" for name in (names.pop() for _ in range(size.num_generated))}
    tables = {f"build/{name}.tbl": f"data/{name}.csv" for name in (names.pop() for _ in range(size.num_tables))}
    includes: dict[str, tuple[str, ...]] = {f"src/{page}.txt": () for page in pages}
    includes |= {path: () for path in fragments}
    if size.nested:
        for outer, inner in zip(fragments[:-1:2], fragments[1::2], strict=False):
            includes[outer] = (inner,)
    for path in (*fragments, *generated):
        for page in rng.permutation(len(pages))[: int(rng.integers(1, 4))].tolist():
            source = f"src/{pages[page]}.txt"
            includes[source] = (*includes[source], path)
    members = [*(f"build/{page}.page" for page in pages), *tables]
    members = [members[place] for place in rng.permutation(len(members)).tolist()]
    parts = [f"build/{'abcd'[number]}.part" for number in range(size.num_parts)]
    joins = {part: tuple(members[number :: size.num_parts]) for number, part in enumerate(parts)}
    for number in range(size.num_books):
        chosen = [
            parts[place] for place in rng.permutation(len(parts))[: int(rng.integers(1, len(parts) + 1))].tolist()
        ]
        joins[f"dist/{('handbook', 'manual', 'notes')[number]}.txt"] = tuple(chosen)
    first = next(path for path in joins if path.startswith("dist/"))
    missing = [part for part in parts if not any(part in joins[path] for path in joins if path.startswith("dist/"))]
    joins[first] = (*joins[first], *missing)
    return Project(includes, generated, tables, joins)


def write_sources(project: Project, rng: np.random.Generator) -> dict[str, str]:
    """Return {path: text} for every source of `project`."""
    texts: dict[str, str] = {}
    for path, inner in project.includes.items():
        lines = [_sentence(rng) for _ in range(int(rng.integers(2, 5)))]
        for place, each in enumerate(inner):
            lines.insert(min(1 + 2 * place, len(lines)), f"{INCLUDE}{each}")
        if path.startswith("src/"):
            lines.insert(0, f"# {path[4:-4].capitalize()}")
        texts[path] = "\n".join(lines) + "\n"
    for conf in project.generated.values():
        keys = [NOUNS[place] for place in rng.permutation(len(NOUNS))[:3].tolist()]
        texts[conf] = "".join(f"{key} = {int(rng.integers(1, 500))}\n" for key in keys)
    for csv in project.tables.values():
        keys = [NOUNS[place] for place in rng.permutation(len(NOUNS))[:4].tolist()]
        texts[csv] = "".join(f"{key},{int(rng.integers(1, 90))}\n" for key in keys)
    return texts


def changed_sources(texts: Mapping[str, str]) -> dict[str, str]:
    """Return `texts`, each with one more line, so that every output comes out different."""
    lines = {".conf": "zone = 7", ".csv": "zone,7", ".txt": "# Changed", ".inc": "One more line."}
    return {path: f"{text}{lines[path[path.rindex('.') :]]}\n" for path, text in texts.items()}


def build(project: Project, texts: Mapping[str, str]) -> dict[str, str]:
    """Return {path: text} for every output of `project` built from the sources `texts`."""
    files = dict(texts)
    for path, conf in project.generated.items():
        rows = [line.split(" = ") for line in files[conf].splitlines()]
        files[path] = "".join(f"{key}: {value}\n" for key, value in rows)
    for page, source in project.pages.items():
        files[page] = _expand(files, source)
    for path, csv in project.tables.items():
        cells = [line.split(",") for line in sorted(files[csv].splitlines())]
        total = sum(int(number) for _, number in cells)
        files[path] = "".join(f"{key}\t{number}\n" for key, number in cells) + f"total\t{total}\n"
    for path, members in project.joins.items():
        files[path] = "".join(files[member] for member in members)
    headings = [line for page in project.pages for line in files[page].splitlines() if line.startswith("# ")]
    files[INDEX] = "".join(f"{line}\n" for line in headings)
    return {path: files[path] for path in project.needs()}


def _expand(files: Mapping[str, str], path: str) -> str:
    lines = []
    for line in files[path].splitlines():
        lines.append(_expand(files, line.removeprefix(INCLUDE)) if line.startswith(INCLUDE) else f"{line}\n")
    return "".join(lines)


def _sentence(rng: np.random.Generator) -> str:
    verb, noun = VERBS[int(rng.integers(len(VERBS)))], NOUNS[int(rng.integers(len(NOUNS)))]
    return (
        f"{verb.capitalize()} the {noun} {int(rng.integers(2, 60))} minutes before the {NOUNS[int(rng.integers(10))]}."
    )
