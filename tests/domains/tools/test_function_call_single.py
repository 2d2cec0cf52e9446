"""Function calls: typed, defaults aside, as a bag; the credit of each argument worked by hand."""

import json
import time

import pytest

from polyathlon import Call, Json, Task, Verdict
from polyathlon.sandbox.choose import default_room
from polyathlon_domains.tools._arguments import DATE, GRAMS, MINUTES, TIME
from polyathlon_domains.tools._calls import told
from polyathlon_domains.tools._functions import ALL
from polyathlon_domains.tools.function_call_single import DOMAIN

PAY: Json = {"name": "pay", "arguments": {"to": "Ana", "cents": 420}}
PLAYED: dict[str, Json] = {"song": "Creep", "room": "hall", "volume": 7}
PLAY: Json = {"name": "play", "arguments": PLAYED}


def _judge(wanted: list[Json], message: str) -> Verdict:
    specs = [ALL[name].spec(num_optional=2) for name in ("pay", "play", "taxi")]
    tools: Json = [{"name": s.name, "description": s.description, "parameters": s.parameters} for s in specs]
    task = Task(
        "polyathlon/tools.function-call-single-v1:0:train:1",
        0,
        1,
        "train",
        "",
        {"tools": tools},
        {"calls": wanted, "num_calls": len(wanted)},
        "0",
    )
    workspace = DOMAIN.open_workspace(task, default_room())
    workspace.act(message)
    return DOMAIN.verifier.judge(task, workspace.evidence(), default_room())


def _calls(*calls: Json) -> str:
    return json.dumps(calls)


def test_calls_pass_in_any_order_and_with_defaults_written_out() -> None:
    filled: Json = {"name": "play", "arguments": {**PLAYED, "repeat": 1}}
    assert _judge([PAY, PLAY], _calls(PAY, PLAY)).passed
    assert _judge([PAY, PLAY], _calls(filled, PAY)).passed


def test_a_whole_float_is_the_integer_and_a_string_or_true_is_not() -> None:
    assert _judge([PAY], _calls({"name": "pay", "arguments": {"to": "Ana", "cents": 420.0}})).passed
    assert not _judge([PAY], _calls({"name": "pay", "arguments": {"to": "Ana", "cents": "420"}})).passed
    one: Json = {"name": "pay", "arguments": {"to": "Ana", "cents": 1}}
    assert not _judge([one], _calls({"name": "pay", "arguments": {"to": "Ana", "cents": True}})).passed


@pytest.mark.parametrize(
    ("arguments", "reward"),
    [
        ({"to": "Ana"}, 1 / 3),  # F1 of 1 leaf against 2: 2/3
        ({"to": "Ana", "cents": 421}, 1 / 4),
        ({"to": "Ana", "cents": 420, "note": "gym"}, 2 / 5),  # 2 of 3 against 2: 4/5
        ({"to": "Ana", "cents": 420, "extra": {}}, 2 / 5),
        ({"to": "Ana", "cents": 420, "note": None}, 2 / 5),
        ({"to": "Ben", "cents": 1}, 0.0),
        ({"to": {"to": "Ana"}, "cents": [420]}, 0.0),
        ({}, 0.0),
    ],
)
def test_each_right_argument_counts_and_each_spurious_one_costs(arguments: Json, reward: float) -> None:
    verdict = _judge([PAY], _calls({"name": "pay", "arguments": arguments}))
    assert not verdict.passed
    assert verdict.reward == pytest.approx(reward)


def test_another_function_with_the_right_arguments_is_worth_nothing() -> None:
    assert _judge([PAY], _calls({"name": "play", "arguments": {"to": "Ana", "cents": 420}})).reward == 0.0


def test_missing_and_repeated_calls_cost() -> None:
    assert _judge([PAY, PLAY], _calls(PAY)).reward == 0.25  # one of two
    assert _judge([PAY], _calls(PAY, PAY)).reward == 0.25


def test_a_call_for_every_tool_is_worth_no_more_than_one_picked_blindly() -> None:
    others: list[Json] = [{"name": name, "arguments": {"to": "Ana", "cents": 420}} for name in ("play", "taxi")]
    assert _judge([PAY], _calls(PAY, *others)).reward == pytest.approx(0.5 / 3)


def test_more_than_eight_calls_are_worth_nothing() -> None:
    assert _judge([PAY], _calls(*[PAY] * 9)).reward == 0.0


def test_a_default_alone_earns_nothing() -> None:
    assert _judge([PLAY], _calls({"name": "play", "arguments": {"volume": 5, "repeat": 1}})).reward == 0.0


def test_an_empty_array_is_right_only_where_nothing_fits() -> None:
    assert _judge([], "[]").passed
    assert _judge([], "").reward == 0.0
    assert _judge([], "none").reward == 0.0
    assert _judge([], _calls(PAY)).reward == 0.0
    assert _judge([PAY], "[]").reward == 0.0


def test_nested_arguments_count_leaf_by_leaf() -> None:
    taxi: Json = {
        "name": "taxi",
        "arguments": {"to": {"number": 5, "street": "Elm St", "city": "Oslo"}, "time": "09:30"},
    }
    near: Json = {
        "name": "taxi",
        "arguments": {"to": {"number": 5, "street": "Elm St", "city": "Rome"}, "time": "09:30"},
    }
    flat: Json = {"name": "taxi", "arguments": {"to": "5 Elm St, Oslo", "time": "09:30"}}
    assert _judge([taxi], _calls(near)).reward == pytest.approx(3 / 8)  # 3 of 4 leaves
    assert _judge([taxi], _calls(flat)).reward == pytest.approx(1 / 6)  # 1 leaf of 2 against 4: 1/3


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("07:30", "half past 7 am"),
        ("23:19", "11:19 pm"),
        ("12:05", "12:05 pm"),
        ("00:05", "12:05 am"),
        ("16:45", "quarter to 5 pm"),
        ("11:45", "11:45 am"),
        ("09:15", "quarter past 9 am"),
    ],
)
def test_times_are_said_as_people_say_them(value: str, words: str) -> None:
    assert TIME.say_otherwise is not None
    assert TIME.say_otherwise(value) == words


def test_units_and_dates_are_said_otherwise_without_loss() -> None:
    assert MINUTES.say_otherwise is not None and MINUTES.say_otherwise(135) == "2 h 15 min"  # noqa: PT018
    assert GRAMS.say_otherwise is not None and GRAMS.say_otherwise(760) == "0.76 kg"  # noqa: PT018
    assert DATE.say_otherwise is not None and DATE.say_otherwise("2026-03-06") == "6 March 2026"  # noqa: PT018


def test_long_keys_over_long_lists_cost_no_more_than_their_length() -> None:
    call = Call("play", {"k" * 40_000: {"j" * 40_000: [1] * 4_000}})
    began = time.process_time()
    assert len(told(call, ()).leaves) == 4_000
    assert time.process_time() - began < 0.5  # 0.02 s; keys written out for every leaf take 0.9 s
