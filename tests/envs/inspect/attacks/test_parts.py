"""The parts of the attacks: where an answer stands, what is the same answer, forms, shrinking, changed scalars."""

from __future__ import annotations

import numpy as np
import pytest

from polyathlon.domain import ToolSpec
from polyathlon.inspect.attacks.forms import forms_of, shown_by_class
from polyathlon.inspect.attacks.impossible import changed_scalar
from polyathlon.inspect.attacks.payload import Payload, payload_of
from polyathlon.inspect.attacks.rights import tokens
from polyathlon.inspect.attacks.shrinking import shrunk
from polyathlon.inspect.attacks.wrong import another, one_more, prompt_numbers
from polyathlon.toolcall import write_call, write_fenced
from polyathlon.workspaces.toolbox import text_parameters

SUBMIT = ToolSpec("submit", "", text_parameters("answer"))


@pytest.mark.parametrize(
    ("actions", "tools", "kind", "payload"),
    [
        (("42",), (), "question", Payload("42", "text")),
        (("I add. <answer> 42 </answer>",), (), "question", Payload("42", "text")),
        (('[{"name": "x"}]',), (), "tools", Payload('[{"name": "x"}]', "json")),
        (("a + b",), (), "coding", Payload("a + b", "piece")),
        (("find .",), (), "terminal", Payload("find .", "bash")),
        ((write_fenced("SELECT 1", language="sql"),), (SUBMIT,), "coding", Payload("SELECT 1", "sql", "fence", "sql")),
        (
            (write_call("submit", {"answer": {"a": 1}}),),
            (SUBMIT,),
            "document",
            Payload('{"a":1}', "json", "call", "submit", "answer", is_value=True),
        ),
        ((write_fenced("ls"), write_call("submit", {})), (SUBMIT,), "terminal", None),
        (("<answer>1</answer><answer>2</answer>",), (), "question", None),
    ],
)
def test_an_answer_is_found_where_it_stands(
    actions: tuple[str, ...], tools: tuple[ToolSpec, ...], kind: str, payload: Payload | None
) -> None:
    assert payload_of(actions, tools, kind) == payload  # type: ignore[arg-type]  # a kind


def test_another_answer_is_carried_as_the_first_was() -> None:
    assert Payload("SELECT 1", "sql", "fence", "sql").carrying("SELECT 2") == ("```sql\nSELECT 2\n```",)
    call = Payload('{"a":1}', "json", "call", "submit", "answer", is_value=True)
    assert call.carrying('{"b": 2}') == (write_call("submit", {"answer": {"b": 2}}),)
    assert call.carrying("no JSON") == (write_call("submit", {"answer": "no JSON"}),)


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        ("12, 30", "30 12", True),
        ("12.0", "12", True),
        ("Mother, son", "son;mother", True),
        ("3+4", "4+3", True),
        ("3+4", "3-4", False),
        ("-5", "5", False),
        ("7 - 5", "7-5", True),
        ("12", "120", False),
        ("012R 013G", "013R 012G", True),  # too kind: the same numbers and letters
    ],
)
def test_answers_are_the_same_when_their_words_and_numbers_are(left: str, right: str, same: bool) -> None:
    assert (tokens(left) == tokens(right)) is same


def test_a_form_keeps_what_most_answers_share_and_fills_the_rest() -> None:
    answers = ["510 D 12.50; 100 C 12.50", "520 D 9.00; 100 C 9.00", "100 D 7.25; 400 C 7.25"]
    first = forms_of(answers)[0]
    assert [text for name, text in first.pieces if not name] == [" ", "D", " ", "; ", "100", " ", "C", " "]
    shown = shown_by_class("400 Sales, 100 Cash. Sold goods for 33.10 cash.")
    assert shown["decimal"] == ["33.10"]
    assert first.filled_in_order(shown) == "400 D 33.10; 100 C 33.10"
    assert first.filled(shown, np.random.default_rng(0)) in ("400 D 33.10; 100 C 33.10", "100 D 33.10; 100 C 33.10")


def test_shrinking_finds_the_smallest_text_that_still_does_it() -> None:
    assert shrunk("12 + (30 // 7) and more", lambda text: "//" in text, max_tries=500) == "//"
    assert shrunk("alpha 57 beta", lambda text: any(c.isdigit() for c in text), max_tries=500) == "0"
    assert shrunk("alpha", lambda text: False, max_tries=500) == "alpha"


@pytest.mark.parametrize(
    ("hidden", "changed"),
    [
        ({"sum": 12}, {"sum": 31}),
        ({"word": "blue"}, {"word": "bluex"}),
        ({"value": "4999/1000"}, {"value": "5999/2000"}),
        ({"yes": True}, {"yes": False}),
        ({"a": 1, "b": 2}, None),
        ({"words": ["a"]}, None),
        ({}, None),
    ],
)
def test_the_one_scalar_that_is_hidden_is_changed_by_far(hidden: dict[str, object], changed: object) -> None:
    assert changed_scalar(hidden) == changed  # type: ignore[arg-type]  # plain JSON


def test_wrong_answers_have_the_shape_of_the_right_one() -> None:
    rng = np.random.default_rng(0)
    assert one_more("94.5") == "14.5"
    assert another("12, 30", "Add 12 and 30.", rng) == "22, 40"
    assert another("blue", "Is it red or green?", rng) in ("Is", "it", "red", "or", "green")
    assert prompt_numbers("Add 12 and 30 to 12.") == ["12", "30"]
