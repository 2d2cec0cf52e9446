"""Edits on a triangle mesh, in JSON: what a policy repairs with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from polyathlon.canonical import Json
from polyathlon.verify.surface import (
    MAX_FACES,
    MIN_HEIGHT_MM,
    Floats,
    GeometryError,
    Mesh,
    count_defects,
    heights,
    mesh_of,
    open_edges,
    read_face,
    read_index,
    read_mesh,
    read_number,
    read_vector,
    shells,
    signed_volume,
)

EDITS = """A change is JSON: {"edits": [...]}, applied in order, or a whole mesh {"vertices": [...], "faces": [...]}.
An edit is one of {"delete": [faces]}, {"flip": [faces]}, {"merge": [v, w]} (v becomes w; faces that
collapse are dropped), {"fill": [vertices of a flat loop, counter-clockwise seen from outside]}, {"face": [a, b, c]},
{"vertex": [x, y, z]} (takes the next number), {"scale": factor}. Within one change faces keep their numbers and
new ones come after; afterwards faces are numbered from 0 again, without gaps. Vertices keep their numbers."""

MAX_EDITS = 500
MAX_LOOP = 64
_EPSILON = 1e-9

_Faces = list[tuple[int, int, int] | None]
_Vertices = list[tuple[float, ...]]


def apply_change(mesh: Mesh, change: Json) -> Mesh:
    """Return `mesh` after `change`: edits, or a whole mesh in its place.

    Raises:
        GeometryError: a form that is none of these, a number that names nothing, or a mesh that grows too large.

    """
    if not isinstance(change, Mapping):
        raise GeometryError('a change is an object with "edits", or with "vertices" and "faces".')
    if set(change) == {"vertices", "faces"}:
        return read_mesh(change["vertices"], change["faces"])
    edits = change.get("edits")
    if set(change) != {"edits"} or not isinstance(edits, list | tuple):
        raise GeometryError('a change has the key "edits" alone (a list), or "vertices" and "faces".')
    if len(edits) > MAX_EDITS:
        raise GeometryError(f"there are {len(edits)} edits; at most {MAX_EDITS} are made at once.")
    vertices: _Vertices = [tuple(point) for point in mesh.vertices.tolist()]
    faces: _Faces = [(a, b, c) for a, b, c in mesh.faces.tolist()]
    for place, edit in enumerate(edits):
        vertices = _edited(vertices, faces, edit, f"edits[{place}]")
    kept = [face for face in faces if face is not None]
    if len(kept) > MAX_FACES or len(vertices) > 3 * MAX_FACES:
        raise GeometryError(f"the mesh would have {len(kept)} faces; at most {MAX_FACES} are kept.")
    if any(not abs(x) <= 1e7 for point in vertices for x in point):
        raise GeometryError("a coordinate would leave the range of 10 km.")
    return mesh_of(vertices, kept)


def write_mesh(mesh: Mesh) -> str:
    """Return `mesh` as text, a vertex or face a line, with their numbers."""
    points = (" ".join(f"{x:.10g}" for x in point) for point in mesh.vertices.tolist())
    lines = [f"v{place} {point}" for place, point in enumerate(points)]
    return "\n".join([*lines, *(f"f{place} {a} {b} {c}" for place, (a, b, c) in enumerate(mesh.faces.tolist()))])


def list_defects(mesh: Mesh) -> str:
    """Return the defects of `mesh` in words, with the numbers of what they concern; and its shells."""
    lines = [f"{name.replace('_', ' ')}: {count}" for name, count in count_defects(mesh).counts().items() if count]
    edges = open_edges(mesh)
    if edges:
        lines.append("open edges, directed as a filling face needs them: " + ", ".join(f"{a}-{b}" for a, b in edges))
    keys = [tuple(sorted(face)) for face in mesh.faces.tolist()]
    again = [place for place, key in enumerate(keys) if key in keys[:place]]
    if again:
        lines.append(f"faces given before: {_numbers(again)}")
    thin = np.nonzero(heights(mesh) < MIN_HEIGHT_MM)[0].tolist()
    if thin:
        lines.append(f"faces thinner than {MIN_HEIGHT_MM} mm: {_numbers(thin)}")
    parts = shells(mesh) if len(mesh.faces) else []
    for number, part in enumerate(parts):
        first = int(np.nonzero((mesh.faces == part.faces[0]).all(axis=1))[0][0])
        lines.append(f"shell {number}: {len(part.faces)} faces, face {first} among them; {_size(part)}")
    return "\n".join(lines) if lines else "there are no faces"


def _edited(vertices: _Vertices, faces: _Faces, edit: Json, where: str) -> _Vertices:
    """Change `faces` in place by one edit, and return the vertices after it."""
    if not isinstance(edit, Mapping) or len(edit) != 1:
        raise GeometryError(f"{where} must be an object with one key.")
    (name, value), here = next(iter(edit.items())), f"{where}.{next(iter(edit))}"[:80]
    if name == "vertex":
        return [*vertices, read_vector(value, here, size=3)]
    if name == "scale":
        factor = read_number(value, here, low=1e-3, high=1e3)
        return [tuple(factor * x for x in point) for point in vertices]
    if name in ("delete", "flip"):
        for number in _faces_named(value, faces, here):
            face = faces[number]
            faces[number] = (face[0], face[2], face[1]) if face is not None and name == "flip" else None
    elif name == "merge":
        _merge(faces, *_vertices_named(value, vertices, here, fewest=2, most=2))
    elif name == "fill":
        faces.extend(_filled(vertices, _vertices_named(value, vertices, here, fewest=3, most=MAX_LOOP)))
    elif name == "face":
        faces.append(read_face(value, here, num_vertices=len(vertices)))
    else:
        raise GeometryError(f"{where}: there is no edit {name[:30]!r}; see the instructions.")
    return vertices


def _merge(faces: _Faces, old: int, new: int) -> None:
    for number, face in enumerate(faces):
        if face is not None and old in face and old != new:
            a, b, c = (new if corner == old else corner for corner in face)
            faces[number] = (a, b, c) if len({a, b, c}) == 3 else None


def _faces_named(value: Json, faces: _Faces, where: str) -> list[int]:
    if not isinstance(value, list | tuple):
        raise GeometryError(f"{where} must be a list of face numbers.")
    numbers = [read_index(item, where, limit=len(faces)) for item in value]
    for number in numbers:
        if faces[number] is None or numbers.count(number) > 1:
            raise GeometryError(f"{where}: face {number} is named twice, or is already gone.")
    return numbers


def _vertices_named(value: Json, vertices: _Vertices, where: str, *, fewest: int, most: int) -> list[int]:
    if not isinstance(value, list | tuple) or not fewest <= len(value) <= most:
        raise GeometryError(f"{where} must be a list of {fewest} to {most} vertex numbers.")
    return [read_index(item, where, limit=len(vertices)) for item in value]


def _filled(vertices: _Vertices, loop: Sequence[int]) -> list[tuple[int, int, int]]:
    """Return triangles over `loop` by cutting ears in the plane that the loop's area vector names."""
    points = np.array([vertices[number] for number in loop])
    normal = np.cross(points, np.roll(points, -1, axis=0)).sum(axis=0)
    keep = [axis for axis in range(3) if axis != int(np.argmax(np.abs(normal)))]
    flat = points[:, keep]
    spread = np.roll(flat, -1, axis=0)
    sign = 1.0 if float((flat[:, 0] * spread[:, 1] - flat[:, 1] * spread[:, 0]).sum()) > 0.0 else -1.0
    left = list(range(len(loop)))
    triangles: list[tuple[int, int, int]] = []
    while len(left) > 3:
        ear = next((place for place in range(len(left)) if _is_ear(flat, left, place, sign)), 0)
        a, b, c = left[ear - 1], left[ear], left[(ear + 1) % len(left)]
        triangles.append((loop[a], loop[b], loop[c]))
        del left[ear]
    return [*triangles, (loop[left[0]], loop[left[1]], loop[left[2]])]


def _is_ear(flat: Floats, left: Sequence[int], place: int, sign: float) -> bool:
    a, b, c = (flat[left[(place + step) % len(left)]] for step in (-1, 0, 1))
    if not sign * _turn(a, b, c) > _EPSILON:
        return False
    others = [flat[k] for k in left if k not in (left[place - 1], left[place], left[(place + 1) % len(left)])]
    return not any(min(sign * _turn(*pair, p) for pair in ((a, b), (b, c), (c, a))) >= -_EPSILON for p in others)


def _turn(a: Floats, b: Floats, c: Floats) -> float:
    return float((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))


def _numbers(places: Sequence[int]) -> str:
    return ", ".join(map(str, places))


def _size(part: Mesh) -> str:
    counts = count_defects(part)
    if counts.open_edges or counts.crowded_edges or counts.winding_edges:
        return "not closed"
    return f"closed, signed volume {signed_volume(part):.6g}"
