"""Numbers out of text, exactly: each form that counts is declared, everything else is no number."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Literal

Form = Literal["integer", "decimal", "fraction", "thousands", "scientific", "percent"]

MAX_DIGITS = 60
MAX_EXPONENT = 60

_INTEGER = r"\d+"
_GROUPED = r"\d{1,3}(?:,\d{3})+"
_TO_MINUS = str.maketrans(dict.fromkeys("\u2212\u2013\ufe63\uff0d", "-"))


def read_number(text: str, *forms: Form) -> Fraction | None:
    """Return the exact value of `text` when it is one number in one of `forms`, else None. Never raises.

    White space around it and a sign in front are allowed; the unicode minus signs count as "-". "integer": 42;
    "decimal": 42.50 or .5 (integers too); "fraction": 3/4; "thousands": 1,234,567 (grouped by three; with
    decimals where those are declared); "scientific": 1e6; "percent": 25% is 1/4. Digits are ASCII, at most 60 of them.
    """
    body = text.strip()
    if len(body) > 2 * MAX_DIGITS:
        return None
    if not body.isascii():
        body = body.translate(_TO_MINUS)
    if "percent" in forms and body.endswith("%"):
        value = _plain(body[:-1].rstrip(), forms)
        return None if value is None else value / 100
    return _plain(body, forms)


def within(
    value: Fraction, gold: Fraction, *, relative: Fraction = Fraction(0), absolute: Fraction = Fraction(0)
) -> bool:
    """Return whether `value` lies within the larger of the two tolerances of `gold`, exactly; both ends count."""
    return abs(value - gold) <= max(relative * abs(gold), absolute)


def write_number(value: Fraction | int) -> str:
    """Return `value` as an integer or a reduced fraction: "7", "-3/4"."""
    return str(value.numerator) if value.denominator == 1 else f"{value.numerator}/{value.denominator}"


def _plain(body: str, forms: tuple[Form, ...]) -> Fraction | None:
    sign = -1 if body.startswith("-") else 1
    body = body[1:].lstrip() if body[:1] in ("-", "+") else body
    if not body.isascii() or (len(body) > MAX_DIGITS and sum(map(str.isdigit, body)) > MAX_DIGITS):
        return None
    whole = f"(?:{_INTEGER}|{_GROUPED})" if "thousands" in forms else _INTEGER
    if re.fullmatch(whole, body):
        return Fraction(sign * int(body.replace(",", "")))
    if "fraction" in forms and re.fullmatch(rf"{_INTEGER}\s*/\s*{_INTEGER}", body):
        top, bottom = (int(part) for part in body.split("/"))
        return None if bottom == 0 else sign * Fraction(top, bottom)
    if "decimal" in forms and re.fullmatch(rf"(?:{whole})?\.\d+|{whole}\.", body):
        return sign * Fraction(body.replace(",", ""))
    if "scientific" in forms and (match := re.fullmatch(r"(\d+(?:\.\d+)?)[eE]([+-]?\d{1,3})", body)):
        exponent = int(match[2])
        return None if abs(exponent) > MAX_EXPONENT else sign * Fraction(match[1]) * Fraction(10) ** exponent
    return None
