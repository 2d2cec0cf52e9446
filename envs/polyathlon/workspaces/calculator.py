"""A pocket calculator: exact rational arithmetic on + - * / ( ) and percent, bounded whatever it is given."""

from __future__ import annotations

import re
from fractions import Fraction

MAX_CHARS = 400
MAX_DEPTH = 40
MAX_PLACES = 12

_TOKEN = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?|\.[0-9]+|[-+*/()%])")
_SIGNS = str.maketrans({"\u2212": "-", "\u00d7": "*", "\u00f7": "/"})


class CalculatorError(ValueError):
    """The text is no expression of this calculator; the message says why and can be shown to whoever wrote it."""


def evaluate(text: str) -> Fraction:
    """Return the exact value of `text`, such as "(52-37)/37*100" or "15% * 80". There are no powers and no names.

    Raises:
        CalculatorError: longer than 400 characters, nested deeper than 40, a division by zero, or not an expression.

    """
    if len(text) > MAX_CHARS:
        raise CalculatorError(f"the expression has {len(text)} characters; at most {MAX_CHARS} are read")
    reader = _Reader(_tokens(text.translate(_SIGNS)))
    value = reader.total(0)
    if reader.peek() is not None:
        raise CalculatorError(f"{reader.peek()!r} was not expected there")
    return value


def write_value(value: Fraction) -> str:
    """Return `value` as a decimal where it ends within 12 places, else as a fraction with an approximation."""
    scaled = value * 10**MAX_PLACES
    if scaled.denominator == 1:
        sign, digits = "-" if value < 0 else "", f"{abs(scaled.numerator):0{MAX_PLACES + 1}d}"
        return f"{sign}{digits[:-MAX_PLACES]}.{digits[-MAX_PLACES:]}".rstrip("0").rstrip(".")
    near = write_value(Fraction(round(value * 10**6), 10**6))
    return f"{value.numerator}/{value.denominator} (about {near})"


def _tokens(text: str) -> list[str]:
    tokens: list[str] = []
    place = 0
    body = text.rstrip()
    while place < len(body):
        match = _TOKEN.match(body, place)
        if match is None:
            raise CalculatorError(
                f"{body[place : place + 10].strip()!r} is not understood; use numbers and + - * / ( ) %"
            )
        tokens.append(match[1])
        place = match.end()
    return tokens


class _Reader:
    """Recursive descent over tokens: total = product {+|- product}, product = item {*|/ item}."""

    def __init__(self, tokens: list[str]) -> None:
        self._tokens = tokens
        self._place = 0

    def peek(self) -> str | None:
        return self._tokens[self._place] if self._place < len(self._tokens) else None

    def total(self, depth: int) -> Fraction:
        if depth > MAX_DEPTH:
            raise CalculatorError(f"the expression is nested deeper than {MAX_DEPTH}")
        value = self._product(depth)
        while (sign := self.peek()) in ("+", "-"):
            self._place += 1
            other = self._product(depth)
            value = value + other if sign == "+" else value - other
        return value

    def _product(self, depth: int) -> Fraction:
        value = self._item(depth)
        while (sign := self.peek()) in ("*", "/"):
            self._place += 1
            other = self._item(depth)
            if sign == "/" and other == 0:
                raise CalculatorError("it divides by zero")
            value = value * other if sign == "*" else value / other
        return value

    def _item(self, depth: int) -> Fraction:
        negative = False
        while (token := self.peek()) in ("-", "+"):
            self._place += 1
            negative ^= token == "-"
        self._place += 1
        if token == "(":
            value = self.total(depth + 1)
            if self.peek() != ")":
                raise CalculatorError("a ( has no )")
            self._place += 1
        elif token is not None and (token[0].isdigit() or token[0] == "."):
            value = Fraction(token if token[0] != "." else f"0{token}")
        else:
            raise CalculatorError(f"a number was expected, not {'the end' if token is None else repr(token)}")
        if self.peek() == "%":
            self._place += 1
            value /= 100
        return -value if negative else value
