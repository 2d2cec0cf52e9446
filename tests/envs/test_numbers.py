from fractions import Fraction

import pytest

from polyathlon.verify.numbers import read_number, within, write_number
from polyathlon.verify.text import above, bag_f1, plain, same_value, same_words


@pytest.mark.parametrize(
    ("text", "forms", "value"),
    [
        ("42", ("integer",), Fraction(42)),
        (" -42\n", ("integer",), Fraction(-42)),
        ("\u22125", ("integer",), Fraction(-5)),
        ("+7", ("integer",), Fraction(7)),
        ("42.50", ("decimal",), Fraction(85, 2)),
        (".5", ("decimal",), Fraction(1, 2)),
        ("3/4", ("fraction",), Fraction(3, 4)),
        ("-3 / 4", ("fraction",), Fraction(-3, 4)),
        ("1,234,567", ("thousands",), Fraction(1234567)),
        ("1,234.50", ("thousands", "decimal"), Fraction(2469, 2)),
        ("1e6", ("scientific",), Fraction(10**6)),
        ("2.5E-1", ("scientific",), Fraction(1, 4)),
        ("25%", ("integer", "percent"), Fraction(1, 4)),
        ("12.5 %", ("decimal", "percent"), Fraction(1, 8)),
    ],
)
def test_a_declared_form_is_read_exactly(text: str, forms: tuple[str, ...], value: Fraction) -> None:
    assert read_number(text, *forms) == value  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "forms"),
    [
        ("42.5", ("integer",)),
        ("1,234", ("integer",)),
        ("12,34", ("thousands",)),
        ("3/4", ("decimal",)),
        ("1e6", ("decimal",)),
        ("25%", ("integer",)),
        ("1/0", ("fraction",)),
        ("1e999", ("scientific",)),
        ("nan", ("decimal", "scientific")),
        ("inf", ("decimal",)),
        ("--5", ("integer",)),
        ("5 apples", ("integer",)),
        ("1 2", ("integer",)),
        ("\u0664\u0662", ("integer",)),
        ("\u00b2", ("integer",)),
        ("", ("integer",)),
        ("9^9^9^9", ("integer",)),
        ("7" * 61, ("integer",)),
        ("7" * 10_000_000, ("integer",)),
        ("0x1f", ("integer",)),
        ("1_000", ("integer",)),
    ],
)
def test_everything_else_is_no_number(text: str, forms: tuple[str, ...]) -> None:
    assert read_number(text, *forms) is None  # type: ignore[arg-type]


def test_a_tolerance_is_exact_and_counts_its_ends() -> None:
    gold = Fraction(200)
    assert within(Fraction(201), gold, relative=Fraction(1, 200))
    assert not within(Fraction("201.0001"), gold, relative=Fraction(1, 200))
    assert not within(Fraction(1, 10**9), Fraction(0), relative=Fraction(1, 2))
    assert within(Fraction(1, 100), Fraction(0), absolute=Fraction(1, 100))


def test_a_number_is_written_reduced() -> None:
    assert (write_number(Fraction(6, 4)), write_number(Fraction(-8, 2))) == ("3/2", "-4")


def test_bags_count_how_often() -> None:
    assert bag_f1(["a", "a", "b"], ["a", "b"]) == 0.8
    assert bag_f1([], []) == 0.0
    assert bag_f1(["a"], ["b"]) == 0.0


def test_scores_are_measured_from_what_a_blind_policy_gets() -> None:
    assert above(0.6, 0.2) == pytest.approx(0.5)
    assert above(0.1, 0.2) == 0.0
    assert above(float("nan"), 0.2) == 0.0


def test_texts_are_compared_without_what_cannot_be_seen() -> None:
    assert plain("\uff21\u200b \u00a0b\n") == "A b"
    assert same_words("Straße\u200d", "STRASSE")
    assert not same_words("resume", "résumé")


def test_values_of_other_types_differ() -> None:
    assert same_value({"a": [1, None]}, {"a": [1, None]})
    assert not same_value(1, True)
    assert not same_value(1, 1.0)
    assert not same_value("1", 1)
