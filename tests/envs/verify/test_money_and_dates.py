from __future__ import annotations

from datetime import date
from fractions import Fraction

import pytest

from polyathlon import Json
from polyathlon.verify.dates import DateForm, read_date, write_date
from polyathlon.verify.money import NumberStyle, read_money, round_half_up, write_money

CONTINENTAL = NumberStyle(",", ".")
ACCOUNTANT = NumberStyle(negative="({})")


@pytest.mark.parametrize("written", [12500, 12500.0, "12500", "12,500.00", " 12500.0 "])
def test_one_amount_has_many_spellings(written: Json) -> None:
    assert read_money(written) == 12_500


@pytest.mark.parametrize(
    "written",
    [
        *(
            "",
            "-",
            "1,25,00",
            "12,50",
            "1.234,50",
            "12 500",
            "1e3",
            "0x10",
            "nan",
            "12,500.00 EUR",
            "٣",
            "1_000",
            "(12)",
        ),
        *(float("nan"), float("inf"), True, None, [], {}, 10**15, 10**400, "9" * 39),
    ],
)
def test_what_is_no_amount_in_the_style_is_none(written: Json) -> None:
    assert read_money(written) is None


def test_styles_declare_marks_and_negatives() -> None:
    assert read_money("12.500,5", CONTINENTAL) == Fraction(25_001, 2)
    assert read_money("1\u202f234,50", NumberStyle(",", " ")) == Fraction(2469, 2)
    assert read_money("(1,234)", ACCOUNTANT) == -1234  # an accountant's negative only where declared
    assert read_money("-1234", ACCOUNTANT) is None
    assert read_money("\u22121234") == -1234
    assert read_money("12-", NumberStyle(negative="{}-")) == -12


def test_amounts_are_written_with_the_currency_s_decimals() -> None:
    assert write_money(-123_450) == "-1,234.50"
    assert write_money(123_450, CONTINENTAL) == "1.234,50"
    assert write_money(1_234_567, NumberStyle(",", " "), places=3) == "1 234,567"
    assert write_money(-1_234, ACCOUNTANT, places=0) == "(1,234)"


def test_halves_are_rounded_away_from_zero() -> None:
    assert [round_half_up(Fraction(n, 2)) for n in (1, 5, -5, 4)] == [1, 3, -3, 2]
    assert round_half_up(Fraction("0.125"), 2) == Fraction(13, 100)


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("2031-04-07", "iso"),
        ("07/04/2031", "dmy"),
        ("7.4.2031", "dmy"),
        ("04/07/2031", "mdy"),
        ("7 April 2031", "long"),
        ("7 apr 2031", "long"),
    ],
)
def test_a_day_is_read_in_its_declared_form(text: str, form: DateForm) -> None:
    assert read_date(text, form) == date(2031, 4, 7)


@pytest.mark.parametrize(
    "text", ["2031-4-7", "2031-02-30", "07/04/2031", "31-04-07", "", "2031-04-07T00:00", "٢٠٣١-04-07"]
)
def test_any_other_form_is_no_day(text: str) -> None:
    assert read_date(text, "iso") is None


def test_day_and_month_are_never_guessed() -> None:
    assert read_date("05/01/2024", "dmy") == date(2024, 1, 5)
    assert read_date("05/01/2024", "mdy") == date(2024, 5, 1)
    assert read_date("17/04.2031", "dmy") is None


def test_days_are_written_in_every_form() -> None:
    day = date(2031, 4, 7)
    assert write_date(day, "iso") == "2031-04-07"
    assert write_date(day, "dmy", mark=".") == "07.04.2031"
    assert write_date(day, "mdy") == "04/07/2031"
    assert write_date(day, "long") == "7 April 2031"
