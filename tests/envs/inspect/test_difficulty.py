"""Q01: which pairs of levels the ladder tells apart, and what the ends say where it tells none."""

from __future__ import annotations

from dataclasses import replace

import pytest

from polyathlon.inspect.difficulty import Rungs, order_of, order_of_ends, z_of_many


def rungs(
    level: int, *, shortcut: float = 0.0, spread: float = 0.0, slips: float = 0.2, slipping: float = 0.8
) -> Rungs:
    return Rungs(level, 0.0, shortcut, 0.0, slipping, spread=spread, slips=slips, slipping_error=0.001)


@pytest.mark.parametrize(
    ("low", "high", "order"),
    [
        (rungs(0, shortcut=0.3, spread=0.05), rungs(1), -1),  # 0.3 is 6 errors
        (rungs(0), rungs(1, shortcut=0.3, spread=0.05), 1),
        (rungs(0), rungs(1, shortcut=0.085, spread=0.06), 0),  # 1.4 errors: luck
        (rungs(0, slips=0.1), rungs(1, slips=0.2), -1),
        (rungs(0, slips=0.2), rungs(1, slips=0.1), 1),
        (rungs(0, slips=0.2), rungs(1, slips=0.11), 0),  # less than twice
        (rungs(0, shortcut=0.3, spread=0.05, slips=0.4), rungs(1, slips=0.1), 0),  # play and effort disagree
    ],
)
def test_levels_are_told_apart_by_play_beyond_luck_or_by_twice_the_slips(low: Rungs, high: Rungs, order: int) -> None:
    assert order_of(low, high, z_of_many(1)) == order


def test_one_comparison_needs_1_96_errors_and_ten_need_2_81() -> None:
    assert z_of_many(1) == pytest.approx(1.960, abs=0.001)
    assert z_of_many(10) == pytest.approx(2.807, abs=0.001)


def test_the_ends_are_in_order_reversed_or_the_same() -> None:
    # scores are a quarter of the rung, errors 0.00025 each: apart beyond 1.96 x 0.00035 = 0.0007
    assert order_of_ends(rungs(0, slipping=0.80), rungs(1, slipping=0.79)) == -1
    assert order_of_ends(rungs(0, slipping=0.79), rungs(1, slipping=0.80)) == 1
    assert order_of_ends(rungs(0, slipping=0.800), rungs(1, slipping=0.801)) == 0


def test_what_two_played_tasks_earn_tells_no_levels_apart() -> None:
    low, high = replace(rungs(0), num_played=2), replace(rungs(1, shortcut=0.044), num_played=2)  # and no spread
    assert order_of(low, high, z_of_many(10)) == 0
    assert order_of(rungs(0), rungs(1, shortcut=0.044), z_of_many(10)) == 1
