"""Typed equality, rows paired at their best, and calls with their defaults."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyathlon.canonical import Json
from polyathlon.domain import Call, ToolSpec
from polyathlon.errors import VerifierError
from polyathlon.verify.calls import same_call, same_calls, written_out
from polyathlon.verify.equality import BY_VALUE, TYPED, Equality
from polyathlon.verify.grammar import NumberGrammar
from polyathlon.verify.pairing import best_pairs
from polyathlon.verify.records import as_text
from polyathlon.verify.tables import Field, headed_rows, number_field, placed_rows, score_record, score_rows
from polyathlon.verify.tolerance import Absolute, Relative

LEAVES = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5)
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=12,
)
NEAR = Equality(numbers="by value", tolerance=Absolute(Fraction(1, 2)), lists="unordered")


@pytest.mark.parametrize(
    ("value", "gold", "how", "same"),
    [
        (1, 1, TYPED, True),
        (1.0, 1, TYPED, False),
        (True, 1, TYPED, False),
        (1, True, TYPED, False),
        (True, 1, BY_VALUE, False),
        (0, False, BY_VALUE, False),
        (1.0, 1, BY_VALUE, True),
        ("1", 1, BY_VALUE, False),
        ("1,000", 1000, Equality(numbers="by value", numerals=NumberGrammar(group=",")), True),
        (None, "", TYPED, False),
        (0, None, BY_VALUE, False),
        ([1, 2], [2, 1], TYPED, False),
        ([1, 2], [2, 1], Equality(lists="unordered"), True),
        ([1, 1, 2], [1, 2, 2], Equality(lists="unordered"), False),
        ([1, 1, 2], [1, 2], Equality(lists="unordered"), False),
        ([1.4, 0.9], [1, 1.5], NEAR, True),
        ([0.6, 0.4], [1, 0], NEAR, True),
        ([0.5, 1.4], [0, 1], NEAR, True),  # the first must leave 1 to the second
        ([0.6, 1.4], [0, 1], NEAR, False),
        ({"a": 1, "b": None}, {"a": 1}, TYPED, False),
        ({"a": 1, "b": None}, {"a": 1}, Equality(nulls="absent"), True),
        ({"a": 1, "c": 2}, {"a": 1}, Equality(nulls="absent"), False),
        ({"b": 2, "a": 1}, {"a": 1, "b": 2}, TYPED, True),
        ("Ab  c", "ab c", Equality(texts="folded"), True),
        ("Ab  c", "Ab c", Equality(texts="plain"), True),
        ("Ab  c", "Ab c", TYPED, False),
        (math.nan, 1, BY_VALUE, False),
        (math.inf, 1, TYPED, False),
    ],
)
def test_values(value: Json, gold: Json, how: Equality, *, same: bool) -> None:
    assert how.same(value, gold) is same


def test_a_gold_that_is_no_value_is_the_verifiers_fault() -> None:
    with pytest.raises(VerifierError):
        TYPED.same(math.nan, math.nan)
    with pytest.raises(VerifierError, match="201 items"):
        Equality(lists="unordered").same(list(range(201)), list(range(201)))


def test_a_tolerance_on_types_is_a_contradiction() -> None:
    with pytest.raises(ValueError, match="by value"):
        Equality(tolerance=Absolute(Fraction(1)))


def test_nesting_beyond_the_bound_is_not_the_same() -> None:
    deep: Json = 1
    for _ in range(5000):
        deep = [deep]
    assert not TYPED.same(deep, deep)


@given(VALUES, VALUES)
def test_equality_is_reflexive_and_symmetric(left: Json, right: Json) -> None:
    for how in (TYPED, BY_VALUE, NEAR, Equality(lists="unordered", texts="folded", nulls="absent")):
        assert how.same(left, left)
        assert how.same(left, right) == how.same(right, left)


@given(st.integers(0, 5).flatmap(lambda n: st.lists(st.lists(st.floats(-3, 3), min_size=n, max_size=n), max_size=5)))
def test_pairs_are_the_best_there_are(worth: list[list[float]]) -> None:
    pairs = best_pairs(worth)
    total = sum(worth[row][column] for row, column in pairs)
    num_rows, num_columns = len(worth), len(worth[0]) if worth else 0
    best = 0.0
    for columns in itertools.permutations([*range(num_columns), *[-1] * num_rows], num_rows):
        best = max(best, sum(worth[row][column] for row, column in enumerate(columns) if column >= 0))
    assert len({row for row, _ in pairs}) == len({column for _, column in pairs}) == len(pairs)
    assert total == pytest.approx(best, abs=1e-9)


def test_worths_that_are_no_numbers_are_refused() -> None:
    with pytest.raises(ValueError, match="finite"):
        best_pairs([[math.nan]])


FIELDS = {
    "name": Field(as_text),
    "price": number_field(NumberGrammar(forms=frozenset({"decimal"}), group=","), Relative(Fraction(1, 100))),
}
GOLD: list[Json] = [{"name": "bolt", "price": 10}, {"name": "nut", "price": 100}]


def test_fields_are_compared_as_declared() -> None:
    score = score_record({"price": "10.05", "name": "BOLT"}, GOLD[0], FIELDS)
    assert (score.num_right, score.f1, score.same) == (2, 1.0, True)
    assert score_record({"name": "bolt", "price": 11}, GOLD[0], FIELDS).f1 == 0.5
    assert score_record({"name": "bolt", "price": 10, "x": 1, "y": None}, GOLD[0], FIELDS).f1 == pytest.approx(
        4 / 6, abs=1e-12
    )
    assert score_record({"name": None, "price": None}, GOLD[0], FIELDS).f1 == 0.0
    assert score_record("text", GOLD[0], FIELDS).f1 == 0.0
    assert score_record({"name": "bolt", "price": True}, GOLD[0], FIELDS).f1 == 0.5


def test_rows_near_enough_are_whole_rows() -> None:
    score = score_rows([{"name": "nut", "price": 100.5}, {"name": "bolt", "price": "10"}], GOLD, FIELDS)
    assert score.same
    assert score.f1 == 1.0


def test_a_row_that_fits_two_leaves_the_better_for_the_other() -> None:
    """Both given rows are near 100; only one of them is near 101 too."""
    gold: list[Json] = [{"price": 100}, {"price": 101}]
    fields = {"price": number_field(tolerance=Absolute(Fraction(1)))}
    assert score_rows([{"price": 100.5}, {"price": 99.5}], gold, fields).same
    assert score_rows([{"price": 99.5}, {"price": 100.5}], gold, fields).same


@pytest.mark.parametrize(
    ("got", "f1"),
    [
        ([], 0.0),
        ([GOLD[0]], 2 / 3),
        ([*GOLD, GOLD[0]], 4 / 5),
        ([{}, {}], 0.0),
        ([None], 0.0),
        ("x", 0.0),
        ([GOLD[0]] * 30, 0.0),
    ],
)
def test_missing_doubled_and_empty_rows_cost(got: Json, f1: float) -> None:
    assert score_rows(got, GOLD, FIELDS).f1 == pytest.approx(f1, abs=1e-12)


def test_a_gold_row_that_cannot_be_read_is_the_verifiers_fault() -> None:
    with pytest.raises(VerifierError):
        score_rows([], [{"name": "bolt", "price": "ten"}], FIELDS)
    with pytest.raises(VerifierError, match="300 rows"):
        score_rows([], [GOLD[0]] * 300, FIELDS)


def test_columns_come_in_their_declared_order_or_by_a_head() -> None:
    assert placed_rows([["bolt", 10], ["nut"]], ["name", "price"]) == [{"name": "bolt", "price": 10}, None]
    assert headed_rows([["price", "name"], [10, "bolt"]]) == [{"name": "bolt", "price": 10}]
    assert headed_rows([["price", "price"], [10, 10]]) == []
    assert headed_rows([["price", 1], [10, 10]]) == []
    assert placed_rows("text", ["name"]) == headed_rows({}) == []


@given(
    st.lists(
        st.fixed_dictionaries({"name": st.sampled_from(["a", "b", "c"]), "price": st.integers(0, 3)}),
        min_size=1,
        max_size=6,
    )
)
def test_a_table_is_itself_in_any_order(rows: list[dict[str, Json]]) -> None:
    turned = rows[::-1]
    exact = {"name": Field(as_text), "price": number_field()}
    score = score_rows(turned, rows, exact)
    assert score.same
    assert score.f1 == 1.0


TOOL = ToolSpec("f", "", {"type": "object", "properties": {"a": {}, "b": {"default": [1]}}, "required": ["a"]})


def test_calls_are_compared_written_out() -> None:
    assert written_out({"a": 1}, TOOL.parameters) == {"a": 1, "b": [1]}
    assert written_out({"a": 1, "c": 2}, TOOL.parameters) is None
    assert written_out({"b": 1}, TOOL.parameters) is None
    assert not same_call(Call("g", {"a": 1}), Call("f", {"a": 1}), TOOL)
    assert same_call(Call("f", {"a": 1.0}), Call("f", {"a": 1}), TOOL, BY_VALUE)
    with pytest.raises(VerifierError, match="does not fit"):
        same_call(Call("f", {"a": 1}), Call("f", {"z": 1}), TOOL)
    with pytest.raises(VerifierError, match="no tool"):
        same_calls([], [Call("h", {})], [TOOL])
    with pytest.raises(VerifierError, match="0 calls"):
        same_calls([], [], [TOOL])
