"""Whether two queries give the same rows on databases that no verifier has seen: run apart from any judgement."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date, timedelta

import numpy as np

from polyathlon.canonical import Json, canonical_json
from polyathlon.sandbox.choose import default_room
from polyathlon.verify.sql import Database, run_query

NUM_DATABASES, AT_A_TIME = 80, 10
_COLUMN = re.compile(r"[(,]\s*(\w+) (INTEGER|TEXT)([^,)]*)")
_NUMBER = re.compile(r"(?<![\w'-])\d+(?![\w'-])")
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")

Row = list[Json]


def same_query(
    right: str, other: str, *, schema: Sequence[str], databases: Sequence[Database], ordered: bool, seed: str
) -> bool:
    """Return whether both queries give the same rows on `databases` changed in 80 ways: rows gone or twice, values
    exchanged, moved to a bound of the queries or beside it, or NULL where the schema allows it. No row comes to refer
    to itself, however far around: what such a table refers to is above it.

    Row order counts where `ordered`. A database on which the right query gives no result tells nothing, and on half of
    them it must; the other query failing where it does give one counts as different.
    """
    rng = np.random.default_rng([*seed.encode("utf-8")])
    numbers = sorted({int(text) + step for text in _NUMBER.findall(f"{right} {other}") for step in (-1, 0, 1)})
    tables = {_table(statement): _COLUMN.findall(statement) for statement in schema}
    room = default_room()
    num_told = 0
    for _ in range(NUM_DATABASES // AT_A_TIME):
        some = [_varied(databases[int(rng.integers(len(databases)))], tables, numbers, rng) for _ in range(AT_A_TIME)]
        wanted = run_query(room, right, schema=schema, databases=some)
        found = run_query(room, other, schema=schema, databases=some)
        for one, two in zip(wanted, found, strict=True):
            if one.rows is None:
                continue
            num_told += 1
            if two.rows is None or not _same(one.rows, two.rows, ordered=ordered):
                return False
    return num_told >= NUM_DATABASES // 2


def _same(left: Sequence[Sequence[Json]], right: Sequence[Sequence[Json]], *, ordered: bool) -> bool:
    mine, theirs = (
        [canonical_json([round(x, 6) if isinstance(x, float) else x for x in row]) for row in rows]
        for rows in (left, right)
    )
    return mine == theirs if ordered else Counter(mine) == Counter(theirs)


def _table(statement: str) -> str:
    return statement.split("(")[0].split()[-1]


def _varied(
    database: Database,
    tables: Mapping[str, Sequence[tuple[str, str, str]]],
    numbers: Sequence[int],
    rng: np.random.Generator,
) -> dict[str, list[Row]]:
    """Return a copy of `database` in which keys stay keys, and other values change."""
    wild = float(rng.random()) * 0.5  # some hardly change, some half
    varied: dict[str, list[Row]] = {}
    for table, columns in tables.items():
        rows = [list(row) for row in database[table] if rng.random() > wild / 3]
        for row in list(rows):
            if rng.random() < wild / 2:
                rows.append([max(_key(each) for each in rows) + 1, *row[1:]])
        for row in rows:
            for place, (_, kind, rest) in enumerate(columns):
                if rest.find("PRIMARY KEY") < 0 and rng.random() < wild / 2:
                    others = [each[place] for each in rows]
                    nullable = rest.find("NOT NULL") < 0
                    is_key = rest.find("REFERENCES") >= 0
                    row[place] = _value(row[place], others, numbers, rng, nullable=nullable, kind=kind * (not is_key))
        varied[table] = rows
    for table, columns in tables.items():
        varied[table] = _whole(varied, table, columns)
    return varied


def _whole(database: Mapping[str, list[Row]], table: str, columns: Sequence[tuple[str, str, str]]) -> list[Row]:
    """Return the rows of `table` that refer to rows that are there; where a reference may be NULL, it becomes that."""
    rows = database[table]
    for place, (_, _, rest) in enumerate(columns):
        target = re.search(r"REFERENCES (\w+)", rest)
        if target is None:
            continue
        keys = {row[0] for row in (rows if target[1] == table else database[target[1]])}
        if rest.find("NOT NULL") >= 0:
            rows = [row for row in rows if row[place] in keys]
        else:
            rows = [[*row[:place], row[place] if row[place] in keys else None, *row[place + 1 :]] for row in rows]
        if target[1] == table:
            rows = without_rings(rows, place)
    return rows


def without_rings(rows: Sequence[Row], place: int) -> list[Row]:
    """Return `rows`, keys first, in which none refers to itself around others by the key at `place`: there is NULL."""
    above: dict[Json, Json] = {}
    kept: list[Row] = []
    for row in rows:
        up = row[place]
        while up is not None and up != row[0]:
            up = above.get(up)
        above[row[0]] = row[place] if up is None else None
        kept.append([*row[:place], above[row[0]], *row[place + 1 :]])
    return kept


def _value(
    value: Json, others: Sequence[Json], numbers: Sequence[int], rng: np.random.Generator, *, nullable: bool, kind: str
) -> Json:
    way = rng.random()
    if nullable and way < 0.25:
        return None
    if kind == "INTEGER" and numbers and way < 0.6:
        return numbers[int(rng.integers(len(numbers)))]
    if kind == "TEXT" and isinstance(value, str) and _DAY.fullmatch(value) and way < 0.6:
        return (date.fromisoformat(value) + timedelta(days=int(rng.integers(-2, 3)))).isoformat()
    return others[int(rng.integers(len(others)))]


def _key(row: Row) -> int:
    assert isinstance(row[0], int), "the first column of each table is its key"
    return row[0]
