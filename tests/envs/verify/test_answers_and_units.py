"""One final answer or none, one option or none, one quantity or none; and no text that raises or takes long."""

from __future__ import annotations

import time
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyathlon.verify.answers import AnswerForm, Dress, undressed
from polyathlon.verify.choices import read_choice, read_choices, read_label
from polyathlon.verify.dates import read_date, read_month_day
from polyathlon.verify.grammar import NumberGrammar
from polyathlon.verify.units import IMPERIAL_LENGTHS, METRIC_LENGTHS, TEMPERATURES, Unit, Units, same_quantity

EVERY = AnswerForm(places=("boxed", "tag", "marker", "bare"))
REPEATS = AnswerForm(places=("boxed", "marker"), several="repeats")
WRITTEN = st.text() | st.text(alphabet="\\boxed{}<answer>/ Answer:*$\n5x.()[]")


@pytest.mark.parametrize(
    ("message", "answer"),
    [
        (" 5 \n", "5"),
        ("so \\boxed{5} it is", "5"),
        ("\\boxed{\\frac{1}{2}}", "\\frac{1}{2}"),
        ("\\boxed{\\{1, 2\\}}", "\\{1, 2\\}"),
        ("<answer> 5 </answer>", "5"),
        ("Thus\nAnswer: 5", "5"),
        ("**Answer:** 5", "5"),
        ("**Answer: 5**", "5"),
        ("> final answer: 5", "5"),
        ("<answer>\\boxed{5}</answer>", "5"),
        ("Answer: **\\boxed{5}**.", "5"),
        ("The answer: it is 5", "The answer: it is 5"),  # a marker begins its line
    ],
)
def test_the_one_answer_is_found(message: str, answer: str) -> None:
    assert EVERY.read(message) == answer


@pytest.mark.parametrize(
    "message",
    [
        *(
            "\\boxed{5} \\boxed{6}",
            "\\boxed{5} \\boxed{5}",
            "<answer>5</answer><answer>6</answer>",
            "Answer: 5\nAnswer: 6",
        ),
        *("\\boxed{5} <answer>6</answer>", "Answer: 5\n\\boxed{6}", "Answer: 6 or \\boxed{5}"),
        *("\\boxed{5", "<answer>5", "5</answer>", "</answer>5<answer>", "<answer><answer>5</answer></answer>"),
        "x" * 100_001,
    ],
)
def test_two_answers_and_half_ones_are_none(message: str) -> None:
    assert EVERY.read(message) is None


def test_what_is_not_declared_is_not_looked_for() -> None:
    assert AnswerForm(places=("boxed",)).read("5") is None
    assert AnswerForm(places=("tag",)).read("\\boxed{5}") is None
    assert AnswerForm(places=("marker",), markers=("Result:",)).read("Answer: 4\nResult: 5") == "5"


def test_repeats_and_text_after_are_declared() -> None:
    assert REPEATS.read("\\boxed{5}\nAnswer: 5") == "5"
    assert REPEATS.read("\\boxed{5}\nAnswer: 6") is None
    last = AnswerForm(places=("boxed",), after="refused")
    assert last.read("so \\boxed{5}\n") == "5"
    assert last.read("\\boxed{5} or 6") is None


@given(WRITTEN)
def test_no_message_raises(message: str) -> None:
    found = EVERY.read(message)
    assert found is None or found in message


@pytest.mark.parametrize(
    "message",
    [
        "\\boxed{" * 14_000,
        "\\boxed{}" * 12_000,
        "<answer>" * 12_000,
        " " * 100_000,
        "Answer:" * 14_000,
        "*" * 100_000,
        "Answer: 5\n" * 10_000,
        "\\boxed{" + "{" * 99_000,
        ("> " * 40 + "\n") * 1_200,
    ],
)
def test_no_message_takes_long(message: str) -> None:
    began = time.process_time()
    EVERY.read(message)
    undressed(message, "stop", "brackets", "quotes", "bold", "math", "text")
    read_choice(message[:2_000], "ABCDEFGHIJ")
    assert time.process_time() - began < 1.0


@pytest.mark.parametrize(
    ("text", "dress", "left"),
    [
        ("42.", ("stop",), "42"),
        ("(42).", ("stop", "brackets"), "42"),
        ("(1) + (2)", ("brackets",), "(1) + (2)"),
        ("((1) + (2))", ("brackets",), "(1) + (2)"),
        ('"a" or "b"', ("quotes",), '"a" or "b"'),
        ("$x$ and $y$", ("math",), "$x$ and $y$"),
        ("\\text{13}", ("text",), "13"),
        ("\\text{a}+\\text{b}", ("text",), "\\text{a}+\\text{b}"),
        (".", ("stop",), "."),
        ("42.", (), "42."),
    ],
)
def test_only_declared_dress_comes_off(text: str, dress: tuple[Dress, ...], left: str) -> None:
    assert undressed(text, *dress) == left


@pytest.mark.parametrize(
    ("text", "option"),
    [
        ("C", "C"), ("(c)", "C"), ("**B**.", "B"), ("C: because it flows", "C"), ("Option D", "D"), ("A is right", "A"),
        ("A good fit is C", "C"), ("can't be B, so C", "C"), ("C rather than D", "C"), ("not B or D, it is A.", "A"),
        ("A or B", None), ("A and B", None), ("not A or B", None), ("C, no, not C", None), ("neither A nor B", None),
        ("ABCD", None), ("E", None), ("a cat", None), ("", None), ("the option-A plan", None), ("C" * 3_000, None),
    ],
)  # fmt: skip
def test_one_option_or_none(text: str, option: str | None) -> None:
    assert read_choice(text, "ABCD") == option


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("AC", "AC"),
        ("A, C", "AC"),
        ("A and C", "AC"),
        ("C & A.", "AC"),
        ("A and C, not B", "AC"),
        ("A or C", ""),
        ("A/C", ""),
        ("none", ""),
        ("A, A", "A"),
        ("ABCD", "ABCD"),
    ],
)
def test_sets_of_options(text: str, options: str) -> None:
    assert read_choices(text, "ABCD") == (frozenset(options) or None)


def test_a_label_is_the_whole_answer() -> None:
    labels = {"yes": ("true",), "no": ("false",)}
    assert read_label(" TRUE. ", labels) == "yes"
    assert read_label("yes and no", labels) is None
    assert read_label("both", {"a": ("both",), "b": ("both",)}) is None


@given(st.text() | st.text(alphabet="ABCDI notr,./"), st.text(alphabet="ABCDEFGHI", min_size=1, max_size=9))
def test_no_choice_raises(text: str, letters: str) -> None:
    chosen = read_choice(text, letters)
    assert chosen is None or chosen in letters
    assert (read_choices(text, letters) or frozenset()) <= {*letters}
    assert read_date(text, "words") is None or read_month_day(text) is None


NUMBER = NumberGrammar(forms=frozenset({"decimal"}), edges="open")
LENGTHS = Units((*METRIC_LENGTHS, *IMPERIAL_LENGTHS))


@pytest.mark.parametrize(
    ("left", "right"),
    [("10 cm", "0.1 m"), ("10cm", "100 millimetres"), ("1 in", "2.54 cm"), ("5 \u00b5m", "5 um"), ("3 ft", "1 yard")],
)
def test_units_convert_exactly(left: str, right: str) -> None:
    one, other = LENGTHS.read(left, NUMBER), LENGTHS.read(right, NUMBER)
    assert other is not None
    assert same_quantity(one, other)


@pytest.mark.parametrize(
    "text", ["10", "10 M", "10 mmm", "10 kg", "m", "10 m m", "ten m", "10 m/s", "m 10", "10 cm 5", ""]
)
def test_what_is_no_declared_quantity_is_none(text: str) -> None:
    assert LENGTHS.read(text, NUMBER) is None


def test_temperatures_have_offsets_and_the_unwritten_unit_is_declared() -> None:
    degrees = Units(TEMPERATURES, unwritten="\u00b0C")
    boiling = degrees.read("100", NUMBER)
    assert boiling is not None
    assert boiling.value == Fraction("373.15")
    assert same_quantity(degrees.read("212 \u00b0F", NUMBER), boiling)
    assert not same_quantity(degrees.read("100 K", NUMBER), boiling)


def test_a_spelling_of_two_units_is_refused() -> None:
    with pytest.raises(ValueError, match="two units"):
        Units((Unit("time", ("m",)), Unit("length", ("m",))))
    with pytest.raises(ValueError, match="none of"):
        Units(METRIC_LENGTHS, unwritten="mile")
