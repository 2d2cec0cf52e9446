"""Makefiles made wrong: rules, recipes, prerequisites and redirections left out or exchanged. Nothing is run here."""

from __future__ import annotations

import re
from collections.abc import Iterator

from polyathlon.inspect.mutants.picking import Picker

_RULE = re.compile(r"^([^\s#:=][^:=]*):(?!=)(.*)$")
_ASSIGNMENT = re.compile(r"^(\w+)\s*(:?=)\s*(.+)$")
_AUTOMATIC = {"$<": "$^", "$^": "$<", "$@": "$<", "$(PARTS)": "$<"}


def makefile_mutants(text: str, pick: Picker) -> Iterator[tuple[str, str]]:
    """Yield (operator, text): one mutant for each operator, at a place that `pick` draws."""
    lines = text.split("\n")
    sites: dict[str, list[str]] = {}
    for k, line in enumerate(lines):
        for operator, new in _ways(line):
            sites.setdefault(operator, []).append("\n".join([*lines[:k], *new, *lines[k + 1 :]]))
    for operator, mutants in sites.items():
        yield from ((operator, mutant) for mutant in pick.one(operator, mutants))


def is_makefile(text: str) -> bool:
    """Return whether `text` reads like a Makefile: a rule followed by an indented recipe."""
    return re.search(r"^[^\s#:=][^:=\n]*:(?!=)[^\n]*\n\t\S", text, re.MULTILINE) is not None


def _ways(line: str) -> Iterator[tuple[str, list[str]]]:
    """Yield (operator, lines): what stands in the place of `line`."""
    if line.startswith("\t"):
        yield from _of_recipe(line)
    elif match := _ASSIGNMENT.match(line):
        yield from _of_assignment(match[1], match[2], match[3].split(" "))
    elif match := _RULE.match(line):
        yield from _of_rule(match[1], match[2].split())


def _of_recipe(line: str) -> Iterator[tuple[str, list[str]]]:
    yield "recipe line dropped", []
    yield "recipe without a tab", [f"    {line[1:]}"]
    yield "recipe does nothing", ["\ttrue"]
    if line.find("> ") >= 0:
        yield "appended, not written", [line.replace("> ", ">> ", 1)]
        yield "written elsewhere", [f"{line}.new"]
    if line.find("|") >= 0:
        yield "stage dropped", [re.sub(r"^\t[^|]*\|", "\tcat $< |", line, count=1)]
        yield "last stage dropped", [re.sub(r"\|[^|>]*", "", line, count=1)]
    for old, new in _AUTOMATIC.items():
        if line.find(old) >= 0:
            yield f"{new} for {old}", [line.replace(old, new, 1)]


def _of_assignment(name: str, sign: str, values: list[str]) -> Iterator[tuple[str, list[str]]]:
    if len(values) > 1 and not values[0].startswith("$"):
        yield "list without its last", [f"{name} {sign} {' '.join(values[:-1])}"]
        yield "list in another order", [f"{name} {sign} {' '.join([*values[1:], values[0]])}"]


def _of_rule(target: str, needs: list[str]) -> Iterator[tuple[str, list[str]]]:
    files = [need for need in needs if need != "|"]
    if target == ".PHONY":
        yield "phony target dropped", [f".PHONY: {' '.join(needs[1:])}", ""] if len(needs) > 1 else []
        return
    if files:
        yield "first prerequisite dropped", [f"{target}: {' '.join(_less(needs, files[0]))}"]
        yield "last prerequisite dropped", [f"{target}: {' '.join(_less(needs, files[-1]))}"]
        yield "target misspelt", [f"{target}x: {' '.join(needs)}"]
    if len(files) > 2:
        yield "prerequisites exchanged", [f"{target}: {' '.join([needs[1], needs[0], *needs[2:]])}"]
    if "|" in needs:
        yield "directory is a full prerequisite", [f"{target}: {' '.join(files)}"]
        yield "directory not needed", [f"{target}: {' '.join(needs[: needs.index('|')])}"]


def _less(needs: list[str], gone: str) -> list[str]:
    kept = [need for need in needs if need != gone]
    return kept[:-1] if kept[-1:] == ["|"] else kept
