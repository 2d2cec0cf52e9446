"""Known solids made of filled cells between coordinate planes: concave, of flat faces, with shared vertices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from polyathlon.canonical import Json, expect_int, expect_list, expect_map, expect_text
from polyathlon.verify.surface import Mesh, mesh_of

GAP_MM = 8.0

Cell = tuple[int, int, int]

# Filled cells by name, each a list of layers from the lowest up, each a list of rows (y), each a string of cells (x).
# None is convex, and no two filled cells meet in an edge or a corner alone.
SMALL: Mapping[str, Sequence[Sequence[str]]] = {
    "angle": [["##", "#."]],
    "step": [["##"], ["#."]],
    "channel": [["#.#", "###"]],
    "tee": [["###", ".#."]],
    "corner step": [["##", "##"], ["#.", ".."]],
}
LARGE: Mapping[str, Sequence[Sequence[str]]] = {
    "cross": [[".#.", "###", ".#."]],
    "stairs": [["###"], ["##."], ["#.."]],
    "frame": [["###", "#.#", "###"]],
    "bracket": [["##", "##"], ["#.", "#."], ["##", "#."]],
    "seat": [["##", "##"], ["#.", "##"]],
    "plate and post": [["###", "###", "###"], ["...", ".#.", "..."]],
}

_CELLS = {**SMALL, **LARGE}
_QUADS: Mapping[tuple[int, int], tuple[Cell, Cell, Cell, Cell]] = {
    (0, 0): ((0, 0, 0), (0, 0, 1), (0, 1, 1), (0, 1, 0)),
    (0, 1): ((1, 0, 0), (1, 1, 0), (1, 1, 1), (1, 0, 1)),
    (1, 0): ((0, 0, 0), (1, 0, 0), (1, 0, 1), (0, 0, 1)),
    (1, 1): ((0, 1, 0), (0, 1, 1), (1, 1, 1), (1, 1, 0)),
    (2, 0): ((0, 0, 0), (0, 1, 0), (1, 1, 0), (1, 0, 0)),
    (2, 1): ((0, 0, 1), (1, 0, 1), (1, 1, 1), (0, 1, 1)),
}


def cell_mesh(layers: Sequence[Sequence[str]], planes: Sequence[Sequence[float]], lean: float, split: int) -> Mesh:
    """Return the closed surface of filled cells. `planes` are the coordinates in x, y and z, mm.

    x grows by `lean` x z; bit k of `split` says which diagonal the k-th quadrilateral is cut along. Interior planes of
    a flat face stay as edges, so that faces are small.
    """
    filled = {
        (i, j, k)
        for k, layer in enumerate(layers)
        for j, row in enumerate(layer)
        for i, cell in enumerate(row)
        if cell == "#"
    }
    numbers: dict[Cell, int] = {}
    faces: list[tuple[int, int, int]] = []
    num_quads = 0
    for cell in sorted(filled):
        for (axis, side), corners in _QUADS.items():
            beside = tuple(c + (2 * side - 1 if place == axis else 0) for place, c in enumerate(cell))
            if beside in filled:
                continue
            a, b, c, d = (numbers.setdefault(_add(cell, corner), len(numbers)) for corner in corners)
            one_way = split >> (num_quads % 60) & 1
            faces.extend([(a, b, c), (a, c, d)] if one_way else [(a, b, d), (b, c, d)])
            num_quads += 1
    xs, ys, zs = planes
    points = [(xs[i] + lean * zs[k], ys[j], zs[k]) for i, j, k in numbers]
    return mesh_of(points, faces)


def _draw_planes(layers: Sequence[Sequence[str]], rng: np.random.Generator) -> list[list[int]]:
    """Return coordinates in x, y and z that fit `layers`: from 0, whole mm, 6 to 30 mm apart."""
    counts = (len(layers[0][0]), len(layers[0]), len(layers))
    return [[0, *np.cumsum(rng.integers(6, 31, size=count)).tolist()] for count in counts]


def joined_meshes(meshes: Sequence[Mesh]) -> Mesh:
    """Return several meshes as one, their numbers following on."""
    shifts = np.cumsum([0, *(len(mesh.vertices) for mesh in meshes)])
    faces = [mesh.faces + shift for mesh, shift in zip(meshes, shifts, strict=False)]
    return Mesh(np.concatenate([mesh.vertices for mesh in meshes]), np.concatenate(faces))


def _add(cell: Cell, corner: Cell) -> Cell:
    return cell[0] + corner[0], cell[1] + corner[1], cell[2] + corner[2]


def draw_shape(names: Sequence[str], leans: int, rng: np.random.Generator) -> Json:
    """Return a solid of one of `names` as plain JSON, leaning by one of `leans` quarters."""
    name = names[int(rng.integers(len(names)))]
    lean = int(rng.integers(leans))
    planes: Json = [*_draw_planes(_CELLS[name], rng)]
    return {"cells": name, "planes": planes, "lean": lean, "split": int(rng.integers(2**40))}


def mesh_of_shapes(shapes: Sequence[Json]) -> Mesh:
    """Return the closed surface of `shapes` side by side along x, mm."""
    meshes, start = [], 0.0
    for raw in shapes:
        shape = expect_map(raw)
        planes = _planes(shape)
        cells = _CELLS[expect_text(shape["cells"])]
        mesh = cell_mesh(cells, planes, expect_int(shape["lean"]) / 4.0, expect_int(shape["split"]))
        meshes.append(Mesh(mesh.vertices + np.array([start, 0.0, 0.0]), mesh.faces))
        start += planes[0][-1] + GAP_MM
    return joined_meshes(meshes)


def draw_shell(shapes: Sequence[Json], rng: np.random.Generator) -> Json:
    """Return a small closed shell well inside a filled cell of the first part."""
    shape = expect_map(shapes[0])
    xs, ys, zs = _planes(shape)
    layers = _CELLS[expect_text(shape["cells"])]
    filled = [(i, j) for j, row in enumerate(layers[0]) for i, cell in enumerate(row) if cell == "#"]
    i, j = filled[int(rng.integers(len(filled)))]
    low = np.array([xs[i], ys[j], zs[0]])
    size = np.array([xs[i + 1], ys[j + 1], zs[1]]) - low
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]) * rng.uniform(0.15, 0.3, size=3)
    points = low + size * (rng.uniform(0.2, 0.45, size=3) + corners)
    points[:, 0] += expect_int(shape["lean"]) / 4.0 * points[:, 2]
    return {"kind": "shell", "points": np.round(points, 1).tolist(), "inward": int(rng.integers(2))}


def _planes(shape: Mapping[str, Json]) -> list[list[float]]:
    return [[float(expect_int(x)) for x in expect_list(axis)] for axis in expect_list(shape["planes"])]
