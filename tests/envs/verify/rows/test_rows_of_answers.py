"""Rows of the log of faults: the one answer of a message, options and names. Each with its right value."""

from __future__ import annotations

from datetime import date

import pytest

from polyathlon.inspect.lint import lint_source
from polyathlon.verify.answers import AnswerForm, undressed
from polyathlon.verify.choices import read_choice, read_choices, read_label
from polyathlon.verify.dates import read_date, read_month_day
from polyathlon.verify.grammar import NumberGrammar
from polyathlon.verify.records import as_text
from polyathlon.verify.text import same_words

BOXED = AnswerForm(places=("boxed",))
MARKED = AnswerForm(places=("marker",))


def test_l22_a_number_in_a_sentence_is_no_final_answer() -> None:
    assert BOXED.read("I have 1 idea") is None
    assert NumberGrammar().value("I have 1 idea") is None


def test_l56_words_set_as_text_are_the_words() -> None:
    assert undressed("\\text{13}", "text") == "13"


def test_l61_a_right_box_is_found() -> None:
    assert BOXED.read("So the sum is \\boxed{\\frac{1}{2}}.") == "\\frac{1}{2}"


def test_l74_only_the_final_box_counts() -> None:
    assert BOXED.read("At first 17 looks right. In the end \\boxed{18}") == "18"
    assert BOXED.read("\\boxed{17} or rather \\boxed{18}") is None


def test_l76_the_pronoun_is_no_option() -> None:
    assert read_choice(MARKED.read("Answer: I think it is C") or "", "ABCDEFGHIJ") == "C"


def test_l77_a_denied_option_is_not_chosen() -> None:
    assert read_choice("It is not B, the answer is D", "ABCD") == "D"
    assert read_choice("D, not B", "ABCD") == "D"


def test_l79_all_options_are_none() -> None:
    assert read_choice("A or B or C", "ABC") is None


def test_l80_several_options_are_all_read_and_spaces_are_neutral() -> None:
    assert read_choices("A and B", "ABCD") == frozenset("AB")
    assert read_choices(" A,  B ", "ABCD") == frozenset("AB")
    assert as_text("two  words ") == as_text("two words")


def test_l82_a_sentence_that_holds_the_name_is_not_the_name() -> None:
    """The prompt must say: the name only."""
    assert same_words("quest lumaflex  band", "Quest Lumaflex Band")
    assert not same_words("It is the Quest Lumaflex Band.", "Quest Lumaflex Band")


def test_l83_declared_spellings_and_days_in_words_are_accepted() -> None:
    assert read_label("Racing car", {"racing cars": ("racing car",)}) == "racing cars"
    assert read_month_day("October 21st") == read_month_day("Oct 21") == (10, 21)
    assert read_date("October 21st, 2031", "words") == date(2031, 10, 21)


def test_l110_a_long_gold_text_is_compared_whole() -> None:
    gold = "a long line of text " * 500
    assert same_words(gold.upper(), gold)
    assert not same_words(gold + "x", gold)


@pytest.mark.parametrize("call", ["text.format(gold=gold)", "'{}'.join([]).format(gold)", "answer.format_map(gold)"])
def test_l139_a_text_with_braces_is_never_a_template(call: str) -> None:
    source = f"class V:\n    def judge(self, task, evidence, room):\n        return {call}\n"
    assert [smell.rule for smell in lint_source(source, "V")] == ["format"]
