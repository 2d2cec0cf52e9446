"""Permission repair: policies evaluated by hand, chmod on a real tree, and what blind chmods are worth."""

import pytest

from polyathlon import Entry, Evidence, Json, Task, Tree, Verdict
from polyathlon.sandbox.choose import default_room
from polyathlon.toolcall import write_call, write_fenced
from polyathlon.workspaces.terminal import open_terminal, read_tree
from polyathlon_domains.terminal._modes import Place, Policy, Rule, blind_share, repaired_share
from polyathlon_domains.terminal.permission_repair import DOMAIN

POLICY = Policy(
    (
        Rule("dir", 0o755),
        Rule("file", 0o644),
        Rule("file", 0o755, glob="*.sh"),
        Rule("dir", 0o2770, under="team"),
        Rule("file", 0o660, under="team"),
        Rule("file", 0o600, path="team/key"),
    ),
    "last",
)
FILES: dict[str, Json] = {
    "team": {"dir": True, "mode": 0o770},
    "team/key": {"text": "k\n", "mode": 0o600},
    "team/run.sh": {"text": "r\n", "mode": 0o777},
    "build.sh": {"text": "b\n", "mode": 0o644},
    "notes": {"text": "n\n", "mode": 0o644},
    "src": {"dir": True, "mode": 0o2755},
    "src/a.c": {"text": "a\n", "mode": 0o000},
    "link": {"link": "team/key"},
}
GOALS = {"team": 0o2770, "team/key": 0o600, "team/run.sh": 0o660, "build.sh": 0o755, "notes": 0o644}
GOALS |= {"src": 0o755, "src/a.c": 0o644}


def task() -> Task:
    ident = "polyathlon/terminal.permission-repair-v1"
    return Task(f"{ident}:0:train:1", 0, 1, "train", "", {"files": FILES}, {"policy": POLICY.to_json()}, "00")


def judge(**changed: Entry | None) -> Verdict:
    """Return the verdict on the start with the modes of `changed` (dots for slashes) replaced, None for deleted."""
    start = read_tree(FILES)
    entries = {path: Entry(e.kind, GOALS.get(path, e.mode), e.data) for path, e in start.entries.items()}
    for path, entry in changed.items():
        if entry is None:
            del entries[path]
        else:
            entries[path] = entry
    return DOMAIN.verifier.judge(task(), Evidence(tree=Tree(entries)), default_room())


def play(script: str) -> Verdict:
    room = default_room()
    workspace = open_terminal(task(), room)
    workspace.act(write_fenced(script))
    workspace.act(write_call("submit", {}))
    evidence = workspace.evidence()
    workspace.close()
    return DOMAIN.verifier.judge(task(), evidence, room)


def test_the_last_matching_rule_decides() -> None:
    kinds = {path: read_tree(FILES).entries[path].kind for path in GOALS}
    assert {path: POLICY.mode(path, kind) for path, kind in kinds.items()} == GOALS


def test_the_first_matching_rule_decides_where_the_policy_says_so() -> None:
    turned = Policy(POLICY.rules, "first")
    assert turned.mode("team/run.sh", "file") == 0o644
    assert turned.mode("team", "dir") == 0o755


def test_all_goals_pass_and_the_mode_of_a_link_does_not_matter() -> None:
    assert judge().passed
    assert judge(link=Entry("symlink", 0o700, b"team/key")).passed


def test_contents_names_and_kinds_must_stay() -> None:
    assert judge(notes=Entry("file", 0o644, b"other\n")).reward == 0.0
    assert judge(notes=None).reward == 0.0
    assert judge(more=Entry("file", 0o644, b"")).reward == 0.0
    assert judge(notes=Entry("symlink", 0o777, b"/etc/passwd")).reward == 0.0
    assert judge(link=Entry("file", 0o600, b"k\n")).reward == 0.0


def test_shares_count_fixed_and_broken_paths() -> None:
    places = [Place("a", "file", 1, 2), Place("b", "file", 1, 2), Place("c", "file", 3, 3), Place("d", "dir", 3, 3)]
    assert repaired_share(places, {"a": 2, "b": 1, "c": 3, "d": 3}) == 0.5
    assert repaired_share(places, {"a": 2, "b": 2, "c": 2, "d": 3}) == 0.5
    # one mode for files (2 fixes both and breaks one of two right ones), directories as they are: 1 - 1/2
    assert blind_share(places) == 0.5


def test_one_forgotten_path_earns_less_than_half() -> None:
    # wrong at first: team, team/run.sh, build.sh, src, src/a.c; four of five are set right and nothing is broken.
    # Best blind chmod: directories to 0755 (fixes src; team was wrong anyway), 1/5; files to 0644 (fixes src/a.c,
    # breaks team/key, one of two right ones), 0755 or 0660: at best left as they are, 0. (4/5 - 1/5) / (4/5) = 3/4
    verdict = judge(**{"build.sh": Entry("file", 0o644, b"b\n")})
    assert verdict.reward == pytest.approx(0.375)


@pytest.mark.parametrize(
    "script",
    [
        "chmod -R 777 .",
        "chmod -R 755 .",
        "chmod -R 2770 .",
        "chmod -R a+rX .",
        "chmod -R u=rwX,go=rX .",
        "chmod -R go-w .",
        "chmod -R u+rwX .; find . -type d -exec chmod 00755 {} +; find . -type f -exec chmod 644 {} +",
        "rm -rf team src",
        "true",
    ],
)
def test_blind_chmods_earn_nothing(script: str) -> None:
    assert play(script).reward == 0.0


def test_the_compiled_policy_passes_in_the_sandbox() -> None:
    assert play(POLICY.compiled()).passed


def test_four_digits_leave_the_setgid_bit_that_has_to_go() -> None:
    verdict = play(POLICY.compiled().replace("chmod 0", "chmod "))
    assert not verdict.passed
    assert verdict.reward is not None
    assert verdict.reward > 0.3


def test_progress_reads_the_tree_alone() -> None:
    progress = DOMAIN.verifier.progress  # type: ignore[attr-defined]  # this verifier has one
    assert progress(task(), Evidence(tree=read_tree(FILES))) == 0.0
    assert progress(task(), Evidence()) == 0.0
