"""The part language: a feature tree in strict JSON, read and built in bounded time. No code of a policy runs."""

from __future__ import annotations

# sound everywhere, in: keys of objects and tables, by name
import functools
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from polyathlon.canonical import Json, parse_json
from polyathlon.verify.geometry import CIRCLE_SIDES, Solid, boolean_work, checked, empty, prism, side_by_side
from polyathlon.verify.surface import GeometryError, read_index, read_number, read_vector

LANGUAGE = f"""A part is JSON: {{"units": "mm", "features": [...]}}; units are mm (default), cm
or in. Features apply in order. A feature is {{"op": "add" | "cut" | "keep", one shape, "at": [x, y, z], ...}};
"at" is [0, 0, 0] if not given. Shapes:
  "box": [dx, dy, dz]                       its lowest corner at "at"
  "cylinder": {{"d": diameter, "h": height}}  the centre of its lower end at "at", axis up z
  "slot": {{"l": overall length along x, "w": width, "h": height}}   round ends; the centre of its lower end at "at"
  "prism": {{"points": [[x, y], ...], "h": height}}
  "part": [features]                        built on its own, then used as one shape
Optional, in this order: "mirror": "x" | "y" | "z" (that coordinate changes sign), "turn": [rx, ry, rz] degrees about
x, then y, then z, then "at", then "repeat": a list of {{"count": n, "step": [dx, dy, dz]}} or
{{"count": n, "around": [x, y], "turn": degrees from copy to copy}} (counts include the first).
"keep" leaves only what lies in the shape. Circles are polygons of {CIRCLE_SIDES} sides, corners on the circle."""

MAX_COPIES = 100
MAX_NODES = 200
MAX_DEPTH = 6
MAX_POINTS = 128
MAX_WORK = 500_000
MIN_SIZE_MM = 1e-3
MAX_SIZE_MM = 10_000.0

_UNITS_MM: Mapping[str, float] = {"mm": 1.0, "cm": 10.0, "in": 25.4}
_OPERATIONS: Mapping[str, Callable[[Solid, Solid], Solid]] = {
    "add": operator.add,
    "cut": operator.sub,
    "keep": operator.xor,
}
_SHAPES = ("box", "cylinder", "slot", "prism", "part")
_CHANGES = ("op", "at", "mirror", "turn", "repeat")
_AXES = ("x", "y", "z")


@dataclass(slots=True)
class _Budget:
    """What one program may still use: the kernel's time grows with triangles handled."""

    unit_mm: float
    nodes: int = MAX_NODES
    copies: int = MAX_COPIES
    work: int = MAX_WORK

    def spend(self, *, nodes: int = 0, copies: int = 0, work: int = 0) -> None:
        self.nodes, self.copies, self.work = self.nodes - nodes, self.copies - copies, self.work - work
        for left, what in (
            (self.nodes, f"{MAX_NODES} features"),
            (self.copies, f"{MAX_COPIES} shapes, copies counted"),
        ):
            if left < 0:
                raise GeometryError(f"the program has more than {what}.")
        if self.work < 0:
            raise GeometryError("the program is too much work: fewer features, or fewer faces in each.")


@functools.lru_cache(maxsize=16)
def read_part(text: str) -> Solid:
    """Return the solid that the program `text` describes.

    Raises:
        GeometryError: no strict JSON, a form that the language lacks, numbers out of range, more than the caps.

    """
    try:
        program = parse_json(text)
    except ValueError as error:
        raise GeometryError(f"the program is {error}.") from None
    return build_part(program)


def build_part(program: Json) -> Solid:
    """Return the solid that the parsed `program` describes; empty when nothing is left. Raises as `read_part`."""
    if not isinstance(program, Mapping):
        raise GeometryError('a part is an object with "features".')
    _only(program, ("units", "features"), "the part")
    unit = program.get("units", "mm")
    if not isinstance(unit, str) or unit not in _UNITS_MM:
        raise GeometryError(f"units must be one of {', '.join(_UNITS_MM)}.")
    return _features(program.get("features"), "features", _Budget(_UNITS_MM[unit]), MAX_DEPTH)


def _features(features: Json, where: str, budget: _Budget, depth: int) -> Solid:
    if not isinstance(features, list | tuple) or not features:
        raise GeometryError(f"{where} must be a list of features, one at least.")
    if depth == 0:
        raise GeometryError(f"{where}: parts are nested deeper than {MAX_DEPTH}.")
    solid = empty()
    for place, feature in enumerate(features):
        here = f"{where}[{place}]"
        budget.spend(nodes=1)
        if not isinstance(feature, Mapping):
            raise GeometryError(f"{here} must be an object.")
        solid = _applied(solid, _copies(feature, here, budget, depth), feature.get("op"), here, budget)
    return solid


def _applied(solid: Solid, copies: Sequence[Solid], operation: Json, where: str, budget: _Budget) -> Solid:
    if operation == "keep" and len(copies) > 1:
        copies = [_applied(empty(), copies, "add", where, budget)]
    if not isinstance(operation, str) or operation not in _OPERATIONS:
        raise GeometryError(f'{where}.op must be "add", "cut" or "keep".')
    at_once = side_by_side(copies)
    for tool in copies if at_once is None else [at_once]:
        budget.spend(work=boolean_work(solid, copies if at_once is not None else [tool]))
        solid = checked(_OPERATIONS[operation](solid, tool))
    return solid


def _copies(feature: Mapping[str, Json], where: str, budget: _Budget, depth: int) -> Sequence[Solid]:
    kinds = [kind for kind in _SHAPES if kind in feature]
    if len(kinds) != 1:
        raise GeometryError(f"{where} must have exactly one shape of {', '.join(_SHAPES)}.")
    _only(feature, (*_CHANGES, kinds[0]), where)
    at = [budget.unit_mm * x for x in read_vector(feature.get("at", [0, 0, 0]), f"{where}.at", size=3)]
    changed = "mirror" in feature or "turn" in feature
    base = (0.0, 0.0, 0.0) if changed else (at[0], at[1], at[2])
    solid = _shape(kinds[0], feature[kinds[0]], f"{where}.{kinds[0]}", base, (budget, depth))
    if changed:
        solid = _turned(solid, feature, where).translate(at)
    solids = [solid]
    repeats = feature.get("repeat", [])
    if not isinstance(repeats, list | tuple):
        raise GeometryError(f"{where}.repeat must be a list.")
    for place, repeat in enumerate(repeats):
        solids = _repeated(solids, repeat, f"{where}.repeat[{place}]", budget)
    budget.spend(copies=len(solids))
    return solids


def _shape(kind: str, value: Json, where: str, at: tuple[float, float, float], context: tuple[_Budget, int]) -> Solid:
    """Return the shape with its origin at `at`, its limits rounded to a millionth of a mm so that flush faces meet."""
    budget, depth = context
    if kind == "part":
        return _features(value, where, budget, depth - 1).translate(list(at))
    x, y, low = (round(coordinate, 6) for coordinate in at)
    if kind == "box":
        dx, dy, dz = (_size(item, f"{where}[{n}]", budget) for n, item in enumerate(_three(value, where)))
        far_x, far_y = round(at[0] + dx, 6), round(at[1] + dy, 6)
        return prism([(x, y), (far_x, y), (far_x, far_y), (x, far_y)], low, round(at[2] + dz, 6))
    if not isinstance(value, Mapping):
        raise GeometryError(f"{where} must be an object.")
    top = round(at[2] + _size(value.get("h"), f"{where}.h", budget), 6)
    if kind == "prism":
        _only(value, ("points", "h"), where)
        return prism([(x + px, y + py) for px, py in _points(value.get("points"), where, budget)], low, top)
    if kind == "cylinder":
        _only(value, ("d", "h"), where)
        radius = _size(value.get("d"), f"{where}.d", budget) / 2.0
        return prism(_arc(x, y, radius, first=0, last=CIRCLE_SIDES - 1), low, top)
    _only(value, ("l", "w", "h"), where)
    length, width = _size(value.get("l"), f"{where}.l", budget), _size(value.get("w"), f"{where}.w", budget)
    if length <= width:
        raise GeometryError(f"{where}: the overall length must be more than the width.")
    shift, half, quarter = (length - width) / 2.0, width / 2.0, CIRCLE_SIDES // 4
    right = _arc(x + shift, y, half, first=-quarter, last=quarter)
    return prism(right + _arc(x - shift, y, half, first=quarter, last=3 * quarter), low, top)


def _turned(solid: Solid, feature: Mapping[str, Json], where: str) -> Solid:
    mirror = feature.get("mirror")
    if mirror is not None:
        if not isinstance(mirror, str) or mirror not in _AXES:
            raise GeometryError(f'{where}.mirror must be "x", "y" or "z".')
        solid = solid.mirror([float(axis == mirror) for axis in _AXES])
    return solid.rotate(list(read_vector(feature.get("turn", [0, 0, 0]), f"{where}.turn", size=3)))


def _repeated(solids: Sequence[Solid], repeat: Json, where: str, budget: _Budget) -> list[Solid]:
    if not isinstance(repeat, Mapping):
        raise GeometryError(f"{where} must be an object.")
    keys = ("count", "around", "turn") if "around" in repeat else ("count", "step")
    _only(repeat, keys, where)
    count = read_index(repeat.get("count"), f"{where}.count", limit=MAX_COPIES + 1)
    if count == 0 or count * len(solids) > budget.copies:
        raise GeometryError(f"{where}.count is {count}; from 1 to {MAX_COPIES} shapes in all are allowed.")
    if "around" not in repeat:
        step = [budget.unit_mm * x for x in read_vector(repeat.get("step"), f"{where}.step", size=3)]
        return [solid.translate([k * x for x in step]) for k in range(count) for solid in solids]
    x, y = (budget.unit_mm * value for value in read_vector(repeat["around"], f"{where}.around", size=2))
    angle = read_number(repeat.get("turn"), f"{where}.turn")
    away = [solid.translate([-x, -y, 0.0]) for solid in solids]
    return [solid.rotate([0.0, 0.0, k * angle]).translate([x, y, 0.0]) for k in range(count) for solid in away]


def _points(value: Json, where: str, budget: _Budget) -> list[tuple[float, float]]:
    if not isinstance(value, list | tuple) or not 3 <= len(value) <= MAX_POINTS:
        raise GeometryError(f"{where}.points must be a list of 3 to {MAX_POINTS} pairs.")
    pairs = [read_vector(item, f"{where}.points[{place}]", size=2) for place, item in enumerate(value)]
    return [(budget.unit_mm * x, budget.unit_mm * y) for x, y in pairs]


def _arc(x: float, y: float, radius: float, *, first: int, last: int) -> list[tuple[float, float]]:
    angles = (2.0 * math.pi * k / CIRCLE_SIDES for k in range(first, last + 1))
    return [(x + radius * math.cos(angle), y + radius * math.sin(angle)) for angle in angles]


def _size(value: Json, where: str, budget: _Budget) -> float:
    return budget.unit_mm * read_number(
        value, where, low=MIN_SIZE_MM / budget.unit_mm, high=MAX_SIZE_MM / budget.unit_mm
    )


def _three(value: Json, where: str) -> Sequence[Json]:
    if not isinstance(value, list | tuple) or len(value) != 3:
        raise GeometryError(f"{where} must be a list of 3 sizes.")
    return value


def _only(value: Mapping[str, Json], keys: Sequence[str], where: str) -> None:
    for key in value:
        if key not in keys:
            raise GeometryError(f"{where} has the unknown key {key[:30]!r}; known are {', '.join(keys)}.")
