"""Building plans on a small grid: steps that place, mirror, recolour and remove cells, run exactly."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

Cell: TypeAlias = tuple[int, int, int]
Step: TypeAlias = "Sequence[str | int | Sequence[int]]"
"""One of
["row", letters, start, direction]        one cell a letter, from `start`
["on", letters, offset, direction]        the same, starting at `offset` from the cell placed last
["stair", letter, start, direction, n]    each cell one further along `direction` and one up (z)
["mirror", axis, plane]                   every cell copied to 2 x plane - its coordinate on `axis`
["paint", old, new]                       every cell of one material becomes another
["clear", axis, coordinate]               all cells in that layer go
["strip", letter]                         all cells of that material go
"""

AXES = "xyz"
DIRECTIONS: Mapping[str, Cell] = {
    "+x": (1, 0, 0),
    "-x": (-1, 0, 0),
    "+y": (0, 1, 0),
    "-y": (0, -1, 0),
    "+z": (0, 0, 1),
    "-z": (0, 0, -1),
}


class PlanError(ValueError):
    """A step leaves the grid, or places a cell on another."""


def build(steps: Iterable[Step], *, size: int) -> dict[Cell, str]:
    """Return {cell: material} after `steps` on a grid of `size` cells a side.

    Raises:
        PlanError: a cell lies outside the grid, or two steps place different cells in one place.

    """
    cells: dict[Cell, str] = {}
    last: Cell = (0, 0, 0)
    for step in steps:
        placed = _placed(step, cells, last)
        for cell, letter in placed:
            if not all(0 <= part < size for part in cell) or cells.get(cell, letter) != letter:  # sound: three parts
                raise PlanError(f"{step} does not fit")
            cells[cell] = letter
        if step[0] in ("row", "on", "stair"):
            last = placed[-1][0]
        elif step[0] in ("paint", "clear", "strip"):
            cells = _edited(step, cells)
    return cells


def write_cell(cell: Cell, letter: str = "") -> str:
    """Return "012R" for the material R at x 0, y 1, z 2."""
    return "".join(map(str, cell)) + letter


def best_box_f1(cells: Mapping[Cell, str]) -> float:
    """Return the best F1 that one solid box of one material can have against `cells`.

    The best box is the bounding box of the cells of its material that it holds, so it is spanned by their coordinates.
    """
    best = 0.0
    for letter in set(cells.values()):
        mine = [cell for cell, other in cells.items() if other == letter]
        spans = [_spans({cell[axis] for cell in mine}) for axis in range(3)]
        for x in spans[0]:
            for y in spans[1]:
                for z in spans[2]:
                    hits = sum(_inside(cell, (x, y, z)) for cell in mine)
                    volume = (x[1] - x[0] + 1) * (y[1] - y[0] + 1) * (z[1] - z[0] + 1)
                    score = 2 * hits / (volume + len(cells))
                    best = score if score > best else best
    return best


def _placed(step: Step, cells: Mapping[Cell, str], last: Cell) -> list[tuple[Cell, str]]:
    kind = step[0]
    if kind == "mirror":
        axis, plane = AXES.index(str(step[1])), _number(step[2])
        return [(_reflected(cell, axis, plane), letter) for cell, letter in cells.items()]
    if kind not in ("row", "on", "stair"):
        return []
    first = cell_of(step[2])
    letters = str(step[1])
    direction = DIRECTIONS[str(step[3])]
    if kind == "on":
        first = _moved(last, first, 1)
    if kind == "stair":
        letters *= _number(step[4])
        direction = _moved(direction, (0, 0, 1), 1)
    return [(_moved(first, direction, k), letter) for k, letter in enumerate(letters)]


def _edited(step: Step, cells: Mapping[Cell, str]) -> dict[Cell, str]:
    if step[0] == "paint":
        return {cell: str(step[2]) if letter == step[1] else letter for cell, letter in cells.items()}
    if step[0] == "strip":
        return {cell: letter for cell, letter in cells.items() if letter != step[1]}
    axis = AXES.index(str(step[1]))
    return {cell: letter for cell, letter in cells.items() if cell[axis] != step[2]}


def cell_of(value: object) -> Cell:
    """Return the three coordinates that a step's list holds."""
    assert isinstance(value, list | tuple), "a plan's own step"
    x, y, z = value
    return (int(x), int(y), int(z))  # sound: numpy's whole numbers


def _number(value: object) -> int:
    assert isinstance(value, int), "a plan's own step"
    return value


def _moved(cell: Cell, direction: Cell, times: int) -> Cell:
    return (
        cell[0] + times * direction[0],
        cell[1] + times * direction[1],
        cell[2] + times * direction[2],
    )


def _reflected(cell: Cell, axis: int, plane: int) -> Cell:
    parts = list(cell)
    parts[axis] = 2 * plane - parts[axis]
    return (parts[0], parts[1], parts[2])


def _spans(values: set[int]) -> list[tuple[int, int]]:
    return [(low, high) for low in values for high in values if low <= high]


def _inside(cell: Cell, box: tuple[tuple[int, int], tuple[int, int], tuple[int, int]]) -> bool:
    return all(low <= part <= high for part, (low, high) in zip(cell, box, strict=True))  # sound: three parts
