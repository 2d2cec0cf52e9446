"""Sound domains, and others that differ by one fault that only mutants, chains or rewrites find.

All their distractors are refused, and guessing earns nothing: the other checks see no difference.
"""

from __future__ import annotations

import ast
import json
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from polyathlon import Attempt, Brief, Core, Domain, Evidence, Script, Task, Verdict, answering
from polyathlon.canonical import expect_int, expect_list, expect_text, parse_json
from polyathlon.sandbox.protocol import Room
from polyathlon.verify.numbers import read_number
from polyathlon.workspaces.question import open_question

Score = Callable[[list[int], list[int]], float]


@dataclass(frozen=True)
class ThreeSums:
    """Three sums of two numbers below 1,000."""

    def draw(self, rng: np.random.Generator, level: int) -> Core:
        return {"pairs": [[int(n) for n in rng.integers(100, 1000, size=2)] for _ in range(3)]}

    def render(self, core: Core, rng: np.random.Generator) -> Brief:
        pairs = [[expect_int(n) for n in expect_list(pair)] for pair in expect_list(core["pairs"])]
        asked = ", ".join(f"{a}+{b}" for a, b in pairs)
        return Brief(f"{asked}? Answer a;b;c", hidden={"sums": [a + b for a, b in pairs]})


@dataclass(frozen=True)
class FieldsVerifier:
    """Reads three whole numbers, and scores them."""

    score: Score

    def judge(self, task: Task, evidence: Evidence, room: Room) -> Verdict:
        fields = [read_number(field, "integer") for field in (evidence.answer or "").split(";")]
        numbers = [field.numerator for field in fields if field is not None]
        if len(numbers) != len(fields):
            return Verdict.failing("no numbers")
        reward = self.score(numbers, gold(task))
        return Verdict.passing() if reward == 1.0 else Verdict.failing("other numbers", progress=2 * reward)


def gold(task: Task) -> list[int]:
    return [expect_int(number) for number in expect_list(task.hidden["sums"])]


def _exact(got: list[int], wanted: list[int]) -> float:
    right = sum(a == b for a, b in zip(got, wanted, strict=False))
    return 1.0 if got == wanted else right / 8


def _tolerant(got: list[int], wanted: list[int]) -> float:
    near = len(got) == len(wanted) and all(abs(a - b) <= 1 for a, b in zip(got, wanted, strict=True))
    return 1.0 if near else _exact(got, wanted)


def _as_sets(got: list[int], wanted: list[int]) -> float:
    return 1.0 if set(got) == set(wanted) else _exact(got, wanted)


def _inverted(got: list[int], wanted: list[int]) -> float:
    """Pays one right sum more than two, and none at all nothing."""
    right = sum(a == b for a, b in zip(got, wanted, strict=False))
    return 1.0 if got == wanted else (0.0, 0.3, 0.1, 0.0)[right]


def _written(numbers: Sequence[int]) -> str:
    return ";".join(map(str, numbers))


def _equivalents(task: Task) -> Sequence[Attempt]:
    return (Attempt("in tags", (f"So: <answer>{_written(gold(task))}</answer>",)),)


def _distractors(task: Task) -> Sequence[Attempt]:
    first, second, third = gold(task)
    return (
        Attempt("first one 50 more", (_written([first + 50, second, third]),)),
        Attempt("all ten times", (_written([10 * n for n in gold(task)]),)),
    )


def _exploits(task: Task) -> Sequence[Attempt]:
    return (Attempt("not a number", ("nan;nan;nan",)), Attempt("nothing", (";;",)))


def _fields(score: Score) -> Domain:
    return Domain(
        ThreeSums(),
        open_question,
        FieldsVerifier(score),
        lambda task: answering(_written(gold(task))),
        equivalents=_equivalents,
        distractors=_distractors,
        exploits=_exploits,
    )


FIELDS = _fields(_exact)
TOLERANT = _fields(_tolerant)
AS_SETS = _fields(_as_sets)
INVERTED = _fields(_inverted)


def _within_one(task: Task, actions: Sequence[str]) -> bool:
    """Whether every sum is within one, decided without the verifier."""
    fields = actions[-1].split(";")
    if len(fields) != 3 or not all(field.strip().removeprefix("-").isdecimal() for field in fields):
        return False
    return all(-1 <= int(field) - wanted <= 1 for field, wanted in zip(fields, gold(task), strict=True))


PROVEN = replace(TOLERANT, proves_right=_within_one)
PROVES_ALL = replace(TOLERANT, proves_right=lambda task, actions: True)


# --- records that are compared as texts ------------------------------------------------------------------------------


@dataclass(frozen=True)
class RecordVerifier:
    """Passed: the record; `same` says when two texts hold the same one."""

    same: Callable[[str, str], bool]

    def judge(self, task: Task, evidence: Evidence, room: Room) -> Verdict:
        right = self.same(evidence.answer or "", _record(task))
        return Verdict.passing() if right else Verdict.failing("another record")


def _record(task: Task) -> str:
    return json.dumps(dict(zip(("first", "second", "third"), gold(task), strict=True)))


def _same_value(answer: str, wanted: str) -> bool:
    try:
        return parse_json(answer) == parse_json(wanted)
    except ValueError:
        return False


def _records(same: Callable[[str, str], bool]) -> Domain:
    return Domain(
        ThreeSums(),
        open_question,
        RecordVerifier(same),
        lambda task: answering(_record(task)),
        equivalents=lambda task: (Attempt("in tags", (f"<answer>{_record(task)}</answer>",)),),
        distractors=lambda task: (Attempt("empty", ("{}",)), Attempt("no JSON", ("first",))),
        exploits=_exploits,
    )


RECORDS = _records(_same_value)
AS_TEXT = _records(lambda answer, wanted: answer == wanted)


# --- programs, judged at some points --------------------------------------------------------------------------------

_SIGNS: Mapping[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
}


@dataclass(frozen=True)
class Formulas:
    """x times a, plus b."""

    def draw(self, rng: np.random.Generator, level: int) -> Core:
        return {"a": int(rng.integers(20, 900)), "b": int(rng.integers(20, 900))}

    def render(self, core: Core, rng: np.random.Generator) -> Brief:
        formula = f"x * {core['a']} + {core['b']}"
        return Brief(f"Python for {core['a']} times x, plus {core['b']}:", hidden={"formula": formula})


@dataclass(frozen=True)
class PointsVerifier:
    """Passed: the expression has the right value at all `points`."""

    points: tuple[int, ...]

    def judge(self, task: Task, evidence: Evidence, room: Room) -> Verdict:
        wanted = [value_at(expect_text(task.hidden["formula"]), x) for x in self.points]
        right = [value_at(evidence.answer or "", x) for x in self.points] == wanted
        return Verdict.passing() if right else Verdict.failing("other values")


def value_at(formula: str, x: int) -> int | None:
    """Return the value of an expression of x, whole numbers, + - and *; None for anything else."""

    def value(node: Any) -> int:
        if isinstance(node, ast.BinOp) and type(node.op) in _SIGNS:
            return _SIGNS[type(node.op)](value(node.left), value(node.right))
        if isinstance(node, ast.Name) and node.id == "x":
            return x
        if isinstance(node, ast.Constant) and type(node.value) is int:
            return node.value
        raise ValueError("not in the language")

    try:
        return value(ast.parse(formula, mode="eval").body)
    except (SyntaxError, ValueError, RecursionError):
        return None


def _programs(*points: int) -> Domain:
    def solve(task: Task) -> Script:
        return answering(expect_text(task.hidden["formula"]))

    return Domain(
        Formulas(),
        open_question,
        PointsVerifier(points),
        solve,
        equivalents=lambda task: (Attempt("in brackets", (f"({task.hidden['formula']})",)),),
        distractors=lambda task: (Attempt("a number", ("7",)), Attempt("x alone", ("x",))),
        exploits=lambda task: (Attempt("no expression", ("nan",)), Attempt("a call", ("exit()",))),
    )


PROGRAMS = _programs(-7, 0, 1, 13)
FEW_POINTS = _programs(0)
