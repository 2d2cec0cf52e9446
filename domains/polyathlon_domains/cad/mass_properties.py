"""Mass properties of a few primitives: each part's figure, then the volume, mass, centre or moment asked for."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from polyathlon import Attempt, Brief, Core, Domain, Evidence, Script, Task, Verdict, answering
from polyathlon.canonical import expect_list, expect_text
from polyathlon.sandbox.protocol import Room
from polyathlon.verify.key import one_of_part
from polyathlon.verify.numbers import read_number, within
from polyathlon.verify.text import above
from polyathlon.workspaces.question import open_question
from polyathlon_domains.cad._mass_attempts import (
    TOLERANCE,
    alternatives,
    distractors,
    equivalents,
    exploits,
    gold_values,
    proves_right,
    reference_line,
)
from polyathlon_domains.cad._mass_bodies import AXES, Body, asked_figure, body_json, body_of, part_figures

_SHAPES = ("box", "cylinder", "sphere")
_DENSITIES = (8, 12, 14, 19, 23, 27, 45, 73, 78, 89)  # tenths of a g/cm3: wood to copper
_TURNS = ((10, 0), (8, 6), (6, 8))
_FORMS: Mapping[str, tuple[str, ...]] = {
    "volume": ("Volumes, total? a;b;c;total", "Give volumes and sum: a;b;c;sum", "Volume of each, of all: a;b;c;all"),
    "moments": ("Volumes a;b, V*{axis} c;d, centre? a;b;c;d;{axis}", "Find V;V;V*{axis};V*{axis};centre {axis}"),
    "mass": ("Masses in g, total? a;b;c;total", "Give g of each and sum: a;b;c;sum"),
    "centre": ("Masses in g, centre {axis}? a;b;c;{axis}", "Give g of each, centre {axis}: a;b;c;{axis}"),
    "terms": ("I about {axis}: own a;b, m*d^2 c;d, sum: a;b;c;d;I", "Give own I, m*d^2, sum about {axis}: a;b;c;d;I"),
    "inertia": ("Masses in g, I about {axis}? a;b;c;I", "Give g of each, I of all about {axis}: a;b;c;I"),
}


@dataclass(frozen=True, slots=True)
class MassTasks:
    """Two or three primitives. What is asked: by level, and drawn at the last."""

    def draw(self, rng: np.random.Generator, level: int) -> Core:
        ask = ("volume", "moments", "mass", "terms", ("mass", "centre", "inertia")[int(rng.integers(3))])[level]
        axis = AXES[int(rng.integers(3))] if ask not in ("volume", "mass") else ""
        while True:
            bodies = [_placed(_draw_body(rng, level), ask, axis, rng) for _ in range(2 if level in (1, 3) else 3)]
            if ask not in ("moments", "centre") or _is_between(bodies, axis):
                return {"bodies": [body_json(body) for body in bodies], "ask": ask, "axis": axis}

    def render(self, core: Core, rng: np.random.Generator) -> Brief:
        bodies, ask, axis = (
            [*map(body_of, expect_list(core["bodies"]))],
            expect_text(core["ask"]),
            expect_text(core["axis"]),
        )
        form = _FORMS[ask][int(rng.integers(len(_FORMS[ask])))].format(axis=axis)
        legend = "cm: " if ask in ("volume", "moments") else "cm, boxes xyz: "
        margin = "" if ask == "volume" else " +-0.5%"
        prompt = f"{legend}{'; '.join(_words(body, ask, axis) for body in bodies)}. {form}{margin}"
        values = [*part_figures(bodies, ask, axis), asked_figure(bodies, ask, axis)]
        return Brief(prompt, hidden={"values": [f"{v.numerator}/{v.denominator}" for v in values], **core})


@dataclass(frozen=True, slots=True)
class MassVerifier:
    """Passed: every figure is within 0.5%, whole volumes exact. Else the share that is, one put down to luck."""

    def judge(self, task: Task, evidence: Evidence, room: Room) -> Verdict:
        gold = gold_values(task)
        fields = (evidence.answer or "").split(";")
        if len(fields) != len(gold):
            return Verdict.failing(f"{len(fields)} numbers, not {len(gold)}")
        margin = Fraction(0) if one_of_part(task.hidden, "ask", [*_FORMS]) == "volume" else TOLERANCE
        right = 0
        for field, wanted in zip(fields, gold, strict=True):
            number = read_number(field, "integer", "decimal", "scientific")
            right += number is not None and within(number, wanted, relative=margin)
        if right == len(gold):
            return Verdict.passing()
        share = above(right / len(gold), 1 / len(gold))
        return Verdict.failing(f"{right} of {len(gold)} figures right", progress=share)


def _draw_body(rng: np.random.Generator, level: int) -> Body:
    if level < 2:
        return Body("box", _sizes(rng, 3, 2, 8 - level))
    shape = _SHAPES[int(rng.integers(2 if level == 3 else 3))]
    size = _sizes(rng, {"box": 3, "cylinder": 2, "sphere": 1}[shape], 4, 16)
    density = _DENSITIES[int(rng.integers(len(_DENSITIES)))]
    if level == 3:
        axis = AXES[int(rng.integers(3))] if shape == "cylinder" else "z"
        turn = _TURNS[int(rng.integers(3))] if shape == "box" else (10, 0)
        return Body(shape, size, density, axis=axis, turn=turn)
    widest = min(size[:2]) if shape == "box" else size[0]
    bore = int(rng.integers(1, widest - 1)) if shape != "sphere" and rng.random() < 0.6 else 0
    return Body(shape, size, density, bore=bore)


def _placed(body: Body, ask: str, axis: str, rng: np.random.Generator) -> Body:
    """Return `body` with the coordinates of its centre that the question needs, from 1 cm; the others stay 0."""
    needed = [ask in ("terms", "inertia") or (ask in ("moments", "centre") and name == axis) for name in AXES]
    x, y, z = (
        value if wanted else 0
        for value, wanted in zip(_sizes(rng, 3, 1, 50 if ask == "moments" else 20), needed, strict=True)
    )
    return replace(body, at=(x, y, z))


def _is_between(bodies: Sequence[Body], axis: str) -> bool:
    """Whether the common centre is none of the bodies' own, by 3%: it can't be copied."""
    centre = asked_figure(bodies, "centre", axis)
    return not any(abs(body.at[AXES.index(axis)] - centre) <= Fraction(3, 100) * centre for body in bodies)


def _sizes(rng: np.random.Generator, count: int, low: int, high: int) -> tuple[int, ...]:
    return tuple(int(x) for x in rng.integers(low, high + 1, size=count))


def _words(body: Body, ask: str, axis: str) -> str:
    """Return `body` in few words; of its centre, what the question needs."""
    names = {"box": "box {}x{}x{}", "cylinder": "cyl d{} h{}", "sphere": "sphere d{}"}
    words = [names[body.shape].format(*body.size)]
    if body.shape == "cylinder" and ask in ("terms", "inertia"):
        words[0] = f"{body.axis}-{words[0]}"
    if body.turn != (10, 0):
        words.append(f"turned on z cos=.{body.turn[0]}")
    if body.bore:
        words.append(f"z-hole d{body.bore}" if body.shape == "box" else f"hole d{body.bore}")
    if ask not in ("volume", "moments"):
        words.append(f"{body.density / 10:g}g/cc")
    if ask in ("terms", "inertia"):
        words.append(f"at {','.join(map(str, body.at))}")
    elif ask in ("moments", "centre"):
        words.append(f"at {axis}={body.at[AXES.index(axis)]}")
    return " ".join(words)


def solve(task: Task) -> Script:
    """The part figures, then the value."""
    return answering(reference_line(task))


def shortcuts(task: Task) -> Sequence[Attempt]:
    """Sizes copied in the place of figures, and the largest one for all of them."""
    legend, _, form = task.prompt.rpartition(". ")
    numbers = re.findall(r"\d+(?:\.\d+)?", legend) or ["1"]
    count = form.count(";") + 1
    copied = (numbers * count)[:count]
    largest = max(numbers, key=lambda number: (len(number.partition(".")[0]), number))
    return (
        Attempt("sizes in order", (";".join(copied),)),
        Attempt("the largest size for each", (";".join([largest] * count),)),
    )


DOMAIN = Domain(
    tasks=MassTasks(),
    open_workspace=open_question,
    verifier=MassVerifier(),
    solve=solve,
    alternatives=alternatives,
    equivalents=equivalents,
    distractors=distractors,
    exploits=exploits,
    proves_right=proves_right,
    shortcuts=shortcuts,
)
