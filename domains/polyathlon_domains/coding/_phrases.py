"""Small computations as trees of plain JSON, and how each reads as Python and as English.

A chain is a start and steps applied to it from left to right: ["A", [["plus", 7], ["times", "B"]]]. An operand is an
integer or the symbol of a variable; symbols get their names when a task is rendered. A test is [comparison, operand].
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np

Operand: TypeAlias = "int | str"
Step: TypeAlias = "Sequence[Operand]"
Names: TypeAlias = Mapping[str, str]

STEPS: Mapping[str, tuple[str, str]] = {
    "plus": ("({e} + {o})", "plus {o}"),
    "minus": ("({e} - {o})", "minus {o}"),
    "times": ("({e} * {o})", "times {o}"),
    "mod": ("({e} % {o})", "modulo {o}"),
    "cap": ("min({e}, {o})", "smaller of {e} and {o}"),
    "lift": ("max({e}, {o})", "larger of {e} and {o}"),
    "off": ("abs({e} - {o})", "distance of {e} from {o}"),
}
TESTS: Mapping[str, tuple[str, str]] = {
    "over": ("{e} > {o}", "over {o}"),
    "under": ("{e} < {o}", "under {o}"),
    "least": ("{e} >= {o}", "at least {o}"),
    "most": ("{e} <= {o}", "at most {o}"),
    "multiple": ("{e} % {o} == 0", "a multiple of {o}"),
    "other": ("{e} != {o}", "not {o}"),
}
ARITHMETIC = ("plus", "minus", "times")
BOUNDED = ("mod", "cap", "lift", "off")


def chain_code(start: str, steps: Sequence[Step], names: Names) -> str:
    """Return the chain as a Python expression, with more parentheses than it needs."""
    code = named(start, names)
    for operator, operand in steps:
        code = STEPS[str(operator)][0].format(e=code, o=named(operand, names))
    return code


def chain_words(start: str, steps: Sequence[Step], names: Names) -> str:
    """Return the chain in English; a comma means that all before it comes first."""
    words = named(start, names)
    for number, (operator, operand) in enumerate(steps):
        template = STEPS[str(operator)][1]
        if "{e}" in template:
            inner = f"({words})" if number else words
            words = template.format(e=inner, o=named(operand, names))
        else:
            words += f"{',' if number else ''} {template.format(o=named(operand, names))}"
    return words


def test_code(subject: str, test: Step, names: Names) -> str:
    """Return the comparison of `subject` as a Python expression."""
    return TESTS[str(test[0])][0].format(e=named(subject, names), o=named(test[1], names))


def test_words(test: Step, names: Names) -> str:
    """Return the comparison in English, less its subject: "over 40"."""
    return TESTS[str(test[0])][1].format(o=named(test[1], names))


def named(operand: Operand, names: Names) -> str:
    """Return a number's digits or a symbol's name."""
    return str(operand) if isinstance(operand, int) else names[operand]


def draw_steps(
    rng: np.random.Generator, num_steps: int, *, others: Sequence[str], operators: Sequence[str], variable: float
) -> list[list[Operand]]:
    """Return `num_steps` steps; operands are numbers from 2 to 99 but, with probability `variable`, one of `others`.

    No operator follows itself: two in a row would be one.
    """
    steps: list[list[Operand]] = []
    place = int(rng.integers(num_steps)) if rng.random() < variable else -1
    for number in range(num_steps):
        left = [operator for operator in operators if not steps or operator != steps[-1][0]]
        operator = str(rng.choice(left))
        if number == place:
            operand: Operand = str(rng.choice(list(others)))
        else:
            operand = int(rng.choice([number for number in range(2, 100) if not steps or number != steps[-1][1]]))
        steps.append([operator, operand])
    return steps


def draw_test(rng: np.random.Generator, *, kinds: Sequence[str] = tuple(TESTS)) -> list[Operand]:
    """Return a comparison with a number: 2 to 25 for multiples, else 5 to 60."""
    kind = str(rng.choice(list(kinds)))
    return [kind, int(rng.integers(2, 26) if kind == "multiple" else rng.integers(5, 61))]


def numbers_in(value: object) -> list[int]:
    """Return every integer of a tree, in order: the places where behaviour may change."""
    if isinstance(value, Mapping):
        return [number for inner in value.values() for number in numbers_in(inner)]
    if isinstance(value, list | tuple):
        return [number for inner in value for number in numbers_in(inner)]
    return [value] if type(value) is int else []
