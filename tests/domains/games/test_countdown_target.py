"""Countdown: legality by a reader of its own, the target exactly, closeness only beyond what takes no effort."""

from fractions import Fraction
from itertools import combinations

import pytest

from polyathlon import Json, Task, TaskKey, Verdict, draw_task
from polyathlon.canonical import expect_int, expect_list
from polyathlon.sandbox.choose import default_room
from polyathlon.workspaces.game import GameWorkspace
from polyathlon_domains.games._expression import (
    Unreadable,
    find_expression,
    read_expression,
    value_of,
    write_expression,
)
from polyathlon_domains.games.countdown_target import DOMAIN

ID = "polyathlon/games.countdown-target-v1"


def _task(numbers: list[int], target: str, *, signs: str = "+-*/", everything: bool = False) -> Task:
    public: dict[str, Json] = {"numbers": numbers, "target": target, "signs": signs, "all": everything}
    return Task("polyathlon/games.countdown-target-v1:0:train:1", 0, 1, "train", "", public, {}, "00")


def _judge(task: Task, message: str) -> Verdict:
    workspace = DOMAIN.open_workspace(task, default_room())
    assert isinstance(workspace, GameWorkspace)
    workspace.act(message)
    return DOMAIN.verifier.judge(task, workspace.evidence(), default_room())


@pytest.mark.parametrize("answer", ["(25-5)*3+2", "2 + 3*(25-5)", "<answer>3\u00d7(25\u22125)+2</answer>"])
def test_any_legal_expression_of_the_target_passes(answer: str) -> None:
    assert _judge(_task([2, 3, 5, 25], "62"), answer).passed


@pytest.mark.parametrize(
    "answer",
    [
        "62",
        "25+25+5+5+2",
        "60+2",
        "31*2",
        "9**9**9",
        "2^3",
        "(25-5)*3+2=62",
        "25*3-",
        "-3+65",
        "2 5+3",
        "25/(5-5)",
        "",
        "nan",
        "2_5",
        "\u0662+\u0663",
        "(" * 199,
        "62 is (25-5)*3+2",
    ],
)
def test_illegal_expressions_earn_nothing(answer: str) -> None:
    assert _judge(_task([2, 3, 5, 25], "62"), answer).reward == 0.0


def test_a_careless_pair_near_the_target_earns_nothing() -> None:
    # 25 +- another comes as near as 28 and 22; the target 31 is 3 from 28: log 4, and only 30 or 32 are nearer
    task = _task([2, 3, 5, 25], "31", signs="+-")
    assert _judge(task, "25+3").reward == 0.0
    assert _judge(task, "25+5").reward == 0.0  # 30, the nearest careless pair itself
    assert (_judge(task, "25+5+3-2").reward or 0.0) == 1.0


def test_closeness_counts_only_beyond_the_effortless_values() -> None:
    # 2, 3, 5, 25: singles, their sum 35, 25+5 and 25*5 = 125; the nearest to 62 is 35, 27 away: log 28
    task = _task([2, 3, 5, 25], "62")
    assert _judge(task, "2+3+5+25").reward == 0.0
    assert _judge(task, "25+5").reward == 0.0
    near = _judge(task, "25*2+5+3")  # 58, 4 away: log 5, so 1 - log 5 / log 28 = 0.5170
    assert near.reward == pytest.approx(0.5 * 0.5170, abs=1e-4)
    assert not near.passed


def test_every_number_must_be_used_where_it_is_asked() -> None:
    task = _task([2, 3, 4], "14", everything=True)
    assert _judge(task, "2+3*4").passed
    assert _judge(_task([2, 3, 4, 1], "14", everything=True), "2+3*4").reward == 0.0


def test_operators_outside_the_level_are_refused() -> None:
    assert _judge(_task([6, 7, 1], "42", signs="+-"), "6*7").reward == 0.0


def test_fractions_are_exact() -> None:
    assert _judge(_task([1, 3, 7], "22/3"), "7+1/3").passed
    assert not _judge(_task([1, 3, 7], "22/3"), "7").passed


@pytest.mark.parametrize(
    ("text", "value"),
    [("2+3*4", 14), ("(2+3)*4", 20), ("10-4-3", 3), ("10-(4-3)", 9), ("12/4/3", 1), ("12/(4/3)", 9), ("2*(3+4)-1", 13)],
)
def test_reading_follows_the_usual_priorities_and_writing_keeps_the_value(text: str, value: int) -> None:
    expr = read_expression(text)
    assert value_of(expr) == value
    assert value_of(read_expression(write_expression(expr))) == value


@pytest.mark.parametrize("text", ["", "1+", "*2", "(1", "1)", "1 2", "1" * 7, "1+1" * 80, "1,2", "\ud800"])
def test_what_is_no_expression_is_unreadable(text: str) -> None:
    with pytest.raises(Unreadable):
        read_expression(text)


def test_search_is_exact_both_ways() -> None:
    # 3, 3, 8, 8 gives 24 in one way only: 8/(3-8/3)
    found = find_expression([3, 3, 8, 8], Fraction(24), signs="+-*/", use_all=True)
    assert found is not None
    assert value_of(found) == 24
    assert find_expression([1, 1, 1, 1], Fraction(24), signs="+-*/", use_all=True) is None
    assert find_expression([50, 2], Fraction(25), signs="+-*/", use_all=False) == ("/", 50, 2)


@pytest.mark.parametrize(("level", "most"), [(0, 0.1), (1, 0.06)])
def test_no_sum_by_rank_is_a_good_guess(level: int, most: float) -> None:
    tasks = [draw_task(DOMAIN.tasks, TaskKey(ID, level, seed)) for seed in range(300)]
    numbers = [sorted(map(expect_int, expect_list(task.public["numbers"]))) for task in tasks]
    for ranks in combinations(range(len(numbers[0])), 2 + level):
        sums = [str(sum(given[rank] for rank in ranks)) for given in numbers]
        hits = sum(total == task.public["target"] for total, task in zip(sums, tasks, strict=True))
        assert hits / len(tasks) <= most, ranks
