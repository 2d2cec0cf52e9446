"""Rows of the log of faults: records, units and calls. Each with its right value."""

from __future__ import annotations

import pytest

from polyathlon.canonical import Json
from polyathlon.domain import Call, ToolSpec
from polyathlon.verify.calls import same_call, same_calls
from polyathlon.verify.dates import read_date
from polyathlon.verify.grammar import NumberGrammar
from polyathlon.verify.records import as_day, as_money, as_text, read_record, record_f1, wanted_record
from polyathlon.verify.units import METRIC_LENGTHS, Units, same_quantity

TOTAL = {"total": as_money}
TOOL = ToolSpec(
    "area",
    "",
    {
        "type": "object",
        "properties": {"base": {"type": "number"}, "height": {"type": "number"}, "unit": {"default": "cm"}},
        "required": ["base", "height"],
    },
)
WANTED = Call("area", {"base": 10, "height": 4})


def test_l16_ten_metres_are_not_ten_centimetres() -> None:
    lengths = Units(METRIC_LENGTHS)
    gold = lengths.read("10 cm", NumberGrammar())
    assert gold is not None
    assert not same_quantity(lengths.read("10 m", NumberGrammar()), gold)
    assert same_quantity(lengths.read("100 mm", NumberGrammar()), gold)
    assert lengths.read("10", NumberGrammar()) is None  # a unit must be written


@pytest.mark.parametrize(("read", "value", "gold"), [(as_money, "1001", "1000"), (as_day, "2024-05-02", "2024-05-01")])
def test_l34_one_more_and_the_next_day_are_worth_nothing(read: object, value: Json, gold: Json) -> None:
    assert callable(read)
    assert record_f1(read_record({"x": value}, {"x": read}), wanted_record({"x": gold}, {"x": read})) == 0.0


def test_l35_one_amount_has_many_spellings_and_orders_are_declared() -> None:
    assert as_money("12,500.00") == as_money("12500")
    assert read_date("01/05/2024", "dmy") == read_date("2024-05-01", "iso")
    assert as_day("01/05/2024") is None
    assert NumberGrammar(negatives=("minus", "brackets")).value("(1234)") == -1234
    assert as_money("(1234)") is None
    assert as_text("Smith, John A.") != as_text("John A. Smith")


def test_l92_an_argument_s_value_counts() -> None:
    assert not same_call(Call("area", {"base": 999, "height": 4}), WANTED, TOOL)
    assert not same_call(Call("area", {"base": 10, "height": 4, "depth": 1}), WANTED, TOOL)  # nor is one invented
    assert not same_call(Call("area", {"base": "10", "height": 4}), WANTED, TOOL)


def test_l94_a_default_left_out_is_a_default_written_out() -> None:
    written = Call("area", {"base": 10, "height": 4, "unit": "cm"})
    assert same_call(written, WANTED, TOOL)
    assert same_call(WANTED, written, TOOL)
    assert not same_call(Call("area", {"base": 10, "height": 4, "unit": "m"}), WANTED, TOOL)
    assert same_calls([written, WANTED], [WANTED, WANTED], [TOOL])
    assert not same_calls([written], [WANTED, WANTED], [TOOL])
