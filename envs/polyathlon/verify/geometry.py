"""Solids: what counts as one, how much two agree, and what a ray meets. Loads manifold3d."""

from __future__ import annotations

# sound everywhere, float: the kernel's own numbers, no text
# sound everywhere, int: the kernel's own numbers, no text
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import manifold3d
import numpy as np

from polyathlon.verify.surface import (
    MIN_HEIGHT_MM,
    Floats,
    GeometryError,
    Mesh,
    count_defects,
    crosses_itself,
    shells,
    signed_volume,
)
from polyathlon.verify.text import above

Solid: TypeAlias = manifold3d.Manifold
Vector = tuple[float, float, float]

CIRCLE_SIDES = 64
MIN_VOLUME_MM3 = 1e-3
MAX_TRIANGLES = 12_000
_SLACK = 1e-6


@dataclass(frozen=True, slots=True)
class Hit:
    """What a ray meets first: `inside` says whether it starts in material; `distance_mm` is None if nothing is."""

    inside: bool
    distance_mm: float | None


@dataclass(frozen=True, slots=True)
class Loop:
    """One closed line of a section: its area (negative for a hole), mm^2, and its extent in the plane, mm."""

    area: float
    low: tuple[float, float]
    high: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Report:
    """Figures of a solid: mm, mm^3, mm^2. `genus` counts through-holes, over all components together."""

    volume: float
    area: float
    low: Vector
    high: Vector
    components: int
    genus: int
    triangles: int


def box(low: Vector, high: Vector) -> Solid:
    """Return the box between two corners."""
    size = [top - bottom for bottom, top in zip(low, high, strict=True)]
    return manifold3d.Manifold.cube(size).translate(list(low))


def prism(points: Sequence[Sequence[float]], low: float, high: float) -> Solid:
    """Return the simple polygon `points` [(x, y), ...] drawn up from z = low to high; empty if it has no inside."""
    outline = manifold3d.CrossSection([np.array(points, dtype=np.float64)], manifold3d.FillRule.NonZero)
    solid = manifold3d.Manifold.extrude(outline, high - low)
    return solid.translate([0.0, 0.0, low])


def empty() -> Solid:
    """Return the solid that holds nothing."""
    return manifold3d.Manifold()


def side_by_side(solids: Sequence[Solid]) -> Solid | None:
    """Return `solids` as one without a boolean when their boxes do not touch, else None."""
    boxes = np.array([solid.bounding_box() for solid in solids])  # (N, 6)
    low, high = boxes[:, :3], boxes[:, 3:]
    touching = np.all((low[:, None] <= high[None]) & (low[None] <= high[:, None]), axis=2)
    return manifold3d.Manifold.compose(list(solids)) if int(touching.sum()) == len(solids) else None


def boolean_work(solid: Solid, tools: Sequence[Solid]) -> int:
    """Return about how many microseconds a boolean of `solid` with `tools` takes, before it is done.

    The kernel's time grows with the faces handled, and with the pairs of faces that may meet.
    """
    corners = surface_of(solid).corners
    low, high = corners.min(axis=1), corners.max(axis=1)  # (F, 3) each
    work = len(corners)
    for tool in tools:
        bounds = np.array(tool.bounding_box())
        near = np.count_nonzero(np.all((low <= bounds[3:]) & (high >= bounds[:3]), axis=1))
        work += int(tool.num_tri()) * (1 + int(near) // 4)
    return work


def sound_solid(mesh: Mesh) -> Solid:
    """Return `mesh` as a solid of positive volume, overlapping shells united and cavities taken out.

    Raises:
        GeometryError: it is empty, open, crowded, wound wrongly, crosses itself, has a thin face, a shell inside out or
            without volume. The message says which.

    """
    if not len(mesh.faces):
        raise GeometryError("there are no faces.")
    if not np.all(np.isfinite(mesh.vertices)):
        raise GeometryError("a coordinate is not finite.")
    counts = count_defects(mesh).counts()
    for name in ("open_edges", "crowded_edges", "winding_edges", "thin_faces"):
        if counts[name]:
            limit = f" (thinner than {MIN_HEIGHT_MM} mm)" if name == "thin_faces" else ""
            raise GeometryError(f"{counts[name]} {name.replace('_', ' ')}{limit}.")
    return _united(sorted(shells(mesh), key=_box_volume, reverse=True))


def report(solid: Solid) -> Report:
    """Return the figures of `solid`."""
    bounds = [float(x) for x in solid.bounding_box()] if not solid.is_empty() else [0.0] * 6
    pieces = solid.decompose() if not solid.is_empty() else []
    bodies = [piece for piece in pieces if piece.volume() > 0.0]
    return Report(
        volume=float(solid.volume()),
        area=float(solid.surface_area()),
        low=(bounds[0], bounds[1], bounds[2]),
        high=(bounds[3], bounds[4], bounds[5]),
        components=len(bodies),
        genus=sum(int(piece.genus()) for piece in pieces),
        triangles=int(solid.num_tri()),
    )


def volume(solid: Solid) -> float:
    """Return the volume, mm^3, overlaps counted once when the solid came from `sound_solid` or a boolean."""
    return float(solid.volume())


def iou(left: Solid, right: Solid) -> float:
    """Return the volume of the intersection over that of the union, in [0, 1]; 0 when either holds nothing.

    Raises:
        GeometryError: the volumes do not fit together (one of them was no sound solid).

    """
    if not volume(left) > MIN_VOLUME_MM3 or not volume(right) > MIN_VOLUME_MM3:
        return 0.0
    both = volume(left ^ right)
    either = volume(left) + volume(right) - both  # each counts its overlaps once, so no second boolean is needed
    share = both / either if either > 0.0 else -1.0
    if not -_SLACK <= share <= 1.0 + _SLACK:
        raise GeometryError(f"intersection {both} and union {either} do not fit together.")
    return round(abs(share), 9) if share < 1.0 else 1.0


def hull(solid: Solid) -> Solid:
    """Return the convex hull."""
    return solid.hull()


def bounding_block(solid: Solid) -> Solid:
    """Return the bounding box as a solid."""
    bounds = report(solid)
    return box(bounds.low, bounds.high)


def blind_iou(solid: Solid) -> float:
    """Return the best agreement with `solid` that its bounding box, its convex hull or nothing at all have.

    Raises:
        GeometryError: `solid` holds nothing.

    """
    if not volume(solid) > MIN_VOLUME_MM3:
        raise GeometryError("nothing agrees with an empty solid.")
    inside = volume(solid)
    return max(inside / volume(block) for block in (bounding_block(solid), hull(solid)))  # both hold all of it


def rescaled_iou(found: float, blind: float) -> float:
    """Return the agreement `found` with that of a blind block at 0, and an exact copy at 1."""
    return above(found, blind) if blind < 1.0 else 0.0


def first_hit(solid: Solid, origin: Vector, direction: Vector, length_mm: float) -> Hit:
    """Return what the ray from `origin` along the unit vector `direction` meets first within `length_mm`.

    Whether it starts inside is read from the side of the first face met, over a ray that leaves the solid's box.
    """
    if solid.is_empty():
        return Hit(inside=False, distance_mm=None)
    reach = length_mm + 2.0 * sum(abs(x) for x in (*solid.bounding_box(), *origin)) + 1.0
    end = [start + reach * along for start, along in zip(origin, direction, strict=True)]
    hits = solid.ray_cast(list(origin), end)
    if not hits:
        return Hit(inside=False, distance_mm=None)
    nearest = min(hits, key=lambda hit: hit.distance)
    outward = sum(float(n) * along for n, along in zip(nearest.normal, direction, strict=True))
    gaps = (float(p) - start for p, start in zip(nearest.position, origin, strict=True))
    distance = sum(gap * along for gap, along in zip(gaps, direction, strict=True))
    return Hit(inside=outward > 0.0, distance_mm=distance if distance <= length_mm else None)


def section_of(solid: Solid, axis: str, at: float) -> tuple[float, list[Loop]]:
    """Return the area, mm^2, that the plane `axis` = `at` cuts out of `solid`, and its loops.

    The plane's two axes keep their order: y and z for a cut across x, x and z across y, x and y across z.
    """
    rows = {"x": [[0, 1, 0], [0, 0, 1], [1, 0, 0]], "y": [[1, 0, 0], [0, 0, 1], [0, -1, 0]]}
    sign = -1.0 if axis == "y" else 1.0  # a proper rotation of x, z, y turns y round
    turned = solid if axis == "z" else solid.transform(np.hstack([np.array(rows[axis], dtype=float), np.zeros((3, 1))]))
    cut = turned.slice(sign * at)
    loops = [np.array(polygon, dtype=np.float64)[:, :2] for polygon in cut.to_polygons()]
    return float(cut.area()), [_loop(points) for points in loops]


def surface_of(solid: Solid) -> Mesh:
    """Return the faces of `solid`."""
    raw = solid.to_mesh64()
    return Mesh(np.array(raw.vert_properties, dtype=np.float64)[:, :3], np.array(raw.tri_verts, dtype=np.int64))


def checked(solid: Solid) -> Solid:
    """Return `solid`, worked out.

    Raises:
        GeometryError: the kernel says it is no manifold, or it has more than 12,000 triangles.

    """
    if solid.num_tri() > MAX_TRIANGLES:
        raise GeometryError(f"the part has {solid.num_tri()} triangles; at most {MAX_TRIANGLES} are allowed.")
    if solid.status() != manifold3d.Error.NoError:
        raise GeometryError(f"the part is no sound solid: {solid.status().name}.")
    return solid


def _united(pieces: Sequence[Mesh]) -> Solid:
    """Return shells, largest first, added where they are wound outwards and taken out where they bound a cavity."""
    solid = empty()
    for piece in pieces:
        enclosed = signed_volume(piece)
        if not abs(enclosed) > MIN_VOLUME_MM3:
            raise GeometryError("a shell encloses no volume.")
        if crosses_itself(piece):
            raise GeometryError("a shell crosses itself.")
        shell = _kernel_solid(piece if enclosed > 0.0 else Mesh(piece.vertices, piece.faces[:, ::-1]))
        if enclosed < 0.0 and volume(shell - solid) > _SLACK * abs(enclosed):
            raise GeometryError("a shell is inside out: its faces are wound inwards, and it bounds no cavity.")
        solid = checked(solid + shell if enclosed > 0.0 else solid - shell)
    if not volume(solid) > MIN_VOLUME_MM3:
        raise GeometryError("there is no volume.")
    return solid


def _loop(points: Floats) -> Loop:
    after = np.roll(points, -1, axis=0)
    area = float((points[:, 0] * after[:, 1] - points[:, 1] * after[:, 0]).sum()) / 2.0
    low, high = points.min(axis=0).tolist(), points.max(axis=0).tolist()
    return Loop(area, (low[0], low[1]), (high[0], high[1]))


def _kernel_solid(mesh: Mesh) -> Solid:
    used, faces = np.unique(mesh.faces, return_inverse=True)
    points = np.ascontiguousarray(mesh.vertices[used])
    raw = manifold3d.Mesh64(points, np.ascontiguousarray(faces.reshape(-1, 3).astype(np.uint64)))
    return checked(manifold3d.Manifold(raw))


def _box_volume(mesh: Mesh) -> float:
    used = mesh.vertices[np.unique(mesh.faces)]
    return float(np.prod(used.max(axis=0) - used.min(axis=0)))
