"""Rows of the log of faults: solids. Each with its right value, worked by hand on a cube of 2 mm."""

from __future__ import annotations

import numpy as np
import pytest

from polyathlon.verify.geometry import box, iou, report, sound_solid, surface_of, volume
from polyathlon.verify.likeness import surface_gap
from polyathlon.verify.surface import GeometryError, Mesh, signed_volume

CUBE = box((0, 0, 0), (2, 2, 2))
FACES = surface_of(CUBE)


def test_l38_a_box_given_twice_is_united_to_itself() -> None:
    vertices = np.vstack([FACES.vertices, FACES.vertices])
    doubled = Mesh(vertices, np.vstack([FACES.faces, FACES.faces + len(FACES.vertices)]))
    assert signed_volume(doubled) == pytest.approx(16.0, abs=1e-9)
    solid = sound_solid(doubled)
    assert volume(solid) == pytest.approx(8.0, abs=1e-9)
    assert iou(solid, CUBE) == 1.0


def test_l40_a_box_without_a_side_is_invalid() -> None:
    normals = np.cross(FACES.corners[:, 1] - FACES.corners[:, 0], FACES.corners[:, 2] - FACES.corners[:, 0])
    top = (normals[:, 2] > 0) & (FACES.corners[:, :, 2] == 2).all(axis=1)
    with pytest.raises(GeometryError, match="open edges"):
        sound_solid(Mesh(FACES.vertices, FACES.faces[~top]))


def test_l41_a_thin_shell_is_not_the_full_box() -> None:
    shell = CUBE - box((0.05, 0.05, 0.05), (1.95, 1.95, 1.95))
    assert iou(shell, CUBE) == pytest.approx(1 - 1.9**3 / 8, abs=1e-6)  # 0.142625


def test_l128_a_body_floating_outside_costs() -> None:
    cluttered = CUBE + box((5, 0, 0), (6, 1, 1))
    assert iou(cluttered, CUBE) == pytest.approx(8 / 9, abs=1e-9)
    assert report(cluttered).components == 2


def test_l130_a_surface_lies_nowhere_from_itself() -> None:
    assert surface_gap(FACES, FACES, 500, np.random.default_rng(0)) == pytest.approx(0.0, abs=1e-9)
    moved = Mesh(FACES.vertices + [0.0, 0.0, 0.5], FACES.faces)  # noqa: RUF005  # an array's sum
    assert surface_gap(moved, FACES, 500, np.random.default_rng(0)) > 0.05
