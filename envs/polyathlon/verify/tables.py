"""Records and tables compared field by field: each field has a reader and a declared comparison, rows are paired.

A field that neither side has is no hit. What is invented, doubled or unreadable costs precision; cells stay in their
rows; keys and columns may come in any order, rows too.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

from polyathlon.canonical import Json
from polyathlon.errors import VerifierError
from polyathlon.verify.credit import finite
from polyathlon.verify.grammar import NumberGrammar
from polyathlon.verify.pairing import MAX_CELLS, best_pairs
from polyathlon.verify.text import above
from polyathlon.verify.tolerance import EXACT, Tolerance

MAX_ROWS_OVER = 10
ROW_FLOOR = 0.5


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a record: `read` gives the value of its type or None, `same` compares a value with the gold one.

    Neither raises. The `Reader`s of `verify.records` are such readers.
    """

    read: Callable[[Json], Any]
    same: Callable[[Any, Any], bool] = operator.eq


Fields: TypeAlias = Mapping[str, Field]


@dataclass(frozen=True, slots=True)
class RecordScore:
    """How a record compares: right fields, fields given (unknown and unreadable ones too), and fields wanted."""

    num_right: int
    num_got: int
    num_wanted: int

    @property
    def f1(self) -> float:
        """Right fields against given and wanted ones, in [0, 1]."""
        return 2 * self.num_right / (self.num_got + self.num_wanted)

    @property
    def same(self) -> bool:
        return self.num_right == self.num_got == self.num_wanted


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


def number_field(grammar: NumberGrammar | None = None, tolerance: Tolerance = EXACT) -> Field:
    """Return the field of a JSON number, or of a text that is one by `grammar`; near enough by `tolerance`."""

    def read(value: Json) -> Fraction | None:
        if isinstance(value, str):
            return None if grammar is None else grammar.value(value)
        return finite(value)

    return Field(read, tolerance.admits)


def score_record(got: Json, wanted: Json, fields: Fields) -> RecordScore:
    """Return how `got` compares with `wanted`. null and a missing key are the same: no value.

    Raises:
        VerifierError: the wanted record is no object, is empty, or has a field that cannot be read.

    """
    return _compared(_reading(got, fields), _gold(wanted, fields), fields)


def score_rows(got: Json, wanted: Sequence[Json], fields: Fields) -> RowsScore:
    """Return how the table `got`, a list of objects, compares with `wanted`.

    Rows are paired one to one: as many whole rows as there can be, then for the most credit. A whole row counts 1,
    another pair by how far its fields' F1 lies above one half. `f1` is 2 x the sum / (rows given + rows wanted), so
    that a row too many or a row twice costs. More than 4 x the wanted rows + 10 count 0.

    Raises:
        VerifierError: a wanted row cannot be read, or there are so many that no answer could be paired with them.

    """
    golden = [_gold(row, fields) for row in wanted]
    most = 4 * len(golden) + MAX_ROWS_OVER
    if most * len(golden) > MAX_CELLS:
        raise VerifierError(f"{len(golden)} rows are wanted; tables of that size cannot be paired. Ask for fewer.")
    if not isinstance(got, list | tuple) or len(got) > most:
        return RowsScore(0.0, 0, 0, len(golden))
    given = [_reading(row, fields) for row in got]
    scores = [[_compared(mine, theirs, fields) for theirs in golden] for mine in given]
    # a whole row outweighs any number of partial ones
    worth = [[len(golden) + 1.0 if one.same else above(one.f1, ROW_FLOOR) for one in row] for row in scores]
    paired = [scores[left][right] for left, right in best_pairs(worth)]
    credit = sum(1.0 if one.same else above(one.f1, ROW_FLOOR) for one in paired)
    f1 = 0.0 if credit == 0 else 2 * credit / (len(given) + len(golden))
    return RowsScore(f1, sum(one.same for one in paired), len(given), len(golden))


def placed_rows(value: Json, columns: Sequence[str]) -> list[Json]:
    """Return a list of lists as records, by the declared order of `columns`; a row of another length becomes null.

    What is no list of lists becomes no rows at all.
    """
    rows = value if isinstance(value, list | tuple) else []
    return [
        dict(zip(columns, row, strict=True)) if isinstance(row, list | tuple) and len(row) == len(columns) else None
        for row in rows
    ]


def headed_rows(value: Json) -> list[Json]:
    """Return a list of lists whose first row names the columns, in any order, as records. Two equal names: no rows."""
    head = value[0] if isinstance(value, list | tuple) and value else None
    if not isinstance(head, list | tuple) or not isinstance(value, list | tuple):
        return []
    names = [name for name in head if isinstance(name, str)]
    return placed_rows(value[1:], names) if len({*names}) == len(head) else []


@dataclass(frozen=True, slots=True)
class _Reading:
    values: Mapping[str, Any]
    num_given: int


def _reading(value: Json, fields: Fields) -> _Reading:
    """Return what can be read of `value`; unknown keys and unreadable values only count as given."""
    if not isinstance(value, Mapping):
        return _Reading({}, 1)
    known = {name: value[name] for name in fields if value.get(name) is not None}
    read = {name: fields[name].read(given) for name, given in known.items()}
    num_unknown = sum(1 for key in value if key not in fields)  # sound: a table by name
    return _Reading({name: each for name, each in read.items() if each is not None}, len(known) + num_unknown)


def _gold(value: Json, fields: Fields) -> _Reading:
    gold = _reading(value, fields)
    if not gold.values or len(gold.values) != gold.num_given:
        raise VerifierError(f"The reference record cannot be read: {str(value)[:80]}. Mend the task source.")
    return gold


def _compared(got: _Reading, gold: _Reading, fields: Fields) -> RecordScore:
    num_right = sum(
        1
        for name, wanted in gold.values.items()
        if got.values.get(name) is not None and fields[name].same(got.values[name], wanted)
    )
    return RecordScore(num_right, got.num_given, gold.num_given)
