"""Numbers and days made wrong, every expected value worked out by hand."""

from polyathlon.inspect.mutants.dates import date_mutants
from polyathlon.inspect.mutants.numbers import digits_mutants, number_mutants


def test_a_whole_number() -> None:
    assert dict(number_mutants("1234")) == {
        "last digit +1": "1235",
        "last digit -1": "1233",
        "sign": "-1234",
        "x10": "12340",
        "x100": "123400",
        "first digit dropped": "234",
        "last digit dropped": "123",
        "ends swapped": "4231",
    }


def test_decimals_keep_their_places_and_a_minus_its_side() -> None:
    assert dict(number_mutants("-0.50")) == {
        "last digit +1": "-0.51",
        "last digit -1": "-0.49",
        "sign": "0.50",
        "x10": "-5.00",
        "x100": "-50.00",
    }


def test_grouping_and_leading_zeros_stay() -> None:
    grouped, coded = dict(number_mutants("1,234")), dict(number_mutants("012"))
    assert (grouped["last digit +1"], grouped["x10"], grouped["x100"]) == ("1,235", "12,340", "123,400")
    assert (coded["last digit +1"], coded["ends swapped"], coded["x10"]) == ("013", "210", "120")


def test_a_mutant_never_has_the_same_value() -> None:
    assert dict(number_mutants("0")) == {"last digit +1": "1", "last digit -1": "-1"}
    assert "first digit dropped" not in dict(number_mutants("012"))
    assert "ends swapped" not in dict(number_mutants("1221"))


def test_what_is_no_number_has_no_mutants() -> None:
    for text in ("", "x", "1.2.3", "1e6", "12 13", "--1", "3/4"):
        assert list(number_mutants(text)) == []


def test_digits_of_a_code_keep_their_length() -> None:
    assert dict(digits_mutants("019")) == {"last digit +1": "010", "last digit -1": "018", "ends swapped": "910"}
    assert list(digits_mutants("1x")) == []


def test_days_go_over_the_ends_of_months_and_years() -> None:
    assert dict(date_mutants("2024-12-31")) == {
        "day +1": "2025-01-01",
        "day -1": "2024-12-30",
        "another year": "2023-12-31",
    }


def test_month_and_day_are_exchanged_where_both_can_be_a_month() -> None:
    assert dict(date_mutants("2024-03-05"))["month and day swapped"] == "2024-05-03"
    assert "month and day swapped" not in dict(date_mutants("2024-04-04"))
    assert "month and day swapped" not in dict(date_mutants("2024-03-13"))


def test_a_leap_day_has_no_other_year_and_no_day_has_no_mutants() -> None:
    assert "another year" not in dict(date_mutants("2024-02-29"))
    assert list(date_mutants("2023-02-29")) == []
