"""Ways to answer a question on a table by finding the row that it names, without the operation it asks for."""

from __future__ import annotations

import re
from collections.abc import Sequence

from polyathlon import Attempt, Task

_FIGURE = re.compile(r"\d+")


def shortcuts(task: Task) -> Sequence[Attempt]:
    """The named row's figures as a working of one kind, not worked out; the first figures of the table; one figure."""
    lines = task.prompt.splitlines()
    rows = {name: figures for name, figures in map(_row, lines[1:-1]) if len(figures) > 1}
    named = sorted((name for name in rows if name in lines[-1]), key=lines[-1].index) or [*rows][:1]
    first, second = rows[named[0]][:2] if named else ("1", "2")
    below = rows[named[1]][0] if len(named) > 1 else second
    ways = {
        "the named row, later less earlier": f"{second}-{first}=0",
        "the named row, earlier less later": f"{first}-{second}=0",
        "the named row, added": f"{first}+{second}=0",
        "both named rows, added": f"{first}+{below}=0",
        "a figure of the named row": first,
    }
    return tuple(Attempt(name, (text,)) for name, text in ways.items())


def _row(line: str) -> tuple[str, Sequence[str]]:
    """Return a line's name and figures; no figures where it is no row of the table."""
    name = re.match(r"[A-Z][A-Za-z ]*[a-z]", line)
    figures = _FIGURE.findall(line[name.end() :]) if name else []
    rest = re.sub(r"[\d\s,;|]", "", line[name.end() :]) if name else line
    return (name[0], figures) if name and not rest else ("", [])
