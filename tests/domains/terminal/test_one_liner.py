"""One-liners: requests answered by hand, commands run on twin trees, and what half a request is worth."""

import numpy as np
import pytest

from polyathlon import Entry, Evidence, Json, Task, TaskKey, Tree, Verdict, draw_task
from polyathlon.sandbox.choose import default_room
from polyathlon.sandbox.protocol import Report
from polyathlon.seeding import child
from polyathlon_domains.terminal._requests import Atom, Request, answer, compile_request, matches
from polyathlon_domains.terminal._twins import twins
from polyathlon_domains.terminal.one_liner import DOMAIN, read_command, read_output

ID = "polyathlon/terminal.one-liner-v1"
MARCH_5_S = 1_709_596_800  # 2024-03-05 00:00 UTC
TREE = Tree.of(
    {
        "docs/a.log": Entry(data=b"x" * 512, mtime_s=MARCH_5_S + 60),
        "docs/b.log": Entry(data=b"x" * 513, mtime_s=MARCH_5_S - 60),
        "docs/deep/c.txt": Entry(mode=0o664, data=b"cedar 4\ncedars 5\n", mtime_s=MARCH_5_S + 60),
        "docs/d.log": Entry("dir", 0o755),
        "web/e.log": Entry(data=b"x" * 900, mtime_s=MARCH_5_S + 60),
    }
)


def paths(place: str, *atoms: Atom) -> tuple[str, ...]:
    request = Request(place, atoms, "paths")
    return answer(request, matches(request, TREE))


def judge(request: Request, command: str, seed: int = 3) -> Verdict:
    hidden: dict[str, Json] = {"request": request.to_json(), "twins": seed}
    task = Task(f"{ID}:0:train:1", 0, 1, "train", "", {}, hidden, "00")
    return DOMAIN.verifier.judge(task, Evidence(answer=command), default_room())


def test_conditions_hold_as_their_words_say() -> None:
    assert paths("docs", Atom("size", ("over", "512"))) == ("docs/b.log",)
    assert paths("docs", Atom("size", ("under", "513"))) == ("docs/a.log", "docs/deep/c.txt")
    assert paths("docs", Atom("time", ("since", "2024-03-05"))) == ("docs/a.log", "docs/deep/c.txt")
    assert paths(".", Atom("time", ("before", "2024-03-05"))) == ("docs/b.log",)
    assert paths(".", Atom("name", ("*.txt", "e*.log"))) == ("docs/deep/c.txt", "web/e.log")
    assert paths("docs", Atom("name", ("*.log",), negated=True)) == ("docs/deep/c.txt",)
    assert paths("docs", Atom("mode", ("g=w",))) == ("docs/deep/c.txt",)
    assert paths("docs", Atom("depth", ())) == ("docs/a.log", "docs/b.log")
    assert paths(".", Atom("word", ("cedars",))) == ("docs/deep/c.txt",)
    assert paths(".", Atom("word", ("cedar 4",))) == ()


@pytest.mark.parametrize(
    ("want", "value"),
    [("count", "3"), ("bytes", "1042"), ("largest", "513"), ("lines", "2"), ("folders", "2"), ("column", "9")],
)
def test_totals_are_those_of_the_matching_files(want: str, value: str) -> None:
    request = Request("docs", (), want)
    assert answer(request, matches(request, TREE)) == (value,)


def test_a_request_compiles_to_find() -> None:
    request = Request("docs", (Atom("size", ("over", "512")), Atom("name", ("a*.log",), negated=True)), "count")
    assert compile_request(request) == "find docs -type f -size +512c ! -name 'a*.log'|wc -l"


def test_twins_have_four_different_answers_none_of_them_a_lazier_requests() -> None:
    request = Request("docs", (Atom("size", ("over", "300")), Atom("time", ("since", "2024-03-05"))), "count")
    trees = twins(request, np.random.default_rng(5))
    answers = [answer(request, matches(request, tree)) for tree in trees]
    assert len(set(answers)) == 4
    for tree, right in list(zip(trees, answers, strict=True))[1:]:
        for left_out in range(2):
            assert answer(request, matches(request, tree, without=left_out)) != right


SIZE = Request("docs", (Atom("size", ("over", "512")),), "paths")
COUNT = Request("docs", (Atom("size", ("over", "512")),), "count")


@pytest.mark.parametrize(
    "command",
    [
        "find docs -type f -size +512c",
        "```bash\nfind ./docs -size +512c -type f | sort -r\n```",
        "$ cd . && find docs -type f -size +512c -exec ls {} \\;",
        'shopt -s globstar dotglob; for f in docs/**; do [ -f "$f" ] && (( $(wc -c < "$f") > 512 )) && echo "$f"; done',
    ],
)
def test_any_right_command_passes(command: str) -> None:
    assert judge(SIZE, command).passed


@pytest.mark.parametrize(
    "command",
    [
        "",
        "find docs -type f",
        "find docs -type f -size +512c | wc -l",
        "cd docs && find . -type f -size +512c",
        "find docs -type f -size -512c",
        "find docs -type f -size +512c -print0",
        "echo 'unclosed",
        "x" * 3_000,
        "echo \0",
        "exit 0",
        "false",
        "cat /workspace/*/docs/*",
    ],
)
def test_commands_that_print_something_else_earn_nothing(command: str) -> None:
    assert judge(SIZE, command).reward == 0.0


def test_a_bound_one_byte_off_earns_only_the_trees_without_a_file_at_the_bound() -> None:
    verdict = judge(SIZE, "find docs -type f -size +513c")
    # the first tree has no file of 513 bytes; of the others at least one has
    assert verdict.parts["trees"] in (0.25, 0.5, 0.75)
    assert verdict.reward == 0.5 * (0.9 * verdict.parts["trees"] + 0.1)


def test_printing_to_the_wrong_stream_earns_nothing() -> None:
    assert judge(SIZE, "find docs -type f -size +512c >&2").reward == 0.0


def test_a_constant_that_is_right_on_one_tree_earns_nothing() -> None:
    for number in range(1, 26):
        assert judge(COUNT, f"echo {number}").reward == 0.0


def test_a_guess_right_on_two_of_four_counts_earns_nothing() -> None:
    # a count may be guessed: share (2/4 - 1/2) / (1 - 1/2) = 0
    counts = [answer(COUNT, matches(COUNT, tree))[0] for tree in twins(COUNT, child("one-liner twins", 3))]
    guesses = f"case $PWD in *0) echo {counts[0]};; *1) echo {counts[1]};; *) echo 0;; esac"
    assert judge(COUNT, guesses).reward == 0.0


def test_endless_commands_fail_and_stay_valid(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("polyathlon_domains.terminal.one_liner.RUN_TIMEOUT_S", 1.0)
    for command in ("while :; do :; done", "yes", "sleep 60"):
        verdict = judge(SIZE, command)
        assert verdict.valid
        assert verdict.reward == 0.0


def test_deleting_the_trees_pays_nothing() -> None:
    assert judge(COUNT, "rm -rf ../*/docs; find docs -type f -size +512c | wc -l").reward == 0.0


def test_a_banned_word_fails_even_a_right_command() -> None:
    banned = Request("docs", (Atom("size", ("over", "512")),), "bytes", odd=True, ban="find")
    assert judge(banned, compile_request(banned)).passed
    assert judge(banned, compile_request(COUNT)).reward == 0.0


def test_odd_names_need_nul() -> None:
    odd = Request("docs", (Atom("size", ("over", "512")),), "paths", odd=True)
    assert judge(odd, "find docs -type f -size +512c -print0").passed
    assert judge(odd, "find docs -type f -size +512c").reward == 0.0
    assert read_output(odd, Report(0, "exit", b"a\nb\0./c\0")) == ("a\nb", "c")


@pytest.mark.parametrize(
    ("text", "command"),
    [
        (" ls \n", "ls"),
        ("$ ls", "ls"),
        ("So:\n```sh\nls -a\n```\nDone.", "ls -a"),
        ("", None),
        (None, None),
        ("\ud800", None),
    ],
)
def test_the_command_is_read_from_an_answer(text: str | None, command: str | None) -> None:
    assert read_command(text) == command


def test_short_prompts_at_the_first_levels() -> None:
    for level, most in ((0, 110), (1, 130), (2, 190)):
        prompts = [draw_task(DOMAIN.tasks, TaskKey(ID, level, seed)).prompt for seed in range(40)]
        assert max(map(len, prompts)) <= most
