"""The judge of SQL: rows as multisets over several databases, run where nothing can be harmed."""

from __future__ import annotations

from contextlib import closing

import pytest

from polyathlon.canonical import Json
from polyathlon.sandbox.choose import default_room
from polyathlon.verify.sql import Result, Row, open_database, own_rows, row_f1, row_key, run_query, same_rows

SCHEMA = ["CREATE TABLE t (id INTEGER PRIMARY KEY, q INTEGER, v TEXT)"]
ONE: dict[str, list[Row]] = {"t": [[1, None, "9"], [2, 5, None], [3, 2, "x"], [4, 5, "x"], [5, 3, "9"]]}
EMPTY: dict[str, list[Row]] = {"t": []}


def ask(query: str) -> Result:
    return run_query(default_room(), query, schema=SCHEMA, databases=[ONE])[0]


def own(query: str) -> tuple[Row, ...]:
    with closing(open_database(SCHEMA, ONE)) as connection:
        return own_rows(connection, query)


def test_rows_come_back_typed() -> None:
    assert ask("SELECT id, q, v, q / 2, q / 2.0 FROM t WHERE id < 3 ORDER BY id").rows == (
        (1, None, "9", None, None),
        (2, 5, None, 2, 2.5),
    )


def test_every_database_is_asked() -> None:
    results = run_query(default_room(), "SELECT COUNT(*) FROM t", schema=SCHEMA, databases=[ONE, EMPTY, ONE])
    assert [result.rows for result in results] == [((5,),), ((0,),), ((5,),)]


@pytest.mark.parametrize(
    "query",
    [
        *("SELECT 4", "VALUES (1), (2)", "SELECT 1 WHERE 0", ""),
        *(
            "DELETE FROM t",
            "UPDATE t SET q = 1",
            "INSERT INTO t VALUES (9, 9, 'x')",
            "DROP TABLE t",
            "CREATE TABLE u (a)",
        ),
        *("ATTACH '/etc/passwd' AS x", "ATTACH ':memory:' AS x", "PRAGMA table_info(t)", "VACUUM INTO '/tmp/x'"),
        *(
            "SELECT sql FROM sqlite_master",
            "SELECT * FROM sqlite_schema",
            "SELECT * FROM nowhere",
            "SELECT load_extension('x')",
        ),
        *("SELECT id FROM t; DELETE FROM t", "SELECT id FROM t; SELECT id FROM t", "BEGIN"),
        *("SELECT random(), id FROM t", "SELECT current_timestamp, id FROM t", "SELECT hex(randomblob(4)), id FROM t"),
        "WITH RECURSIVE n(x) AS (SELECT id FROM t UNION ALL SELECT x + 1 FROM n) SELECT COUNT(*) FROM n",
        "WITH RECURSIVE n(x) AS (SELECT id FROM t UNION ALL SELECT x + 1 FROM n) SELECT x FROM n",
        "SELECT a.id FROM t a, t b, t c, t d, t e",
        "SELECT hex(zeroblob(1000000000)), id FROM t",
        "SELECT * FROM pragma_table_info('t')",
        "SELECT replace(hex(zeroblob(20000)), '0', 'xx'), id FROM t",
        *("SELECT CAST(x'ff' AS TEXT) FROM t", "SELECT id FROM t WHERE v = '\ud800'", "SELECT id\0 FROM t", "(" * 3000),
        "SELECT id FROM t -- " + "x" * 7000,
    ],
)
def test_what_is_no_steady_read_only_query_gives_no_rows(query: str) -> None:
    result = ask(query)
    assert result.rows is None
    assert result.error


@pytest.mark.parametrize(
    "query",
    [
        "SELECT COUNT(*) FROM t;",
        "-- five\nSELECT COUNT(*) FROM t",
        "SELECT COUNT(*) /* all */ FROM t -- done",
        "WITH a AS (SELECT 1 FROM t) SELECT COUNT(*) FROM a",
        "WITH RECURSIVE a(n, k) AS (SELECT id, 1 FROM t UNION ALL SELECT n, k + 1 FROM a WHERE k < 3) "
        "SELECT COUNT(*) / 3 FROM a",
        "SELECT MAX(n) FROM (SELECT ROW_NUMBER() OVER (ORDER BY id) AS n FROM t)",
        "VALUES ((SELECT COUNT(*) FROM t))",
    ],
)
def test_honest_queries_of_every_form_run(query: str) -> None:
    assert ask(query).rows == ((5,),)


def test_numbers_too_odd_for_json_are_marked() -> None:
    assert ask("SELECT 9e999, x'00ff' FROM t LIMIT 1").rows == (("(number)inf", "(bytes)00ff"),)


def test_rows_are_multisets() -> None:
    assert not same_rows([["apple"], ["pear"]], [["apple"], ["apple"], ["pear"]], ordered=False)
    assert not same_rows([[1], [1], [2]], [[1], [2]], ordered=False)
    assert same_rows([[2], [1], [1]], [[1], [2], [1]], ordered=False)


def test_order_counts_only_where_asked() -> None:
    assert same_rows([[2], [1]], [[1], [2]], ordered=False)
    assert not same_rows([[2], [1]], [[1], [2]], ordered=True)


def test_columns_stay_in_their_places() -> None:
    assert not same_rows([[1, "a"]], [["a", 1]], ordered=False)


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        (2, 2.0, True),
        (0.1 + 0.2, 0.3, True),
        (1 / 3, 0.3333, False),
        (2, "2", False),
        (None, 0, False),
        (None, "", False),
        (None, None, True),
        ("a", "A", False),
        (10**17, 10**17 + 1, False),
        (2.5, 2, False),
    ],
)
def test_values_are_compared_with_their_types(left: Json, right: Json, *, same: bool) -> None:
    assert (row_key([left]) == row_key([right])) is same


def test_row_f1_is_zero_for_nothing_and_punishes_extra_rows() -> None:
    assert row_f1([], []) == 0.0
    assert row_f1([], [[1]]) == 0.0
    assert row_f1([[1]], []) == 0.0
    assert row_f1([[1], [2]], [[1]]) == pytest.approx(2 / 3)
    assert row_f1([[1], [1]], [[1]]) == pytest.approx(2 / 3)
    assert row_f1([[1]], [[1]]) == 1.0


def test_null_traps_separate_near_misses() -> None:
    assert own("SELECT q FROM t ORDER BY q ASC LIMIT 1") == ((None,),)  # the NULL row comes first
    assert own("SELECT MIN(q) FROM t") == ((2,),)
    assert own("SELECT COUNT(*) FROM t WHERE v <> '9'") == ((2,),)
    assert own("SELECT COUNT(*) FROM t WHERE v IS NOT '9'") == ((3,),)
    assert own("SELECT COUNT(v) FROM t") == ((4,),)
    assert own("SELECT COUNT(*) FROM t") == ((5,),)
    assert not same_rows(own("SELECT 5 / 2"), [[2.5]], ordered=False)


def test_a_limit_through_a_tie_is_not_the_tied_rows() -> None:
    cut = own("SELECT id FROM t ORDER BY q DESC LIMIT 1")
    tied = own("SELECT id FROM t WHERE q = (SELECT MAX(q) FROM t)")
    assert not same_rows(cut, tied, ordered=False)
    assert len(tied) == 2
