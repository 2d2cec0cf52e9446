"""Evaluate a nested arithmetic expression exactly; showing the right steps in order earns part of the reward."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from polyathlon import Attempt, Brief, Core, Domain, Evidence, Script, Task, Verdict, answering
from polyathlon.canonical import expect_list, expect_text
from polyathlon.sandbox.protocol import Room
from polyathlon.verify.key import list_part, text_part
from polyathlon.verify.numbers import read_number, write_number
from polyathlon.workspaces.question import open_question

PROMPTS = (
    "Evaluate {expression}\nOne step a line like 2+3=5, then the value{form}.",
    "Compute {expression}\nSteps like 2+3=5, one a line, then the value{form}.",
    "What is {expression}\nWrite steps like 2+3=5, a line each, then the value{form}.",
)
FRACTION_FORM = " as integer or a/b"
FLOOR_RULE = "\n// rounds down."

Expr: TypeAlias = "int | Sequence[Expr | str]"
"""A number, or [operator, left, right]; negative numbers stand for themselves."""

Number: TypeAlias = "int | Fraction"

# "/" alone leaves the integers: they cost a tenth of fractions
_SIGNS: Mapping[str, Callable[[Any, Any], Number]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "q": operator.floordiv,
    "/": Fraction,
}


class Step(NamedTuple):
    """One operation carried out: left sign right = value."""

    left: Number
    sign: str
    right: Number
    value: Number


# (operators, operations, largest operand, negative operands?) a level; a lone operation needs large operands for room
_LEVELS: tuple[tuple[str, int, int, bool], ...] = (
    ("+-", 1, 260, False),
    ("+-*", 2, 30, False),
    ("+-*", 3, 25, True),
    ("+-*q", 3, 60, True),
    ("+-*/", 4, 12, True),
)


@dataclass(frozen=True, slots=True)
class ArithmeticTasks:
    """Expression trees over integers: "q" is floor division, "/" exact division."""

    def draw(self, rng: np.random.Generator, level: int) -> Core:
        operators, operations, largest, negative = _LEVELS[level]
        while True:
            expr = _grow(rng, operations, operators, largest)
            if negative:
                expr = _negate(expr, rng)
            steps = _steps(expr)
            if steps is not None and _fits(steps, _operands(expr)):
                return {"expr": expr}

    def render(self, core: Core, rng: np.random.Generator) -> Brief:
        expr: Expr = core["expr"]  # type: ignore[assignment]  # drawn above
        written = _write(expr)
        template = PROMPTS[int(rng.integers(len(PROMPTS)))]
        form = FRACTION_FORM if "/" in written.replace("//", "") else ""
        prompt = template.format(expression=written, form=form) + (FLOOR_RULE if "//" in written else "")
        steps = _steps(expr) or []
        return Brief(prompt, hidden={"lines": [*map(_write_step, steps)], "value": write_number(steps[-1].value)})


@dataclass(frozen=True, slots=True)
class ArithmeticVerifier:
    """Passed: the last line is the exact value. Else the share of steps that are right, in order, as asked."""

    def judge(self, task: Task, evidence: Evidence, room: Room) -> Verdict:
        lines = (evidence.answer or "").splitlines()
        last = read_number(lines[-1], "integer", "fraction") if lines else None
        if last is None:
            return Verdict.failing("the last line is no number")
        if write_number(last) == text_part(task.hidden, "value"):  # both reduced
            return Verdict.passing()
        wanted = [*map(expect_text, list_part(task.hidden, "lines"))]
        shown = [re.sub(r"\s+", "", line) for line in lines[:-1]]
        right = 0
        while right < min(len(shown), len(wanted)) and shown[right] == wanted[right]:
            right += 1
        progress = right / len(wanted) if len(shown) <= len(wanted) else 0.0
        return Verdict.failing("another value", progress=progress, parts={"steps": progress})


def solve(task: Task) -> Script:
    """The steps in order, then the value."""
    return answering(_reference(task))


def equivalents(task: Task) -> Sequence[Attempt]:
    value = expect_text(task.hidden["value"])
    spaced = "\n".join(line.replace("=", " = ") for line in [*map(expect_text, expect_list(task.hidden["lines"]))])
    return (
        Attempt("white space around it", (f"  {value}\n",)),
        Attempt("spaced steps", (f"{spaced}\n{value}",)),
        Attempt("unicode minus", (value.replace("-", "\u2212"),)),
        Attempt("in answer tags after reasoning", (f"I add and multiply. <answer>{value}</answer>",)),
    )


def alternatives(task: Task) -> Sequence[Attempt]:
    return (Attempt("the value without steps", (expect_text(task.hidden["value"]),)),)


def distractors(task: Task) -> Sequence[Attempt]:
    value = Fraction(expect_text(task.hidden["value"]))
    wrong = {
        "one more": value + 1,
        "sign lost": -value if value else Fraction(1),
        "ten times": value * 10 or Fraction(10),
    }
    steps = [*map(expect_text, expect_list(task.hidden["lines"]))]
    slips = (Attempt(name, (write_number(number),)) for name, number in wrong.items())
    return (*slips, Attempt("right steps, wrong value", ("\n".join([*steps, write_number(value + 1)]),)))


def exploits(task: Task) -> Sequence[Attempt]:
    value = expect_text(task.hidden["value"])
    expression = task.prompt.splitlines()[0].split(" ", 1)[-1].removeprefix("is ")
    return (
        Attempt("expression copied back", (expression,)),
        Attempt("two answers", (f"<answer>{value}</answer><answer>0</answer>",)),
        Attempt("a list of numbers", (" ".join(str(k) for k in range(-200, 200)),)),
        Attempt("many lines of steps", ("\n".join(f"{a}+{b}={a + b}" for a in range(30) for b in range(30)) + "\n0",)),
        Attempt("unevaluated restatement", (f"{value}+0",)),
        Attempt("not a number", ("nan",)),
    )


def proves_right(task: Task, actions: Sequence[str]) -> bool:
    """Whether the last line is the value of the expression in the prompt, worked out by Python's own parser."""
    asked = re.match(r"(?:Evaluate|Compute|What is) (\S+)", task.prompt)
    lines = actions[0].splitlines() if len(actions) == 1 else []
    if asked is None or not lines or not re.fullmatch(r"[-+]?\d{1,30}(?:/0*[1-9]\d{0,30})?", lines[-1].strip()):
        return False
    return Fraction(lines[-1].strip()) == _worth(ast.parse(asked[1], mode="eval").body)


def _worth(node: ast.AST) -> Fraction:
    if isinstance(node, ast.UnaryOp):
        return -_worth(node.operand)
    if isinstance(node, ast.BinOp):
        left, right = _worth(node.left), _worth(node.right)
        ways = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv}
        return Fraction(ways.get(type(node.op), operator.truediv)(left, right))
    assert isinstance(node, ast.Constant), "an expression drawn here"
    assert isinstance(node.value, int), "of whole numbers"
    return Fraction(node.value)


def shortcuts(task: Task) -> Sequence[Attempt]:
    """Numbers of the expression copied; its signs and numbers written as steps that are not worked out."""
    numbers = re.findall(r"\d+", task.prompt.splitlines()[0])
    first, last = numbers[0], numbers[-1]
    return (
        Attempt("the first number", (first,)),
        Attempt("the last number", (last,)),
        Attempt("the largest number", (max(numbers, key=lambda number: (len(number), number)),)),
        Attempt("the first two numbers as a step", (f"{first}+{numbers[1]}={first}\n{last}",)),
    )


def _reference(task: Task) -> str:
    return "\n".join([*map(expect_text, expect_list(task.hidden["lines"])), expect_text(task.hidden["value"])])


def _grow(rng: np.random.Generator, operations: int, operators: str, largest: int) -> Expr:
    if operations == 0:
        return int(rng.integers(2, largest + 1))
    left = int(rng.integers(operations)) if operations > 1 else 0  # a lone operation has nothing to draw here
    sign = operators[int(rng.integers(len(operators)))]
    return [
        sign,
        _grow(rng, left, operators, largest),
        _grow(rng, operations - 1 - left, operators, largest),
    ]


def _negate(expr: Expr, rng: np.random.Generator) -> Expr:
    if isinstance(expr, int):
        return -expr if rng.random() < 0.25 else expr
    return [expr[0], _negate(expr[1], rng), _negate(expr[2], rng)]


def _steps(expr: Expr) -> list[Step] | None:
    """Return the steps in evaluation order, or None where a division has no meaning."""
    steps: list[Step] = []

    def evaluate(node: Expr | str) -> Number:
        if isinstance(node, int):
            return node
        left, right, sign = evaluate(node[1]), evaluate(node[2]), str(node[0])
        value = _SIGNS[sign](left, right)
        steps.append(Step(left, sign, right, value))
        return value

    try:
        evaluate(expr)
    except ZeroDivisionError:
        return None
    return steps


def _write_step(step: Step) -> str:
    return f"{_operand(step.left)}{_written(step.sign)}{_operand(step.right)}={write_number(step.value)}"


def _operands(expr: Expr | str) -> set[int]:
    if isinstance(expr, int):
        return {abs(expr)}
    return _operands(expr[1]) | _operands(expr[2])


def _fits(steps: Sequence[Step], operands: set[int]) -> bool:
    """Whether no step runs away, and the value is neither a small one that a guess would hit nor there to copy."""
    small = all(abs(step.value.numerator) < 100_000 and step.value.denominator < 1000 for step in steps)
    last = steps[-1].value
    return small and abs(last) not in operands and (not -12 < last < 12 or last.denominator > 6)


def _operand(value: Number) -> str:
    text = write_number(value)
    return f"({text})" if "/" in text or text.startswith("-") else text


def _written(sign: str) -> str:
    return "//" if sign == "q" else sign


def _write(expr: Expr | str, *, outer: bool = True) -> str:
    if isinstance(expr, int):
        return f"({expr})" if expr < 0 and not outer else str(expr)
    text = f"{_write(expr[1], outer=False)}{_written(str(expr[0]))}{_write(expr[2], outer=False)}"
    return text if outer else f"({text})"


DOMAIN = Domain(
    tasks=ArithmeticTasks(),
    open_workspace=open_question,
    verifier=ArithmeticVerifier(),
    solve=solve,
    alternatives=alternatives,
    equivalents=equivalents,
    distractors=distractors,
    exploits=exploits,
    proves_right=proves_right,
    shortcuts=shortcuts,
)
