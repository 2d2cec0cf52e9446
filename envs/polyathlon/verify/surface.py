"""Triangle meshes as values: reading them safely, counting their defects, sampling and distances. NumPy alone."""

from __future__ import annotations

# sound everywhere, float: numpy's own numbers, no text
# sound everywhere, int: numpy's own numbers, no text
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polyathlon.canonical import Json

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MAX_FACES = 600
MAX_COORDINATE_MM = 10_000.0
MIN_HEIGHT_MM = 0.01
SAME_POINT_MM = 1e-6


class GeometryError(ValueError):
    """What was given is no usable geometry. The message can be shown to whoever gave it."""


@dataclass(frozen=True, slots=True)
class Mesh:
    """Triangles. `vertices` (V, 3) float64, mm; `faces` (F, 3) int64, counter-clockwise seen from outside."""

    vertices: Floats
    faces: Ints

    @property
    def corners(self) -> Floats:
        """The corners of each face: (F, 3, 3)."""
        return self.vertices[self.faces]


@dataclass(frozen=True, slots=True)
class Defects:
    """How often each defect occurs: edges with one face, with more than two, with two that disagree on the winding;
    faces given before; faces thinner than 0.01 mm; vertices that lie where another does; shells that are inside out.
    """

    open_edges: int
    crowded_edges: int
    winding_edges: int
    repeated_faces: int
    thin_faces: int
    repeated_vertices: int
    inverted_shells: int

    @property
    def total(self) -> int:
        return sum(self.counts().values())

    def counts(self) -> dict[str, int]:
        return {name: getattr(self, name) for name in self.__slots__}


def read_number(value: Json, where: str, *, low: float = -MAX_COORDINATE_MM, high: float = MAX_COORDINATE_MM) -> float:
    """Return `value` as a float in [low, high].

    Raises:
        GeometryError: no number (true is none), not finite, or out of range.

    """
    if type(value) not in (int, float):
        raise GeometryError(f"{where} must be a number, not {type(value).__name__}.")
    assert isinstance(value, int | float)
    if not low <= value <= high:
        raise GeometryError(f"{where} is out of range; it must lie in [{low:g}, {high:g}].")
    return float(value)


def read_vector(value: Json, where: str, *, size: int) -> tuple[float, ...]:
    """Return `value` as `size` numbers. Raises GeometryError as `read_number` does."""
    if not isinstance(value, list | tuple) or len(value) != size:
        raise GeometryError(f"{where} must be a list of {size} numbers.")
    return tuple(read_number(item, f"{where}[{place}]") for place, item in enumerate(value))


def read_mesh(vertices: Json, faces: Json) -> Mesh:
    """Return the mesh of two JSON lists: [x, y, z] a vertex and [a, b, c] a face, counted from 0.

    Raises:
        GeometryError: not of this form, a vertex that does not exist, or more than 600 faces.

    """
    if not isinstance(vertices, list | tuple) or not isinstance(faces, list | tuple):
        raise GeometryError("a mesh is two lists, vertices and faces.")
    if len(faces) > MAX_FACES or len(vertices) > 3 * MAX_FACES:
        raise GeometryError(f"the mesh has {len(faces)} faces; at most {MAX_FACES} are read.")
    points = [read_vector(item, f"vertices[{place}]", size=3) for place, item in enumerate(vertices)]
    triples = [read_face(item, f"faces[{place}]", num_vertices=len(points)) for place, item in enumerate(faces)]
    return mesh_of(points, triples)


def read_face(value: Json, where: str, *, num_vertices: int) -> tuple[int, int, int]:
    """Return three vertex numbers below `num_vertices`. Raises GeometryError."""
    if not isinstance(value, list | tuple) or len(value) != 3:
        raise GeometryError(f"{where} must be a list of 3 vertex numbers.")
    first, second, third = (read_index(item, where, limit=num_vertices) for item in value)
    return first, second, third


def read_index(value: Json, where: str, *, limit: int) -> int:
    """Return `value` as an integer in [0, limit). Raises GeometryError."""
    if type(value) is not int or not 0 <= value < limit:
        raise GeometryError(f"{where} names {str(value)[:20]}; numbers here are integers from 0 to {limit - 1}.")
    return value


def mesh_of(vertices: Sequence[Sequence[float]], faces: Sequence[Sequence[int]]) -> Mesh:
    """Return the mesh of plain lists that are known to be good."""
    points = np.array(vertices, dtype=np.float64).reshape(-1, 3)
    return Mesh(points, np.array(faces, dtype=np.int64).reshape(-1, 3))


def mesh_json(mesh: Mesh) -> dict[str, Json]:
    """Return `mesh` as {"vertices": ..., "faces": ...}, coordinates to a millionth of a mm."""
    return {"vertices": np.round(mesh.vertices, 6).tolist(), "faces": mesh.faces.tolist()}


def count_defects(mesh: Mesh) -> Defects:
    """Return how often each defect occurs in `mesh`."""
    directed = Counter((int(a), int(b)) for a, b in _edges(mesh.faces))
    undirected: Counter[tuple[int, int]] = Counter()
    for (a, b), times in directed.items():
        undirected[min(a, b), max(a, b)] += times
    winding = sum(times == 2 and directed[edge] != 1 for edge, times in undirected.items())
    closed = winding == 0 and all(times == 2 for times in undirected.values())
    return Defects(
        open_edges=sum(times == 1 for times in undirected.values()),
        crowded_edges=sum(times > 2 for times in undirected.values()),
        winding_edges=winding,
        repeated_faces=len(mesh.faces) - len({tuple(sorted(face)) for face in mesh.faces.tolist()}),
        thin_faces=int(np.count_nonzero(heights(mesh) < MIN_HEIGHT_MM)),
        repeated_vertices=num_repeated(mesh),
        inverted_shells=int(closed and len(mesh.faces) > 0 and signed_volume(mesh) <= 0.0),
    )


def num_repeated(mesh: Mesh) -> int:
    """Return how many vertices in use lie where an earlier one in use does."""
    used = mesh.vertices[np.unique(mesh.faces)]
    return len(used) - len(np.unique(np.round(used / SAME_POINT_MM), axis=0))


def open_edges(mesh: Mesh) -> list[tuple[int, int]]:
    """Return the edges that one face alone has, each in the direction that a face filling the hole needs."""
    directed = Counter((int(a), int(b)) for a, b in _edges(mesh.faces))
    return sorted((b, a) for (a, b), times in directed.items() if times == 1 and directed[b, a] == 0)


def heights(mesh: Mesh) -> Floats:
    """Return the smallest height of each face, (F,), in mm; 0 for a face without area."""
    corners = mesh.corners
    sides = np.linalg.norm(corners - np.roll(corners, -1, axis=1), axis=2)
    doubled = np.linalg.norm(_normals(corners), axis=1)
    longest = sides.max(axis=1, initial=0.0)
    return np.asarray(np.divide(doubled, longest, out=np.zeros_like(doubled), where=longest > 0.0))


def signed_volume(mesh: Mesh) -> float:
    """Return the volume that the faces enclose, mm^3: negative when they are wound inwards, meaningless when open."""
    a, b, c = (mesh.corners[:, k] for k in range(3))
    return float(np.einsum("ij,ij->", a, np.cross(b, c)) / 6.0)


def shells(mesh: Mesh) -> list[Mesh]:
    """Return the parts of `mesh` that share no edge, in the order of their first face."""
    owner: dict[tuple[int, int], int] = {}
    parent = list(range(len(mesh.faces)))

    def root(face: int) -> int:
        while parent[face] != face:
            parent[face] = parent[parent[face]]
            face = parent[face]
        return face

    for place, (a, b) in enumerate(_edges(mesh.faces).tolist()):
        other = owner.setdefault((min(a, b), max(a, b)), place % len(parent))
        first, second = sorted((root(other), root(place % len(parent))))
        parent[second] = first
    roots = np.array([root(face) for face in range(len(parent))], dtype=np.int64)
    return [Mesh(mesh.vertices, mesh.faces[roots == head]) for head in np.unique(roots)]


def sample_points(mesh: Mesh, num_points: int, rng: np.random.Generator) -> Floats:
    """Return `num_points` points on the faces, (N, 3), each face hit in proportion to its area.

    Raises:
        GeometryError: the faces have no area.

    """
    corners = mesh.corners
    areas = np.linalg.norm(_normals(corners), axis=1)
    if not areas.sum() > 0.0:
        raise GeometryError("the mesh has no area.")
    chosen = corners[rng.choice(len(areas), size=num_points, p=areas / areas.sum())]
    first, second = rng.random((2, num_points, 1))
    flip = first + second > 1.0
    first, second = np.where(flip, 1.0 - first, first), np.where(flip, 1.0 - second, second)
    return np.asarray(chosen[:, 0] + first * (chosen[:, 1] - chosen[:, 0]) + second * (chosen[:, 2] - chosen[:, 0]))


def distances(points: Floats, mesh: Mesh) -> Floats:
    """Return how far each of `points` (N, 3) lies from the nearest face of `mesh`, (N,), mm.

    Raises:
        GeometryError: the mesh has no faces.

    """
    if not len(mesh.faces):
        raise GeometryError("the mesh has no faces.")
    corners, used = mesh.corners, mesh.vertices[np.unique(mesh.faces)]
    low, high = corners.min(axis=1), corners.max(axis=1)
    found, chunk = np.empty(len(points)), max(1, 400_000 // len(mesh.faces))
    for start in range(0, len(points), chunk):
        here = points[start : start + chunk]
        corner = used[np.argmin(_squared(used) - 2.0 * here @ used.T, axis=1)]  # the nearest, or all but
        most = _squared(here - corner)[:, None] * (1.0 + 1e-9)
        row, face = np.nonzero(_squared(np.clip(here[:, None], low, high) - here[:, None]) <= most)
        spot, (a, b, c) = here[row], (corners[face, k] for k in range(3))
        edges = np.minimum(np.minimum(_to_segment(spot, a, b), _to_segment(spot, b, c)), _to_segment(spot, c, a))
        nearest = np.minimum(edges, _to_plane(spot, a, b, c))
        found[start : start + chunk] = np.minimum.reduceat(nearest, np.flatnonzero(np.diff(row, prepend=-1)))
    return np.asarray(np.sqrt(found))


def crosses_itself(mesh: Mesh) -> bool:
    """Return whether an edge of some face passes through the inside of another face that it does not touch."""
    corners = mesh.corners
    low, high = corners.min(axis=1), corners.max(axis=1)
    overlap = np.all((low[:, None] < high[None]) & (low[None] < high[:, None]), axis=2)
    np.fill_diagonal(overlap, val=False)
    first, second = np.nonzero(overlap)
    for side in range(3):
        start, end = mesh.faces[first, side], mesh.faces[first, (side + 1) % 3]
        target = mesh.faces[second]
        apart = np.all((target != start[:, None]) & (target != end[:, None]), axis=1)
        rows = np.nonzero(apart)[0]
        if np.any(_pierces(mesh.vertices[start[rows]], mesh.vertices[end[rows]], corners[second[rows]])):
            return True
    return False


def _edges(faces: Ints) -> Ints:
    """Return the directed edges, (3F, 2): the first edges of all faces, then the second, then the third."""
    return np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])


def _normals(corners: Floats) -> Floats:
    return np.asarray(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]))


def _pierces(start: Floats, end: Floats, corners: Floats) -> NDArray[np.bool_]:
    """Return where the segment start-end (N, 3) crosses the inside of the triangle `corners` (N, 3, 3), strictly."""
    origin, one, two = corners[:, 0], corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    along = end - start
    across = np.cross(along, two)
    determinant = np.einsum("ij,ij->i", one, across)
    with np.errstate(divide="ignore", invalid="ignore"):
        offset = start - origin
        u = np.einsum("ij,ij->i", offset, across) / determinant
        turned = np.cross(offset, one)
        v = np.einsum("ij,ij->i", along, turned) / determinant
        t = np.einsum("ij,ij->i", two, turned) / determinant
        inside = (u > 1e-7) & (v > 1e-7) & (u + v < 1.0 - 1e-7)
    return np.asarray(inside & (t > 1e-7) & (t < 1.0 - 1e-7))


def _squared(gaps: Floats) -> Floats:
    return np.asarray(np.einsum("...i,...i->...", gaps, gaps))


def _to_segment(points: Floats, start: Floats, end: Floats) -> Floats:
    """Return squared distances, (P,), from points (P, 3) to segments (P, 3)."""
    along = end - start
    length = np.einsum("...i,...i->...", along, along)
    place = np.einsum("...i,...i->...", points - start, along) / np.where(length > 0.0, length, 1.0)
    gap = points - (start + np.clip(place, 0.0, 1.0)[..., None] * along)
    return _squared(gap)


def _to_plane(points: Floats, a: Floats, b: Floats, c: Floats) -> Floats:
    """Return squared distances, (P,), to each face's plane where the foot lies inside the face, else infinity."""
    normal = np.cross(b - a, c - a)
    size = np.einsum("...i,...i->...", normal, normal)
    size = np.where(size > 0.0, size, np.inf)
    offset = points - a
    u = np.einsum("...i,...i->...", np.cross(offset, c - a), normal) / size
    v = np.einsum("...i,...i->...", np.cross(b - a, offset), normal) / size
    height = np.einsum("...i,...i->...", offset, normal)
    inside = (u >= 0.0) & (v >= 0.0) & (u + v <= 1.0) & np.isfinite(size)
    return np.asarray(np.where(inside, height**2 / size, np.inf))
