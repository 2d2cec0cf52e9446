"""Databases that tell near-misses apart, and comparisons that forgive just what was declared."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyathlon.errors import DomainError
from polyathlon.verify.sql import Ranked, Row, same_ranking, same_rows, same_up_to_columns
from polyathlon.verify.variants import FLAVOURS, Column, Columns, check_variants, draw_variants, flavours_of

SCHEMA = [
    "CREATE TABLE shops (id INTEGER PRIMARY KEY, town TEXT)",
    "CREATE TABLE sales (id INTEGER, shop INTEGER, q INTEGER)",
]
TABLES: dict[str, Columns] = {
    "shops": [Column("key"), Column(("Arn", "Bel", "Cor"), nullable=False)],
    "sales": [Column("key"), Column((1, 2, 3, 4, 5, 6)), Column(tuple(range(1, 12)))],
}
GOLD = "SELECT town, SUM(q) FROM shops JOIN sales ON shop = shops.id WHERE q IS NOT NULL GROUP BY town"
RIVALS = [
    "SELECT town, SUM(q) FROM shops LEFT JOIN sales ON shop = shops.id GROUP BY town",
    "SELECT town, AVG(q) FROM shops JOIN sales ON shop = shops.id WHERE q IS NOT NULL GROUP BY town",
    "SELECT town, SUM(DISTINCT q) FROM shops JOIN sales ON shop = shops.id WHERE q IS NOT NULL GROUP BY town",
    "SELECT town, COUNT(q) FROM shops JOIN sales ON shop = shops.id GROUP BY town",
    "SELECT 'Arn', 4",
]
CELLS = st.sampled_from([None, 0, 1, "a", 2.5])


def test_variants_have_every_flavour_and_tell_near_misses() -> None:
    for seed in range(5):
        databases = draw_variants(TABLES, 12, np.random.default_rng(seed))
        assert len(databases) >= 5
        assert flavours_of(databases) == {*FLAVOURS}
        check_variants(SCHEMA, databases, GOLD, rivals=RIVALS, ordered=False)


def test_each_table_is_empty_once_alone() -> None:
    databases = draw_variants(TABLES, 12, np.random.default_rng(1))
    empty = [sorted(name for name, rows in database.items() if not rows) for database in databases]
    assert empty[-2:] == [["shops"], ["sales"]]
    assert not any(empty[:-2])


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_a_flavour_that_is_missing_is_said(flavour: str) -> None:
    with pytest.raises(DomainError, match=flavour):
        check_variants(
            SCHEMA,
            [{"shops": [[1, "Arn"], [2, "Bel"]], "sales": [[1, 1, 5], [2, 2, 6]]}] * 5,
            GOLD,
            rivals=[],
            ordered=False,
        )


def test_few_rows_are_refused() -> None:
    with pytest.raises(DomainError, match="4 or more"):
        draw_variants(TABLES, 3, np.random.default_rng(0))


@given(st.lists(st.tuples(CELLS, CELLS, CELLS), max_size=6), st.permutations(range(3)))
def test_columns_in_any_order_are_the_same(rows: list[tuple[int | str | float | None, ...]], order: list[int]) -> None:
    turned: list[Row] = [[row[k] for k in order] for row in rows]
    assert same_up_to_columns(turned, rows, ordered=True)
    assert same_up_to_columns(rows, turned, ordered=True)


@given(st.lists(st.tuples(CELLS, CELLS), max_size=4), st.lists(st.tuples(CELLS, CELLS), max_size=4))
def test_columns_in_any_order_are_all_orders_tried(
    left: list[tuple[int | str | float | None, ...]], right: list[tuple[int | str | float | None, ...]]
) -> None:
    tried = [[[row[k] for k in order] for row in left] for order in itertools.permutations(range(2))]
    expected = any(same_rows(each, right, ordered=False) for each in tried)
    assert same_up_to_columns(left, right, ordered=False) is expected


def test_many_equal_columns_cost_nothing() -> None:
    rows: list[Row] = [[7] * 40, [7] * 40]
    assert same_up_to_columns(rows, rows, ordered=True)
    wide: list[Row] = [[*range(40)], [*range(39, -1, -1)]]
    assert same_up_to_columns(wide, wide, ordered=True)
    assert not same_up_to_columns([[1, 2]], [[1, 2, 3]], ordered=False)


def test_a_ranking_without_limit_may_turn_ties_and_nothing_else() -> None:
    ranking = [Ranked([9], ["a"]), Ranked([9], ["b"]), Ranked([1], ["c"])]
    right = [order for order in itertools.permutations("abc") if same_ranking([[one] for one in order], ranking)]
    assert right == [("a", "b", "c"), ("b", "a", "c")]
    assert same_ranking([], ranking, limit=0)
    assert same_ranking([["a"], ["b"], ["c"]], ranking, limit=10)
