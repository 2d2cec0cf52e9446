"""How alike two solids are: in place, or after just the freedoms that a domain declares. Loads manifold3d.

Nothing is normalised unasked: a part ten times too large, shifted or turned is another part.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Literal

import numpy as np

from polyathlon.verify.geometry import MIN_VOLUME_MM3, Solid, iou, report, volume
from polyathlon.verify.surface import Mesh, distances, sample_points

Freedom = Literal["shift", "turn", "scale"]


def free_iou(solid: Solid, reference: Solid, *freedoms: Freedom) -> float:
    """Return the best agreement of `solid` with `reference`, in [0, 1], after what `freedoms` allow; 1 for a copy.

    "shift" lays the centres of the boxes together; "turn" tries the 24 turns by right angles, never a mirror image;
    "scale" makes the volumes equal, all sides alike.

    Raises:
        GeometryError: one of them was no sound solid.

    """
    if not volume(solid) > MIN_VOLUME_MM3 or not volume(reference) > MIN_VOLUME_MM3:
        return 0.0
    turned = _turns(solid) if freedoms.count("turn") else [solid]
    found = [iou(_placed(each, reference, freedoms), reference) for each in turned]
    return max(found)


def surface_gap(left: Mesh, right: Mesh, num_points: int, rng: np.random.Generator) -> float:
    """Return the mean distance between two surfaces, mm: from points of each, drawn by area, to the faces of the other.

    Point to face, not point to point: a mesh lies 0 mm from itself, whatever is drawn.

    Raises:
        GeometryError: one of them has no faces, or no area.

    """
    there = distances(sample_points(left, num_points, rng), right)
    back = distances(sample_points(right, num_points, rng), left)
    return float(there.mean() + back.mean()) / 2.0  # sound: a mean of numpy's


def _turns(solid: Solid) -> Iterator[Solid]:
    """Yield `solid` turned in each of the 24 ways that keep the axes."""
    for order in itertools.permutations(range(3)):
        for signs in itertools.product((1.0, -1.0), repeat=3):
            matrix = np.zeros((3, 4))
            for row, (column, sign) in enumerate(zip(order, signs, strict=True)):
                matrix[row, column] = sign
            if np.linalg.det(matrix[:, :3]) > 0.0:
                yield solid.transform(matrix)


def _placed(solid: Solid, reference: Solid, freedoms: tuple[Freedom, ...]) -> Solid:
    if freedoms.count("scale"):
        factor = (volume(reference) / volume(solid)) ** (1.0 / 3.0)
        solid = solid.scale([factor] * 3)
    if freedoms.count("shift"):
        mine, theirs = report(solid), report(reference)
        step = [
            (low + high - own_low - own_high) / 2.0
            for low, high, own_low, own_high in zip(theirs.low, theirs.high, mine.low, mine.high, strict=True)
        ]
        solid = solid.translate(step)
    return solid
