"""Makefiles of a project: the right one, and the same with faults."""

from __future__ import annotations

from collections.abc import Sequence

from polyathlon_domains.terminal._build import INDEX, Project
from polyathlon_domains.terminal._faults import PATTERNS, Fault, Style, kind_of

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
        lines += [
            "",
            f".PHONY: {' '.join(phony)}",
            "",
            f"all: {'$(GENERATED) ' if self.project.generated else ''}{books}",
        ]
        patterned = ("generated", "page", "table") if self.style != "explicit" else ()
        for kind in patterned:
            lines += self._pattern_rule(kind)
        for target in self.needs:
            lines += self._extra_needs(target) if kind_of(target) in patterned else self._rule(target)
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
        targets = [target for target in self.needs if kind_of(target) == kind]
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
        kind = kind_of(target)
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
