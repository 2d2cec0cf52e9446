"""Rows of the log of faults: queries and their rows. Each with its right value."""

from __future__ import annotations

from contextlib import closing

import pytest

from polyathlon.errors import DomainError
from polyathlon.sandbox.choose import default_room
from polyathlon.verify.sql import (
    Database,
    Row,
    open_database,
    own_ranking,
    own_rows,
    run_query,
    same_ranking,
    same_rows,
    same_up_to_columns,
)
from polyathlon.verify.variants import check_variants

SCHEMA = ["CREATE TABLE t (id INTEGER PRIMARY KEY, q INTEGER, v TEXT)"]
ROWS: list[Row] = [[1, None, "9"], [2, 5, None], [3, 2, "x"], [4, 5, "x"], [5, 3, "9"]]


def rows(query: str, table: list[Row] = ROWS) -> tuple[Row, ...]:
    with closing(open_database(SCHEMA, {"t": table})) as connection:
        return own_rows(connection, query)


def test_l46_the_smallest_value_is_no_null() -> None:
    assert rows("SELECT q FROM t ORDER BY q LIMIT 1") == ((None,),)
    assert not same_rows(rows("SELECT q FROM t ORDER BY q LIMIT 1"), [(2,)], ordered=True)
    assert same_rows(rows("SELECT MIN(q) FROM t"), [(2,)], ordered=True)


def test_l47_what_is_not_equal_to_null_is_told_apart() -> None:
    skipped, kept = rows("SELECT id FROM t WHERE v != '9'"), rows("SELECT id FROM t WHERE v IS NOT '9'")
    assert (len(skipped), len(kept)) == (2, 3)
    assert not same_rows(skipped, kept, ordered=False)


def test_l49_counting_values_is_not_counting_rows() -> None:
    values, all_rows = rows("SELECT COUNT(v) FROM t"), rows("SELECT COUNT(*) FROM t")
    assert (values, all_rows) == (((4,),), ((5,),))
    assert not same_rows(values, all_rows, ordered=True)


def test_l50_a_ratio_is_not_cut_to_a_whole_number() -> None:
    assert not same_rows(rows("SELECT q / 2 FROM t WHERE id = 2"), [(2.5,)], ordered=True)
    assert same_rows(rows("SELECT q / 2.0 FROM t WHERE id = 2"), [(2.5,)], ordered=True)


def test_l97_a_query_on_today_is_refused_and_a_gold_without_rows_too() -> None:
    (result,) = run_query(
        default_room(), "SELECT id FROM t WHERE v < CURRENT_DATE", schema=SCHEMA, databases=[{"t": ROWS}]
    )
    assert result.rows is None
    databases: list[Database] = [{"t": ROWS}, {"t": []}, {"t": [*ROWS, [6, 5, "x"]]}, {"t": ROWS[:2]}, {"t": ROWS[2:]}]
    with pytest.raises(DomainError, match="no rows"):
        check_variants(SCHEMA, databases, "SELECT id FROM t WHERE q > 99", rivals=[], ordered=False)


def test_l98_a_gold_that_does_not_run_is_said_at_once() -> None:
    with pytest.raises(DomainError, match="does not run"):
        rows("SELECT id, FROM t")
    assert rows("SELECT DISTINCT v FROM t WHERE v = 'x'") == (("x",),)  # run as it is: no text of it is rewritten


def test_l100_doubles_count_and_order_where_it_was_asked() -> None:
    assert not same_rows([["apple"], ["apple"], ["pear"]], [["apple"], ["pear"]], ordered=False)
    assert same_rows([["pear"], ["apple"]], [["apple"], ["pear"]], ordered=False)
    assert not same_rows([["pear"], ["apple"]], [["apple"], ["pear"]], ordered=True)


def test_l101_rows_are_no_set() -> None:
    assert not same_rows([[1], [1], [2]], [[1], [2]], ordered=False)


def test_l103_databases_must_tell_an_average_from_a_largest_value() -> None:
    alike: list[Row] = [[1, 7, "x"], [2, 7, "x"], [3, None, "x"]]
    spread: list[Row] = [*alike, [4, 1, "y"], [5, 1, "y"]]
    gold, rival = "SELECT AVG(q) FROM t", "SELECT MAX(q) * 1.0 FROM t"
    databases: list[Database] = [{"t": alike}, {"t": []}, {"t": alike[:2]}, {"t": alike[1:]}, {"t": alike * 1}]
    with pytest.raises(DomainError, match="No database tells"):
        check_variants(SCHEMA, databases, gold, rivals=[rival], ordered=False)
    check_variants(SCHEMA, [*databases[:4], {"t": spread}], gold, rivals=[rival], ordered=False)


def test_l104_numbers_kept_as_text_are_in_another_order() -> None:
    schema = ["CREATE TABLE t (power TEXT, typed INTEGER)"]
    table: list[Row] = [["95", 95], ["null", None], ["130", 130]]
    with closing(open_database(schema, {"t": table})) as connection:
        by_text = own_rows(connection, "SELECT typed FROM t ORDER BY power DESC")
        by_value = own_rows(connection, "SELECT typed FROM t WHERE typed IS NOT NULL ORDER BY typed DESC")
    assert by_value == ((130,), (95,))
    assert not same_rows(by_text, by_value, ordered=True)
    assert not same_rows([["95"]], [[95]], ordered=True)


def test_l106_any_of_the_tied_rows_is_accepted_where_a_limit_cuts_the_tie() -> None:
    with closing(open_database(SCHEMA, {"t": ROWS})) as connection:
        ranking = own_ranking(connection, "SELECT id, q FROM t WHERE q > 0 ORDER BY q DESC", num_keys=1)
    assert same_ranking([[2]], ranking, limit=1)
    assert same_ranking([[4]], ranking, limit=1)
    assert not same_ranking([[5]], ranking, limit=1)
    assert not same_ranking([[2], [4]], ranking, limit=1)
    assert same_ranking([[4], [2], [5]], ranking, limit=3)
    assert not same_ranking([[5], [2], [4]], ranking, limit=3)
    assert not same_ranking([[2], [2], [5]], ranking, limit=3)


def test_l107_columns_come_in_any_order_where_none_was_asked() -> None:
    wanted: list[Row] = [[1, "x", 9], [2, "y", 9]]
    turned: list[Row] = [["x", 9, 1], ["y", 9, 2]]
    assert same_up_to_columns(turned, wanted, ordered=True)
    assert not same_rows(turned, wanted, ordered=True)
    assert not same_up_to_columns([["y", 9, 1], ["x", 9, 2]], wanted, ordered=False)  # cells stay in their rows
