"""For the inspection of countdown: a proof that an expression is right without the engine, and ways to guess."""

from __future__ import annotations

import ast
import operator
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

from polyathlon import Attempt, Task
from polyathlon.canonical import expect_int, expect_list, expect_text
from polyathlon.workspaces.question import final_answer

_OPERATIONS: Mapping[type[ast.operator], tuple[str, Callable[[Fraction, Fraction], Fraction]]] = {
    ast.Add: ("+", operator.add),
    ast.Sub: ("-", operator.sub),
    ast.Mult: ("*", operator.mul),
    ast.Div: ("/", operator.truediv),
}
_FORM = re.compile(r"[\d\s()+*/-]{1,200}")
_WRITTEN_OTHERWISE = str.maketrans({"\u00d7": "*", "\u00f7": "/", "\u2212": "-"})


def proves_right(task: Task, actions: Sequence[str]) -> bool:
    """Return whether the first message is an expression of the given numbers, as the rule asks, that is the target."""
    text = (final_answer(actions[0]) or "") if actions else ""
    text = text.translate(_WRITTEN_OTHERWISE)
    if not _FORM.fullmatch(text) or re.search(r"\b0\d|\*\*|//", text):
        return False
    used: list[int] = []
    signs: set[str] = set()
    try:
        value = _value(ast.parse(text.strip(), mode="eval").body, used, signs)
    except (SyntaxError, ValueError, ZeroDivisionError, RecursionError):
        return False
    given = Counter(_given(task))
    fits = Counter(used) == given if task.public["all"] is True else not Counter(used) - given
    return fits and signs <= set(expect_text(task.public["signs"])) and value == _target(task)


def shortcuts(task: Task) -> Sequence[Attempt]:
    """Pairs picked by comparing numbers with the target, never by calculating with it."""
    ordered, target = sorted(_given(task)), _target(task)
    nearest = min(ordered, key=lambda number: abs(number - target))
    below = max((number for number in ordered if number <= target), default=ordered[0])
    above = min((number for number in ordered if number >= target), default=ordered[-1])
    pairs = {
        "the nearest number and the smallest": (nearest, 0),
        "the nearest number and the second smallest": (nearest, 1),
        "the next number below and the smallest": (below, 0),
        "the next number above and the smallest": (above, 0),
        "the largest number and a middle one": (ordered[-1], 2),
        "the two largest numbers": (ordered[-1], -1),
    }
    return tuple(Attempt(name, (_toward(first, place, ordered, target),)) for name, (first, place) in pairs.items())


def _toward(first: int, place: int, ordered: Sequence[int], target: Fraction) -> str:
    """Return `first` plus another number where it is too small, minus it where it is too large."""
    rest = list(ordered)
    rest.remove(first)
    second = rest[place]
    return f"{first}+{second}" if first < target else f"{max(first, second)}-{min(first, second)}"


def _value(node: ast.expr, used: list[int], signs: set[str]) -> Fraction:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        used.append(node.value)
        return Fraction(node.value)
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATIONS:
        sign, apply = _OPERATIONS[type(node.op)]
        signs.add(sign)
        return apply(_value(node.left, used, signs), _value(node.right, used, signs))
    raise ValueError("no expression of + - * / over whole numbers")


def _given(task: Task) -> list[int]:
    return [expect_int(number) for number in expect_list(task.public["numbers"])]


def _target(task: Task) -> Fraction:
    return Fraction(expect_text(task.public["target"]))
