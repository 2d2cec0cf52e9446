"""Whether an expression reaches a target, read by Python's own parser: another judge than the game's."""

from __future__ import annotations

import ast
import operator
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction

MAX_CHARS = 200
_SIGNS: dict[type[ast.operator], tuple[str, Callable[[Fraction, Fraction], Fraction]]] = {
    ast.Add: ("+", operator.add),
    ast.Sub: ("-", operator.sub),
    ast.Mult: ("*", operator.mul),
    ast.Div: ("/", operator.truediv),
}


def reaches(text: str, *, numbers: Sequence[int], target: Fraction, signs: str, use_all: bool) -> bool:
    """Return whether `text` is worth exactly `target`, by allowed signs over `numbers`, each at most (or just) once."""
    try:
        body = ast.parse(text.strip(), mode="eval").body if len(text) <= MAX_CHARS else None
        used: Counter[int] = Counter()
        value = None if body is None else _value(body, signs, used)
    except (SyntaxError, ValueError, ZeroDivisionError, RecursionError):
        return False
    given = Counter(numbers)
    return value == target and not used - given and (not use_all or used == given)


def _value(node: ast.AST, signs: str, used: Counter[int]) -> Fraction:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        used[node.value] += 1
        return Fraction(node.value)
    if isinstance(node, ast.BinOp) and type(node.op) in _SIGNS:
        sign, apply = _SIGNS[type(node.op)]
        if signs.count(sign):
            return apply(_value(node.left, signs, used), _value(node.right, signs, used))
    raise ValueError("not an expression of these signs")
