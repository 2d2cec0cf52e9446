"""Experiments on a Makefile in a fresh sandbox: build, touch a source, see what is rebuilt, clean, build again."""

from __future__ import annotations

# sound everywhere, in: paths of a tree
# sound everywhere, all: every project has outputs
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from polyathlon import Entry, Tree
from polyathlon.errors import SandboxLost, VerifierError
from polyathlon.sandbox.protocol import Room, Sandbox
from polyathlon_domains.terminal._build import Project, build, changed_sources, rebuilt

PROGRAMS = ("make", "awk", "sort", "cat", "grep", "mkdir", "rm")
LOOK_TIMEOUT_S = 20.0
MAKE_TIMEOUT_S = 60.0  # a starved machine must not fail a right Makefile
OLD_S, TOUCHED_S, NEW_S = 1_000_000_000, 1_000_001_000, 1_100_000_000
"""Times given to all files, to a touched source, and the time that only files written since lie beyond."""
SLOW_MKDIR = """#!/bin/sh
case "$*" in *dist*) sleep 0.8 ;; *build*) sleep 0.3 ;; *gen*) sleep 0.1 ;; esac
exec /bin/mkdir "$@"
"""
"""In a parallel build directories come late, the last of them last: a rule that does not wait for its own shows it."""
_SLOWED = f"printf %s {shlex.quote(SLOW_MKDIR)} > $slow/mkdir && chmod +x $slow/mkdir && export PATH=$slow:$PATH"


@dataclass(frozen=True, slots=True)
class Trial:
    """What came of the experiments: `right` of `touches`; `built` and `fresh` gate them.

    `tidy`: clean and -j work, and so does a touch of every other source; looked at only where all else is right.
    """

    built: bool
    fresh: bool = False
    right: int = 0
    tidy: bool = False


class Bench:
    """A project's sources in one sandbox, with a Makefile to try on them. Outputs never come from anywhere else."""

    def __init__(self, project: Project, files: Tree, makefile: bytes) -> None:
        self.project, self.needs = project, project.needs()
        self.start = files.with_files({"Makefile": makefile})
        self.sources = self.texts = {path: files.text(path) or "" for path in project.sources()}

    def trial(self, room: Room, touches: Sequence[str]) -> Trial:
        """Return what the Makefile does: built serially, after each touch, after all sources changed, clean, -j4; and
        after a touch of each other source.

        Raises:
            SandboxError: the sandbox could not be had or kept.
            VerifierError: the sandbox lacks a program that a right Makefile needs.

        """
        wanted = build(self.project, self.texts)
        with room.open(self.start) as sandbox:
            _expect_programs(sandbox)
            made = self._make(sandbox, "all")
            if made is None or not _holds(made, wanted):
                return Trial(built=False)
            right = sum(self._touch(sandbox, made, source, wanted) for source in touches)
            fresh = self._change(sandbox, made)
            if not fresh or right < len(touches):
                return Trial(built=True, fresh=fresh, right=right)
            others = [source for source in self.texts if source not in touches]
            tidy = self._tidy(sandbox, made, wanted) and all(
                self._touch(sandbox, made, source, wanted) for source in others
            )
            return Trial(built=True, fresh=True, right=right, tidy=tidy)

    def _touch(self, sandbox: Sandbox, made: Tree, source: str, wanted: Mapping[str, str]) -> bool:
        """Return whether exactly what depends on `source` is rebuilt when it is newer, and every text stays right."""
        sandbox.put(_aged(made, {source: made.entries[source].data}))
        after = self._make(sandbox, "all")
        if after is None or not _holds(after, wanted):
            return False
        written = {path for path in self.needs if after.entries[path].mtime_s > NEW_S}
        return written == rebuilt(self.needs, {source})

    def _change(self, sandbox: Sandbox, made: Tree) -> bool:
        """Return whether every output is right after every source changed: a touched output is not a rebuilt one."""
        texts = self.sources = changed_sources(self.texts)
        sandbox.put(_aged(made, {path: text.encode("utf-8") for path, text in texts.items()}))
        after = self._make(sandbox, "all")
        return after is not None and _holds(after, build(self.project, texts))

    def _tidy(self, sandbox: Sandbox, made: Tree, wanted: Mapping[str, str]) -> bool:
        """Return whether `make clean` leaves no output, and a parallel build from there makes them all."""
        self.sources = self.texts
        sandbox.put(_aged(made, {}))
        cleaned = self._make(sandbox, "clean")
        if cleaned is None or any(path in cleaned for path in self.needs):
            return False
        again = self._make(sandbox, "-j4 all", before=f"slow=$(mktemp -d) && {_SLOWED} && ")
        return again is not None and _holds(again, wanted)

    def _make(self, sandbox: Sandbox, goal: str, *, before: str = "") -> Tree | None:
        """Run make; return the tree it leaves, or None where it failed, ran too long, or changed a source."""
        command = f"(cd /workspace && {before}exec make {goal} >/dev/null 2>&1)"
        report = sandbox.shell().run(command, timeout_s=MAKE_TIMEOUT_S)
        if report.reason == "lost":
            raise SandboxLost("the sandbox died while make ran")
        if not report.ok:
            return None
        tree = sandbox.get()
        return tree if self.sources == {path: tree.text(path) for path in self.sources} else None


def _expect_programs(sandbox: Sandbox) -> None:
    """Look for the programs before anything of the policy's runs: afterwards, a failure may be its Makefile's."""
    look = " && ".join(f"command -v {program}" for program in PROGRAMS)
    report = sandbox.shell().run(look, timeout_s=LOOK_TIMEOUT_S)
    if report.reason == "lost":
        raise SandboxLost("the sandbox died while its programs were looked for")
    if not report.ok:
        raise VerifierError(f"The sandbox has not all of {', '.join(PROGRAMS)}: install what is missing.")


def _aged(tree: Tree, newer: Mapping[str, bytes]) -> Tree:
    """Return the files of `tree` (no directories) as equally old, but for `newer`, which have new data too."""
    files = {path: entry for path, entry in tree.entries.items() if entry.kind == "file"}
    aged = {path: replace(entry, mtime_s=OLD_S) for path, entry in files.items()}
    return Tree({**aged, **{path: Entry("file", 0o644, data, TOUCHED_S) for path, data in newer.items()}})


def _holds(tree: Tree, wanted: Mapping[str, str]) -> bool:
    """Return whether every output is there, a file with the right text."""
    return all(
        (entry := tree.get(path)) is not None and entry.kind == "file" and entry.data == text.encode("utf-8")
        for path, text in wanted.items()
    )
