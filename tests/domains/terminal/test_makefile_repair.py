"""Makefile repair: closures by hand, builds in the sandbox against the same builds in Python, and what hacks earn."""

import numpy as np
import pytest

from polyathlon import Evidence, Json, Task, TaskKey, Tree, Verdict, draw_task
from polyathlon.errors import VerifierError
from polyathlon.inspect.rooms import BareRoom
from polyathlon.sandbox.choose import default_room
from polyathlon.toolcall import write_fenced
from polyathlon.workspaces.terminal import read_tree
from polyathlon_domains.terminal._build import INDEX, Project, build, rebuilt
from polyathlon_domains.terminal._faults import LOUD, SILENT, Fault, draw_fault, idle_share, right_after_touch
from polyathlon_domains.terminal._makefile import TOOLS, write_makefile
from polyathlon_domains.terminal._rebuilds import Bench
from polyathlon_domains.terminal._same_makefile import same_makefile
from polyathlon_domains.terminal.makefile_repair import DOMAIN, SUBMIT

ID = "polyathlon/terminal.makefile-repair-v1"
PROJECT = Project(
    includes={"src/a.txt": ("inc/x.inc",), "src/b.txt": ("gen/g.inc",), "inc/x.inc": ("inc/y.inc",), "inc/y.inc": ()},
    generated={"gen/g.inc": "conf/g.conf"},
    tables={"build/t.tbl": "data/t.csv"},
    joins={
        "build/a.part": ("build/b.page", "build/t.tbl"),
        "build/b.part": ("build/a.page",),
        "dist/handbook.txt": ("build/b.part", "build/a.part"),
        "dist/manual.txt": ("build/b.part",),
    },
)
TEXTS = {
    "src/a.txt": "# A\n@include inc/x.inc\nend\n",
    "src/b.txt": "# B\n@include gen/g.inc\n",
    "inc/x.inc": "x\n@include inc/y.inc\n",
    "inc/y.inc": "y\n",
    "conf/g.conf": "node = 3\n",
    "data/t.csv": "b,2\na,40\n",
}


def judge(task: Task, makefile: str) -> Verdict:
    tree = read_tree(task.public["files"]).with_files({"Makefile": makefile})
    return DOMAIN.verifier.judge(task, Evidence(tree=tree), default_room())


def task_with(
    *faults: Fault, touches: tuple[str, ...] = ("src/a.txt", "conf/g.conf", "data/t.csv", "inc/y.inc")
) -> Task:
    files: dict[str, Json] = {
        path: {"text": text, "mtime_s": 1_700_000_000} for path, text in {**TOOLS, **TEXTS}.items()
    }
    files["Makefile"] = {"text": write_makefile(PROJECT, "explicit", faults), "mtime_s": 1_700_000_000}
    rows: list[Json] = [fault.to_json() for fault in faults]
    hidden: dict[str, Json] = {
        "project": PROJECT.to_json(),
        "style": "explicit",
        "faults": rows,
        "touches": list(touches),
    }
    return Task(f"{ID}:0:train:1", 0, 1, "train", "", {"files": files}, hidden, "00")


def test_a_sandbox_without_make_gives_no_verdict() -> None:
    right = write_makefile(PROJECT, "explicit").encode()
    with pytest.raises(VerifierError, match="has not all of make, awk"):
        Bench(PROJECT, Tree.of({**TOOLS, **TEXTS}), right).trial(BareRoom(), ["src/a.txt"])


MISSING = Fault("missing", "build/a.page", "inc/y.inc")


def test_outputs_are_those_worked_out_by_hand() -> None:
    built = build(PROJECT, TEXTS)
    assert built["gen/g.inc"] == "node: 3\n"
    assert built["build/a.page"] == "# A\nx\ny\nend\n"
    assert built["build/t.tbl"] == "a\t40\nb\t2\ntotal\t42\n"
    assert built["dist/handbook.txt"] == "# A\nx\ny\nend\n# B\nnode: 3\na\t40\nb\t2\ntotal\t42\n"
    assert built[INDEX] == "# A\n# B\n"


def test_a_change_reaches_what_lies_downstream() -> None:
    needs = PROJECT.needs()
    assert needs["build/a.page"] == ("src/a.txt", "inc/x.inc", "inc/y.inc")
    assert rebuilt(needs, {"inc/y.inc"}) == {
        *("build/a.page", "build/b.part", "dist/handbook.txt", "dist/manual.txt", INDEX)
    }
    assert rebuilt(needs, {"data/t.csv"}) == {"build/t.tbl", "build/a.part", "dist/handbook.txt"}


@pytest.mark.parametrize("style", ["explicit", "patterns", "variables"])
def test_the_written_makefile_is_right_in_every_style(style: str) -> None:
    assert judge(task_with(MISSING), write_makefile(PROJECT, style)).passed  # type: ignore[arg-type]  # a literal


def test_a_missing_prerequisite_costs_the_touches_it_spoils() -> None:
    # three of four touches are right with the fault left in, so that fixing nothing else is worth nothing
    task = task_with(MISSING, Fault("spaces", "build/t.tbl"))
    assert judge(task, write_makefile(PROJECT, "explicit", [MISSING])).reward == 0.0
    # with the fault cured and clean gone, all touches are right: reward 0.5, not 1
    untidy = write_makefile(PROJECT, "explicit").replace("rm -rf build dist gen", "true")
    assert judge(task, untidy).reward == 0.5


def test_half_of_what_was_left_to_mend_earns_a_quarter() -> None:
    table = Fault("append", "build/t.tbl")
    task = task_with(MISSING, table, touches=("inc/y.inc", "data/t.csv"))
    verdict = judge(task, write_makefile(PROJECT, "explicit", [MISSING]))
    assert verdict.parts["fresh"] == 1.0
    assert verdict.reward == 0.25


def test_the_untouched_makefile_earns_nothing_without_a_sandbox() -> None:
    task = task_with(MISSING)
    assert judge(task, write_makefile(PROJECT, "explicit", [MISSING])).reason == "the Makefile is as it was"


@pytest.mark.parametrize(
    "makefile",
    [
        "",
        "all:\n\ttrue\n",
        "all:\n\trm -rf /workspace/*\n",
        "$(error no)\n",
        "\0\xff",
        "all: all\n",
    ],
)
def test_makefiles_that_do_not_build_earn_nothing(makefile: str) -> None:
    verdict = judge(task_with(MISSING), makefile)
    assert verdict.valid
    assert verdict.reward == 0.0


def test_a_build_without_end_fails_and_stays_valid(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("polyathlon_domains.terminal._rebuilds.MAKE_TIMEOUT_S", 1.0)
    verdict = judge(task_with(MISSING), "all:\n\tsleep 60\n")
    assert verdict.valid
    assert verdict.reward == 0.0


def test_a_recipe_that_only_touches_what_is_there_earns_nothing() -> None:
    right = write_makefile(PROJECT, "explicit")
    lines = [
        f"\tif [ -e $@ ]; then touch $@; else {line[1:]}; fi" if line.startswith("\t") and "$@" in line else line
        for line in right.splitlines()
    ]
    verdict = judge(task_with(MISSING), "\n".join(lines) + "\n")
    assert verdict.parts["touches"] == 1.0
    assert verdict.parts["fresh"] == 0.0
    assert verdict.reward == 0.0


def test_changing_a_source_while_building_earns_nothing() -> None:
    makefile = write_makefile(PROJECT, "explicit").replace(
        "\tmkdir -p $@", "\tmkdir -p $@; touch src/new; echo >> src/a.txt"
    )
    assert judge(task_with(MISSING), makefile).reward == 0.0


def test_a_makefile_that_is_a_link_or_missing_earns_nothing() -> None:
    task = task_with(MISSING)
    start = read_tree(task.public["files"])
    assert DOMAIN.verifier.judge(task, Evidence(tree=start.without("Makefile")), default_room()).reward == 0.0
    assert DOMAIN.verifier.judge(task, Evidence(tree=Tree()), default_room()).reward == 0.0


@pytest.mark.parametrize("kind", SILENT)
def test_each_silent_fault_builds_clean_and_does_to_touches_what_was_foretold(kind: str) -> None:
    fault = draw_fault(np.random.default_rng(2), PROJECT, "explicit", kind)
    assert fault is not None
    files = read_tree(task_with(MISSING).public["files"])
    makefile = write_makefile(PROJECT, "explicit", [fault]).encode()
    sources = PROJECT.sources()
    foretold = [right_after_touch(PROJECT.needs(), "explicit", [fault], path) for path in sources]
    assert not all(foretold)
    for path, right in zip(sources, foretold, strict=True):
        trial = Bench(PROJECT, files, makefile).trial(default_room(), [path])
        assert trial.built
        assert trial.right == right, path


@pytest.mark.parametrize("kind", LOUD)
def test_each_loud_fault_spoils_the_clean_build(kind: str) -> None:
    style = "variables" if kind in ("pattern", "self-reference", "late-list") else "explicit"
    fault = draw_fault(np.random.default_rng(2), PROJECT, style, kind)  # type: ignore[arg-type]  # a literal
    assert fault is not None
    files = read_tree(task_with(MISSING).public["files"])
    makefile = write_makefile(PROJECT, style, [fault]).encode()  # type: ignore[arg-type]  # a literal
    assert not Bench(PROJECT, files, makefile).trial(default_room(), ["src/a.txt"]).built


def test_a_makefile_that_builds_everything_is_the_other_zero_point() -> None:
    # every output lies downstream of src/a.txt in no project of ours, but a touch set may come close
    assert idle_share(PROJECT, "explicit", [MISSING], ["inc/y.inc", "data/t.csv"]) == 0.5


def test_every_level_leaves_something_to_mend_beyond_the_build() -> None:
    for level in range(5):
        for seed in range(10):
            task = draw_task(DOMAIN.tasks, TaskKey(ID, level, seed))
            kinds = [fault["kind"] for fault in task.hidden["faults"]]  # type: ignore[index, union-attr, call-overload]
            assert set(kinds) & set(LOUD)
            assert set(kinds) & set(SILENT)


def test_every_source_counts_not_only_those_whose_share_is_paid() -> None:
    task = task_with(Fault("extra", "build/t.tbl", "src/b.txt"), touches=("src/a.txt", "data/t.csv"))
    assert judge(task, write_makefile(PROJECT, "explicit")).passed
    verdict = judge(task, write_makefile(PROJECT, "explicit", [MISSING]))  # shows when inc/y.inc is touched, alone
    assert not verdict.passed
    assert verdict.parts["touches"] == 1.0


@pytest.mark.parametrize(
    ("rule", "hasty"),
    [
        ("build/t.tbl: data/t.csv | build", "build/t.tbl: data/t.csv"),
        ("gen/g.inc: conf/g.conf | gen", "gen/g.inc: conf/g.conf"),
        ("dist/manual.txt: build/b.part | dist", "dist/manual.txt: build/b.part"),
    ],
)
def test_a_rule_that_does_not_wait_for_its_directory_fails_in_parallel(rule: str, hasty: str) -> None:
    right = write_makefile(PROJECT, "explicit")
    assert right.count(f"{rule}\n") == 1
    racing = right.replace(f"{rule}\n", f"{hasty}\n")
    assert not judge(task_with(MISSING), racing).passed
    assert not same(right, racing)


def same(right: str, other: str) -> bool:
    files = {path: {"text": text} for path, text in {**TOOLS, **TEXTS}.items()}
    return same_makefile(default_room(), read_tree(files), right, other, outputs=list(PROJECT.needs()))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("BOOKS := dist/handbook.txt dist/manual.txt", "BOOKS := dist/manual.txt dist/handbook.txt"),
        (".PHONY: all clean", ".PHONY: clean"),  # no file is called all
        ("build/a.part: build/b.page build/t.tbl | build", "build/a.part: build/b.page build/t.tbl"),  # it waits
        ("all: $(GENERATED) $(BOOKS)", "all: $(BOOKS)"),  # build/b.page needs what is generated
    ],
)  # fmt: skip
def test_the_proof_knows_what_changes_nothing(old: str, new: str) -> None:
    right = write_makefile(PROJECT, "explicit")
    assert right.count(old) == 1
    assert same(right, right.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("all: $(GENERATED) $(BOOKS)", "all: $(GENERATED)"),
        ("build/a.part: build/b.page build/t.tbl | build", "build/a.part: build/t.tbl build/b.page | build"),
        ("build/a.part: build/b.page build/t.tbl | build", "build/a.part: build/b.page build/t.tbl build"),
        (".PHONY: all clean", ".PHONY: all clean build/t.tbl"),
        (".PHONY: all clean", ".PHONY: all clean\nX := $(shell touch build)"),
        (".PHONY: all clean", ".PHONY: all clean\n.INTERMEDIATE: build/t.tbl"),
        ("\trm -rf build dist gen", "\trm -rf build dist"),
    ],
)
def test_the_proof_declines_what_changes_something_or_says_more_than_rules(old: str, new: str) -> None:
    right = write_makefile(PROJECT, "explicit")
    assert right.count(old) == 1
    assert not same(right, right.replace(old, new))


@pytest.mark.parametrize("level", [0, 4])
def test_the_proof_proves_the_right_makefile_and_no_wrong_attempt(level: int) -> None:
    task = draw_task(DOMAIN.tasks, TaskKey(ID, level, 3))
    write = next(action for action in DOMAIN.solve(task) if action.find('"write_file"') >= 0)
    assert DOMAIN.proves_right(task, (write,))
    assert DOMAIN.proves_right(task, (write, SUBMIT))
    assert not DOMAIN.proves_right(task, (write, write_fenced("rm Makefile"), SUBMIT))
    for attempt in (*DOMAIN.distractors(task), *DOMAIN.exploits(task)):
        assert not DOMAIN.proves_right(task, attempt.actions), attempt.name
