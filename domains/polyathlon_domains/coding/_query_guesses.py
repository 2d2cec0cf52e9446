"""Ways to query without the question: the columns that it wants, from a table that has them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from polyathlon import Attempt, Task
from polyathlon.toolcall import write_fenced

_TABLE = re.compile(r"CREATE TABLE (\w+) \((.*?)\)(?:;|$)", re.MULTILINE)
_COLUMNS = re.compile(r"whatever their names: ([^.]*)\.")
_NUMBER = re.compile(r"\bwith (\w+) (over|under|at least|at most) (\d+)")
_SIGNS = {"over": ">", "under": "<", "at least": ">=", "at most": "<="}


def shortcuts(task: Task) -> Sequence[Attempt]:
    """The wanted columns of the table that has most of them: as they are, each once, and under the first condition."""
    wanted = [part.strip() for part in (_COLUMNS.search(task.prompt) or ["", ""])[1].split(",")]
    tables = dict(_TABLE.findall(task.prompt))
    name = max(
        tables,
        key=lambda table: sum(re.search(rf"\b{re.escape(part)}\b", tables[table]) is not None for part in wanted),
    )
    known = [part for part in wanted if re.fullmatch(r"\w+", part) and re.search(rf"\b{part}\b", tables[name])]
    columns = ", ".join(known or ["id"])
    first = _NUMBER.search(task.prompt)
    where = f" WHERE {first[1]} {_SIGNS[first[2]]} {first[3]}" if first else " WHERE 1"
    ways = {
        "the columns": f"SELECT {columns} FROM {name}",
        "the columns, each once": f"SELECT DISTINCT {columns} FROM {name}",
        "the columns, counted": f"SELECT {columns}, COUNT(*) FROM {name} GROUP BY {columns}",
        "the columns under the first condition": f"SELECT {columns} FROM {name}{where}",
    }
    return tuple(Attempt(title, (write_fenced(query, language="sql"),)) for title, query in ways.items())
