"""Small tables laid out around the values that a question needs; every other cell is filler."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from polyathlon.verify.money import NumberStyle, round_half_up, write_money
from polyathlon.workspaces.calculator import evaluate
from polyathlon_domains.finance._table_questions import DECOYS, ROWS, Level, Question

_UNGROUPED = NumberStyle(group="")


@dataclass(frozen=True, slots=True)
class Grid:
    """A table: row and period names, cells by (row, period), and the names and figures that a question speaks of."""

    rows: tuple[str, ...]
    periods: tuple[str, ...]
    cells: Mapping[tuple[int, int], int]
    names: Mapping[str, str]

    def write(self, mark: str, heading: str) -> str:
        """Return the table, a row a line, cells parted by `mark`, `heading` in its corner."""
        lines = [mark.join([heading, *self.periods])]
        for number, name in enumerate(self.rows):
            lines.append(mark.join([name, *(str(self.cells[number, period]) for period in range(len(self.periods)))]))
        return "\n".join(lines)


def lay_out(level: Level, question: Question, values: Mapping[str, int], rng: np.random.Generator) -> Grid:
    """Return a table that holds `values` where `question` wants them. No cell of it is the answer."""
    chosen = [ROWS[int(i)] for i in rng.choice(len(ROWS), size=level.num_rows, replace=False)]
    decoys = [DECOYS[int(i)].format(row=chosen[0]) for i in rng.choice(len(DECOYS), level.num_decoys, replace=False)]
    names = chosen + decoys
    order = [int(i) for i in rng.permutation(len(names))]
    periods = _periods(rng, level.num_periods)
    first, second = sorted(int(i) for i in rng.choice(level.num_periods, size=2, replace=False))
    spots = {
        "cell": [(0, first)],
        "row": [(0, first), (0, second)],
        "column": [(row, first) for row in range(len(question.table))],
        "block": [(0, first), (1, first), (0, second), (1, second)],
    }[question.place]
    placed = {spot: values[letter] for spot, letter in zip(spots, question.table, strict=True)}
    answer = evaluate(question.work.format(**values))
    for row in range(len(names)):
        for period in range(level.num_periods):
            if (row, period) not in placed:
                low = period == first and question.threshold
                lowest, highest = (1, values["z"]) if low else (question.lowest, question.highest)
                placed[row, period] = _filler(rng, lowest, highest, answer)
    cells = {(order.index(row), period): value for (row, period), value in placed.items()}
    told = values.get("z", 0)
    spoken = {f"r{number}": name for number, name in enumerate(chosen)} | {"p0": periods[first], "p1": periods[second]}
    spoken |= {"z": str(told), "million": write_fixed(Fraction(told, 1000), 3), "units": f"{told * 1000:,}"}
    return Grid(tuple(names[i] for i in order), periods, cells, spoken)


def write_fixed(value: Fraction, places: int) -> str:
    """Return `value` rounded half up to just `places` decimals: "-3.10"."""
    return write_money(int(round_half_up(value, places) * 10**places), _UNGROUPED, places=places)


def _filler(rng: np.random.Generator, lowest: int, highest: int, answer: Fraction) -> int:
    while True:
        cell = int(rng.integers(lowest, highest + 1))
        if abs(cell - answer) >= 1:
            return cell


def _periods(rng: np.random.Generator, wanted: int) -> tuple[str, ...]:
    if rng.random() < 0.5:
        start = int(rng.integers(1, 5 - wanted + 1))
        return tuple(f"Q{start + step}" for step in range(wanted))
    start = int(rng.integers(2031, 2040 - wanted))
    return tuple(str(start + step) for step in range(wanted))
