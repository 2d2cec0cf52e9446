"""Damage to a sound mesh, as plain JSON that names faces and vertices of the sound one; and the edits that undo it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from polyathlon.canonical import Json, expect_int, expect_list, expect_map, expect_text
from polyathlon.verify.surface import Mesh, mesh_of

KINDS = ("hole", "flip", "repeat", "seam", "sliver", "fin")
NOT_PATCHED = ("flip", "seam", "sliver", "fin")
"""Kinds that are not mended by closing what is open and deleting what is given twice."""
MAX_TRIES = 30

_Site = dict[str, Json]
_Face = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Damaged:
    """A damaged mesh in the coordinates of its file, and the edits, in order, that make the sound one of it."""

    mesh: Mesh
    edits: tuple[Json, ...]


@dataclass(slots=True)
class _Work:
    """A mesh being damaged. Faces and vertices keep their places; a face or vertex that is gone is None."""

    vertices: list[tuple[float, ...] | None]
    faces: list[_Face | None]
    spare: list[int] = field(default_factory=list)
    merges: list[tuple[int, int]] = field(default_factory=list)
    flipped: list[int] = field(default_factory=list)
    missing: list[_Face] = field(default_factory=list)
    lost: dict[int, tuple[float, ...]] = field(default_factory=dict)


def draw_site(kind: str, mesh: Mesh, taken: set[int], rng: np.random.Generator) -> _Site | None:
    """Return damage of `kind` clear of the vertices in `taken`, and add its own to them; None if there is no room."""
    for _ in range(MAX_TRIES):
        site = _DRAW[kind](mesh, rng)
        touched = _touched(site, mesh)
        if touched and not touched & taken:
            taken |= touched
            return site
    return None


def damage(mesh: Mesh, sites: Sequence[Json], *, unit_mm: float, rng: np.random.Generator) -> Damaged:
    """Return `mesh` (mm) with `sites` damaged, written in a unit of `unit_mm`, numbered anew at random."""
    vertices: list[tuple[float, ...] | None] = [tuple(point) for point in mesh.vertices.tolist()]
    work = _Work(vertices, [(a, b, c) for a, b, c in mesh.faces.tolist()])
    for site in map(expect_map, sites):
        _APPLY[expect_text(site["kind"])](work, site)
    return _renumbered(work, unit_mm, rng)


def _renumbered(work: _Work, unit_mm: float, rng: np.random.Generator) -> Damaged:
    living = [place for place, point in enumerate(work.vertices) if point is not None]
    number = {living[int(old)]: new for new, old in enumerate(rng.permutation(len(living)))}
    places = [place for place, face in enumerate(work.faces) if face is not None]
    order = [places[int(k)] for k in rng.permutation(len(places))]
    where = {place: new for new, place in enumerate(order)}
    points: list[tuple[float, ...]] = [()] * len(living)
    for place, new in number.items():
        points[new] = tuple(round(x / unit_mm, 5) for x in work.vertices[place] or ())
    faces = [tuple(number[corner] for corner in work.faces[place] or ()) for place in order]
    edits: list[Json] = []
    for place, point in work.lost.items():
        number[place] = len(points) + len(edits)
        edits.append({"vertex": [round(x / unit_mm, 5) for x in point]})
    edits.extend({"merge": [number[old], number[new]]} for old, new in work.merges)
    if work.spare:
        edits.append({"delete": sorted(where[place] for place in work.spare)})
    if work.flipped:
        edits.append({"flip": sorted(where[place] for place in work.flipped)})
    edits.extend({"face": [number[corner] for corner in face]} for face in work.missing)
    if unit_mm != 1.0:
        edits.append({"scale": unit_mm})
    return Damaged(mesh_of(points, faces), tuple(edits))


def _draw_hole(mesh: Mesh, rng: np.random.Generator) -> _Site:
    return {"kind": "hole", "faces": _patch(mesh, rng, int(rng.integers(1, 3)))}


def _draw_wide_hole(mesh: Mesh, rng: np.random.Generator) -> _Site:
    return {"kind": "hole", "faces": _patch(mesh, rng, int(rng.integers(3, 7)))}


def _draw_corner(mesh: Mesh, rng: np.random.Generator) -> _Site:
    return {"kind": "corner", "vertex": int(rng.integers(len(mesh.vertices)))}


def _draw_flip(mesh: Mesh, rng: np.random.Generator) -> _Site:
    return {"kind": "flip", "faces": _patch(mesh, rng, int(rng.integers(1, 4)))}


def _draw_repeat(mesh: Mesh, rng: np.random.Generator) -> _Site:
    return {"kind": "repeat", "faces": _patch(mesh, rng, int(rng.integers(1, 3))), "turned": int(rng.integers(2))}


def _draw_seam(mesh: Mesh, rng: np.random.Generator) -> _Site:
    vertex = int(rng.integers(len(mesh.vertices)))
    star = _star(mesh, vertex)
    chosen = rng.permutation(len(star))[: max(1, len(star) // 2)]
    return {"kind": "seam", "vertex": vertex, "faces": sorted(star[int(k)] for k in chosen)}


def _draw_sliver(mesh: Mesh, rng: np.random.Generator) -> _Site:
    face = int(rng.integers(len(mesh.faces)))
    side = int(rng.integers(3))
    return {"kind": "sliver", "face": face, "side": side, "at": int(rng.integers(3, 8))}


def _draw_fin(mesh: Mesh, rng: np.random.Generator) -> _Site:
    tip: Json = [int(x) for x in rng.integers(3, 9, size=3) * rng.choice([-1, 1], size=3)]
    return {"kind": "fin", "face": int(rng.integers(len(mesh.faces))), "side": int(rng.integers(3)), "tip": tip}


_DRAW: Mapping[str, Callable[[Mesh, np.random.Generator], _Site]] = {
    "hole": _draw_hole,
    "wide hole": _draw_wide_hole,
    "corner": _draw_corner,
    "flip": _draw_flip,
    "repeat": _draw_repeat,
    "seam": _draw_seam,
    "sliver": _draw_sliver,
    "fin": _draw_fin,
}


def _hole(work: _Work, site: Mapping[str, Json]) -> None:
    for place in map(expect_int, expect_list(site["faces"])):
        work.missing.append(_face(work, place))
        work.faces[place] = None


def _corner(work: _Work, site: Mapping[str, Json]) -> None:
    vertex = expect_int(site["vertex"])
    for place, face in enumerate(work.faces):
        if face is not None and vertex in face:
            work.missing.append(face)
            work.faces[place] = None
    work.lost[vertex] = work.vertices[vertex] or ()
    work.vertices[vertex] = None


def _flip(work: _Work, site: Mapping[str, Json]) -> None:
    for place in map(expect_int, expect_list(site["faces"])):
        a, b, c = _face(work, place)
        work.faces[place] = (a, c, b)
        work.flipped.append(place)


def _repeat(work: _Work, site: Mapping[str, Json]) -> None:
    for place in map(expect_int, expect_list(site["faces"])):
        a, b, c = _face(work, place)
        _spare(work, (a, c, b) if site["turned"] else (b, c, a))


def _seam(work: _Work, site: Mapping[str, Json]) -> None:
    vertex, copy = expect_int(site["vertex"]), len(work.vertices)
    work.vertices.append(work.vertices[vertex])
    for place in map(expect_int, expect_list(site["faces"])):
        a, b, c = (copy if corner == vertex else corner for corner in _face(work, place))
        work.faces[place] = (a, b, c)
    work.merges.append((copy, vertex))


def _sliver(work: _Work, site: Mapping[str, Json]) -> None:
    place, a, b, c = _side(work, site)
    share = expect_int(site["at"]) / 10.0
    ends = zip(work.vertices[a] or (), work.vertices[b] or (), strict=True)
    between = len(work.vertices)
    work.vertices.append(tuple(p + share * (q - p) for p, q in ends))
    work.faces[place] = (between, b, c)
    work.faces.extend([(a, between, c), (a, b, between)])
    work.merges.append((between, a))


def _fin(work: _Work, site: Mapping[str, Json]) -> None:
    _, a, b, _ = _side(work, site)
    shift = map(expect_int, expect_list(site["tip"]))
    ends = zip(work.vertices[a] or (), work.vertices[b] or (), strict=True)
    work.vertices.append(tuple((p + q) / 2.0 + d for (p, q), d in zip(ends, shift, strict=True)))
    _spare(work, (a, b, len(work.vertices) - 1))


def _shell(work: _Work, site: Mapping[str, Json]) -> None:
    start = len(work.vertices)
    points = [[_real(x) for x in expect_list(point)] for point in expect_list(site["points"])]
    work.vertices.extend(tuple(point) for point in points)
    for a, b, c in ((0, 2, 1), (0, 1, 3), (1, 2, 3), (0, 3, 2)):
        b, c = (c, b) if site["inward"] else (b, c)
        _spare(work, (start + a, start + b, start + c))


_APPLY: Mapping[str, Callable[[_Work, Mapping[str, Json]], None]] = {
    "hole": _hole,
    "corner": _corner,
    "flip": _flip,
    "repeat": _repeat,
    "seam": _seam,
    "sliver": _sliver,
    "fin": _fin,
    "shell": _shell,
}


def _touched(site: Mapping[str, Json], mesh: Mesh) -> set[int]:
    """Return the vertices of all faces that a site changes, and of their neighbours at a split edge."""
    if "vertex" in site:
        places = _star(mesh, expect_int(site["vertex"]))
    elif "side" in site:
        corners = mesh.faces[expect_int(site["face"])].tolist()
        a, b = corners[expect_int(site["side"])], corners[(expect_int(site["side"]) + 1) % 3]
        places = [place for place in _star(mesh, a) if b in mesh.faces[place]]
    else:
        places = [*map(expect_int, expect_list(site["faces"]))]
    return {int(corner) for place in places for corner in mesh.faces[place]}


def _patch(mesh: Mesh, rng: np.random.Generator, size: int) -> list[Json]:
    """Return up to `size` faces that hang together by edges."""
    patch = [int(rng.integers(len(mesh.faces)))]
    while len(patch) < size:
        edge = {int(corner) for place in patch for corner in mesh.faces[place]}
        near = [
            place
            for place, face in enumerate(mesh.faces.tolist())
            if place not in patch and len(edge.intersection(face)) >= 2
        ]
        patch.append(near[int(rng.integers(len(near)))])
    return [*sorted(patch)]


def _star(mesh: Mesh, vertex: int) -> list[int]:
    return [int(place) for place in np.nonzero((mesh.faces == vertex).any(axis=1))[0]]


def _side(work: _Work, site: Mapping[str, Json]) -> tuple[int, int, int, int]:
    place, side = expect_int(site["face"]), expect_int(site["side"])
    face = _face(work, place)
    return place, face[side], face[(side + 1) % 3], face[(side + 2) % 3]


def _face(work: _Work, place: int) -> _Face:
    face = work.faces[place]
    assert face is not None
    return face


def _spare(work: _Work, face: _Face) -> None:
    work.spare.append(len(work.faces))
    work.faces.append(face)


def _real(value: Json) -> float:
    assert isinstance(value, int | float)
    return float(value)
