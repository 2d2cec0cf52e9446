from __future__ import annotations

import pytest

from polyathlon import Json
from polyathlon.errors import VerifierError
from polyathlon.verify.records import (
    Schema,
    as_day,
    as_money,
    as_text,
    as_words,
    read_record,
    record_f1,
    rows_f1,
    wanted_record,
)

HEADER: Schema = {"total": as_money, "day": as_day, "name": as_text, "note": as_text}
WANTED: dict[str, Json] = {"total": "1000.00", "day": "2024-05-01", "name": "John A. Smith", "note": None}
ROW: Schema = {"code": as_text, "quantity": as_money, "price": as_money, "net": as_money}
FIRST: dict[str, Json] = {"code": "A1", "quantity": 2, "price": "5.00", "net": "10.00"}
SECOND: dict[str, Json] = {"code": "B2", "quantity": 3, "price": "7.00", "net": "21.00"}


def header_f1(got: Json) -> float:
    return record_f1(read_record(got, HEADER), wanted_record(WANTED, HEADER))


def test_the_same_record_in_other_spelling_is_whole() -> None:
    assert header_f1({"total": 1000, "day": "2024-05-01", "name": "john  a. SMITH"}) == 1.0


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("total", "1001"),  # one more is not nearly right
        ("total", "-1000"),
        ("total", "nan"),
        ("day", "2024-05-02"),
        ("day", "01/05/2024"),  # the order of day and month is declared: year first
        ("name", "Smith, John A."),  # and so is the order of names
        ("name", ["John A. Smith"]),
    ],
)
def test_a_near_miss_counts_as_a_miss(field: str, value: Json) -> None:
    assert header_f1({**WANTED, field: value}) == pytest.approx(2 / 3)  # two fields of three, given and wanted


@pytest.mark.parametrize("got", [{}, {"note": None}, {"total": "", "day": "", "name": ""}, [], "text", None, 7])
def test_empty_and_shapeless_records_are_worth_nothing(got: Json) -> None:
    assert header_f1(got) == 0.0


def test_invented_fields_cost_precision() -> None:
    assert header_f1({**WANTED, "vat": "1", "iban": "2"}) == pytest.approx(6 / 8)
    assert header_f1({**WANTED, "note": "paid"}) == pytest.approx(6 / 7)  # nothing was there to be read


def test_addresses_may_be_parted_by_commas_or_lines() -> None:
    assert as_words("12 Mill Lane,\n4821 Norvik") == as_words("12 mill lane 4821 NORVIK")
    assert as_words("12 Mill Lane") != as_words("Mill Lane 12")


def test_a_reference_that_cannot_be_read_is_a_verifiers_fault() -> None:
    with pytest.raises(VerifierError, match="day"):
        wanted_record({**WANTED, "day": "soon"}, HEADER)
    with pytest.raises(VerifierError, match="empty"):
        wanted_record({}, HEADER)


def test_rows_in_any_order_are_the_same_table() -> None:
    score = rows_f1([SECOND, FIRST], [FIRST, SECOND], ROW)
    assert score.f1 == 1.0
    assert score.same


@pytest.mark.parametrize(
    ("got", "f1"),
    [
        ([FIRST], 2 / 3),
        ([FIRST, FIRST], 1 / 2),  # a row twice is a row too many
        ([FIRST, SECOND, SECOND], 4 / 5),
        ([FIRST, SECOND, {"code": "Z9"}], 4 / 5),
        ([FIRST, {**SECOND, "net": "21.01"}], 3 / 4),  # 3 cells of 4: half of a row
        ([FIRST, {**SECOND, "net": "21.01", "price": "7.01"}], 1 / 2),  # 2 of 4: nothing
        ([FIRST, {}], 1 / 2),
        ([{}, {}], 0.0),
        ([None, "x", [1]], 0.0),
        ([FIRST, SECOND] * 30, 0.0),  # far too many
        ([], 0.0),
        (None, 0.0),
        ({"0": FIRST}, 0.0),
    ],
)
def test_lines_are_scored_by_f1(got: Json, f1: float) -> None:
    assert rows_f1(got, [FIRST, SECOND], ROW).f1 == pytest.approx(f1)


def test_right_columns_in_scrambled_rows_are_not_right() -> None:
    scrambled: Json = [
        {"code": "A1", "quantity": 3, "price": "5.00", "net": "21.00"},
        {"code": "B2", "quantity": 2, "price": "7.00", "net": "10.00"},
    ]
    assert rows_f1(scrambled, [FIRST, SECOND], ROW).f1 == 0.0


def test_the_best_pair_is_made_first() -> None:
    half: Json = {"code": "A1", "quantity": 2, "price": "5.00", "net": "0"}
    score = rows_f1([half, FIRST], [FIRST], ROW)
    assert score.num_exact == 1
    assert score.f1 == pytest.approx(2 / 3)


def test_no_rows_wanted_and_none_given_is_no_hit() -> None:
    assert rows_f1([], [], ROW).f1 == 0.0
