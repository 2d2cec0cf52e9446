"""Material where the other part has none, however small: how far from the other's surface the farthest of it lies."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from polyathlon.verify.geometry import Solid, surface_of
from polyathlon.verify.surface import Floats, Mesh, distances

CELLS_ACROSS = 12
SLACK_MM = 1e-6


def farthest_stray_mm(solid: Solid, reference: Solid) -> float:
    """Return how far from the surface of `reference` material lies that is only in `solid`, or only in `reference`.

    Overlap and probes see large and known things; this sees a small body or dent anywhere. Looked at are the corners,
    the middles of edges and of faces of what differs.
    """
    farthest = 0.0
    surface = surface_of(reference)
    for rest in (solid - reference, reference - solid):
        corners = surface_of(rest).corners  # (F, 3, 3)
        if len(corners):
            middles = (corners + np.roll(corners, 1, axis=1)) / 2.0
            points = np.concatenate([corners.reshape(-1, 3), middles.reshape(-1, 3), corners.mean(axis=1)])
            farthest = max(farthest, farthest_mm(np.unique(points, axis=0), surface))
    return farthest


def farthest_mm(points: Floats, surface: Mesh) -> float:
    """Return the largest distance, mm, of `points` (N, 3) from the nearest faces of `surface`.

    Points are taken cell by cell, each with the faces that may be nearest to one of it: two fine surfaces have too many
    pairs of points and faces to look at all.
    """
    corners = surface.corners
    low, high = corners.min(axis=1), corners.max(axis=1)
    farthest = 0.0
    for here in _cells(points):
        middle = (here.min(axis=0) + here.max(axis=0)) / 2.0
        radius = np.sqrt(((here - middle) ** 2).sum(axis=1).max())
        # no point of the cell is further from the surface than its middle is, and the way to the middle
        reach = distances(middle[None], surface).item() + 2.0 * radius + SLACK_MM
        near = ((np.clip(middle, low, high) - middle) ** 2).sum(axis=1) <= reach**2
        farthest = max(farthest, distances(here, Mesh(surface.vertices, surface.faces[near])).max().item())
    return farthest


def _cells(points: Floats) -> Iterator[Floats]:
    """Yield the points of each cell of a grid that holds any."""
    low = points.min(axis=0)
    side = (points.max(axis=0) - low).max() / CELLS_ACROSS
    places = np.floor((points - low) / (side if side > 0.0 else 1.0)).astype(np.int64)
    order = np.lexsort(places.T)
    starts = np.flatnonzero(np.any(np.diff(places[order], axis=0) != 0, axis=1)) + 1
    for rows in np.split(order, starts):
        yield points[rows]
