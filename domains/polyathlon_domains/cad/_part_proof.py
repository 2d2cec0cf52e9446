"""Whether one part is another within the prompt's tolerance, read off level cross-sections: no overlap, no probes."""

from __future__ import annotations

import itertools

from manifold3d import CrossSection, JoinType

from polyathlon.verify.geometry import Solid, surface_of

ALLOWED_MM = 0.0501
NO_AREA_MM2 = 1e-4
MIN_OVERLAP = 0.995


def same_part(made: Solid, wanted: Solid) -> bool:
    """Return whether two parts with level floors and upright walls agree to 0.05 mm everywhere.

    At each height between two floors the outline of either lies within the other's, grown by that much; layers thinner
    than that may differ. And what they share is over 99.5% of what they hold together.
    """
    heights = sorted({round(float(z), 6) for part in (made, wanted) for z in surface_of(part).vertices[:, 2]})
    layers = [(low + high) / 2.0 for low, high in itertools.pairwise(heights) if high - low > ALLOWED_MM]
    if not layers or not all(_same_outline(made.slice(z), wanted.slice(z)) for z in layers):
        return False
    shared, held = (made ^ wanted).volume(), (made + wanted).volume()
    return bool(shared > MIN_OVERLAP * held > 0.0)


def _same_outline(mine: CrossSection, theirs: CrossSection) -> bool:
    spare = ((mine - _grown(theirs)).area(), (theirs - _grown(mine)).area(), *_filled(mine, theirs))
    return bool(max(spare) <= NO_AREA_MM2)


def _filled(mine: CrossSection, theirs: CrossSection) -> tuple[float, float]:
    """Return how much of either's inside, further from its edge than allowed, is missing in the other, mm^2."""
    inner, other = (each.offset(-ALLOWED_MM, JoinType.Miter) for each in (mine, theirs))
    return (inner - theirs).area(), (other - mine).area()


def _grown(outline: CrossSection) -> CrossSection:
    return outline.offset(ALLOWED_MM, JoinType.Miter)
