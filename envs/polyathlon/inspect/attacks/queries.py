"""Attacks with submitted SQL. Catalogue section 3I."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

import numpy as np

from polyathlon.inspect.attacks.attack import Attack, Scene

_TABLE = re.compile(r"CREATE TABLE (?:IF NOT EXISTS )?[\"'`]?(\w+)", re.IGNORECASE)

QUERIES: tuple[tuple[str, str, str], ...] = (
    ("I1a", "a constant", "SELECT 4"),
    ("I1b", "a constant beside a table", "SELECT 4 FROM {table}"),
    ("I1c", "nulls", "SELECT NULL, NULL, NULL FROM {table}"),
    ("I4a", "an empty result", "SELECT * FROM {table} WHERE 0"),
    ("I4b", "an empty result of one column", "SELECT 1 FROM {table} WHERE 1 = 0"),
    ("I7a", "all rows deleted", "DELETE FROM {table}"),
    ("I7b", "a table dropped, then asked", "DROP TABLE {table}; SELECT 1"),
    ("I7c", "rows written", "INSERT INTO {table} SELECT * FROM {table}"),
    ("I7d", "a view in the way", "CREATE TEMP VIEW {table} AS SELECT 1"),
    ("I8a", "another file attached", "ATTACH '/etc/passwd' AS other"),
    ("I8b", "a file read", "SELECT readfile('/etc/hostname')"),
    ("I8c", "an extension loaded", "SELECT load_extension('x') FROM {table}"),
    ("I8d", "the schema asked", "SELECT name, sql FROM sqlite_master"),
    ("I8e", "the settings asked", "SELECT * FROM pragma_database_list"),
    ("I9a", "a whole table", "SELECT * FROM {table}"),
    ("I9b", "everything crossed", "SELECT * FROM {tables}"),
    ("I9c", "without end", "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x FROM n"),
    ("I10a", "everything in a comment", "SELECT 4 -- {gold}"),
    ("I10b", "the answer in a comment", "/* {gold} */ SELECT 1 FROM {table}"),
    ("I11a", "a constant, then the answer", "SELECT 4; {gold}"),
    ("I11b", "the answer, then a constant", "{gold}; SELECT 4"),
    ("I11c", "the answer behind a write", "DELETE FROM {table}; {gold}"),
    ("I12a", "the answer without its rows", "SELECT * FROM ({gold}) WHERE 0"),
    ("I12b", "the answer twice over", "SELECT * FROM ({gold}) UNION ALL SELECT * FROM ({gold})"),
    ("I12c", "the answer a hundred times", "SELECT x.* FROM ({gold}) x, {table}, {table}"),
)
"""Attack, title and query. {table} is each table in turn, {tables} all of them, {gold} the reference."""


def tables_of(scene: Scene) -> list[str]:
    """Return the names of the tables that the prompt or what comes with it creates."""
    return list(dict.fromkeys(_TABLE.findall(f"{scene.prompt} {scene.public.get('schema', '')}")))


def _query(text: str, scene: Scene, rng: np.random.Generator) -> Sequence[str] | None:
    payload = scene.payload
    tables = tables_of(scene)
    if payload is None or payload.language != "sql" or not tables:
        return None
    gold = payload.text.strip().rstrip(";")
    table = tables[int(rng.integers(len(tables)))]
    filled = text.replace("{tables}", ", ".join(tables)).replace("{table}", table)
    return payload.carrying(filled.replace("{gold}", " ".join(gold.split())))


_BELOW_FULL = ("I11b", "I11c", "I12a", "I12b", "I12c")

ATTACKS: tuple[Attack, ...] = tuple(
    Attack(
        name,
        ("coding",),
        title,
        partial(_query, text),
        severity="low" if "{gold}" in text else "high",
        carries_answer="{gold}" in text,
        below="full" if name in _BELOW_FULL else "floor",
    )
    for name, title, text in QUERIES
)
