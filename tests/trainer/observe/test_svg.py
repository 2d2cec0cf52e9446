"""Plots: thinning, smoothing, ranges, gaps, and no number that a browser cannot draw."""

from __future__ import annotations

import math
import re
from xml.etree import ElementTree

import pytest

from polyathlon_trainer.observe.svg import Series, line_chart, nice_range, smoothed, thinned


@pytest.mark.parametrize(
    ("values", "ends"),
    [
        ([], (0.0, 1.0)),
        ([0.0, 0.9], (0.0, 0.9)),
        ([3.0, 3.0], (0.0, 6.0)),
        ([0.0], (-1.0, 1.0)),
        ([0.90, 0.98], (0.9, 0.98)),
        ([math.nan, math.inf], (0.0, 1.0)),
        ([-2.0, 7.3], (-2.0, 7.5)),
    ],
)
def test_ranges_are_round_and_never_empty(values: list[float], ends: tuple[float, float]) -> None:
    assert nice_range(values) == pytest.approx(ends)


def test_thinning_keeps_the_mean_of_each_stretch_and_the_last_place() -> None:
    points = [(float(x), float(x % 2)) for x in range(1, 1001)]
    kept = thinned(points, most=10)
    assert len(kept) == 10
    assert kept[-1] == (1000.0, 0.5)
    assert thinned([(1.0, math.nan), (2.0, 3.0)]) == ((1.0, None), (2.0, 3.0))


def test_smoothing_is_a_trailing_mean_that_passes_over_gaps() -> None:
    points = [(1.0, None), (2.0, 1.0), (3.0, None), (4.0, 3.0), (5.0, 5.0)]
    assert smoothed(points, window=2) == ((1.0, None), (2.0, 1.0), (3.0, 1.0), (4.0, 2.0), (5.0, 4.0))
    assert smoothed(points, window=1)[-1] == (5.0, 5.0)


def test_a_gap_breaks_the_line_and_a_lone_point_is_a_dot() -> None:
    svg = line_chart([Series("a", ((1.0, 0.1), (2.0, 0.2), (3.0, None), (4.0, 0.4)))], label="x")
    assert svg.count("<polyline") == 1
    assert svg.count("<circle") == 1


@pytest.mark.parametrize(
    "points",
    [(), ((1.0, None),), ((1.0, 0.5),), ((1.0, math.nan), (2.0, math.inf)), ((1.0, 1e300), (2.0, -1e300))],
)
def test_any_points_give_well_formed_svg_with_finite_numbers(points: tuple[tuple[float, float | None], ...]) -> None:
    svg = line_chart([Series("a", points), Series("b", points, form="dots")], label='<&"')
    ElementTree.fromstring(svg)
    assert not re.search(r"nan|inf", svg)
