"""Makefiles of a project: the right one, and the same with faults, whose effect on rebuilds is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from polyathlon import Json
from polyathlon.canonical import expect_list, expect_map, expect_text
from polyathlon_domains.terminal._build import INDEX, Project, rebuilt

Style = Literal["explicit", "patterns", "variables"]
STYLES: tuple[Style, ...] = ("explicit", "explicit", "patterns", "variables", "variables")

TOOLS = {
    "tools/expand.awk": """# Prints a text; a line "@include FILE" stands for the text of FILE, which may include more.
function show(file,    line, status) {
    while ((status = (getline line < file)) > 0)
        if (line ~ /^@include /) show(substr(line, 10)); else print line
    if (status < 0) { print "expand: cannot read " file > "/dev/stderr"; exit 1 }
    close(file)
}
BEGIN { show(ARGV[1]) }
""",
    "tools/generate.awk": """# Turns "key = value" into "key: value".
BEGIN { FS = " = " }
{ print $1 ": " $2 }
""",
    "tools/table.awk": """# Prints sorted "key,number" lines as columns, and their total.
BEGIN { FS = ","; OFS = "\\t" }
{ print $1, $2; total += $2 }
END { print "total", total }
""",
}
RECIPES = {
    "generated": "awk -f tools/generate.awk $< > $@",
    "page": "awk -f tools/expand.awk $< > $@",
    "table": "sort $< | awk -f tools/table.awk > $@",
    "join": "cat $^ > $@",
    "index": "grep -h '^# ' $^ > $@",
}
PATTERNS = {
    "generated": "gen/%.inc: conf/%.conf",
    "page": "build/%.page: src/%.txt",
    "table": "build/%.tbl: data/%.csv",
}


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing wrong with the Makefile, at a target; `other` is the prerequisite it is about, where there is one."""

    kind: str
    target: str
    other: str = ""

    def to_json(self) -> Mapping[str, Json]:
        return {"kind": self.kind, "target": self.target, "other": self.other}


LOUD = ("spaces", "own-output", "first-only", "no-directory", "wrong-file", "typo", "pattern", "self-reference", "late-list")
"""The clean build fails, or gives wrong outputs."""
SILENT = ("missing", "extra", "directory-newer", "phony-file", "newer-only", "append")
"""The clean build is right; what is rebuilt after a change is not."""


def faults_from_json(value: Json) -> tuple[Fault, ...]:
    rows = [expect_map(row) for row in expect_list(value)]
    return tuple(Fault(*(expect_text(row[key]) for key in ("kind", "target", "other"))) for row in rows)


def kind_of(project: Project, target: str) -> str:
    if target in project.generated:
        return "generated"
    if target in project.pages:
        return "page"
    if target in project.tables:
        return "table"
    return "index" if target == INDEX else "join"


def write_makefile(project: Project, style: Style, faults: Sequence[Fault] = ()) -> str:
    """Return the Makefile of `project` in `style`, with `faults`; without any it is right."""
    return "\n".join(_Writer(project, style, faults).lines()) + "\n"


class _Writer:
    """Writes one Makefile, line by line."""

    def __init__(self, project: Project, style: Style, faults: Sequence[Fault]) -> None:
        self.project, self.style, self.faults = project, style, faults
        self.needs = project.needs()

    def lines(self) -> list[str]:
        lines = self._variables()
        phony = ["all"] + ([] if self._has("file-called-clean") else ["clean"])
        phony += [fault.target for fault in self.faults if fault.kind == "phony-file"]
        books = "$(BOOK)" if self._has("typo") else "$(BOOKS)"
        lines += ["", f".PHONY: {' '.join(phony)}", "", f"all: {'$(GENERATED) ' if self.project.generated else ''}{books}"]
        patterned = ("generated", "page", "table") if self.style != "explicit" else ()
        for kind in patterned:
            lines += self._pattern_rule(kind)
        for target in self.needs:
            lines += self._extra_needs(target) if kind_of(self.project, target) in patterned else self._rule(target)
        folders = ["build", "dist", *(["gen"] if self.project.generated else [])]
        folders = [folder for folder in folders if not self._has("no-directory", folder)]
        lines += ["", f"{' '.join(folders)}:", "\tmkdir -p $@"]
        return [*lines, "", "clean:", "\trm -rf build dist gen"]

    def _has(self, kind: str, target: str | None = None) -> bool:
        return any(fault.kind == kind and target in (None, fault.target) for fault in self.faults)

    def _variables(self) -> list[str]:
        lines = [f"GENERATED := {' '.join(self.project.generated)}"] if self.project.generated else []
        if self.style == "variables":
            lines.append("PAGES := $(patsubst src/%.txt,build/%.page,$(sort $(wildcard src/*.txt)))")
        else:
            lines.append(f"PAGES := {' '.join(self.project.pages)}")
        books = [*self.project.books, INDEX]
        if self._has("self-reference"):
            return [*lines, f"BOOKS = {' '.join(books[:-1])}", f"BOOKS = $(BOOKS) {books[-1]}"]
        return [*lines, f"BOOKS := {' '.join(books)}"]

    def _pattern_rule(self, kind: str) -> list[str]:
        targets = [target for target in self.needs if kind_of(self.project, target) == kind]
        if not targets:
            return []
        head = PATTERNS[kind]
        if any(self._has("pattern", target) for target in targets):
            head = head.replace(": ", ": old/")
        folder = head.split("/")[0]
        return ["", self._ordered(head, folder, targets), self._recipe(kind, targets)]

    def _extra_needs(self, target: str) -> list[str]:
        more = self._written_needs(target)[1:]
        return [f"{target}: {' '.join(more)}"] if more else []

    def _rule(self, target: str) -> list[str]:
        kind = kind_of(self.project, target)
        folder = target.split("/")[0]
        lines = [""]
        inputs = " ".join(self._written_needs(target))
        if kind == "index":
            inputs = "$(PAGES)"
        elif self.style == "variables" and folder == "dist":
            lines.append(f"PARTS {'=' if self._has('late-list') else ':='} {inputs}")
            inputs = "$(PARTS)"
        return [*lines, self._ordered(f"{target}: {inputs}", folder, [target]), self._recipe(kind, [target])]

    def _written_needs(self, target: str) -> list[str]:
        missing = {fault.other for fault in self.faults if fault.kind == "missing" and fault.target == target}
        extra = [fault.other for fault in self.faults if fault.kind == "extra" and fault.target == target]
        return [*(path for path in self.needs[target] if path not in missing), *extra]

    def _ordered(self, head: str, folder: str, targets: Sequence[str]) -> str:
        if self._has("no-directory", folder):
            return head
        return f"{head}{'' if any(self._has('directory-newer', each) for each in targets) else ' |'} {folder}"

    def _recipe(self, kind: str, targets: Sequence[str]) -> str:
        recipe, indent = RECIPES[kind], "\t"
        found = {fault.kind for fault in self.faults if fault.target in targets}
        if self._has("late-list") and targets[0] in self.project.books:
            recipe = recipe.replace("$^", "$(PARTS)")
        for name, old, new in (
            ("own-output", "$<", "$@"),
            ("first-only", "$^", "$<"),
            ("newer-only", "$^", "$?"),
            ("append", "> $@", ">> $@"),
            ("wrong-file", "> $@", "> $@.new"),
        ):
            if name in found:
                recipe = recipe.replace(old, new)
        return f"{'        ' if 'spaces' in found else indent}{recipe}"


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


def right_after_touch(project: Project, style: Style, faults: Sequence[Fault], source: str) -> bool:
    """Return whether the Makefile with the silent ones of `faults` does the right thing after `source` changed."""
    needs = project.needs()
    written = {path: set(inputs) for path, inputs in needs.items()}
    always: set[str] = set()
    for fault in faults:
        if fault.kind == "missing":
            written[fault.target].discard(fault.other)
        elif fault.kind == "extra":
            written[fault.target].add(fault.other)
        elif fault.kind == "phony-file":
            always.add(fault.target)
        elif fault.kind == "directory-newer":
            always |= _same_rule(project, style, fault)
    wanted = rebuilt(needs, {source})
    done = rebuilt({path: [*inputs] for path, inputs in written.items()}, {source, *always})
    if done != wanted:
        return False
    for fault in faults:
        if fault.kind == "append" and done & _same_rule(project, style, fault):
            return False
        if fault.kind == "newer-only" and fault.target in done and not set(needs[fault.target]) <= done:
            return False
    return True


def _same_rule(project: Project, style: Style, fault: Fault) -> set[str]:
    """Return the targets that the faulty rule makes: all of a kind where it is a pattern."""
    kind = kind_of(project, fault.target)
    if style == "explicit" or kind not in PATTERNS:
        return {fault.target}
    return {path for path in project.needs() if kind_of(project, path) == kind}
