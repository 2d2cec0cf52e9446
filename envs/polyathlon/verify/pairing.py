"""Pairing two lists one to one, for the largest worth in all: the assignment problem, in bounded time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

MAX_CELLS = 250_000


def best_pairs(worth: Sequence[Sequence[float]]) -> list[tuple[int, int]]:
    """Return the pairs (row, column) whose worths sum to the most; a pair worth 0 or less is left out.

    `worth` (N, M) is finite. Shortest augmenting paths (Jonker and Volgenant, 1987): N x M x min(N, M) steps.

    Raises:
        ValueError: the rows are not of one length, hold a NaN or an infinity, or there are more than 250,000 cells.

    """
    cells = np.array(worth, dtype=np.float64)  # (N, M); unequal rows raise here
    if cells.size == 0:
        return []
    if cells.ndim != 2 or cells.size > MAX_CELLS or not np.all(np.isfinite(cells)):
        raise ValueError(f"Worths of shape {cells.shape} cannot be paired: finite, and at most {MAX_CELLS} cells.")
    turned = cells.shape[0] > cells.shape[1]
    rows = cells.T if turned else cells
    cost = np.where(rows > 0.0, -rows, 0.0)  # a pair that is worth nothing costs as much as none
    found = [(row, column) for row, column in _assigned(cost) if rows[row, column] > 0.0]
    return sorted((column, row) if turned else (row, column) for row, column in found)


def _assigned(cost: NDArray[np.float64]) -> list[tuple[int, int]]:
    """Return a column for every row of `cost` (N, M), N <= M, so that the costs sum to the least."""
    num_rows, num_columns = cost.shape
    of_row, of_column = np.zeros(num_rows), np.zeros(num_columns)
    owner = np.full(num_columns, -1)
    for row in range(num_rows):
        distance = np.full(num_columns, np.inf)
        before = np.full(num_columns, -1)
        done = np.zeros(num_columns, dtype=np.bool_)
        at, column, reached = row, -1, 0.0
        while True:
            through = reached + cost[at] - of_row[at] - of_column
            shorter = ~done & (through < distance)
            distance[shorter], before[shorter] = through[shorter], column
            column = int(np.where(done, np.inf, distance).argmin())  # sound: an index of numpy's
            reached, done[column] = distance[column], True
            if owner[column] < 0:
                break
            at = owner[column]
        settled = np.nonzero(done)[0]
        gain = reached - distance[settled]
        of_column[settled] -= gain
        held = owner[settled] >= 0
        of_row[owner[settled][held]] += gain[held]
        of_row[row] += reached
        while column >= 0:
            previous = int(before[column])  # sound: an index of numpy's
            owner[column] = row if previous < 0 else owner[previous]
            column = previous
    return [(int(row), column) for column, row in enumerate(owner) if row >= 0]  # sound: an index of numpy's
