"""Questions on a small table: the working that answers each, where its numbers stand, and how it is put.

Values are named by single letters. `place` says where they stand: "row" is one row over the periods, "column" one
period over rows, "block" two rows by two periods (a and b first, then c and d later), "cell" a alone. A value
that has no place in the table is told in the text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from polyathlon.workspaces.calculator import evaluate

Place = Literal["cell", "row", "column", "block"]


@dataclass(frozen=True, slots=True)
class Question:
    """One way to need an operation. `work` is its working; the answer is asked to `decimals` places.

    `table` are the letters in the table, `told` the one in the text, with the range of its value; `fact` tells it.
    A table holds whole numbers from `lowest` to `highest`. {r0} to {r2} are rows, {p0} and {p1} periods.
    """

    work: str
    place: Place
    table: str
    asked: tuple[str, ...]
    decimals: int = 0
    unit: str = ""
    fact: str = ""
    told: tuple[int, int] = (0, 0)
    lowest: int = 10
    highest: int = 199

    @property
    def threshold(self) -> bool:
        """Whether the told value parts the rows that count from those that do not."""
        return "{z}" in self.asked[0]


@dataclass(frozen=True, slots=True)
class Level:
    """The table of a level: rows (decoys among them), periods, a scale word for its heading, and its questions."""

    num_rows: int
    num_periods: int
    num_decoys: int
    heading: str
    questions: tuple[Question, ...]


_PLAIN = (
    Question(
        "{b}-{a}",
        "row",
        "ab",
        ("{r0}: how much more in {p1} than {p0}?", "Rise of {r0} from {p0} to {p1}?"),
        highest=260,
    ),
    Question(
        "{a}-{b}",
        "row",
        "ab",
        ("How much did {r0} fall from {p0} to {p1}?", "Fall of {r0}, {p0} to {p1}?"),
        highest=260,
    ),
    Question(
        "{a}+{b}", "column", "ab", ("{r0} and {r1} together in {p0}?", "Sum of {r0} and {r1} in {p0}?"), highest=260
    ),
    Question("{a}-{b}", "column", "ab", ("{p0}: how much is {r0} above {r1}?", "{r0} less {r1} in {p0}?"), highest=260),
)
_THREE = (
    Question("{a}+{b}+{c}", "column", "abc", ("Total of {p0}?", "All rows together in {p0}?")),
    Question("({a}+{b}+{c})/3", "column", "abc", ("Average of the rows in {p0}?", "Mean row of {p0}?")),
    Question("{a}-{b}-{c}", "column", "abc", ("{r0} less {r1} and {r2} in {p0}?",), highest=400),
    Question("({a}+{b})/2", "row", "ab", ("Average of {r0} over {p0} and {p1}?", "{r0}: mean of {p0} and {p1}?")),
)
_PERCENT = (
    Question(
        "({b}-{a})/{a}*100",
        "row",
        "ab",
        ("Growth of {r0} from {p0} to {p1} in %, to 0.1?", "{r0}, {p0} to {p1}: change in %, to 0.1?"),
        1,
        "%",
    ),
    Question(
        "{a}/({a}+{b}+{c})*100",
        "column",
        "abc",
        ("Share of {r0} in all of {p0} in %, to 0.1?", "{r0} as % of the {p0} total, to 0.1?"),
        1,
        "%",
    ),
    Question(
        "({c}+{d}-{a}-{b})/({a}+{b})*100",
        "block",
        "abcd",
        ("{r0} and {r1} together: growth from {p0} to {p1} in %, to 0.1?",),
        1,
        "%",
    ),
)
_FACTS = (
    Question(
        "({b}+{z}-{a}+{z})/({a}-{z})*100",
        "row",
        "ab",
        ("Once that is mended, growth of {r0} from {p0} to {p1} in %, to 0.1?",),
        1,
        "%",
        "{z} of the {r0} booked in {p0} belongs in {p1}.",
        (5, 60),
        lowest=100,
        highest=900,
    ),
    Question(
        "({b}-{a})*{z}",
        "row",
        "ab",
        ("How much more did {r0} cost in {p1} than in {p0}?", "Rise in the cost of {r0} from {p0} to {p1}?"),
        fact="The table counts units; a unit costs {z}.",
        told=(3, 40),
    ),
    Question(
        "({a}+{b}+{c})/3",
        "column",
        "abc",
        ("Average of {p0} over the rows above {z}, to 0.1?", "Mean of those {p0} figures that exceed {z}, to 0.1?"),
        1,
        told=(20, 60),
        lowest=61,
        highest=400,
    ),
    Question(
        "{a}/({a}+{b}+{c}+{d}+{z})*100",
        "column",
        "abcd",
        ("With that, share of {r0} in all of {p0} in %, to 0.1?",),
        1,
        "%",
        "The table leaves out {z} spent in {p0}.",
        (20, 300),
    ),
)
_SCALES = (
    Question(
        "({b}-{a}-{z})/({a}+{z})*100",
        "row",
        "ab",
        ("With that, growth of {r0} from {p0} to {p1} in %, to 0.1?",),
        1,
        "%",
        "A further {million} million of {r0} in {p0} was booked abroad.",
        (110, 900),
        lowest=200,
        highest=4_000,
    ),
    Question(
        "{a}/{z}*100",
        "cell",
        "a",
        ("{r0} as % of group costs in {p0}, to 0.1?", "What % of the {p0} group costs is {r0}, to 0.1?"),
        1,
        "%",
        "Group costs of {p0} were {million} million.",
        (4_100, 9_900),
        lowest=200,
        highest=4_000,
    ),
    Question(
        "({b}-{z}-{a})/1000",
        "row",
        "ab",
        ("Without that, rise of {r0} from {p0} to {p1} in million, to 0.01?",),
        2,
        "million",
        "Of {r0} in {p1}, {units} was paid only once.",
        (20, 190),
        lowest=200,
        highest=4_000,
    ),
    Question(
        "{a}*1000/{z}",
        "cell",
        "a",
        ("{r0} of {p0} per head in units, to 0.1?", "In units, {p0} {r0} for each of the staff, to 0.1?"),
        1,
        "",
        "The firm has {z} staff.",
        (70, 700),
        lowest=200,
        highest=4_000,
    ),
)

LEVELS = (
    Level(2, 2, 0, "", _PLAIN),
    Level(3, 2, 0, "", _THREE),
    Level(3, 3, 0, "", _PERCENT),
    Level(4, 3, 0, "", _FACTS),
    Level(3, 3, 2, "thousand", _SCALES),
)
QUESTIONS = tuple((level, question) for level in LEVELS for question in level.questions)
ROWS = ("Rent", "Fuel", "Wages", "Travel", "Paper", "Power", "Repair", "Ads", "Post", "Water", "Food", "Tools")
DECOYS = ("{row} plan", "{row} old basis", "{row} parent only", "{row} pro forma")


MIN_ANSWER = 10  # in steps of the rounding: smaller answers are guessed too often


def draw_values(rng: np.random.Generator, question: Question) -> dict[str, int]:
    """Return a value for every letter of `question`, so that its answer is none of them, and not tiny.

    An answer without decimals is a whole number above 0.
    """
    while True:
        numbers = rng.integers(question.lowest, question.highest + 1, size=len(question.table))
        values = dict(zip(question.table, map(int, numbers), strict=True))
        if "{z}" in question.work or question.threshold:
            values["z"] = int(rng.integers(question.told[0], question.told[1] + 1))
        answer = evaluate(question.work.format(**values))
        fits = question.decimals > 0 or (answer.denominator == 1 and answer > 0)
        large = abs(answer) * 10**question.decimals > MIN_ANSWER
        if fits and large and all(abs(answer - value) >= 1 for value in values.values()):
            return values
