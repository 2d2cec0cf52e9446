"""The grammar of numbers: what is declared is read exactly, all else is no number, and nothing raises."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyathlon.verify.grammar import CURRENCIES, SCALE_LETTERS, SCALE_WORDS, NumberGrammar, Numeral
from polyathlon.verify.money import NumberStyle, read_money, write_money

STRICT = NumberGrammar()
EVERY = NumberGrammar(
    forms=frozenset({"decimal", "fraction", "mixed", "scientific", "power"}),
    group=",",
    edges="open",
    negatives=("minus", "trailing", "brackets"),
    plus="allowed",
    percent="share",
    scales=SCALE_WORDS + SCALE_LETTERS,
    currencies=CURRENCIES,
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1,234,567.5", Fraction("1234567.5")),
        ("\u00bd", Fraction(1, 2)),
        ("1\u00bd", Fraction(3, 2)),
        ("1 3/4", Fraction(7, 4)),
        ("-1 3/4", Fraction(-7, 4)),
        ("3\u20444", Fraction(3, 4)),
        ("5-", Fraction(-5)),
        ("(5%)", Fraction(-1, 20)),
        ("($1,234.50)", Fraction("-1234.5")),
        ("-$5", Fraction(-5)),
        ("$-5", Fraction(-5)),
        ("\u20ac 12", Fraction(12)),
        ("12 EUR", Fraction(12)),
        ("usd 12", Fraction(12)),
        ("5 million", Fraction(5_000_000)),
        ("$1.5bn", Fraction(1_500_000_000)),
        ("3k", Fraction(3_000)),
        ("1.5e-3", Fraction(3, 2000)),
        ("2.5 x 10^-3", Fraction(1, 400)),
        ("10^{3}", Fraction(1000)),
        (".5", Fraction(1, 2)),
        ("5.", Fraction(5)),
        ("+7", Fraction(7)),
    ],
)
def test_what_is_declared_is_read_exactly(text: str, value: Fraction) -> None:
    assert EVERY.value(text) == value
    assert STRICT.value(text) is None


@pytest.mark.parametrize(
    "text",
    [
        *("", "-", "$", "%", "million", "()", "--5", "-(5)", "5%%", "$5 USD", "5% million", "1 7/4", "1/0", "1 2"),
        *("1,23", "12,34,567", "1,2345", "1.234.567", "1 234", "1_000", "0x10", "1e61", "1e", "10^", "10^999"),
        *(
            "nan",
            "inf",
            "-inf",
            "NaN%",
            "infinity",
            "five",
            "5 apples",
            "USDA 5",
            "5 mm",
            "\u0665",
            "\u00b2",
            "5\u00b2",
        ),
        *("9^9^9", "1e5e5", "(5", "5)", "((5))", "7" * 61, "1" + ",000" * 21, "\ud8005", "5\x00"),
    ],
)
def test_everything_else_is_no_number(text: str) -> None:
    assert EVERY.read(text) is None


def test_a_numeral_keeps_how_it_was_written() -> None:
    assert EVERY.read("$2.50") == Numeral(Fraction(5, 2), places=2, currency="USD")
    assert EVERY.read("2.5 million") == Numeral(Fraction(2_500_000), places=-5)
    assert EVERY.read("25%") == Numeral(Fraction(1, 4), places=2, percent=True)
    assert EVERY.read("1/3") == Numeral(Fraction(1, 3), places=None)
    assert EVERY.read("1.50e3") == Numeral(Fraction(1500), places=-1)


def test_values_come_as_whole_numbers_and_decimals_where_they_are() -> None:
    assert Numeral(Fraction(7)).whole == 7
    assert Numeral(Fraction(7, 2)).whole is None
    assert Numeral(Fraction("12.125")).decimal == Decimal("12.125")
    assert Numeral(Fraction(1, 3)).decimal is None
    long = "123456789012345678901234567890.123456789012345678901234567891"
    assert Numeral(Fraction(long)).decimal == Decimal(long)


@pytest.mark.parametrize(("group", "text"), [(",", "1,234"), (" ", "1\u202f234"), ("'", "1\u2019234"), (" ", "1 234")])
def test_each_mark_groups_by_three_where_it_is_declared(group: str, text: str) -> None:
    assert NumberGrammar(group=group).value(text) == 1234
    assert NumberGrammar().value(text) is None


def test_a_decimal_comma_is_declared() -> None:
    comma = NumberGrammar(forms=frozenset({"decimal"}), decimal=",", group=".")
    assert comma.value("1.234,5") == Fraction("1234.5")
    assert comma.value("1,234.5") is None


def test_contradictions_are_refused() -> None:
    with pytest.raises(ValueError, match="must differ"):
        NumberGrammar(decimal=",", group=",")
    with pytest.raises(ValueError, match="two numbers"):
        NumberGrammar(forms=frozenset({"mixed"}), group=" ")
    with pytest.raises(ValueError, match="empty"):
        NumberGrammar(scales=(("", 3),))


@given(st.text() | st.text(alphabet="0123456789.,-+%()$eE/x^ {}kmb\u2212\u00bd\u202f'"))
def test_no_text_raises_and_what_is_read_is_bounded(text: str) -> None:
    value = EVERY.value(text)
    assert value is None or abs(value) < 10**140


@given(st.integers(-(10**12), 10**12), st.sampled_from(["-{}", "{}-", "({})"]), st.sampled_from(["", ",", " ", "'"]))
def test_money_that_was_written_is_read_back(minor: int, negative: str, group: str) -> None:
    style = NumberStyle(".", group, negative)
    assert read_money(write_money(minor, style), style) == Fraction(minor, 100)


@given(st.integers(-(10**20), 10**20), st.integers(0, 20))
def test_a_decimal_that_was_written_is_read_back(digits: int, places: int) -> None:
    value = Fraction(digits, 10**places)
    numeral = EVERY.read(f"{Decimal(digits).scaleb(-places):f}")
    assert numeral is not None
    assert numeral.value == value
