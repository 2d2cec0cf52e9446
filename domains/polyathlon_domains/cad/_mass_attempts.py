"""Right and wrong mass properties: what the inspection tries."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

from polyathlon import Attempt, Task
from polyathlon.canonical import expect_list, expect_text
from polyathlon.verify.key import list_part
from polyathlon.verify.numbers import within
from polyathlon_domains.cad._mass_bodies import Body, asked_figure, body_of, write_value

TOLERANCE = Fraction(5, 1000)


def alternatives(task: Task) -> Sequence[Attempt]:
    values = gold_values(task)
    slack = Fraction(0) if task.hidden["ask"] == "volume" else TOLERANCE * 9 / 10
    return (
        Attempt("as much too large as allowed", (_joined([value * (1 + slack) for value in values]),)),
        Attempt("as much too small as allowed", (_joined([value * (1 - slack) for value in values]),)),
    )


def equivalents(task: Task) -> Sequence[Attempt]:
    line = reference_line(task)
    return (
        Attempt("spaced", (f" {line.replace(';', ' ; ')}\n",)),
        Attempt("in answer tags after reasoning", (f"I add the parts. <answer>{line}</answer>",)),
        Attempt("scientific", (";".join(f"{float(value):.6e}" for value in gold_values(task)),)),
        Attempt("with more digits", (";".join(f"{float(value):.6f}" for value in gold_values(task)),)),
    )


def distractors(task: Task) -> Sequence[Attempt]:
    gold = gold_values(task)
    bodies, ask, axis = _parts(task)
    wrong = {
        "0.7% too much": gold[-1] * Fraction(1007, 1000),
        "0.7% too little": gold[-1] * Fraction(993, 1000),
        "sign lost": -gold[-1],
        "ten times": gold[-1] * 10,
        "last part forgotten": asked_figure(bodies[:-1], ask, axis),
        "holes forgotten": asked_figure([_solid(body) for body in bodies], ask, axis),
        "one density for all": asked_figure([_plain(body) for body in bodies], ask, axis),
    }
    slips = {name: value for name, value in wrong.items() if not within(value, gold[-1], relative=TOLERANCE)}
    lines = [Attempt(name, (_joined([*gold[:-1], value]),)) for name, value in slips.items()]
    swapped = [gold[1], gold[0], *gold[2:]]
    if not within(gold[0], gold[1], relative=TOLERANCE):
        lines.append(Attempt("first two swapped", (_joined(swapped),)))
    return [*lines, Attempt("parts wrong", (_joined([*(value * 2 for value in gold[:-1]), gold[-1]]),))]


def exploits(task: Task) -> Sequence[Attempt]:
    gold = gold_values(task)
    value = write_value(gold[-1])
    return (
        Attempt("two answers", (f"<answer>{value}</answer><answer>1</answer>",)),
        Attempt("a range", (f"{write_value(gold[-1] * 99 / 100)}-{write_value(gold[-1] * 101 / 100)}",)),
        Attempt("plus or minus", (f"{value} +- 50%",)),
        Attempt("a long list", (";".join(str(k) for k in range(1, 1000)),)),
        Attempt("a list that ends right", (";".join([*map(str, range(1, 300)), value]),)),
        Attempt("not a number", (";".join(["nan"] * len(gold)),)),
        Attempt("infinite", (";".join(["1e999"] * len(gold)),)),
        Attempt("the value alone", (value,)),
        Attempt("the value in every place", (";".join([value] * len(gold)),)),
        Attempt("ones", (";".join(["1"] * len(gold)),)),
        Attempt("unevaluated", ("+".join(map(write_value, gold[:-1])),)),
    )


def proves_right(task: Task, actions: Sequence[str]) -> bool:
    """Whether each figure of a bare answer, as decimals, is within the share of the true one that the prompt allows."""
    fields = actions[0].split(";") if len(actions) == 1 else []
    values = [Decimal(value.numerator) / Decimal(value.denominator) for value in gold_values(task)]
    if len(fields) != len(values) or not all(re.fullmatch(r" *-?\d{1,20}(\.\d{0,20})? *", field) for field in fields):
        return False
    allowed = Decimal("0.005") if task.prompt.find("+-0.5%") >= 0 else Decimal(0)
    gaps = [abs(Decimal(field.strip()) - value) for field, value in zip(fields, values, strict=True)]
    return all(gap <= allowed * abs(value) for gap, value in zip(gaps, values, strict=True))


def gold_values(task: Task) -> list[Fraction]:
    """Return the part figures and the value, exactly."""
    return [Fraction(expect_text(value)) for value in list_part(task.hidden, "values")]


def reference_line(task: Task) -> str:
    """Return the reference answer."""
    return ";".join(map(write_value, gold_values(task)))


def _parts(task: Task) -> tuple[list[Body], str, str]:
    bodies = [*map(body_of, expect_list(task.hidden["bodies"]))]
    return bodies, expect_text(task.hidden["ask"]), expect_text(task.hidden["axis"])


def _solid(body: Body) -> Body:
    return replace(body, bore=0)


def _plain(body: Body) -> Body:
    return replace(body, density=10)


def _joined(values: Sequence[Fraction]) -> str:
    return ";".join(f"{float(value):.8g}" for value in values)
