"""Records and tables compared field by field, typed: money and days exactly, words after a declared folding.

Nothing given and nothing wanted is never a hit; what is invented, doubled or unreadable costs precision.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from polyathlon.canonical import Json
from polyathlon.errors import VerifierError
from polyathlon.verify.dates import read_date
from polyathlon.verify.money import read_money
from polyathlon.verify.numbers import write_number
from polyathlon.verify.text import above, bag_f1, plain

Reader: TypeAlias = Callable[[Json], str | None]
"""From a JSON value to its one canonical text, or None where it is no value of the type. Never raises."""

Schema: TypeAlias = Mapping[str, Reader]
"""The fields of a record by name. null and a missing key are the same: no value."""

Cells: TypeAlias = tuple[str, ...]
"""A record, read: one text for every field that has a value, sorted."""

MAX_TEXT_CHARS = 1_000
MAX_ROWS_OVER = 10
ROW_FLOOR = 0.5


@dataclass(frozen=True, slots=True)
class RowsScore:
    """How a table compares: `f1` in [0, 1], and how many rows are wholly right, given and wanted."""

    f1: float
    num_exact: int
    num_got: int
    num_wanted: int

    @property
    def same(self) -> bool:
        return self.num_exact == self.num_got == self.num_wanted


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
    cells = [f"!{str(key)[:40]}" for key in value if key not in schema]
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
    bad = [cell for cell in cells if cell.startswith("!")]
    if bad or not cells:
        raise VerifierError(f"The reference record cannot be read: {bad or 'it is empty'}. Mend the task source.")
    return cells


def record_f1(got: Cells, wanted: Cells) -> float:
    """Return the F1 of two records' cells: right fields against given and wanted ones."""
    return bag_f1(got, wanted)


def rows_f1(got: Json, wanted: Sequence[Json], schema: Schema) -> RowsScore:
    """Return how the table `got` compares with `wanted`; the order of rows is free, cells stay in their rows.

    A row that is wholly right counts 1. The others are paired one to one, the best pair first; a pair counts by how
    far its cells' F1 lies above one half. `f1` is 2 x the sum / (rows given + rows wanted), so that a row too many
    or a row twice costs. A table of more than 4 x the wanted rows + 10 counts 0.

    Raises:
        VerifierError: a reference row cannot be read.

    """
    golden = [wanted_record(row, schema) for row in wanted]
    if not isinstance(got, list | tuple) or len(got) > 4 * len(golden) + MAX_ROWS_OVER:
        return RowsScore(0.0, 0, 0, len(golden))
    given = [read_record(row, schema) for row in got]
    exact = Counter(given) & Counter(golden)
    credit = exact.total() + _paired(_less(given, exact), _less(golden, exact))
    f1 = 0.0 if credit == 0 else 2 * credit / (len(given) + len(golden))
    return RowsScore(f1, exact.total(), len(given), len(golden))


def _less(rows: Sequence[Cells], taken: Counter[Cells]) -> list[Cells]:
    return list((Counter(rows) - taken).elements())


def _paired(given: Sequence[Cells], golden: Sequence[Cells]) -> float:
    pairs = [
        (above(bag_f1(mine, theirs), ROW_FLOOR), -left, -right)
        for left, mine in enumerate(given)
        for right, theirs in enumerate(golden)
    ]
    used_left: set[int] = set()
    used_right: set[int] = set()
    total = 0.0
    for credit, left, right in sorted(pairs, reverse=True):
        if credit > 0 and left not in used_left and right not in used_right:
            used_left.add(left)
            used_right.add(right)
            total += credit
    return total
