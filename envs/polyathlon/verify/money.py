"""Amounts of money, read and written exactly in declared styles."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from fractions import Fraction

from polyathlon.canonical import Json

MAX_CHARS = 40
LARGEST = 10**15
_SPACES = ("\u00a0", "\u202f", "\u2009")
_MINUS = ("\u2212", "\u2013", "\ufe63", "\uff0d")


@dataclass(frozen=True, slots=True)
class NumberStyle:
    """How a document writes numbers: its decimal mark, and what groups thousands ("" for nothing).

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
    return style.negative.format(text) if minor < 0 else text


def round_half_up(value: Fraction, places: int = 0) -> Fraction:
    """Return `value` rounded to `places` decimals, halves away from zero: 2.5 is 3 and -2.5 is -3."""
    scaled = abs(value) * 10**places
    whole = (2 * scaled.numerator + scaled.denominator) // (2 * scaled.denominator)
    return Fraction(whole if value >= 0 else -whole, 10**places)


def _read_text(text: str, style: NumberStyle) -> Fraction | None:
    body = text.strip()
    for space in _SPACES:
        body = body.replace(space, " ")
    for minus in _MINUS:
        body = body.replace(minus, "-")
    head, _, tail = style.negative.partition("{}")
    negative = len(body) > len(head) + len(tail) and body.startswith(head) and body.endswith(tail)
    if negative:
        body = body[len(head) : len(body) - len(tail)].strip()
    grouped = rf"|[0-9]{{1,3}}(?:{re.escape(style.group)}[0-9]{{3}})+" if style.group else ""
    match = re.fullmatch(rf"([0-9]+{grouped})(?:{re.escape(style.decimal)}([0-9]+))?", body)
    if match is None:
        return None
    whole = match[1].replace(style.group, "") if style.group else match[1]
    value = Fraction(f"{whole}.{match[2] or 0}")
    return None if value >= LARGEST else -value if negative else value
