"""Secret probes of a solid: rays whose places a policy cannot know, and what they must meet. Loads manifold3d."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from polyathlon.errors import VerifierError
from polyathlon.verify.credit import share_right
from polyathlon.verify.geometry import Hit, Solid, Vector, first_hit, report

NUDGE_MM = 0.02
Ray = tuple[Vector, Vector, float]
"""Where it starts, the unit vector it follows, and how far it looks, mm."""

_SIDES: tuple[Vector, ...] = tuple(
    (sign * (axis == 0), sign * (axis == 1), sign * (axis == 2)) for axis in range(3) for sign in (1.0, -1.0)
)


@dataclass(frozen=True, slots=True)
class Probe:
    """A ray, how far it looks, mm, and what it meets in the reference."""

    origin: Vector
    direction: Vector
    length_mm: float
    expected: Hit


def draw_probes(
    reference: Solid, num_probes: int, rng: np.random.Generator, *, tolerance_mm: float
) -> tuple[Probe, ...]:
    """Return `num_probes` steady rays along the axes through the reference's box: from outside, and from within it.

    Take `rng` from a seed that no policy sees (`seeding.child` with the content hash).

    Raises:
        VerifierError: the reference is so fine or so empty that few of its rays are steady.

    """
    bounds = report(reference)
    low, high = np.array(bounds.low), np.array(bounds.high)
    span = float(np.linalg.norm(high - low)) + 1.0  # sound: a length of numpy's
    kept: list[Probe] = []
    for number in range(8 * num_probes):
        if len(kept) == num_probes:
            break
        direction = _SIDES[int(rng.integers(len(_SIDES)))]  # sound: an index of numpy's
        inside = low + rng.uniform(0.02, 0.98, size=3) * (high - low)
        start = inside if number % 2 else inside - span * np.array(direction)
        x, y, z = start.tolist()
        kept += kept_probes([((x, y, z), direction, 3.0 * span)], reference, tolerance_mm=tolerance_mm)
    if len(kept) < num_probes:
        raise VerifierError(f"Only {len(kept)} of {num_probes} probes of the reference are steady. Ask for fewer.")
    return tuple(kept)


def kept_probes(rays: Sequence[Ray], reference: Solid, *, tolerance_mm: float) -> tuple[Probe, ...]:
    """Return the probes along `rays`, those left out that graze an edge: what they meet changes when nudged."""
    probes = []
    for origin, direction, length in rays:
        expected = first_hit(reference, origin, direction, length)
        near = [first_hit(reference, _moved(origin, direction, side), direction, length) for side in (-1, 1)]
        if not any(not same_hit(hit, expected, tolerance_mm / 2.0) for hit in near):
            probes.append(Probe(origin, direction, length, expected))
    return tuple(probes)


def share_met(probes: Sequence[Probe], solid: Solid, *, tolerance_mm: float) -> float:
    """Return the share of `probes` that meet in `solid` what they meet in the reference, in [0, 1].

    Raises:
        VerifierError: there are no probes.

    """
    return share_right(_is_met(probe, solid, tolerance_mm) for probe in probes)


def all_met(probes: Sequence[Probe], solid: Solid, *, tolerance_mm: float) -> bool:
    """Return whether every one of `probes` is met, one at least; the first that is not ends it."""
    return bool(probes) and not any(not _is_met(probe, solid, tolerance_mm) for probe in probes)


def same_hit(hit: Hit, other: Hit, tolerance_mm: float) -> bool:
    """Return whether two rays start on the same side of the surface and meet it at the same distance, or not at all."""
    if hit.inside != other.inside:
        return False
    if hit.distance_mm is None or other.distance_mm is None:
        return hit.distance_mm is None and other.distance_mm is None
    return abs(hit.distance_mm - other.distance_mm) <= tolerance_mm


def _is_met(probe: Probe, solid: Solid, tolerance_mm: float) -> bool:
    return same_hit(first_hit(solid, probe.origin, probe.direction, probe.length_mm), probe.expected, tolerance_mm)


def _moved(origin: Vector, direction: Vector, side: int) -> Vector:
    """Return `origin` nudged across the ray, along both axes that it does not follow."""
    x, y, z = (p if along else p + side * NUDGE_MM for p, along in zip(origin, direction, strict=True))
    return x, y, z
