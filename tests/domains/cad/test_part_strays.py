"""Distances taken cell by cell are those of every pair of a point and a face."""

import numpy as np
import pytest

from polyathlon.verify.surface import Mesh, distances
from polyathlon_domains.cad._part_strays import farthest_mm


def sheet() -> Mesh:
    """A wavy sheet of 30 x 30 squares of 1 mm."""
    across = np.arange(31.0)
    x, y = (axis.ravel() for axis in np.meshgrid(across, across))
    corners = np.column_stack([x, y, 3.0 * np.sin(x / 5.0)])
    first = (np.arange(30)[:, None] * 31 + np.arange(30)).ravel()
    left, right = np.column_stack([first, first + 1, first + 31]), np.column_stack([first + 1, first + 32, first + 31])
    return Mesh(corners, np.vstack([left, right]))


@pytest.mark.parametrize("seed", range(5))
def test_the_farthest_of_many_points_is_found_cell_by_cell(seed: int) -> None:
    surface = sheet()
    points = np.random.default_rng(seed).normal(15.0, 9.0, size=(300, 3))
    assert farthest_mm(points, surface) == pytest.approx(distances(points, surface).max(), abs=1e-9)


def test_a_far_point_a_corner_and_one_point_alone() -> None:
    surface = sheet()
    assert farthest_mm(surface.vertices[::7], surface) == 0.0
    assert farthest_mm(np.array([[-300.0, 0.0, 0.0]]), surface) == pytest.approx(300.0)
