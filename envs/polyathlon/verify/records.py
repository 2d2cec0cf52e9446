"""Records and tables compared field by field, typed: money and days exactly, words after a declared folding.

Nothing given and nothing wanted is never a hit; what is invented, doubled or unreadable costs precision.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from polyathlon.canonical import Json
from polyathlon.errors import VerifierError
from polyathlon.verify.dates import read_date
from polyathlon.verify.money import read_money
from polyathlon.verify.numbers import write_number
from polyathlon.verify.tables import Field, RowsScore, score_rows
from polyathlon.verify.text import bag_f1, plain

Reader: TypeAlias = Callable[[Json], str | None]
"""From a JSON value to its one canonical text, or None where it is no value of the type. Never raises."""

Schema: TypeAlias = Mapping[str, Reader]
"""The fields of a record by name. null and a missing key are the same: no value."""

Cells: TypeAlias = tuple[str, ...]
"""A record, read: one text for every field that has a value, sorted."""

MAX_TEXT_CHARS = 1_000


def as_money(value: Json) -> str | None:
    """An amount: 12500, 12500.0, "12500.00" and "12,500.00" are the same, 12501 is another."""
    amount = read_money(value)
    return None if amount is None else write_number(amount)


def as_day(value: Json) -> str | None:
    """A day, written YYYY-MM-DD and in no other way."""
    day = read_date(value, "iso") if isinstance(value, str) else None
    return None if day is None else day.isoformat()


def as_text(value: Json) -> str | None:
    """Words; case, invisible characters and runs of white space do not matter, order and punctuation do."""
    folded = plain(value).casefold() if isinstance(value, str) and len(value) <= MAX_TEXT_CHARS else ""
    return folded or None


def as_words(value: Json) -> str | None:
    """Words as `as_text`, with commas, full stops and line breaks read as white space: for addresses."""
    return as_text(re.sub(r"[,.\n]", " ", value)) if isinstance(value, str) and len(value) <= MAX_TEXT_CHARS else None


def read_record(value: Json, schema: Schema) -> Cells:
    """Return the cells of `value`. Unknown keys and unreadable values become cells that match nothing wanted."""
    if not isinstance(value, Mapping):
        return ("!",)
    cells = [f"!{str(key)[:40]}" for key in value if key not in schema]  # sound: a table by name
    for name, read in schema.items():
        given = value.get(name)
        if given is not None:
            reading = read(given)
            cells.append(f"!{name}" if reading is None else f"{name}={reading}")
    return tuple(sorted(cells))


def wanted_record(value: Json, schema: Schema) -> Cells:
    """Return the cells of a reference record.

    Raises:
        VerifierError: the reference itself cannot be read: no answer may be judged by it.

    """
    cells = read_record(value, schema)
    bad = [cell for cell in cells if cell.startswith("!")]  # sound: a mark of our own
    if bad or not cells:
        raise VerifierError(f"The reference record cannot be read: {bad or 'it is empty'}. Mend the task source.")
    return cells


def record_f1(got: Cells, wanted: Cells) -> float:
    """Return the F1 of two records' cells: right fields against given and wanted ones."""
    return bag_f1(got, wanted)


def rows_f1(got: Json, wanted: Sequence[Json], schema: Schema) -> RowsScore:
    """Return how the table `got` compares with `wanted`, as `verify.tables.score_rows`: readings must be equal.

    Raises:
        VerifierError: a reference row cannot be read.

    """
    return score_rows(got, wanted, {name: Field(read) for name, read in schema.items()})
