"""Boxes, cylinders and spheres in closed form, exactly: volume, mass, moment of inertia. cm, g, g/cm3."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from polyathlon.canonical import Json, expect_int, expect_list, expect_map, expect_text

PI = Fraction(314159265, 100000000)
AXES = ("x", "y", "z")


@dataclass(frozen=True, slots=True)
class Body:
    """One primitive. `size`: 3 edges of a box; diameter and height of a cylinder; diameter of a sphere.

    `density` is in tenths of a g/cm3. `bore` is the diameter of a hole right through the middle, along z for a box
    and along its axis for a cylinder; 0 for none. `turn` is (cos, sin) of a box's turn about z, in tenths.
    """

    shape: str
    size: tuple[int, ...]
    density: int = 10
    at: tuple[int, int, int] = (0, 0, 0)
    bore: int = 0
    axis: str = "z"
    turn: tuple[int, int] = (10, 0)

    @property
    def volume(self) -> Fraction:
        """Volume less the bore, cm3."""
        return self._solid_volume - (_round_area(self.bore) * self._bore_length if self.bore else 0)

    @property
    def mass(self) -> Fraction:
        """Mass, g."""
        return self.volume * self.density / 10

    def own_inertia(self, axis: str) -> Fraction:
        """Return the moment of inertia about `axis` through the body's own centre, g cm2."""
        per_volume = Fraction(self.density, 10)
        solid = per_volume * self._solid_volume * self._spread(axis)
        if not self.bore:
            return solid
        plug = Body("cylinder", (self.bore, self._bore_length), self.density, axis=self.axis)
        return solid - plug.own_inertia(axis)

    def offset_inertia(self, axis: str) -> Fraction:
        """Return mass times the squared distance from the centre to `axis` through the origin, g cm2."""
        return self.mass * sum(x * x for x, name in zip(self.at, AXES, strict=True) if name != axis)

    @property
    def _bore_length(self) -> int:
        return self.size[2] if self.shape == "box" else self.size[1]

    @property
    def _solid_volume(self) -> Fraction:
        if self.shape == "box":
            return Fraction(self.size[0] * self.size[1] * self.size[2])
        if self.shape == "cylinder":
            return _round_area(self.size[0]) * self.size[1]
        return PI * self.size[0] ** 3 / 6

    def _spread(self, axis: str) -> Fraction:
        """Return the mean squared distance from `axis` of the body without its bore, cm2."""
        if self.shape == "sphere":
            return Fraction(self.size[0] ** 2, 10)
        if self.shape == "cylinder":
            across, height = Fraction(self.size[0] ** 2, 8), self.size[1]
            return across if axis == self.axis else across / 2 + Fraction(height**2, 12)
        a, b, c = (Fraction(edge**2, 12) for edge in self.size)
        cos2, sin2 = (Fraction(part**2, 100) for part in self.turn)
        return {"x": (b + c) * cos2 + (a + c) * sin2, "y": (a + c) * cos2 + (b + c) * sin2, "z": a + b}[axis]


def part_figures(bodies: Sequence[Body], ask: str, axis: str) -> list[Fraction]:
    """Return the figures asked for besides: a volume or mass each, or both terms of each."""
    if ask == "volume":
        return [body.volume for body in bodies]
    if ask == "moments":
        return [*(body.volume for body in bodies), *(body.volume * body.at[AXES.index(axis)] for body in bodies)]
    if ask == "terms":
        return [*(body.own_inertia(axis) for body in bodies), *(body.offset_inertia(axis) for body in bodies)]
    return [body.mass for body in bodies]


def asked_figure(bodies: Sequence[Body], ask: str, axis: str) -> Fraction:
    """Return the volume, mass, centre or moment of inertia asked for."""
    if ask in ("terms", "inertia"):
        return sum((body.own_inertia(axis) + body.offset_inertia(axis) for body in bodies), Fraction(0))
    total = sum((body.mass for body in bodies), Fraction(0))
    if ask in ("moments", "centre"):
        return sum((body.mass * body.at[AXES.index(axis)] for body in bodies), Fraction(0)) / total
    return total


def body_of(value: Json) -> Body:
    """Return the body that `body_json` wrote."""
    held = expect_map(value)
    x, y, z = _integers(held, "at")
    cos, sin = _integers(held, "turn")
    return Body(
        shape=expect_text(held["shape"]),
        size=_integers(held, "size"),
        density=expect_int(held["density"]),
        at=(x, y, z),
        bore=expect_int(held["bore"]),
        axis=expect_text(held["axis"]),
        turn=(cos, sin),
    )


def body_json(body: Body) -> dict[str, Json]:
    """Return `body` as plain JSON."""
    return {
        "shape": body.shape,
        "size": list(body.size),
        "density": body.density,
        "at": list(body.at),
        "bore": body.bore,
        "axis": body.axis,
        "turn": list(body.turn),
    }


def write_value(value: Fraction) -> str:
    """Return `value` to 5 significant digits, or to the nearest integer from 10,000 up."""
    return str(round(value)) if abs(value) >= 10_000 else f"{float(value):.5g}"


def _round_area(diameter: int) -> Fraction:
    return PI * diameter**2 / 4


def _integers(held: Mapping[str, Json], key: str) -> tuple[int, ...]:
    return tuple(map(expect_int, expect_list(held[key])))
