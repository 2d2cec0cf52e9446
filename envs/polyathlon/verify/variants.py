"""Databases that tell a right query from one that is right by chance: drawn with NULLs, ties, doubles and gaps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from polyathlon.canonical import Json
from polyathlon.errors import DomainError
from polyathlon.verify.sql import Database, Row, open_database, own_rows, row_key, same_rows

Flavour = Literal["NULLs", "ties", "duplicates", "an empty table"]
FLAVOURS: tuple[Flavour, ...] = ("NULLs", "ties", "duplicates", "an empty table")
MIN_VARIANTS = 5
NULL_SHARE = 0.35


@dataclass(frozen=True, slots=True)
class Column:
    """Where a column's values come from: numbers of their own from 1 ("key"), or `values`, with NULLs if `nullable`."""

    values: tuple[Json, ...] | Literal["key"]
    nullable: bool = True


Columns: TypeAlias = Sequence[Column]


def draw_variants(tables: Mapping[str, Columns], num_rows: int, rng: np.random.Generator) -> tuple[Database, ...]:
    """Return databases of about `num_rows` rows a table: mixed, with NULLs, with ties, with doubles, and for each table
    one in which it alone is empty; five at least.

    Raises:
        DomainError: fewer than 4 rows a table: nothing would be tied.

    """
    if num_rows < 4:
        raise DomainError(f"{num_rows} rows a table tell nothing apart; give 4 or more.")
    base = {name: _rows(columns, num_rows, rng) for name, columns in tables.items()}
    drawn: list[dict[str, list[Row]]] = [
        base,
        {name: _with_nulls(base[name], columns, rng) for name, columns in tables.items()},
        {name: _with_ties(columns, num_rows, rng) for name, columns in tables.items()},
        {name: _with_doubles(base[name], columns) for name, columns in tables.items()},
    ]
    for empty in tables:
        rows = {name: _rows(columns, num_rows, rng) for name, columns in tables.items()}
        drawn.append({**rows, empty: []})
    return tuple(drawn)


def flavours_of(databases: Sequence[Database]) -> frozenset[Flavour]:
    """Return which of the flavours occur somewhere in `databases`. Keys, columns of different values, tie nowhere."""
    tables = [rows for database in databases for rows in database.values()]
    found = {
        "NULLs": any(value is None for rows in tables for row in rows for value in row),
        "ties": any(_has_tied_extreme(column) for rows in tables for column in zip(*rows, strict=True)),
        "duplicates": any(_has_doubles(rows) for rows in tables),
        "an empty table": any(not rows for rows in tables),
    }
    return frozenset(name for name in FLAVOURS if found[name])


def check_variants(
    schema: Sequence[str], databases: Sequence[Database], gold: str, *, rivals: Sequence[str], ordered: bool
) -> None:
    """Refuse databases that cannot judge a query by the rows it gives.

    Raises:
        DomainError: fewer than five databases; a flavour is missing; gold does not run, gives rows nowhere, or the same
            ones everywhere; a rival, a query that is wrong, gives the same rows as gold on all of them.

    """
    missing = [name for name in FLAVOURS if name not in flavours_of(databases)]  # sound: a set of names
    if len(databases) < MIN_VARIANTS or missing:
        raise DomainError(f"{len(databases)} databases without {missing}: give {MIN_VARIANTS} with {list(FLAVOURS)}.")
    results: list[tuple[Row, ...]] = []
    told = [False] * len(rivals)
    for database in databases:
        with closing(open_database(schema, database)) as connection:
            right = own_rows(connection, gold)
            results.append(right)
            for place, rival in enumerate(rivals):
                told[place] |= not same_rows(own_rows(connection, rival), right, ordered=ordered)
    if not any(results) or len({"\n".join(map(row_key, rows)) for rows in results}) < 2:
        raise DomainError(f"The right query gives no rows, or the same ones, on every database: {gold}")
    untold = [rival for rival, one in zip(rivals, told, strict=True) if not one]
    if untold:
        raise DomainError(f"No database tells the right query from: {untold[0]}")


def _rows(columns: Columns, num_rows: int, rng: np.random.Generator) -> list[Row]:
    drawn = [
        list(range(1, num_rows + 1)) if column.values == "key" else _picked(column.values, num_rows, rng)
        for column in columns
    ]
    return [list(row) for row in zip(*drawn, strict=True)]


def _picked(values: tuple[Json, ...], num_rows: int, rng: np.random.Generator) -> list[Json]:
    return [values[int(place)] for place in rng.integers(len(values), size=num_rows)]  # sound: an index of numpy's


def _with_nulls(rows: Sequence[Row], columns: Columns, rng: np.random.Generator) -> list[Row]:
    """Return `rows` with about a third of the cells that may be NULL so, one a column at least."""
    kept: list[list[Json]] = [list(row) for row in rows]
    for place, column in enumerate(columns):
        if column.values != "key" and column.nullable:
            gone = rng.random(len(kept)) < NULL_SHARE
            gone[rng.integers(len(kept))] = True
            for row, is_gone in zip(kept, gone, strict=True):
                row[place] = None if is_gone else row[place]
    return [tuple(row) for row in kept]


def _with_ties(columns: Columns, num_rows: int, rng: np.random.Generator) -> list[Row]:
    """Return rows of few values: each column takes two of its own, the largest at least twice."""
    narrow = [column if column.values == "key" else Column(column.values[-2:], column.nullable) for column in columns]
    rows = [list(row) for row in _rows(narrow, num_rows, rng)]
    for place, column in enumerate(narrow):
        if column.values != "key":
            rows[0][place] = rows[1][place] = max(column.values, key=_sort_key)
    return [tuple(row) for row in rows]


def _with_doubles(rows: Sequence[Row], columns: Columns) -> list[Row]:
    """Return `rows` and a third of them again, under keys of their own."""
    again = rows[: max(2, len(rows) // 3)]
    keys = [place for place, column in enumerate(columns) if column.values == "key"]
    doubled = []
    for number, row in enumerate(again, start=len(rows) + 1):
        doubled.append([number if place in {*keys} else value for place, value in enumerate(row)])  # sound: places
    return [*rows, *doubled]


def _has_tied_extreme(column: Sequence[Json]) -> bool:
    counts = Counter(value for value in column if isinstance(value, int | float | str))
    return bool(counts) and counts[max(counts, key=_sort_key)] > 1


def _has_doubles(rows: Sequence[Row]) -> bool:
    columns = list(zip(*rows, strict=True))
    telling = [column for column in columns if len({row_key([value]) for value in column}) < len(rows)]
    return bool(telling) and len({row_key(row) for row in zip(*telling, strict=True)}) < len(rows)


def _sort_key(value: Json) -> tuple[bool, float, str]:
    is_text = isinstance(value, str)
    return is_text, value if isinstance(value, int | float) else 0.0, value if isinstance(value, str) else ""
