"""Records and calls made wrong, every expected value worked out by hand."""

from polyathlon.canonical import Json
from polyathlon.inspect.mutants.calls import calls_mutants, plan_mutants
from polyathlon.inspect.mutants.picking import Picker
from polyathlon.inspect.mutants.records import leaf_mutants, record_mutants

PICK = Picker("test")
RECORD = {"day": "2024-03-05", "total": "12", "due": None}


def test_fields_of_a_record() -> None:
    found = dict(record_mutants(RECORD, PICK))
    assert found["day +1"] == {**RECORD, "day": "2024-03-06"}
    assert found["month and day swapped"] == {**RECORD, "day": "2024-05-03"}
    assert found["x10"] == {**RECORD, "total": "120"}
    assert found["value instead of null"] == {**RECORD, "due": "1"}
    assert found["two fields swapped"] == {"day": "12", "total": "2024-03-05", "due": None}
    assert found["right value in the wrong field"] == {"day": None, "total": "2024-03-05", "due": None}
    assert found["field dropped"] in ({"total": "12", "due": None}, {"day": "2024-03-05", "due": None})
    assert found["field invented"] == {**RECORD, "remark": "ok"}
    assert found["null instead of value"] in ({**RECORD, "day": None}, {**RECORD, "total": None})


def test_an_absent_value_is_not_dropped_as_a_field() -> None:
    assert "field dropped" not in dict(record_mutants({"due": None}, PICK))


def test_rows_of_a_table() -> None:
    rows: list[Json] = [{"code": "A", "net": 5}, {"code": "B", "net": 7}]
    found = dict(record_mutants(rows, PICK))
    assert found["row dropped"] in ([rows[0]], [rows[1]])
    assert found["row twice"] in ([rows[0], rows[0], rows[1]], [rows[0], rows[1], rows[1]])
    assert found["row invented"] == [*rows, {"code": None, "net": 7}]
    assert found["cells of two rows swapped"] in (
        [{"code": "B", "net": 5}, {"code": "A", "net": 7}],
        [{"code": "A", "net": 7}, {"code": "B", "net": 5}],
    )


def test_cells_of_rows_that_differ_in_one_field_are_not_swapped() -> None:
    rows: list[Json] = [{"code": "A", "net": 5}, {"code": "A", "net": 7}]  # that would only move the rows
    assert "cells of two rows swapped" not in dict(record_mutants(rows, PICK))


def test_a_row_is_invented_in_an_empty_table() -> None:
    assert dict(record_mutants({"lines": []}, PICK))["row invented"] == {"lines": [{}]}


def test_leaves_keep_their_type_but_where_the_operator_is_the_type() -> None:
    assert dict(leaf_mutants(12))["x10"] == 120
    assert dict(leaf_mutants(2.5))["sign"] == -2.5
    assert dict(leaf_mutants(12))["number as text"] == "12"
    assert dict(leaf_mutants(True)) == {"flipped": False}


def test_calls() -> None:
    calls: list[Json] = [
        {"name": "pay", "arguments": {"to": "Ana", "cents": 500}},
        {"name": "tell", "arguments": {"to": "Ben"}},
    ]
    other: Json = {"name": "pay", "arguments": {"to": "Kim", "cents": 9}}
    found = dict(calls_mutants(calls, PICK, others=[[other]]))
    assert found["call left out"] in ([calls[0]], [calls[1]])
    assert found["call twice"] in ([calls[0], calls[0], calls[1]], [calls[0], calls[1], calls[1]])
    assert found["calls in another order"] == calls[::-1]
    assert found["extra call"] == [*calls, other]
    assert found["another call"] == [calls[0], other]
    assert found["wrong amount: x10"] == [{"name": "pay", "arguments": {"to": "Ana", "cents": 5000}}, calls[1]]
    assert found["argument invented"] in (
        [{"name": "pay", "arguments": {"to": "Ana", "cents": 500, "remark": "ok"}}, calls[1]],
        [calls[0], {"name": "tell", "arguments": {"to": "Ben", "remark": "ok"}}],
    )


def test_arguments_of_one_type_are_exchanged() -> None:
    call: list[Json] = [{"name": "move", "arguments": {"from": "A", "to": "B", "count": 3}}]
    exchanged = dict(calls_mutants(call, PICK))["arguments exchanged"]
    assert exchanged == [{"name": "move", "arguments": {"from": "B", "to": "A", "count": 3}}]


def test_what_is_no_list_of_calls_has_no_mutants() -> None:
    assert list(calls_mutants([], PICK)) == []
    assert list(calls_mutants([{"name": "x"}], PICK)) == []


def test_a_plan_of_two_messages() -> None:
    found = dict(plan_mutants(["write", "send"], PICK))
    assert found["message left out"] in (("send",), ("write",))
    assert found["message twice"] == ("write", "write", "send")
    assert found["messages in another order"] == ("send", "write")
    assert list(plan_mutants(["alone"], PICK)) == []
