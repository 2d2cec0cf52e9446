"""Whether two JSON values are the same, in declared respects; by default types and order count, and nothing is near."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from polyathlon.canonical import MAX_JSON_DEPTH, Json
from polyathlon.errors import VerifierError
from polyathlon.verify.credit import finite
from polyathlon.verify.grammar import NumberGrammar
from polyathlon.verify.pairing import best_pairs
from polyathlon.verify.text import plain
from polyathlon.verify.tolerance import EXACT, Tolerance

MAX_UNORDERED = 200


@dataclass(frozen=True, slots=True)
class Equality:
    """What counts as the same value. true is never 1, and a text is never a number unless `numerals` says how.

    `numbers`: "typed" tells 1 from 1.0, "by value" does not. `tolerance`: how near numbers must come; needs "by value".
    `texts`: "exact", "plain" (`verify.text.plain`) or "folded" (and case aside). `lists`: "ordered", or "unordered" as
    multisets, of at most 200 items. `nulls`: "kept", or "absent": a key with null is a key that is not there.
    `numerals`: texts that are one number by this grammar count as that number, on both sides.

    Raises:
        ValueError: a tolerance or numerals on "typed" numbers.

    """

    numbers: Literal["typed", "by value"] = "typed"
    tolerance: Tolerance = EXACT
    texts: Literal["exact", "plain", "folded"] = "exact"
    lists: Literal["ordered", "unordered"] = "ordered"
    nulls: Literal["kept", "absent"] = "kept"
    numerals: NumberGrammar | None = None

    def __post_init__(self) -> None:
        if self.numbers == "typed" and (self.tolerance != EXACT or self.numerals is not None):
            raise ValueError('A tolerance and numerals compare numbers "by value": declare numbers="by value".')

    def same(self, value: Json, gold: Json) -> bool:
        """Return whether `value` is `gold`. Never raises for the value's sake; nesting beyond 100 is the same as none.

        Raises:
            VerifierError: gold holds NaN or an infinity, or an unordered list of more than 200 items.

        """
        return _same(value, gold, self, MAX_JSON_DEPTH)


TYPED = Equality()
BY_VALUE = Equality(numbers="by value")


def _same(value: Json, gold: Json, how: Equality, depth: int) -> bool:
    if depth == 0:
        return False
    if isinstance(gold, Mapping):
        return isinstance(value, Mapping) and _same_maps(value, gold, how, depth)
    if isinstance(gold, list | tuple):
        return isinstance(value, list | tuple) and _same_lists(value, gold, how, depth)
    if isinstance(gold, bool) or gold is None:
        return value is gold
    return _same_leaves(value, gold, how)


def _same_leaves(value: Json, gold: Json, how: Equality) -> bool:
    if how.numbers == "by value":
        wanted = _number(gold, how.numerals)
        if wanted is not None:
            found = _number(value, how.numerals)
            return found is not None and how.tolerance.admits(found, wanted)
    if isinstance(gold, str):
        return isinstance(value, str) and _folded(value, how) == _folded(gold, how)
    if finite(gold) is None:
        raise VerifierError(f"The gold value holds {gold!r}: it is no JSON value. Mend the task source.")
    return type(value) is type(gold) and value == gold


def _number(value: Json, numerals: NumberGrammar | None) -> Fraction | None:
    if isinstance(value, str):
        return None if numerals is None else numerals.value(value)
    return finite(value)


def _folded(text: str, how: Equality) -> str:
    if how.texts == "exact":
        return text
    return plain(text).casefold() if how.texts == "folded" else plain(text)


def _same_maps(value: Mapping[str, Json], gold: Mapping[str, Json], how: Equality, depth: int) -> bool:
    if how.nulls == "absent":
        value = {key: inner for key, inner in value.items() if inner is not None}
        gold = {key: inner for key, inner in gold.items() if inner is not None}
    return value.keys() == gold.keys() and not any(
        not _same(value[key], inner, how, depth - 1) for key, inner in gold.items()
    )


def _same_lists(value: Sequence[Json], gold: Sequence[Json], how: Equality, depth: int) -> bool:
    if len(value) != len(gold):
        return False
    if how.lists == "ordered":
        return not any(not _same(one, other, how, depth - 1) for one, other in zip(value, gold, strict=True))
    if len(gold) > MAX_UNORDERED:
        raise VerifierError(f"An unordered gold list of {len(gold)} items; at most {MAX_UNORDERED} are compared.")
    # near is not transitive, so the first that fits may be another's: pair them all at once
    fits = [[1.0 if _same(one, other, how, depth - 1) else 0.0 for other in gold] for one in value]
    return len(best_pairs(fits)) == len(gold)
