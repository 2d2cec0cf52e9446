"""Answer a question that needs an operation on figures of a small table and the text beside it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import numpy as np

from polyathlon import Attempt, Brief, Core, Domain, Evidence, Json, Script, Task, Verdict, answering
from polyathlon.canonical import expect_int, expect_list, expect_map, expect_text
from polyathlon.sandbox.protocol import Room
from polyathlon.verify.key import one_of_part, share_part, text_part, whole_part
from polyathlon.verify.money import round_half_up
from polyathlon.verify.numbers import read_number, within, write_number
from polyathlon.verify.text import above, bag_f1
from polyathlon.workspaces.calculator import CalculatorError, evaluate
from polyathlon.workspaces.question import open_question
from polyathlon_domains.finance._table_guesses import shortcuts
from polyathlon_domains.finance._table_layouts import lay_out, write_fixed
from polyathlon_domains.finance._table_questions import LEVELS, QUESTIONS, Question, draw_values

FORMS = ("Like 9-4=5", "Work as 9-4=5", "Write 9-4=5")
OPERANDS_RIGHT, WORKING_RIGHT = 0.6, 0.8
SHORT_WORKING_RIGHT = 0.3
"""Credit for a right working of two numbers: the row that is named, and any sign between, are right too often."""
NO_UNIT = "plain"
UNITS = tuple(sorted({question.unit or NO_UNIT for _, question in QUESTIONS}))
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")


@dataclass(frozen=True, slots=True)
class TableTasks:
    """A question and the values that answer it; every other cell is filler."""

    def draw(self, rng: np.random.Generator, level: int) -> Core:
        first = QUESTIONS.index((LEVELS[level], LEVELS[level].questions[0]))
        which = first + int(rng.integers(len(LEVELS[level].questions)))
        return {"question": which, "values": draw_values(rng, QUESTIONS[which][1])}

    def render(self, core: Core, rng: np.random.Generator) -> Brief:
        level, question = QUESTIONS[expect_int(core["question"])]
        values = {letter: expect_int(value) for letter, value in expect_map(core["values"]).items()}
        answer = evaluate(question.work.format(**values))
        grid = lay_out(level, question, values, rng)
        asked = question.asked[int(rng.integers(len(question.asked)))].format(**grid.names)
        fact = f"{question.fact.format(**grid.names)}\n" if question.fact else ""
        mark = (",", ";", " | " if level.num_decoys else " ")[int(rng.integers(3))]
        table = grid.write(mark, level.heading)
        hidden: dict[str, Json] = {
            "work": question.work.format(**values),
            "value": write_number(answer),
            "decimals": question.decimals,
            "unit": question.unit or NO_UNIT,
            "cells": sorted(grid.cells.values()),
            "zero": _zero(question, len(grid.cells)),
        }
        return Brief(f"{table}\n{fact}{asked} {FORMS[int(rng.integers(len(FORMS)))]}", hidden=hidden)


@dataclass(frozen=True, slots=True)
class TableVerifier:
    """Passed: the value after a working and one "=" (or alone) is right within the asked rounding.

    Else a working may earn: 0.8 when its left side is worth the answer, otherwise up to 0.6 by its operands, when there
    are just as many as needed and more are right than cells picked blindly would be. A right working of two numbers
    earns 0.3, and its operands nothing.
    """

    def judge(self, task: Task, evidence: Evidence, room: Room) -> Verdict:
        left, equals, right = (evidence.answer or "").rpartition("=")
        unit = one_of_part(task.hidden, "unit", UNITS)
        right = right.strip().removesuffix("%") if unit == "%" else right
        value = read_number(right, "decimal", "thousands")
        worth = _worth(left) if equals else None
        if value is None or (equals and worth is None):
            return Verdict.failing("no number stands alone, or after one working and '='")
        gold = Fraction(text_part(task.hidden, "value"))
        decimals = whole_part(task.hidden, "decimals")
        half = Fraction(1, 2 * 10**decimals) if decimals else Fraction(0)
        if within(value, gold, absolute=half):
            return Verdict.passing()
        progress = 0.0 if worth is None else _working(left, worth, task)
        return Verdict.failing("another number", progress=progress, parts={"working": progress})


def _worth(left: str) -> Fraction | None:
    try:
        return evaluate(left)
    except CalculatorError:
        return None


def _working(left: str, worth: Fraction, task: Task) -> float:
    shown, wanted = (_NUMBER.findall(text) for text in (left, text_part(task.hidden, "work")))
    if len(shown) < 2:
        return 0.0
    operands, working = (OPERANDS_RIGHT, WORKING_RIGHT) if len(wanted) > 2 else (0.0, SHORT_WORKING_RIGHT)
    if worth == Fraction(text_part(task.hidden, "value")):
        return working
    if len(shown) != len(wanted):
        return 0.0
    return operands * above(bag_f1(shown, wanted), share_part(task.hidden, "zero"))


def solve(task: Task) -> Script:
    """The working, then the rounded value."""
    return answering(f"{expect_text(task.hidden['work'])}={_rounded(task)}")


def alternatives(task: Task) -> Sequence[Attempt]:
    gold = Fraction(expect_text(task.hidden["value"]))
    finer = write_fixed(round_half_up(gold, 5), 5) if expect_int(task.hidden["decimals"]) else _rounded(task)
    return (Attempt("the value alone", (_rounded(task),)), Attempt("more decimals than asked", (finer,)))


def equivalents(task: Task) -> Sequence[Attempt]:
    work, value = expect_text(task.hidden["work"]), _rounded(task)
    percent = "%" if task.hidden["unit"] == "%" else ""
    return (
        Attempt("spaces", (f" {work.replace('-', ' - ').replace('+', ' + ')} = {value}\n",)),
        Attempt("percent sign where percent is asked", (f"{work}={value}{percent}",)),
        Attempt("unicode minus", (value.replace("-", "\u2212"),)),
        Attempt("in answer tags after reasoning", (f"The two cells differ. <answer>{work}={value}</answer>",)),
    )


def distractors(task: Task) -> Sequence[Attempt]:
    gold = Fraction(expect_text(task.hidden["value"]))
    decimals = expect_int(task.hidden["decimals"])
    work = expect_text(task.hidden["work"])
    step = Fraction(1, 10**decimals)
    wrong = {
        "one step of the rounding too high": round_half_up(gold, decimals) + step,
        "one step too low": round_half_up(gold, decimals) - step,
        "sign lost": -gold,
        "a thousand times": gold * 1000,
        "a hundredth": gold / 100,
        "a number of the table": Fraction(expect_int(expect_list(task.hidden["cells"])[0])),
    }
    half = step / 2 if decimals else Fraction(0)
    slips = [
        Attempt(name, (write_fixed(value, decimals + 4),))
        for name, value in wrong.items()
        if abs(value - gold) > 2 * half
    ]
    return (*slips, Attempt("right working, wrong value", (f"{work}={write_fixed(gold + 1, decimals + 2)}",)))


def exploits(task: Task) -> Sequence[Attempt]:
    cells = [expect_int(cell) for cell in expect_list(task.hidden["cells"])]
    work, value = expect_text(task.hidden["work"]), _rounded(task)
    return (
        Attempt("every cell added up", ("+".join(map(str, cells)) + "=0",)),
        Attempt("every cell listed", (" ".join(map(str, cells)),)),
        Attempt("working without a value", (work,)),
        Attempt("several values", (f"{value}={value}=0",)),
        Attempt("a value or another", (f"{value} or 0",)),
        Attempt("working that is no expression", (f"{work}**9=0",)),
        Attempt("zeros", ("0-0=0.000001",)),
        Attempt("not a number", (f"{work}=nan",)),
        Attempt("the question copied back", (task.prompt,)),
    )


def proves_right(task: Task, actions: Sequence[str]) -> bool:
    """Whether a bare answer ends in the value, alone or after its one "=", and is off by half a last place at most.

    The question is for the value: how it was worked out earns part credit where it is wrong, and nothing else.
    """
    shown = re.fullmatch(r"(?:[^=]*=)? *(-?\d{1,20}(?:\.\d{0,20})?) *", actions[0]) if len(actions) == 1 else None
    if shown is None:
        return False
    decimals, gold = expect_int(task.hidden["decimals"]), Fraction(expect_text(task.hidden["value"]))
    last_places = abs(Fraction(Decimal(shown[1])) - gold) * 10**decimals
    return last_places == 0 or (decimals > 0 and 2 * last_places <= 1)


def _rounded(task: Task) -> str:
    decimals = expect_int(task.hidden["decimals"])
    return write_fixed(Fraction(expect_text(task.hidden["value"])), decimals)


def _zero(question: Question, num_cells: int) -> float:
    """Return the share of a working's numbers that are right when its cells are picked blindly, its constants known."""
    bare = re.sub(r"{.}", "", question.work)
    num_constants, num_slots = len(_NUMBER.findall(bare)), question.work.count("{")
    letters = set(re.findall(r"{(.)}", question.work))
    return (num_constants + num_slots * len(letters) / (num_cells + 1)) / (num_constants + num_slots)


DOMAIN = Domain(
    tasks=TableTasks(),
    open_workspace=open_question,
    verifier=TableVerifier(),
    solve=solve,
    alternatives=alternatives,
    equivalents=equivalents,
    distractors=distractors,
    exploits=exploits,
    proves_right=proves_right,
    shortcuts=shortcuts,
)
