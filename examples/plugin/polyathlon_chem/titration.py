"""Find the concentration of an acid from the base that neutralised it, to four significant digits."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np

from polyathlon import Attempt, Brief, Core, Domain, Evidence, Script, Task, Verdict, answering
from polyathlon.canonical import expect_int, expect_text
from polyathlon.sandbox.protocol import Room
from polyathlon.verify.numbers import read_number, within
from polyathlon.workspaces.question import open_question

PROMPT = """{acid_ul} uL of {acid} needed {base_ul} uL of {base_mm} mmol/L NaOH.
Concentration of the acid in mmol/L? One decimal number, within 0.1%."""

ACIDS = {1: ("HCl", "HNO3", "acetic acid"), 2: ("H2SO4", "oxalic acid"), 3: ("H3PO4", "citric acid")}


@dataclass(frozen=True, slots=True)
class TitrationTasks:
    """Volumes in microlitres, the base in mmol/L; level 0 has acids of one proton, level 2 of up to three."""

    def draw(self, rng: np.random.Generator, level: int) -> Core:
        return {
            "protons": int(rng.integers(1, level + 2)),
            "acid_ul": int(rng.integers(2_000, 50_000)),
            "base_ul": int(rng.integers(2_000, 50_000)),
            "base_mm": int(rng.integers(20, 1_000)),
        }

    def render(self, core: Core, rng: np.random.Generator) -> Brief:
        protons = expect_int(core["protons"])
        numbers = {name: expect_int(core[name]) for name in ("acid_ul", "base_ul", "base_mm")}
        gold = Fraction(numbers["base_ul"] * numbers["base_mm"], numbers["acid_ul"] * protons)
        acids = ACIDS[protons]
        prompt = PROMPT.format(acid=acids[int(rng.integers(len(acids)))], **numbers)
        return Brief(prompt, hidden={"gold": f"{gold.numerator}/{gold.denominator}", "protons": protons})


@dataclass(frozen=True, slots=True)
class TitrationVerifier:
    """Passed: within 0.1%. Nothing for anything else."""

    def judge(self, task: Task, evidence: Evidence, room: Room) -> Verdict:
        value = read_number(evidence.answer or "", "integer", "decimal", "scientific")
        if value is None:
            return Verdict.failing("no number")
        close = within(value, _gold(task), relative=Fraction(1, 1000))
        return Verdict.passing() if close else Verdict.failing("another concentration")


def solve(task: Task) -> Script:
    """The exact value, written to eight digits."""
    return answering(_write(_gold(task)))


def equivalents(task: Task) -> Sequence[Attempt]:
    """Other ways to write the right value."""
    text = _write(_gold(task))
    return (Attempt("white space", (f" {text}\n",)), Attempt("tags", (f"c = n/V. <answer>{text}</answer>",)))


def alternatives(task: Task) -> Sequence[Attempt]:
    """Values at the edge of the tolerance."""
    return (Attempt("0.09% high", (_write(_gold(task) * Fraction(10_009, 10_000)),)),)


def distractors(task: Task) -> Sequence[Attempt]:
    """Slips of the hand."""
    gold = _gold(task)
    return (
        Attempt("mol instead of mmol", (_write(gold / 1000),)),
        Attempt("0.2% off", (_write(gold * Fraction(1_002, 1_000)),)),
        Attempt("a proton too many", (_write(gold * (expect_int(task.hidden["protons"]) + 1)),)),
    )


def exploits(task: Task) -> Sequence[Attempt]:
    """Hacks of number answers."""
    text = _write(_gold(task))
    return (
        Attempt("a range", (f"{text}-{text}",)),
        Attempt("two answers", (f"<answer>{text}</answer><answer>1</answer>",)),
        Attempt("not a number", ("nan",)),
        Attempt("infinity", ("inf",)),
        Attempt("a sentence around it", (f"about {text} or so",)),
    )


def proves_right(task: Task, actions: Sequence[str]) -> bool:
    """Whether one plain decimal lies within 0.1% of what the prompt itself says: such a mutant is no wrong answer."""
    asked = re.match(r"(\d+) uL of (.+) needed (\d+) uL of (\d+) mmol", task.prompt)
    if asked is None or len(actions) != 1 or not re.fullmatch(r"\d{1,12}(\.\d{1,12})?", actions[0]):
        return False
    acid_ul, acid, base_ul, base_mm = asked.groups()
    protons = next(number for number, names in ACIDS.items() if acid in names)
    wanted = Decimal(base_ul) * Decimal(base_mm) / (Decimal(acid_ul) * protons)
    return abs(Decimal(actions[0]) / wanted - 1) < Decimal("0.000999")


def _gold(task: Task) -> Fraction:
    return Fraction(expect_text(task.hidden["gold"]))


def _write(value: Fraction) -> str:
    return f"{Context(prec=8).divide(Decimal(value.numerator), Decimal(value.denominator)):f}"


DOMAIN = Domain(
    tasks=TitrationTasks(),
    open_workspace=open_question,
    verifier=TitrationVerifier(),
    solve=solve,
    alternatives=alternatives,
    equivalents=equivalents,
    distractors=distractors,
    exploits=exploits,
    proves_right=proves_right,
)
