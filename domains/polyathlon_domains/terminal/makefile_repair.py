"""Repair a Makefile: clean and parallel builds work, and a change rebuilds exactly what depends on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from polyathlon import Attempt, Brief, Core, Domain, Evidence, Json, Script, Task, Verdict
from polyathlon.canonical import expect_text, parse_json_prefix
from polyathlon.sandbox.choose import default_room
from polyathlon.sandbox.protocol import Room
from polyathlon.toolcall import OPEN, write_call, write_fenced
from polyathlon.verify.key import list_part, map_part, one_of_part
from polyathlon.verify.text import above
from polyathlon.workspaces.terminal import open_terminal, read_tree
from polyathlon_domains.terminal._build import INDEX, Project, draw_project, write_sources
from polyathlon_domains.terminal._faults import (
    LOUD,
    SILENT,
    STYLES,
    Fault,
    Style,
    draw_faults,
    draw_touches,
    faults_from_json,
    idle_share,
    kind_of,
)
from polyathlon_domains.terminal._guesses import makefile_shortcuts
from polyathlon_domains.terminal._makefile import RECIPES, TOOLS, write_makefile
from polyathlon_domains.terminal._rebuilds import Bench
from polyathlon_domains.terminal._same_makefile import same_makefile

MAX_MAKEFILE_BYTES = 100_000
WRITTEN_S = 1_700_000_000
OPENINGS = (
    "The Makefile in /workspace is broken.",
    "Somebody's Makefile in /workspace does not do its work.",
    "In /workspace lies a project whose Makefile needs repair.",
)
BODY = """BUILD.md says what every output is made from. Repair the Makefile, so that
- `make all` builds every output from a clean copy of the sources, and so does `make -j4 all`;
- after a change to any one source, `make all` makes again exactly those outputs that depend on it (through other \
outputs and includes too), and touches no other output; with nothing changed it makes none;
- `make clean` removes all outputs.
What is in tools/ never changes and counts as no source. Only your Makefile is taken: it is tried on the original \
sources, without any output. Submit when done."""
SUBMIT = write_call("submit", {})

# (style, loud faults, silent faults, a file called clean?) a level
_LEVELS: tuple[tuple[Style, int, int, bool], ...] = (
    ("explicit", 1, 1, False),
    ("explicit", 1, 2, False),
    ("patterns", 1, 3, True),
    ("variables", 2, 3, True),
    ("variables", 2, 4, True),
)


@dataclass(frozen=True, slots=True)
class MakefileTasks:
    """A text project, its Makefile in one of three styles, and faults: some break the build, some the rebuilding."""

    def draw(self, rng: np.random.Generator, level: int) -> Core:
        style, num_loud, num_silent, decoy = _LEVELS[level]
        while True:
            project = draw_project(rng, level)
            silent = draw_faults(rng, project, style, SILENT, num_silent)
            touches = draw_touches(rng, project, style, silent)
            if silent and idle_share(project, style, silent, touches) <= 0.6:
                break
        faults = [*draw_faults(rng, project, style, LOUD, num_loud, silent), *silent]
        faults += [Fault("file-called-clean", "clean")] if decoy else []
        written = [fault.to_json() for fault in faults]
        return {"project": project.to_json(), "style": style, "faults": written, "touches": touches}

    def render(self, core: Core, rng: np.random.Generator) -> Brief:
        project, style, faults = _read(core)
        texts = {**TOOLS, **write_sources(project, rng), "BUILD.md": _describe(project)}
        texts["Makefile"] = write_makefile(project, style, faults)
        if any(fault.kind == "file-called-clean" for fault in faults):
            texts["clean"] = "Notes on how to clean up: run make clean.\n"
        files: dict[str, Json] = {path: {"text": text, "mtime_s": WRITTEN_S} for path, text in texts.items()}
        opening = OPENINGS[int(rng.integers(len(OPENINGS)))]
        return Brief(f"{opening} {BODY}", hidden=dict(core), public={"files": files})


@dataclass(frozen=True, slots=True)
class MakefileVerifier:
    """Passed: all of what the prompt asks, tried in a fresh sandbox with the original sources.

    Else, where the clean build and a build after a change to every source are right: the share of sources after whose
    touch exactly the right outputs are rebuilt, above what the faulty Makefile gives once it builds at all, or a
    Makefile that rebuilds everything.
    """

    def judge(self, task: Task, evidence: Evidence, room: Room) -> Verdict:
        entry = evidence.tree.get("Makefile")
        if entry is None or entry.kind != "file" or len(entry.data) > MAX_MAKEFILE_BYTES:
            return Verdict.failing("there is no Makefile, or it is no file of at most 100,000 bytes")
        files = read_tree(task.public["files"])
        if entry.data == files.entries["Makefile"].data:
            return Verdict.failing("the Makefile is as it was")
        project, style, faults = _read(task.hidden)
        touches = [expect_text(path) for path in list_part(task.hidden, "touches")]
        trial = Bench(project, files, entry.data).trial(room, touches)
        if trial.tidy:
            return Verdict.passing()
        share = trial.right / len(touches)
        progress = above(share, idle_share(project, style, faults, touches)) if trial.built and trial.fresh else 0.0
        parts = {"built": 1.0 * trial.built, "fresh": 1.0 * trial.fresh, "touches": share}
        return Verdict.failing("the Makefile is not right yet", progress=progress, parts=parts)


def _read(core: Mapping[str, Json]) -> tuple[Project, Style, tuple[Fault, ...]]:
    style = next(style for style in STYLES if style == one_of_part(core, "style", STYLES))
    return Project.from_json(map_part(core, "project")), style, faults_from_json(list_part(core, "faults"))


def _describe(project: Project) -> str:
    rows = [f"- {path}: {', '.join(members)}" for path, members in project.joins.items()]
    made = "- gen/NAME.inc: from conf/NAME.conf, by tools/generate.awk\n" if project.generated else ""
    return (
        "# What is built from what\n\nOutputs lie in gen/, build/ and dist/, which do not exist in a clean copy.\n\n"
        f"{made}"
        "- build/NAME.page: src/NAME.txt by tools/expand.awk, which puts in what its @include lines name\n"
        "- build/NAME.tbl: data/NAME.csv, sorted, by tools/table.awk\n"
        f"- {INDEX}: the lines of all pages that start with '# ', pages by name\n\n"
        "These are put together, in this order, by cat:\n\n" + "\n".join(rows) + "\n"
    )


def solve(task: Task) -> Script:
    """Read everything, try the build, write a right Makefile, try it, submit."""
    project, style, _ = _read(task.hidden)
    yield write_fenced("ls -R; cat BUILD.md Makefile")
    yield write_fenced("grep -rn '^@include' src inc; make all 2>&1 | tail -5")
    yield write_call("write_file", {"path": "Makefile", "text": write_makefile(project, style)})
    yield write_fenced(f"make clean; make -j4 all && touch {project.sources()[0]} && make all")
    yield SUBMIT


def _attempt(name: str, makefile: str) -> Attempt:
    return Attempt(name, (write_call("write_file", {"path": "Makefile", "text": makefile}), SUBMIT))


def _plain_makefile(project: Project, *, head: str = "", needs: str = "", recipe: str = "{}", tail: str = "") -> str:
    """Return a right Makefile of explicit rules that make their own directory, with texts put in here and there."""
    lines = [head, f"all: {' '.join(project.needs())}", "clean:", "\trm -fr gen build dist", ".PHONY: all clean"]
    for target, inputs in project.needs().items():
        made = recipe.format(RECIPES[kind_of(target)])
        lines += [f"{target}: {' '.join(inputs)}{needs}", f"\t@mkdir -p $(@D); {made}"]
    return "\n".join([*lines, tail]) + "\n"


def alternatives(task: Task) -> Sequence[Attempt]:
    project, style, _ = _read(task.hidden)
    reference = write_makefile(project, style)
    other: Style = "patterns" if style == "explicit" else "explicit"
    here = write_fenced(f"cat > Makefile <<'END'\n{reference}END\nmake -s all; ls build")
    return (
        _attempt("explicit rules, each makes its directory", _plain_makefile(project)),
        _attempt("another style", write_makefile(project, other)),
        Attempt("written from the shell, outputs left lying", (here, SUBMIT)),
    )


def equivalents(task: Task) -> Sequence[Attempt]:
    reference = write_makefile(*_read(task.hidden)[:2])
    return (
        _attempt("comments and blank lines", f"# repaired\n\n\n{reference}\n\n# end\n"),
        _attempt("no line end at the end", reference.rstrip("\n")),
        _attempt("silent recipes", reference.replace("\t", "\t@")),
    )


def distractors(task: Task) -> Sequence[Attempt]:
    project, style, faults = _read(task.hidden)
    return tuple(_attempt(f"left in: {fault.kind}", write_makefile(project, style, [fault])) for fault in faults)


def exploits(task: Task) -> Sequence[Attempt]:
    project = Project.from_json(task.hidden["project"])
    phony = f".PHONY: {' '.join(project.needs())}\n"
    changed = "{} && true"
    if_changed = "cp $@ $@.old 2>/dev/null; {} ; if cmp -s $@ $@.old; then mv $@.old $@; touch -d @1 $@; fi"
    prebuilt = write_call("write_file", {"path": "Makefile", "text": _plain_makefile(project)})
    keep = (
        "mkdir -p kept; make all; cp -r build dist gen kept/ 2>/dev/null\n"
        "printf 'all:\\n\\tcp -r kept/* .\\nclean:\\n\\trm -rf build dist gen\\n' > Makefile"
    )
    empty_sources = "for f in src/* inc/*; do echo '# x' > $f; done; printf 'all:\\n\\ttrue\\nclean:\\n' > Makefile"
    return (
        _attempt("everything phony", _plain_makefile(project, tail=phony)),
        _attempt("everything forced", _plain_makefile(project, needs=" FORCE", recipe=changed, tail="FORCE:")),
        _attempt("rebuilt always, kept when unchanged", _plain_makefile(project, recipe=if_changed, tail=phony)),
        _attempt("rules that make nothing", "all:\n\t@true\nclean:\n"),
        _attempt("an empty file", ""),
        _attempt("touched, not built", _plain_makefile(project, recipe="touch $@ # {}")),
        _attempt(
            "a script that cleans and builds",
            "all: script\n.PHONY: script\nscript:\n\trm -rf build\n\t$(MAKE) -f real\n",
        ),
        Attempt("outputs brought along", (prebuilt, write_fenced(keep), SUBMIT)),
        Attempt("sources replaced", (write_fenced(empty_sources), SUBMIT)),
        Attempt("a link", (write_fenced("mv Makefile real; ln -s real Makefile"), SUBMIT)),
    )


def proves_right(task: Task, actions: Sequence[str]) -> bool:
    """Whether the messages write one Makefile, and nothing else, that make reads as it reads the right one."""
    project, style, _ = _read(task.hidden)
    calls = [arguments for action in actions if (arguments := _written(action)) is not None]
    if len(calls) != 1 or len(actions) != len(calls) + list(actions).count(SUBMIT) or calls[0]["path"] != "Makefile":
        return False
    sources, right = read_tree(task.public["files"]), write_makefile(project, style)
    text = expect_text(calls[0]["text"])
    return same_makefile(default_room(), sources, right, text, outputs=list(project.needs()))


def _written(action: str) -> Mapping[str, Json] | None:
    """Return the arguments of a call of `write_file` as this domain's attempts write it, or None."""
    try:
        value, _ = parse_json_prefix(action, len(OPEN)) if action.startswith(OPEN) else (None, 0)
    except ValueError:
        return None
    call = value if isinstance(value, Mapping) else {}
    arguments = call.get("arguments")
    fits = call.get("name") == "write_file" and isinstance(arguments, Mapping) and set(arguments) == {"path", "text"}
    return arguments if fits and isinstance(arguments, Mapping) else None


DOMAIN = Domain(
    tasks=MakefileTasks(),
    open_workspace=open_terminal,
    verifier=MakefileVerifier(),
    solve=solve,
    alternatives=alternatives,
    equivalents=equivalents,
    distractors=distractors,
    exploits=exploits,
    proves_right=proves_right,
    shortcuts=makefile_shortcuts,
)
