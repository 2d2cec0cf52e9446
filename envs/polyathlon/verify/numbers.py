"""Numbers out of text, exactly: each form that counts is declared, everything else is no number."""

from __future__ import annotations

# sound everywhere, in: declared forms, by name
import functools
from fractions import Fraction
from typing import Literal

from polyathlon.verify import grammar
from polyathlon.verify.grammar import NumberGrammar

Form = Literal["integer", "decimal", "fraction", "thousands", "scientific", "percent"]

MAX_DIGITS = grammar.MAX_DIGITS


def read_number(text: str, *forms: Form) -> Fraction | None:
    """Return the exact value of `text` when it is one number in one of `forms`, else None. Never raises.

    White space around it and a sign in front are allowed; the unicode minus signs count as "-". "integer": 42;
    "decimal": 42.50 or .5 (integers too); "fraction": 3/4; "thousands": 1,234,567 (grouped by three; with
    decimals where those are declared); "scientific": 1e6; "percent": 25% is 1/4. Digits are ASCII, at most 60 of them.
    For all else that can be declared, take a `NumberGrammar`.
    """
    return _grammar(forms).value(text)


def within(
    value: Fraction, gold: Fraction, *, relative: Fraction = Fraction(0), absolute: Fraction = Fraction(0)
) -> bool:
    """Return whether `value` lies within the larger of the two tolerances of `gold`, exactly; both ends count."""
    return abs(value - gold) <= max(relative * abs(gold), absolute)


def write_number(value: Fraction | int) -> str:
    """Return `value` as an integer or a reduced fraction: "7", "-3/4"."""
    return str(value.numerator) if value.denominator == 1 else f"{value.numerator}/{value.denominator}"


@functools.lru_cache(maxsize=64)
def _grammar(forms: tuple[Form, ...]) -> NumberGrammar:
    return NumberGrammar(
        forms=frozenset(form for form in forms if form in ("decimal", "fraction", "scientific")),
        group="," if "thousands" in forms else "",
        edges="open",
        plus="allowed",
        percent="share" if "percent" in forms else "refused",
    )
