"""Attacks on geometry: meshes that lie about what they enclose, programs that stand in for a part. Section 3E."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from polyathlon.canonical import Json, canonical_json
from polyathlon.inspect.attacks.attack import Attack, Scene
from polyathlon.inspect.attacks.payload import Payload
from polyathlon.verify.surface import GeometryError, Mesh, mesh_json, read_mesh
from polyathlon.workspaces.mesh_edits import apply_change

Surface = Callable[[Mesh], "dict[str, Json] | None"]


def _right_mesh(scene: Scene, payload: Payload) -> Mesh | None:
    """Return the mesh that the reference ends with: handed in whole, or edited out of the one that was given."""
    value = payload.value
    given = scene.public.get("mesh")
    try:
        if isinstance(value, dict) and set(value) == {"vertices", "faces"}:
            return read_mesh(value["vertices"], value["faces"])
        if isinstance(value, dict) and set(value) == {"edits"} and isinstance(given, Mapping):
            return apply_change(read_mesh(given["vertices"], given["faces"]), value)
    except (GeometryError, KeyError):
        return None
    return None


def _surface(change: Surface, scene: Scene, _: np.random.Generator) -> Sequence[str] | None:
    payload = scene.payload
    mesh = _right_mesh(scene, payload) if payload is not None and payload.language == "json" else None
    made = None if mesh is None else change(mesh)
    return None if payload is None or made is None else payload.carrying(canonical_json(made))


def _inside_out(mesh: Mesh) -> dict[str, Json]:
    return mesh_json(Mesh(mesh.vertices, mesh.faces[:, ::-1]))


def _joined(first: Mesh, second: Mesh) -> dict[str, Json]:
    faces = np.concatenate([first.faces, second.faces + len(first.vertices)])
    return mesh_json(Mesh(np.concatenate([first.vertices, second.vertices]), faces))


def _twice(mesh: Mesh) -> dict[str, Json]:
    return _joined(mesh, mesh)


def _hollow(mesh: Mesh) -> dict[str, Json]:
    """The right surface and, just inside it, the same one inside out: a shell with next to no volume."""
    middle = mesh.vertices.mean(axis=0)
    return _joined(mesh, Mesh(middle + 0.98 * (mesh.vertices - middle), mesh.faces[:, ::-1]))


def _open(mesh: Mesh) -> dict[str, Json]:
    return mesh_json(Mesh(mesh.vertices, mesh.faces[1:]))


def _mirrored(mesh: Mesh) -> dict[str, Json]:
    return mesh_json(Mesh(mesh.vertices * [-1.0, 1.0, 1.0], mesh.faces[:, ::-1]))


def _scaled(factor: float, mesh: Mesh) -> dict[str, Json]:
    return mesh_json(Mesh(mesh.vertices * factor, mesh.faces))


def _moved(mesh: Mesh) -> dict[str, Json]:
    return mesh_json(Mesh(mesh.vertices + np.array([1000.0, 0.0, 0.0]), mesh.faces))


def _one_triangle(mesh: Mesh) -> dict[str, Json]:
    """One triangle that owns every right corner."""
    return mesh_json(Mesh(mesh.vertices, mesh.faces[:1]))


def _collapsed(mesh: Mesh) -> dict[str, Json]:
    return mesh_json(Mesh(mesh.vertices * 0.0, mesh.faces))


def _flat(mesh: Mesh) -> dict[str, Json]:
    return mesh_json(Mesh(mesh.vertices * [1.0, 1.0, 0.0], mesh.faces))


def _box(mesh: Mesh) -> dict[str, Json]:
    low, high = mesh.vertices.min(axis=0), mesh.vertices.max(axis=0)
    return mesh_json(box_mesh(low, high))


def _ball(mesh: Mesh) -> dict[str, Json]:
    """An octahedron about the right middle: closed, sound, and nothing like it."""
    low, high = mesh.vertices.min(axis=0), mesh.vertices.max(axis=0)
    middle, half = (low + high) / 2.0, (high - low) / 2.0
    steps = np.array([[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]], dtype=float)
    faces = [[0, 2, 4], [2, 1, 4], [1, 3, 4], [3, 0, 4], [2, 0, 5], [1, 2, 5], [3, 1, 5], [0, 3, 5]]
    return mesh_json(Mesh(middle + half * steps, np.array(faces)))


def box_mesh(low: NDArray[np.float64], high: NDArray[np.float64]) -> Mesh:
    """Return the closed surface of a box, wound outwards. `low` and `high` are its corners, (3,) mm."""
    corners = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)])
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    faces = [face for a, b, c, d in quads for face in ((a, b, c), (a, c, d))]
    return Mesh(low + corners * (high - low), np.array(faces))


def _program(change: str, scene: Scene, _: np.random.Generator) -> Sequence[str] | None:
    payload = scene.payload
    value = payload.value if payload is not None and payload.language == "json" else None
    features = value.get("features") if isinstance(value, dict) else None
    if payload is None or not isinstance(features, list) or not features or not isinstance(value, dict):
        return None
    block = _block_of(payload.text)
    whole: Json = {"op": "add", "part": features}
    ways: dict[str, Json] = {
        "block": {"features": [block]},
        "first": {"features": features[:1]},
        "nothing": {"features": [block, {**block, "op": "cut"}]},
        "none": {"features": []},
        "inches": {**value, "units": "in"},
        "slab": {"features": [whole, {**block, "op": "keep", "box": [*_sizes(block)[:2], _sizes(block)[2] / 50.0]}]},
        "mirrored": {"features": [{"op": "add", "part": features, "mirror": "z"}]},
        "a file": {"features": [{"op": "add", "file": "/workspace/reference.stl"}]},
        "a name": {"features": [{"op": "add", "box": ["__import__('os').getpid()", 1, 1]}]},
        "hollow": {
            "features": [whole, {**block, "op": "cut", "box": [0.9 * x for x in _sizes(block)], "at": _inset(block)}]
        },
    }
    return payload.carrying(canonical_json(ways[change]))


def _block_of(text: str) -> dict[str, Json]:
    """Return the feature that is the bounding block of a part."""
    from polyathlon.verify.geometry import report  # an extra: only whoever inspects a part pays for it
    from polyathlon.verify.part import read_part

    found = report(read_part(text))
    size: Json = [round(high - low, 6) for low, high in zip(found.low, found.high, strict=True)]
    return {"op": "add", "box": size, "at": [round(x, 6) for x in found.low]}


def _sizes(block: Mapping[str, Json]) -> list[float]:
    return [float(x) for x in block["box"]]  # type: ignore[union-attr, arg-type]  # written by _block_of


def _inset(block: Mapping[str, Json]) -> list[Json]:
    lowest: list[float] = [float(x) for x in block["at"]]  # type: ignore[union-attr, arg-type]  # written by _block_of
    return [low + 0.05 * size for low, size in zip(lowest, _sizes(block), strict=True)]


_SURFACES: tuple[tuple[str, str, Surface, bool, bool], ...] = (
    ("E1a", "inside out", _inside_out, True, True),
    ("E2a", "every part twice", _twice, True, True),
    ("E4a", "one face missing", _open, True, True),
    ("E5a", "a thin shell", _hollow, True, True),
    ("E16a", "mirrored", _mirrored, True, True),
    ("E16b", "in inches", partial(_scaled, 1 / 25.4), True, True),
    ("E16c", "a metre away", _moved, True, False),
    ("E8a", "one triangle with every corner", _one_triangle, False, False),
    ("E10a", "everything in one point", _collapsed, False, False),
    ("E10b", "flat", _flat, False, False),
    ("E7a", "its bounding box", _box, False, False),
    ("E7b", "a ball of its size", _ball, False, False),
)
"""Attack, title, the surface; whether the right answer is in it, and whether a part of it may be worth something."""

_PROGRAMS: tuple[tuple[str, str, str], ...] = (
    ("E7c", "its bounding block", "block"),
    ("E14a", "its first feature", "first"),
    ("E10c", "nothing left", "nothing"),
    ("E10d", "no feature", "none"),
    ("E16d", "millimetres as inches", "inches"),
    ("E13a", "a thin slice of it", "slab"),
    ("E16e", "mirrored top to bottom", "mirrored"),
    ("E17a", "a file in its place", "a file"),
    ("E17b", "code in its place", "a name"),
    ("E5b", "hollow", "hollow"),
)
_FULL = ("E5b", "E16e")

ATTACKS: tuple[Attack, ...] = (
    *(
        Attack(name, ("mesh",), title, partial(_surface, surface), "low" if carries else "high", carries_answer=carries,
               below="full" if partly else "floor")
        for name, title, surface, carries, partly in _SURFACES
    ),
    *(Attack(name, ("mesh",), title, partial(_program, change), below="full" if name in _FULL else "floor")
      for name, title, change in _PROGRAMS),
)  # fmt: skip
