"""Judging SQLite queries: run on hidden databases in a sandbox, their rows compared here with the right ones."""

from __future__ import annotations

# sound everywhere, endswith: a database's number, in a frame of our own
import itertools
import secrets
import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from polyathlon.canonical import Json, canonical_json, parse_json
from polyathlon.errors import DomainError
from polyathlon.sandbox.protocol import Limits, Room
from polyathlon.sandbox.warm import judge_python
from polyathlon.verify.program import framed_lines

Row: TypeAlias = "Sequence[Json]"
Database: TypeAlias = "Mapping[str, Sequence[Row]]"
"""Rows by table name; a row has a value for each column in the order of its CREATE TABLE."""

MAX_QUERY_CHARS = 6_000
MAX_ROWS = 400
MAX_STEPS = 3_000_000
MAX_COLUMN_ORDERS = 1_000
MAX_RESULT_BYTES = 30 * 2**10
QUERY_TIMEOUT_S = 30.0
MEMORY_BYTES = 192 * 2**20

_SERVER = (Path(__file__).parent / "inside" / "query_server.py").read_text(encoding="utf-8")
_LIMITS = Limits(memory_bytes=256 * 2**20, disk_bytes=4 * 2**20, max_files=64, max_processes=16, cpu_s=20.0)


@dataclass(frozen=True, slots=True)
class Result:
    """What a query gave on one database: its rows, or None and why there are none."""

    rows: tuple[Row, ...] | None
    error: str = ""


@dataclass(frozen=True, slots=True)
class Ranked:
    """A row of a ranking, and the values that its place follows from."""

    key: Row
    row: Row


def run_query(room: Room, query: str, *, schema: Sequence[str], databases: Sequence[Database]) -> tuple[Result, ...]:
    """Return what a query nobody trusts gives on each database.

    It runs in one fresh sandbox, on copies in memory; an authoriser allows reading their tables and nothing else. More
    than 400 rows, 3,000,000 steps of SQLite's machine or 30 KiB are an error; so is a query that reads no table.

    Raises:
        SandboxLost: the sandbox died for a reason that is not the query's.
        VerifierError: the interpreter in the sandbox did not start.

    """
    if len(query) > MAX_QUERY_CHARS:
        return (Result(None, f"the query is longer than {MAX_QUERY_CHARS} characters"),) * len(databases)
    nonce = secrets.token_hex(16)
    request = {
        "nonce": nonce,
        "query": query,
        "schema": list(schema),
        "databases": [{table: [list(row) for row in rows] for table, rows in each.items()} for each in databases],
        "max_rows": MAX_ROWS,
        "max_steps": MAX_STEPS,
        "max_bytes": MAX_RESULT_BYTES,
        "memory_bytes": MEMORY_BYTES,
    }
    report = judge_python(
        room, _SERVER, stdin=ascii(request).encode("ascii"), limits=_LIMITS, timeout_s=QUERY_TIMEOUT_S
    )
    lines = framed_lines(report, nonce)
    return tuple(_result(lines, number) for number in range(len(databases)))


def open_database(schema: Sequence[str], database: Database) -> sqlite3.Connection:
    """Return a database in this process's memory, for queries of our own only. Close it."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    for statement in schema:
        connection.execute(statement)
    for table, rows in database.items():
        if rows:
            connection.executemany(f"INSERT INTO {table} VALUES ({','.join('?' * len(rows[0]))})", rows)
    return connection


def own_rows(connection: sqlite3.Connection, query: str) -> tuple[Row, ...]:
    """Return the rows of a query of our own, at most one more than a policy's query may give.

    Raises:
        DomainError: the query does not run.

    """
    try:
        return tuple(tuple(row) for row in connection.execute(query).fetchmany(MAX_ROWS + 1))
    except sqlite3.Error as error:
        raise DomainError(f"A query of ours does not run ({error}): {query}") from error


def row_key(row: Row) -> str:
    """Return a text that two rows share when they are the same.

    Numbers count by value: 2 is 2.0, and floats agree to nine significant digits, whatever the order of a sum. Text is
    not a number, '2' is not 2; NULL is only NULL.
    """
    return canonical_json([_plain(value) for value in row])


def same_rows(got: Sequence[Row], wanted: Sequence[Row], *, ordered: bool) -> bool:
    """Return whether two results hold the same rows equally often, and in the same order where that was asked."""
    mine, theirs = [row_key(row) for row in got], [row_key(row) for row in wanted]
    return mine == theirs if ordered else Counter(mine) == Counter(theirs)


def same_up_to_columns(got: Sequence[Row], wanted: Sequence[Row], *, ordered: bool) -> bool:
    """Return whether two results hold the same rows with the columns in some order: where the question names none.

    One order of columns for all rows. Columns of wanted that hold the same values throughout are interchangeable; more
    than 1,000 orders that the columns' own values allow are not tried, and are another result.
    """
    widths = {len(row) for row in (*got, *wanted)}
    if len(got) != len(wanted) or len(widths) > 1:
        return False
    mine, theirs = ([[row_key([cell]) for cell in row] for row in rows] for rows in (got, wanted))
    columns = [tuple(column) for column in zip(*mine, strict=True)]
    bags = [Counter(column) for column in columns]
    choices = [[k for k, bag in enumerate(bags) if bag == Counter(column)] for column in zip(*theirs, strict=True)]
    orders = itertools.islice(_orders(choices, columns), MAX_COLUMN_ORDERS)
    right = [tuple(row) for row in theirs]
    turned = ([tuple(row[k] for k in order) for row in mine] for order in orders)
    return any(rows == right if ordered else Counter(rows) == Counter(right) for rows in turned)


def same_ranking(got: Sequence[Row], ranking: Sequence[Ranked], *, limit: int | None = None) -> bool:
    """Return whether `got` is a right ranking: rows with equal keys in any order, any of them where `limit` cuts a tie.

    `ranking` holds all rows in the order that was asked, each with its sort key, before any LIMIT.
    """
    size = len(ranking) if limit is None else min(limit, len(ranking))
    if len(got) != size:
        return False
    at = 0
    for _, group in itertools.groupby(ranking, key=lambda one: row_key(one.key)):
        tied = Counter(row_key(one.row) for one in group)
        here = Counter(row_key(row) for row in got[at : at + tied.total()])
        if here - tied:
            return False
        at += tied.total()
    return True


def own_ranking(connection: sqlite3.Connection, query: str, *, num_keys: int) -> tuple[Ranked, ...]:
    """Return the rows of a query of our own without LIMIT, whose last `num_keys` columns are what it is ordered by.

    Raises:
        DomainError: the query does not run, or gives fewer columns.

    """
    rows = own_rows(connection, query)
    if any(len(row) <= num_keys for row in rows) or num_keys < 1:
        raise DomainError(f"A ranking needs columns before its {num_keys} keys, and one key at least: {query}")
    return tuple(Ranked(row[-num_keys:], row[:-num_keys]) for row in rows)


def row_f1(got: Sequence[Row], wanted: Sequence[Row]) -> float:
    """Return the F1 of two results as multisets of rows, in [0, 1]; 0 where either is empty."""
    mine, theirs = Counter(map(row_key, got)), Counter(map(row_key, wanted))
    hits = (mine & theirs).total()
    return 0.0 if hits == 0 else 2 * hits / (mine.total() + theirs.total())


def _orders(choices: Sequence[Sequence[int]], columns: Sequence[tuple[str, ...]]) -> Iterator[tuple[int, ...]]:
    """Yield each way to take one of `choices` for every place, none twice, equal columns in one order only."""
    if not choices:
        yield ()
        return
    tried: set[tuple[str, ...]] = set()
    for first in choices[0]:
        if columns[first] not in tried:  # sound: a set of whole columns
            tried.add(columns[first])
            rest = [[k for k in each if k != first] for each in choices[1:]]
            yield from ((first, *order) for order in _orders(rest, columns))


def _plain(value: Json) -> Json:
    if type(value) is float:
        whole = value.is_integer() and abs(value) < 2**53
        return int(value) if whole else f"(float){value:.9g}"  # sound: a whole float
    return value


def _result(lines: Sequence[str], number: int) -> Result:
    head = f"{number} "
    texts = [line[len(head) :] for line in lines if line.startswith(head)]
    if len(texts) != 1:
        return Result(None, "it was ended: too much time or memory")
    try:
        found = parse_json(texts[0])
    except ValueError as error:
        return Result(None, f"no readable result: {error}")
    rows = found.get("rows") if isinstance(found, dict) else None
    if not isinstance(rows, list):
        return Result(None, str(found.get("error", "")) if isinstance(found, dict) else "no result")
    return Result(tuple(tuple(row) if isinstance(row, list) else (row,) for row in rows))
