"""Whether two Makefiles do the same, as make itself reads them: nothing is built, and no verifier is asked."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from polyathlon import Tree
from polyathlon.sandbox.protocol import Room, Sandbox

READ_TIMEOUT_S = 60.0
_UNREADABLE = re.compile(
    r"\$[({](?:shell|eval|call|MAKE|file|error)\b|!=|^[ ]*(?:-?include|sinclude|define|export|override|vpath)\b"
    r"|\b(?:MAKEFLAGS|SHELL|VPATH|GPATH|CURDIR)\b|::|^\s*\.(?!PHONY:)[A-Z]|^\t[@-]*\+|\$[({]\?|\$\?",
    re.MULTILINE,
)
"""What makes a Makefile do more than its rules say: of such a one nothing is proved."""
_BLOCK = re.compile(r"^([^\s#:=][^:=]*):(?![:=])([^|\n]*)(?:\|([^\n]*))?$", re.MULTILINE)
_FILES = "\n# Files\n"
_NO_FILE = "# Not a target:\n"
_PHONY = "#  Phony target"
_PASSING = "#  File is an intermediate prerequisite."


@dataclass(frozen=True, slots=True)
class Reading:
    """What make makes of a Makefile.

    `commands` are what builds everything, and `cleaning` what `clean` runs, both sorted. `above` says of each output
    what makes it anew when it changes; `before`, what is made before it in any build; `apart` are outputs that are made
    always, or taken away again.
    """

    commands: tuple[str, ...]
    cleaning: tuple[str, ...]
    above: Mapping[str, frozenset[str]]
    before: Mapping[str, frozenset[str]]
    apart: frozenset[str]


def same_makefile(room: Room, sources: Tree, right: str, other: str, outputs: Sequence[str]) -> bool:
    """Return whether make reads `other` as it reads `right`: the same commands, reached by the same changes in an order
    that is as sure. False too where that cannot be told: where `other` does more than state rules.
    """
    if _UNREADABLE.search(other):
        return False
    with room.open(sources) as sandbox:
        readings = [_read(sandbox, sources, text, outputs) for text in (right, other)]
    return None not in readings and readings[0] == readings[1]


def _read(sandbox: Sandbox, sources: Tree, makefile: str, outputs: Sequence[str]) -> Reading | None:
    """Return how make reads `makefile` among untouched sources, or None where it cannot."""
    sandbox.put(sources.with_files({"Makefile": makefile.encode("utf-8")}))
    every = sandbox.run(["make", "-rBnp", "all"], timeout_s=READ_TIMEOUT_S)
    # without -B: a file called clean may stand in the way; and once all is there, nothing is to be made
    clean = sandbox.run(["make", "-n", "clean"], timeout_s=READ_TIMEOUT_S)
    if not (every.ok and clean.ok):
        return None
    said = every.stdout.decode("utf-8", "replace")
    commands, _, rest = said.partition("\n# GNU Make")
    rules, apart = {}, set()
    for target, inputs, first, block in _targets(rest.partition(_FILES)[2]):
        rules[target] = (inputs, first)
        if block.find(_PHONY) >= 0 or block.find(_PASSING) >= 0:
            apart.add(target)
    above = {path: _reached(path, {target: inputs for target, (inputs, _) in rules.items()}) for path in outputs}
    before = {path: _reached(path, {target: {*one, *two} for target, (one, two) in rules.items()}) for path in outputs}
    cleaning = clean.stdout.decode("utf-8", "replace").split("\n")
    wanted = _reached("all", {target: inputs for target, (inputs, _) in rules.items()})
    if not wanted.issuperset(outputs):
        return None
    return Reading(
        tuple(sorted(commands.split("\n"))), tuple(sorted(cleaning)), above, before, frozenset(apart & {*outputs})
    )


def _targets(text: str) -> Iterator[tuple[str, frozenset[str], frozenset[str], str]]:
    """Yield (target, what it is made from, what is only made before it, all that is said of it) of a data base."""
    for block in text.split("\n\n"):
        match = _BLOCK.match(block.removeprefix(_NO_FILE))
        if match is not None and not block.startswith(_NO_FILE):
            yield match[1], frozenset(match[2].split()), frozenset((match[3] or "").split()), block


def _reached(path: str, rules: Mapping[str, set[str] | frozenset[str]]) -> frozenset[str]:
    """Return all that `path` is made from, and that this is made from, and so on."""
    reached: set[str] = set()
    waiting = [path]
    while waiting:
        for inner in rules.get(waiting.pop(), ()):
            if inner not in reached:
                reached.add(inner)
                waiting.append(inner)
    return frozenset(reached)
