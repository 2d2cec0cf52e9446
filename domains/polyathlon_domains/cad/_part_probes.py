"""Secret probes of a plate with features: rays whose places the policy cannot know, and what they must meet."""

from __future__ import annotations

# sound everywhere, int: places that numpy drew
# sound everywhere, in: a feature's sizes, by name
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from polyathlon.canonical import Json, expect_map
from polyathlon.verify.geometry import Solid, Vector
from polyathlon.verify.probes import Probe, Ray, all_met, kept_probes
from polyathlon_domains.cad._part_features import Copy, copies_of, mm

TOLERANCE_MM = 0.05
MAX_COPIES_PROBED = 4
_ABOVE_MM = 60.0
_REACH_MM = 2.0
_SIDEWAYS: tuple[Vector, ...] = ((1.0, 0.0, 0.0), (-1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, -1.0, 0.0))
_DOWN: Vector = (0.0, 0.0, -1.0)
_UP: Vector = (0.0, 0.0, 1.0)


@dataclass(frozen=True, slots=True)
class Probes:
    """The probes of the plate's own faces, and those of each feature."""

    plate: tuple[Probe, ...]
    features: tuple[tuple[Probe, ...], ...]


def make_probes(core: Mapping[str, Json], reference: Solid, rng: np.random.Generator) -> Probes:
    """Return the probes of `core`; `rng` places them. Rays that graze an edge of the reference are left out."""
    plate = expect_map(core["plate"])
    size = (mm(plate["l"]), mm(plate["w"]), mm(plate["t"]))
    features = []
    for copies in copies_of(core):
        few = [copies[int(place)] for place in rng.permutation(len(copies))[:MAX_COPIES_PROBED]]
        rays = [ray for copy in few for ray in _feature_rays(copy, size[2], rng)]
        features.append(kept_probes(rays, reference, tolerance_mm=TOLERANCE_MM))
    return Probes(kept_probes(_plate_rays(size, rng), reference, tolerance_mm=TOLERANCE_MM), tuple(features))


def found(probes: Sequence[Probe], solid: Solid) -> bool:
    """Return whether `solid` gives every one of `probes`, one at least, what the reference gives, within 0.05 mm."""
    return all_met(probes, solid, tolerance_mm=TOLERANCE_MM)


def _plate_rays(size: Vector, rng: np.random.Generator) -> list[Ray]:
    rays: list[Ray] = []
    for axis in range(3):
        for sign in (1.0, -1.0):
            for _ in range(2):
                origin = [float(rng.uniform(0.1, 0.9)) * extent for extent in size]
                origin[axis] = -_ABOVE_MM if sign > 0 else size[axis] + _ABOVE_MM
                direction = [0.0, 0.0, 0.0]
                direction[axis] = sign
                start: Vector = (origin[0], origin[1], origin[2])
                rays.append((start, (direction[0], direction[1], direction[2]), _ABOVE_MM + size[axis] + 1.0))
    return rays


def _feature_rays(copy: Copy, thickness: float, rng: np.random.Generator) -> list[Ray]:
    sizes = copy.sizes
    top = thickness + sizes.get("h", 0.0)
    depth = sizes.get("depth", 0.0)
    if copy.kind == "counterbore":
        bore = Copy("hole", {"d": sizes["d"]}, copy.x, copy.y)
        step = (sizes["d"] + sizes["wide"]) / 4.0
        ledge = (copy.x + step, copy.y, top + _ABOVE_MM)
        wide = Copy("blind", {"d": sizes["wide"]}, copy.x, copy.y)
        walls = [*_walls(bore, (thickness - depth) / 2.0, rng), *_walls(wide, thickness - depth / 2.0, rng)]
        return [*walls, _column(bore, top, rng), (ledge, _DOWN, _ABOVE_MM + top + 1.0)]
    if copy.kind == "bored boss":
        bore = Copy("hole", {"d": sizes["bore"]}, copy.x, copy.y)
        ring = (sizes["d"] + sizes["bore"]) / 4.0
        rim = (copy.x, copy.y - ring, top + _ABOVE_MM)
        middle = thickness + sizes["h"] / 2.0
        outer = [((copy.x + ring * u[0], copy.y + ring * u[1], middle), u, ring + _REACH_MM) for u in _SIDEWAYS]
        walls = [*_walls(bore, thickness / 2.0, rng), *_walls(bore, middle, rng)]
        return [*walls, *outer, _column(bore, top, rng), (rim, _DOWN, _ABOVE_MM + top + 1.0)]
    height = thickness + sizes["h"] / 2.0 if "h" in sizes else thickness - depth / 2.0 if depth else thickness / 2.0
    beneath = (*_jittered(copy, rng), -_ABOVE_MM)
    return [*_walls(copy, height, rng), _column(copy, top, rng), (beneath, _UP, _ABOVE_MM + top + 1.0)]


def _walls(copy: Copy, height: float, rng: np.random.Generator) -> list[Ray]:
    """Return rays from near the middle of `copy` at `height`, to each side, that end a little past its wall."""
    x, y = _jittered(copy, rng)
    reach = (copy.half[0], copy.half[0], copy.half[1], copy.half[1])
    return [((x, y, height), u, 1.25 * half + _REACH_MM) for u, half in zip(_SIDEWAYS, reach, strict=True)]


def _column(copy: Copy, top: float, rng: np.random.Generator) -> Ray:
    return (*_jittered(copy, rng), top + _ABOVE_MM), _DOWN, _ABOVE_MM + top + 1.0


def _jittered(copy: Copy, rng: np.random.Generator) -> tuple[float, float]:
    across, along = (0.25 * half * float(rng.uniform(-1.0, 1.0)) for half in copy.half)
    return copy.x + across, copy.y + along
