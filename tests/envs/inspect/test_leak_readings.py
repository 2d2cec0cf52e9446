"""The ways in which an answer can stand in what is shown, each made by hand, and what is no such way."""

import base64
import json

import pytest

from polyathlon.inspect.leaks.readings import encoded_in, found_in
from polyathlon.inspect.leaks.shown import secrets_of
from polyathlon.toolcall import write_call

CALLS = [{"name": "wake", "arguments": {"time": "02:55", "days": ["Mon", "Tue"]}}]


def code(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


@pytest.mark.parametrize(
    "shown",
    [
        "the sum is 1234",
        "4321 backwards",
        code("sum=1234;"),
        code("the sum of it all is 1234"),
        f"mark {code('1234')} here",
        f"q{code('a=1234 b')}",
        base64.urlsafe_b64encode(b"\xfb\xff~1234").decode() + " " + code("?~>1234"),
        b"1234".hex(),
        f"f{b'sum 1234'.hex()}",
    ],
)
def test_an_answer_is_found(shown: str) -> None:
    assert found_in(shown, "1234")


@pytest.mark.parametrize("shown", ["12345 and 91234", code("sum=1235;"), "31323335", "nothing of the kind in words"])
def test_another_text_is_not(shown: str) -> None:
    assert found_in(shown, "1234") == ""


def test_what_stands_there_as_it_is_is_not_encoded() -> None:
    assert encoded_in("wake me at 02:55", "02:55") == ""
    assert encoded_in(f"x {code('02:55')}", "02:55")


def test_calls_are_the_answer_in_each_layout_and_their_arguments_are_pieces() -> None:
    compact, spaced = json.dumps(CALLS, separators=(",", ":")), json.dumps(CALLS)
    for action in (compact, f"I think: <answer>{spaced}</answer>"):
        whole, pieces = secrets_of([action], calls_judged=True)
        assert {compact, spaced, json.dumps(CALLS[0])} <= {*whole}
        assert pieces == ("02:55", "Mon", "Tue")
        assert not {*pieces} & {*whole}
    whole, pieces = secrets_of([write_call("wake", {"time": "02:55"})], calls_judged=True)
    assert (pieces, '{"name":"wake","arguments":{"time":"02:55"}}' in whole, "02:55" in whole) == (
        ("02:55",),
        True,
        False,
    )


def test_a_text_given_to_a_tool_is_an_answer_where_texts_are_judged() -> None:
    assert secrets_of([write_call("submit", {"answer": "02:55"})], calls_judged=False) == (("02:55",), ())
