"""Plates with features drawn at random: inside the plate, and clear of each other."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from polyathlon.canonical import Json, expect_int, expect_list, expect_map, expect_text
from polyathlon_domains.cad._part_features import UNIT_MM, Copy, copies_at, mm

MARGIN_MM = 2.0
MAX_TRIES = 40

_STEP: Mapping[str, int] = {"mm": 500, "cm": 50, "in": 125}  # thousandths of the unit
_ROUND = ("hole", "blind", "boss")


@dataclass(frozen=True, slots=True)
class Axes:
    """What makes a level hard. `chained`, `patterned` and `mirrored` are chances a feature."""

    fewest: int
    most: int
    kinds: tuple[str, ...]
    units: tuple[str, ...] = ("mm",)
    chained: float = 0.0
    patterned: float = 0.0
    mirrored: float = 0.0


def draw_part(rng: np.random.Generator, axes: Axes) -> dict[str, Json]:
    """Return a core whose features lie inside the plate and clear of each other."""
    while True:
        plate: dict[str, Json] = {
            "l": _length(rng, 70.0, 160.0, axes.units),
            "w": _length(rng, 50.0, 110.0, axes.units),
            "t": _length(rng, 7.0, 20.0, axes.units),
        }
        size = (mm(plate["l"]), mm(plate["w"]))
        features: list[Json] = []
        centres: list[tuple[float, float]] = []
        known: list[Copy] = []
        wanted = int(rng.integers(axes.fewest, axes.most + 1))
        for _ in range(MAX_TRIES):
            feature = _draw_feature(rng, axes, plate, features)
            copies, centre = copies_at(feature, size, centres)
            if _fits(size, known, copies):
                features.append(feature)
                centres.append(centre)
                known.extend(copies)
            if len(features) == wanted:
                return {"plate": plate, "features": features}


def _draw_feature(
    rng: np.random.Generator, axes: Axes, plate: Mapping[str, Json], earlier: Sequence[Json]
) -> dict[str, Json]:
    many: dict[str, Json] = {}
    kind = axes.kinds[int(rng.integers(len(axes.kinds)))]
    if earlier and rng.random() < axes.patterned:
        many = _draw_pattern(rng, axes.units)
        kind = _ROUND[int(rng.integers(len(_ROUND)))]
    elif earlier and rng.random() < axes.mirrored:
        many = {"mirror": ("x", "y", "xy")[int(rng.integers(3))]}
    place = {axis: _draw_place(rng, axes, axis, plate, earlier, many) for axis in ("x", "y")}
    return {"kind": kind, "sizes": _draw_sizes(rng, kind, mm(plate["t"]), axes.units), **place, "many": many}


def _draw_sizes(rng: np.random.Generator, kind: str, thickness: float, units: Sequence[str]) -> dict[str, Json]:
    def pick(low: float, high: float) -> Json:
        return _length(rng, low, high, units)

    if kind == "hole":
        return {"d": pick(4.0, 16.0)}
    if kind == "blind":
        return {"d": pick(4.0, 16.0), "depth": pick(2.0, thickness - 2.0)}
    if kind == "counterbore":
        narrow = pick(4.0, 9.0)
        return {"d": narrow, "wide": pick(mm(narrow) + 3.0, mm(narrow) + 9.0), "depth": pick(2.0, thickness - 2.0)}
    if kind == "pocket":
        return {"l": pick(10.0, 40.0), "w": pick(8.0, 30.0), "depth": pick(2.0, thickness - 2.0)}
    if kind == "pad":
        return {"l": pick(10.0, 40.0), "w": pick(8.0, 30.0), "h": pick(3.0, 20.0)}
    if kind in ("slot along x", "slot along y"):
        width = pick(4.0, 10.0)
        length = pick(mm(width) + 6.0, mm(width) + 25.0)
        return {"l": length, "w": width} if kind == "slot along x" else {"l": width, "w": length}
    if kind == "boss":
        return {"d": pick(8.0, 24.0), "h": pick(3.0, 25.0)}
    bore = pick(4.0, 10.0)
    return {"d": pick(mm(bore) + 5.0, mm(bore) + 14.0), "h": pick(3.0, 25.0), "bore": bore}


def _draw_pattern(rng: np.random.Generator, units: Sequence[str]) -> dict[str, Json]:
    kind = int(rng.integers(3))
    if kind == 0:
        axis = ("x", "y")[int(rng.integers(2))]
        return {"row": axis, "count": int(rng.integers(2, 6)), "pitch": _length(rng, 9.0, 28.0, units)}
    if kind == 1:
        counts: list[Json] = [int(rng.integers(2, 4)), int(rng.integers(2, 4))]
        return {"grid": counts, "px": _length(rng, 10.0, 30.0, units), "py": _length(rng, 10.0, 25.0, units)}
    first = int(rng.integers(0, 12)) * 5
    return {"circle": (3, 4, 5, 6, 8)[int(rng.integers(5))], "across": _length(rng, 24.0, 50.0, units), "first": first}


def _draw_place(
    rng: np.random.Generator,
    axes: Axes,
    axis: str,
    plate: Mapping[str, Json],
    earlier: Sequence[Json],
    many: Mapping[str, Json],
) -> list[Json]:
    size = mm(plate["l"] if axis == "x" else plate["w"])
    edges = ("left", "right") if axis == "x" else ("front", "back")
    if "mirror" in many and axis in expect_text(many["mirror"]):
        return [edges[0], _length(rng, 6.0, size / 2.0, axes.units)]
    singles = [place for place, feature in enumerate(earlier) if not expect_map(feature)["many"]] if earlier else []
    if singles and rng.random() < axes.chained:
        anchor = singles[int(rng.integers(len(singles)))]
        if rng.random() < 0.15:
            return [anchor, [0, "mm"]]
        thousandths, unit = expect_list(_length(rng, 8.0, size * 0.7, axes.units))
        return [anchor, [(1 if rng.random() < 0.5 else -1) * expect_int(thousandths), unit]]
    if rng.random() < axes.mirrored / 2.0:
        return ["mid", [0, "mm"]]
    return [edges[int(rng.integers(2))], _length(rng, 6.0, size * 0.8, axes.units)]


def _length(rng: np.random.Generator, low: float, high: float, units: Sequence[str]) -> list[Json]:
    """Return a length in [low, high] mm, whole steps of a unit; in mm where the unit has no step in the range."""
    unit = units[int(rng.integers(len(units)))]
    for name in (unit, "mm"):
        step = _STEP[name] * UNIT_MM[name] / 1000.0
        fewest, most = math.ceil(low / step), math.floor(high / step)
        if fewest <= most:
            return [int(rng.integers(fewest, most + 1)) * _STEP[name], name]
    return [math.ceil(low * 2.0) * 500, "mm"]


def _fits(size: tuple[float, float], before: Sequence[Copy], copies: Sequence[Copy]) -> bool:
    """Whether `copies` lie inside the plate, and clear of each other and of those before."""
    known = list(before)
    for copy in copies:
        hx, hy = copy.half
        inside_x = hx + MARGIN_MM <= copy.x <= size[0] - hx - MARGIN_MM
        if not (inside_x and hy + MARGIN_MM <= copy.y <= size[1] - hy - MARGIN_MM):
            return False
        for other in known:
            ox, oy = other.half
            if abs(other.x - copy.x) < hx + ox + MARGIN_MM and abs(other.y - copy.y) < hy + oy + MARGIN_MM:
                return False
        known.append(copy)
    return True
