"""Commands judged on hidden trees: what is told of each run, whatever the command does to the judge and its trees."""

from __future__ import annotations

import secrets
from ast import literal_eval

import pytest

from polyathlon.errors import VerifierError
from polyathlon.sandbox.choose import default_room
from polyathlon.sandbox.protocol import Limits, Reason, Report
from polyathlon.sandbox.scripted import Answer, ScriptedRoom, printing
from polyathlon.tree import Entry, Tree
from polyathlon.verify.commands import MAX_OUTPUT_BYTES, Ran, run_on_trees

pytestmark = pytest.mark.isolation

LIMITS = Limits(memory_bytes=64 * 2**20, disk_bytes=4 * 2**20, max_processes=16, cpu_s=2.0)
ONE = Tree.of({"a.txt": "first\n", "in/b.txt": "second\n"})
TWO = Tree.of(
    {
        "a.txt": Entry("file", 0o640, b"other\n", 1_000_000_000),
        "link": Entry("symlink", 0o777, b"a.txt"),
        "in": Entry("dir", 0o700, b"", 1_100_000_000),
    }
)


class Always(dict[str, Answer]):
    """Scripted answers: the same to every command."""

    def __init__(self, report: Report) -> None:
        self._report = report

    def get(self, key: str, default: object = None) -> Answer:
        return self._report


def ran(command: str, *trees: Tree, wall_s: float = 20.0) -> tuple[tuple[Ran, ...], Reason]:
    return run_on_trees(default_room(), command, trees or (ONE, TWO), limits=LIMITS, wall_s=wall_s)


def test_each_run_is_told_by_its_status_and_what_it_wrote() -> None:
    assert ran("cat a.txt") == ((Ran(0, b"first\n"), Ran(0, b"other\n")), "exit")
    assert ran("cat a.txt; ls in/b.txt >/dev/null && exit 3") == ((Ran(3, b"first\n"), Ran(2, b"other\n")), "exit")
    assert ran("kill -9 $$")[0] == (Ran(137, b""), Ran(137, b""))


def test_trees_stand_as_described_in_the_c_locale_and_utc_with_nothing_to_read() -> None:
    (_, two), _ = ran("stat -c '%A %Y' a.txt in; readlink link; date -d @0 +%R; cat; echo $LC_ALL; pwd")
    assert two.output.decode().splitlines() == [
        *("-rw-r----- 1000000000", "drwx------ 1100000000", "a.txt", "00:00", "C", "/workspace/1")
    ]


def test_errors_are_not_output_and_bytes_are_kept() -> None:
    assert ran("echo no >&2; printf '\\000\\377'", ONE)[0] == (Ran(0, b"\0\xff"),)


def test_long_output_is_cut_one_byte_beyond_what_counts() -> None:
    (one,), reason = ran("head -c 200000 /dev/zero", ONE)
    assert (one.status, len(one.output), reason) == (0, MAX_OUTPUT_BYTES + 1, "exit")


def test_what_runs_on_is_not_waited_for_nor_heard() -> None:
    (one, two), reason = ran("(sleep 30; echo late) & echo now")
    assert (one, two, reason) == (Ran(0, b"now\n"), Ran(0, b"now\n"), "exit")


@pytest.mark.parametrize("command", ["sleep 30", "exec >&-; sleep 30", "trap '' TERM; sleep 30"])
def test_one_that_takes_too_long_ends_all(command: str) -> None:
    runs, reason = ran(command, wall_s=0.5)
    assert (runs, reason) == ((Ran(-1, b""),), "timeout")


def test_a_busy_loop_ends_by_its_cpu_seconds() -> None:
    runs, reason = ran("while :; do :; done")
    assert reason == "timeout"
    assert not any(each.status == 0 for each in runs)


def test_a_flood_ends_all() -> None:
    runs, reason = ran("yes")
    assert reason == "timeout"
    assert [each.status for each in runs] == [-1]


@pytest.mark.parametrize(
    "command",
    [
        "kill -9 $PPID; sleep 5",  # the judge itself
        "kill -9 -1",
        "rm -rf /workspace/* 2>/dev/null; echo x",
        "chmod 0 . ..; echo x",
        ":(){ :|:& };:",  # as many processes as the sandbox allows, and no more
        "head -c 8388608 /dev/zero >fill",
    ],
)
def test_a_command_that_fights_its_judge_is_told_of_or_leaves_no_runs_and_breaks_nothing(command: str) -> None:
    runs, _ = ran(command, ONE, TWO, wall_s=3.0)
    assert len(runs) <= 2
    assert ran("cat a.txt") == ((Ran(0, b"first\n"), Ran(0, b"other\n")), "exit")


def test_the_judges_own_output_cannot_be_opened_and_its_input_tells_no_right_answer() -> None:
    assert ran("echo x >/proc/$PPID/fd/1", ONE)[0] == (Ran(1, b""),)
    # what the judge was given can be read: the trees, and nothing of what is expected of them
    (told,), _ = ran("tr -d '\\0' </proc/$PPID/fd/0", ONE)
    assert set(literal_eval(told.output.decode())) == {"nonce", "command", "trees", "wall_s", "max_bytes"}


@pytest.mark.parametrize("line", ["0 0", "0 x 66", "0 0 6", "0 0 zz", "0 0 66 66", "", "0 0 \u0663\u0663"])
def test_a_line_that_does_not_read_is_a_run_that_failed(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    said = f"NONCE ready\nNONCE {line}\nother 9 9\nNONCE 1 0 62\nNONCE 2 0 63\n"
    monkeypatch.setattr(secrets, "token_hex", lambda _: "NONCE")
    told = run_on_trees(ScriptedRoom(Always(printing(said))), "true", [ONE, TWO], limits=LIMITS, wall_s=1.0)
    assert told == ((Ran(126, b""), Ran(0, b"b")), "exit")  # and a third line, for two trees, is nobody's


def test_a_judge_that_does_not_start_is_no_verdict() -> None:
    with pytest.raises(VerifierError, match="did not start"):
        run_on_trees(ScriptedRoom(), "true", [ONE], limits=LIMITS, wall_s=1.0)
