"""Arithmetic over given numbers: a strict reader of what a policy wrote, a writer, and an exact search."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import TypeAlias

MAX_CHARS = 200

Expr: TypeAlias = "int | tuple[str, Expr, Expr]"
"""A number, or (operator, left, right) with an operator out of "+-*/"."""

_TOKEN = re.compile(r"\s*(\d{1,6}|[-+*/()])")
_PRIORITY = {"+": 1, "-": 1, "*": 2, "/": 2}
_WRITTEN_OTHERWISE = str.maketrans({"\u00d7": "*", "\u00f7": "/", "\u2212": "-"})


class Unreadable(ValueError):
    """The text is no expression; the message says where it stops being one, for whoever wrote it."""


@dataclass(slots=True)
class _Reader:
    tokens: Sequence[str]
    place: int = 0

    def peek(self) -> str:
        return self.tokens[self.place] if self.place < len(self.tokens) else "the end"

    def take(self) -> str:
        token = self.peek()
        self.place += 1
        return token

    def expression(self, lowest: int) -> Expr:
        left = self.operand()
        while _PRIORITY.get(self.peek(), 0) >= lowest:
            sign = self.take()
            left = (sign, left, self.expression(_PRIORITY[sign] + 1))
        return left

    def operand(self) -> Expr:
        token = self.take()
        if token == "(":
            inner = self.expression(1)
            if self.take() != ")":
                raise Unreadable("a bracket is not closed")
            return inner
        if not token.isdigit():
            raise Unreadable(f"expected a number or a bracket, found {token}")
        return int(token)  # sound: ASCII digits, by the pattern of a token


def read_expression(text: str) -> Expr:
    """Return the expression that `text` is: whole numbers, + - * / and brackets; no signs, no powers.

    Raises:
        Unreadable: it is something else, or longer than 200 characters.

    """
    if len(text) > MAX_CHARS:
        raise Unreadable(f"the expression has {len(text)} characters; at most {MAX_CHARS} are read")
    text = text.translate(_WRITTEN_OTHERWISE).strip()
    if not text.isascii():
        raise Unreadable("only digits, + - * / and brackets may be used")
    tokens, end = [], 0
    while end < len(text):
        match = _TOKEN.match(text, end)
        if match is None:
            raise Unreadable(f"only whole numbers, + - * / and brackets may be used, not {text[end:].strip()[0]!r}")
        tokens.append(match[1])
        end = match.end()
    reader = _Reader(tokens)
    expr = reader.expression(1)
    if reader.place < len(tokens):
        raise Unreadable(f"expected an operator, found {reader.peek()}")
    return expr


def write_expression(expr: Expr) -> str:
    """Return `expr` with no more brackets than its value needs: "(3+4)*5", "9-(2-1)", "1+2-3" for 1+(2-3)."""
    if isinstance(expr, int):
        return str(expr)
    sign, left, right = expr
    rank = _PRIORITY[sign]
    before = f"({write_expression(left)})" if _rank(left) < rank else write_expression(left)
    shut = _rank(right) < rank or (_rank(right) == rank and sign in "-/")  # sound: one sign of four
    after = f"({write_expression(right)})" if shut else write_expression(right)
    return f"{before}{sign}{after}"


def fill_pattern(pattern: Expr, numbers: Sequence[int]) -> Expr:
    """Return `pattern`, whose numbers are places in `numbers`, with the numbers of these places."""
    if isinstance(pattern, int):
        return numbers[pattern]
    return (pattern[0], fill_pattern(pattern[1], numbers), fill_pattern(pattern[2], numbers))


def numbers_in(expr: Expr) -> list[int]:
    """Return the numbers of `expr`, left to right."""
    return [expr] if isinstance(expr, int) else [*numbers_in(expr[1]), *numbers_in(expr[2])]


def signs_in(expr: Expr) -> set[str]:
    """Return the operators of `expr`."""
    return set() if isinstance(expr, int) else {expr[0]} | signs_in(expr[1]) | signs_in(expr[2])


def value_of(expr: Expr) -> Fraction | None:
    """Return the exact value of `expr`, or None where it divides by zero."""
    if isinstance(expr, int):
        return Fraction(expr)
    left, right = value_of(expr[1]), value_of(expr[2])
    return None if left is None or right is None else apply(expr[0], left, right)


def apply(sign: str, left: Fraction, right: Fraction) -> Fraction | None:
    """Return `left` `sign` `right`, or None for a division by zero."""
    if sign == "+":
        return left + right
    if sign == "-":
        return left - right
    if sign == "*":
        return left * right
    return None if right == 0 else left / right


def find_expression(numbers: Sequence[int], target: Fraction, *, signs: str, use_all: bool) -> Expr | None:
    """Return an expression over `numbers` (each at most once, or each once) that gives `target`, the shortest first.

    Exact: None means that there is none. At most six numbers; five take some ten milliseconds.
    """
    search = _Search(tuple(numbers), signs)
    sizes = [len(numbers)] if use_all else range(1, len(numbers) + 1)
    for size in sizes:
        for chosen in combinations(range(len(numbers)), size):
            found = search.reach(chosen, target)
            if found is not None:
                return found
    return None


class _Search:
    """Up to three numbers: all their values in a table. More: split in two, and ask what the larger part must give."""

    def __init__(self, numbers: tuple[int, ...], signs: str) -> None:
        self._numbers, self._signs = numbers, signs
        self._tables: dict[tuple[int, ...], Mapping[Fraction, Expr]] = {}

    def reach(self, chosen: tuple[int, ...], target: Fraction) -> Expr | None:
        if len(chosen) <= 3:
            return self._values(chosen).get(target)
        for size in range(1, len(chosen) // 2 + 1):
            for small, large in _splits(chosen, size):
                for value, expr in self._values(small).items():
                    for sign, first, needed in _needs(self._signs, value, target):
                        other = self.reach(large, needed)
                        if other is not None:
                            return (sign, expr, other) if first else (sign, other, expr)
        return None

    def _values(self, chosen: tuple[int, ...]) -> Mapping[Fraction, Expr]:
        if chosen not in self._tables:
            self._tables[chosen] = self._fill(chosen)
        return self._tables[chosen]

    def _fill(self, chosen: tuple[int, ...]) -> Mapping[Fraction, Expr]:
        if len(chosen) == 1:
            number = self._numbers[chosen[0]]
            return {Fraction(number): number}
        table: dict[Fraction, Expr] = {}
        for size in range(1, len(chosen)):
            for one, two in _splits(chosen, size):
                for left, left_expr in self._values(one).items():
                    for right, right_expr in self._values(two).items():
                        for sign in self._signs:
                            value = apply(sign, left, right)
                            if value is not None:
                                table.setdefault(value, (sign, left_expr, right_expr))
        return table


@functools.cache
def _splits(chosen: tuple[int, ...], size: int) -> tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]:
    return tuple((part, tuple(k for k in chosen if k not in part)) for part in combinations(chosen, size))


def _needs(signs: str, value: Fraction, target: Fraction) -> list[tuple[str, bool, Fraction]]:
    """Return (sign, value stands first, what the other side must be) for each way from `value` to `target`."""
    needs = [("+", True, target - value), ("-", True, value - target), ("-", False, target + value)]
    if value != 0:
        needs.append(("*", True, target / value))
        if target != 0:
            needs.append(("/", True, value / target))
        needs.append(("/", False, target * value))
    return [need for need in needs if need[0] in signs]


def _rank(expr: Expr) -> int:
    return 3 if isinstance(expr, int) else _PRIORITY[expr[0]]
