"""Plates with features as plain JSON: placed in millimetres, and written as a program.

A core is {"plate": {"l", "w", "t"}, "features": [...]}. A length is [thousandths, unit]. A feature has a kind,
sizes, a place in x and in y ([reference, length]: an edge, "mid", or an earlier feature by number), and what repeats
it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from polyathlon.canonical import Json, expect_int, expect_list, expect_map, expect_text

OVERSHOOT_MM = 1.0

UNIT_MM: Mapping[str, float] = {"mm": 1.0, "cm": 10.0, "in": 25.4}


@dataclass(frozen=True, slots=True)
class Copy:
    """One instance of a feature: its kind, its lengths in mm by name, and its centre."""

    kind: str
    sizes: Mapping[str, float]
    x: float
    y: float

    @property
    def half(self) -> tuple[float, float]:
        """Half the extent in x and y, mm."""
        if "d" in self.sizes:
            radius = self.sizes.get("wide", self.sizes["d"]) / 2.0
            return radius, radius
        return self.sizes["l"] / 2.0, self.sizes["w"] / 2.0


def mm(length: Json) -> float:
    """Return a length of a core in millimetres."""
    thousandths, unit = expect_list(length)
    return round(expect_int(thousandths) * UNIT_MM[expect_text(unit)] / 1000.0, 6)


def copies_of(core: Mapping[str, Json]) -> list[list[Copy]]:
    """Return the instances of each feature of `core`, the described one first."""
    size = _size(core)
    centres: list[tuple[float, float]] = []
    found: list[list[Copy]] = []
    for feature in expect_list(core["features"]):
        copies, centre = copies_at(expect_map(feature), size, centres)
        found.append(copies)
        centres.append(centre)
    return found


def program_of(core: Mapping[str, Json]) -> dict[str, Json]:
    """Return the program that builds `core`, cuts overshooting the faces that they open."""
    plate = expect_map(core["plate"])
    size, thickness = _size(core), mm(plate["t"])
    steps: list[Json] = [{"op": "add", "box": [*size, thickness]}]
    for raw, copies in zip(expect_list(core["features"]), copies_of(core), strict=True):
        repeat = _repeat(expect_map(expect_map(raw)["many"]), copies[0], size)
        steps.extend({**expect_map(step), **repeat} for step in steps_of(copies[0], thickness))
    return {"features": steps}


def steps_of(copy: Copy, thickness: float) -> list[Json]:
    """Return the program's features that make one instance on a plate of `thickness` mm."""
    sizes, x, y = copy.sizes, copy.x, copy.y
    through = thickness + 2 * OVERSHOOT_MM

    def round_cut(d: float, low: float, height: float) -> Json:
        return {"op": "cut", "cylinder": {"d": d, "h": height}, "at": [x, y, low]}

    def block(op: str, low: float, height: float) -> Json:
        at = [round(x - sizes["l"] / 2, 6), round(y - sizes["w"] / 2, 6), low]
        return {"op": op, "box": [sizes["l"], sizes["w"], height], "at": at}

    depth = sizes.get("depth", 0.0)
    floor, opening = round(thickness - depth, 6), round(depth + OVERSHOOT_MM, 6)
    if copy.kind == "hole":
        return [round_cut(sizes["d"], -OVERSHOOT_MM, through)]
    if copy.kind == "blind":
        return [round_cut(sizes["d"], floor, opening)]
    if copy.kind == "counterbore":
        return [round_cut(sizes["d"], -OVERSHOOT_MM, through), round_cut(sizes["wide"], floor, opening)]
    if copy.kind == "pocket":
        return [block("cut", floor, opening)]
    if copy.kind == "pad":
        return [block("add", thickness, sizes["h"])]
    if copy.kind in ("slot along x", "slot along y"):
        length, width = max(sizes["l"], sizes["w"]), min(sizes["l"], sizes["w"])
        cut: dict[str, Json] = {"op": "cut", "slot": {"l": length, "w": width, "h": through}}
        turn: dict[str, Json] = {"turn": [0, 0, 90]} if copy.kind == "slot along y" else {}
        return [{**cut, **turn, "at": [x, y, -OVERSHOOT_MM]}]
    boss: Json = {"op": "add", "cylinder": {"d": sizes["d"], "h": sizes["h"]}, "at": [x, y, thickness]}
    bore = [round_cut(sizes["bore"], -OVERSHOOT_MM, through + sizes["h"])] if copy.kind == "bored boss" else []
    return [boss, *bore]


def _size(core: Mapping[str, Json]) -> tuple[float, float]:
    plate = expect_map(core["plate"])
    return mm(plate["l"]), mm(plate["w"])


def copies_at(
    feature: Mapping[str, Json], size: tuple[float, float], earlier: Sequence[tuple[float, float]]
) -> tuple[list[Copy], tuple[float, float]]:
    """Return the instances of `feature`, and the point that its place fixes."""
    x = _place(expect_list(feature["x"]), size[0], [centre[0] for centre in earlier])
    y = _place(expect_list(feature["y"]), size[1], [centre[1] for centre in earlier])
    kind, sizes = expect_text(feature["kind"]), {k: mm(length) for k, length in expect_map(feature["sizes"]).items()}
    spots = _spread(expect_map(feature["many"]), (x, y), size)
    return [Copy(kind, sizes, round(u, 6), round(v, 6)) for u, v in spots], (x, y)


def _repeat(many: Mapping[str, Json], first: Copy, size: tuple[float, float]) -> dict[str, Json]:
    """Return what makes the program's first instance all of them. Every kind is its own mirror image."""
    steps: list[Json] = []
    if "row" in many:
        pitch = mm(many["pitch"])
        steps = [{"count": many["count"], "step": [pitch, 0, 0] if many["row"] == "x" else [0, pitch, 0]}]
    elif "grid" in many:
        columns, rows = expect_list(many["grid"])
        steps = [{"count": columns, "step": [mm(many["px"]), 0, 0]}, {"count": rows, "step": [0, mm(many["py"]), 0]}]
    elif "circle" in many:
        count, radius, angle = (
            expect_int(many["circle"]),
            mm(many["across"]) / 2.0,
            math.radians(expect_int(many["first"])),
        )
        centre: Json = [round(first.x - radius * math.cos(angle), 6), round(first.y - radius * math.sin(angle), 6)]
        steps = [{"count": count, "around": centre, "turn": 360 // count}]
    for axis, vector in (("x", [1, 0, 0]), ("y", [0, 1, 0])):
        if axis in expect_text(many.get("mirror", "")):  # sound: the core's own axes
            gap = size[0] - 2 * first.x if axis == "x" else size[1] - 2 * first.y
            steps.append({"count": 2, "step": [round(gap * along, 6) for along in vector]})
    return {"repeat": steps} if steps else {}


def _place(place: Sequence[Json], size: float, earlier: Sequence[float]) -> float:
    reference, length = place[0], mm(place[1])
    if isinstance(reference, int):
        return earlier[reference] + length
    if reference == "mid":
        return size / 2.0
    return length if reference in ("left", "front") else size - length


def _spread(many: Mapping[str, Json], at: tuple[float, float], size: tuple[float, float]) -> list[tuple[float, float]]:
    x, y = at
    if "row" in many:
        pitch = mm(many["pitch"])
        along = (pitch, 0.0) if many["row"] == "x" else (0.0, pitch)
        return [(x + k * along[0], y + k * along[1]) for k in range(expect_int(many["count"]))]
    if "grid" in many:
        columns, rows = map(expect_int, expect_list(many["grid"]))
        return [(x + i * mm(many["px"]), y + j * mm(many["py"])) for j in range(rows) for i in range(columns)]
    if "circle" in many:
        count, radius, first = expect_int(many["circle"]), mm(many["across"]) / 2.0, expect_int(many["first"])
        angles = [math.radians(first + 360.0 * k / count) for k in range(count)]
        return [(x + radius * math.cos(angle), y + radius * math.sin(angle)) for angle in angles]
    axes = expect_text(many.get("mirror", ""))
    columns_at = [x, size[0] - x] if "x" in axes else [x]  # sound: the core's own axes
    rows_at = [y, size[1] - y] if "y" in axes else [y]  # sound: the core's own axes
    return [(u, v) for v in rows_at for u in columns_at]
