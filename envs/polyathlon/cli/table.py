"""Tables for people, and the same rows as JSON for programs."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.table import Table

from polyathlon.canonical import Json


def print_rows(rows: Sequence[Mapping[str, Json]], *, columns: Sequence[str], title: str = "") -> None:
    """Print `rows` as a table of `columns`; in a pipe without borders, colours or clipping."""
    console = Console(width=None if sys.stdout.isatty() else 400)
    table = Table(*columns, title=title or None, box=None, header_style="bold", title_justify="left", pad_edge=False)
    for row in rows:
        table.add_row(*(_cell(row.get(column)) for column in columns))
    console.print(table, markup=False)


def print_json(value: Json) -> None:
    """Print `value` as JSON, one document; lone surrogates, which no encoding takes, as escapes."""
    text = json.dumps(value, indent=1, ensure_ascii=False)
    sys.stdout.write(re.sub("[\ud800-\udfff]", lambda found: f"\\u{ord(found[0]):04x}", text) + "\n")


def _cell(value: Json) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, str | int):
        return str(value)
    return ", ".join(map(str, value))
