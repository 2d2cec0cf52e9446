"""Amounts of money, read and written exactly in declared styles."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from polyathlon.canonical import Json
from polyathlon.verify.grammar import Negative, NumberGrammar

MAX_CHARS = 40
LARGEST = 10**15
_NEGATIVES: Mapping[str, Negative] = {"-{}": "minus", "{}-": "trailing", "({})": "brackets"}


@dataclass(frozen=True, slots=True)
class NumberStyle:
    """How a document writes numbers: its decimal mark, and what groups thousands ("" for nothing), as `NumberGrammar`.

    `negative` is a pattern with one `{}`: "-{}", "{}-" or the accountant's "({})".
    """

    decimal: str = "."
    group: str = ","
    negative: str = "-{}"


PLAIN = NumberStyle()


def read_money(value: Json, style: NumberStyle = PLAIN) -> Fraction | None:
    """Return the exact amount that `value` is, else None. Never raises.

    A JSON number counts as it is written (12.5 is 25/2); a string must be one number in `style`, grouped by three or
    not at all. Below 10**15 in size, no currency, no percent sign; bools are no amounts.
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return Fraction(value) if abs(value) < LARGEST else None
    if isinstance(value, float):
        return Fraction(repr(value)) if math.isfinite(value) and abs(value) < LARGEST else None
    return _read_text(value, style) if isinstance(value, str) and len(value) <= MAX_CHARS else None


def write_money(minor: int, style: NumberStyle = PLAIN, *, places: int = 2) -> str:
    """Return `minor` (cents, or whatever 10**-`places` of the unit is) in `style`: -123450 is "-1,234.50"."""
    whole, part = divmod(abs(minor), 10**places)
    grouped = f"{whole:,}".replace(",", style.group)
    text = grouped if places == 0 else f"{grouped}{style.decimal}{part:0{places}d}"
    return style.negative.format(text) if minor < 0 else text  # sound: a pattern of the style, never a text of a policy


def round_half_up(value: Fraction, places: int = 0) -> Fraction:
    """Return `value` rounded to `places` decimals, halves away from zero: 2.5 is 3 and -2.5 is -3.

    A negative `places` rounds to tens, hundreds and so on.
    """
    unit = Fraction(10) ** -places
    scaled = abs(value) / unit
    whole = (2 * scaled.numerator + scaled.denominator) // (2 * scaled.denominator)
    return (whole if value >= 0 else -whole) * unit


@functools.lru_cache(maxsize=64)
def _grammar(style: NumberStyle) -> NumberGrammar:
    return NumberGrammar(
        forms=frozenset({"decimal"}),
        decimal=style.decimal,
        group=style.group,
        negatives=(_NEGATIVES[style.negative],),
    )


def _read_text(text: str, style: NumberStyle) -> Fraction | None:
    value = _grammar(style).value(text)
    return None if value is None or abs(value) >= LARGEST else value
