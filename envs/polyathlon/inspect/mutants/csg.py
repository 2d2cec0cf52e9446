"""Shapes made wrong: programs of features, lists of edits to a mesh, whole meshes, and lists of blocks on a grid."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from polyathlon.canonical import Json
from polyathlon.inspect.mutants.picking import Picker
from polyathlon.inspect.mutants.places import Path, at, leaves_of, put

INCH_MM = 25.4
_BLOCK = re.compile(r"\d{3}[A-Z]")
_SIZES = ("box", "cylinder", "slot", "prism")


def part_mutants(program: Json, pick: Picker) -> Iterator[tuple[str, Json]]:
    """Yield (operator, program) for a feature program {"features": [{"op", a shape, "at", ...}, ...]}."""
    if not is_part(program):
        return
    assert isinstance(program, Mapping), "a part"
    features = program["features"]
    assert isinstance(features, list | tuple), "a part"
    yield from _sizes(program, pick)
    for k in pick.one("feature dropped", range(len(features)) if len(features) > 1 else range(0)):
        yield "feature dropped", {**program, "features": [*features[:k], *features[k + 1 :]]}
    yield from _places(program, pick)
    whole: dict[str, Json] = {
        "mirrored": {"op": "add", "part": list(features), "mirror": "x", "at": [_width(features), 0, 0]},
        "rotated by 90 degrees": {"op": "add", "part": list(features), "turn": [0, 0, 90]},
        "shifted": {"op": "add", "part": list(features), "at": [1.0, 0, 0]},
    }
    for operator, feature in whole.items():
        yield operator, {**program, "features": [feature]}
    yield "scale 25.4", _scaled(program, INCH_MM)
    yield "scale 0.1", _scaled(program, 0.1)
    far = _width(features) + 20.0
    yield "extra body", {**program, "features": [*features, {"op": "add", "box": [5, 5, 5], "at": [far, 0, 0]}]}
    yield "bounding box", {**program, "features": [features[0]]}
    cuts = [k for k, feature in enumerate(features) if isinstance(feature, Mapping) and feature.get("op") == "cut"]
    for k in pick.one("added, not cut", cuts):
        yield "added, not cut", put(program, ("features", k, "op"), "add")


def mesh_mutants(change: Json, pick: Picker) -> Iterator[tuple[str, Json]]:
    """Yield (operator, change) for {"edits": [...]} or a whole mesh {"vertices": ..., "faces": ...}."""
    if not isinstance(change, Mapping):
        return
    edits, faces, vertices = change.get("edits"), change.get("faces"), change.get("vertices")
    if isinstance(edits, list | tuple):
        yield from _edits(list(edits), pick)
    elif isinstance(faces, list | tuple) and isinstance(vertices, list | tuple):
        yield from _meshes(list(vertices), list(faces), pick)


def block_mutants(text: str, pick: Picker) -> Iterator[tuple[str, str]]:
    """Yield (operator, text) for blocks like 012R with spaces between; nothing for another text."""
    blocks = text.split()
    if not blocks or not all(_BLOCK.fullmatch(block) for block in blocks):
        return
    ways: dict[str, Callable[[Sequence[int]], Sequence[int]]] = {
        "shifted": lambda c: [c[0] + 1, c[1], c[2]],
        "mirrored": lambda c: [9 - c[0], c[1], c[2]],
        "rotated by 90 degrees": lambda c: [c[1], 9 - c[0], c[2]],
        "y and z exchanged": lambda c: [c[0], c[2], c[1]],
        "upside down": lambda c: [c[0], c[1], 9 - c[2]],
    }
    for operator, way in ways.items():
        moved = [[*way([int(digit) for digit in block[:3]])] for block in blocks]
        if all(0 <= part <= 9 for cell in moved for part in cell):
            yield operator, " ".join("".join(map(str, c)) + b[3] for c, b in zip(moved, blocks, strict=True))
    for k in pick.one("one block moved", range(len(blocks))):
        moved_block = str((int(blocks[k][0]) + 1) % 10) + blocks[k][1:]
        yield "one block moved", " ".join([*blocks[:k], moved_block, *blocks[k + 1 :]])
    free = next(cell for cell in ("999", "000", "990", "909") if cell not in {block[:3] for block in blocks})
    yield "extra block", f"{text} {free}{blocks[0][3]}"
    letters = sorted({block[3] for block in blocks})
    if len(letters) > 1:
        swap = str.maketrans({letters[0]: letters[1], letters[1]: letters[0]})
        yield "two materials exchanged", text.translate(swap)


def is_part(value: Json) -> bool:
    """Return whether `value` has the form of a feature program."""
    features = value.get("features") if isinstance(value, Mapping) else None
    return (
        isinstance(features, list | tuple)
        and len(features) > 0
        and all(isinstance(each, Mapping) and "op" in each for each in features)
    )


def is_mesh(value: Json) -> bool:
    """Return whether `value` has the form of a change to a mesh, or of a mesh."""
    return isinstance(value, Mapping) and (set(value) == {"edits"} or set(value) == {"vertices", "faces"})


def _sizes(program: Json, pick: Picker) -> Iterator[tuple[str, Json]]:
    """Yield one dimension 2% and 10% larger and smaller."""
    for factor in (1.02, 0.98, 1.1, 0.9):
        name = f"dimension {100 * (factor - 1):+.0f}%"
        for path in pick.one(name, _dimensions(program)):
            value = at(program, path)
            assert isinstance(value, int | float), "a dimension"
            yield name, put(program, path, round(value * factor, 6))


def _dimensions(program: Json) -> list[Path]:
    return [
        path
        for path, leaf in leaves_of(program)
        if type(leaf) in (int, float) and leaf and any(step in _SIZES for step in path)
    ]


def _places(program: Json, pick: Picker) -> Iterator[tuple[str, Json]]:
    """Yield one feature shifted by 1 mm and by 0.2 mm, a copy too many or too few, a turn of 5 degrees more."""
    spots = [(path, leaf) for path, leaf in leaves_of(program) if len(path) > 1 and path[-2] == "at"]
    flat = [(path, leaf) for path, leaf in spots if path[-1] != 2]  # along z a through-hole may go on for longer
    for step in (1.0, 0.2):
        for path, leaf in pick.one(f"feature shifted {step} mm", flat):
            assert isinstance(leaf, int | float), "a coordinate"
            yield f"feature shifted {step} mm", put(program, path, round(leaf + step, 6))
    counts = [(path, leaf) for path, leaf in leaves_of(program) if path[-1] == "count"]
    for name, more in (("one copy more", 1), ("one copy fewer", -1)):
        for path, leaf in pick.one(name, counts):
            assert isinstance(leaf, int), "a count"
            yield name, put(program, path, leaf + more)
    for path, leaf in pick.one("turned 5 degrees", [p for p in leaves_of(program) if _is_turn(p[0], p[1])]):
        assert isinstance(leaf, int | float), "an angle"
        yield "turned 5 degrees", put(program, path, leaf + 5)
    steps = [(path, leaf) for path, leaf in leaves_of(program) if len(path) > 1 and path[-2] == "step" and leaf]
    for path, leaf in pick.one("pitch 2% wider", steps):
        assert isinstance(leaf, int | float), "a distance"
        yield "pitch 2% wider", put(program, path, round(leaf * 1.02, 6))


def _is_turn(path: Path, leaf: Json) -> bool:
    return type(leaf) in (int, float) and "turn" in path and bool(leaf)


def _width(features: Sequence[Json]) -> float:
    """Return how far the first feature reaches along x."""
    first = features[0]
    box = first.get("box") if isinstance(first, Mapping) else None
    return float(box[0]) if isinstance(box, list | tuple) and isinstance(box[0], int | float) else 100.0


def _scaled(value: Json, by: float) -> Json:
    """Return a program with every length multiplied; angles, counts and names stay."""
    if isinstance(value, Mapping):
        return {key: inner if key in ("turn", "count") else _scaled(inner, by) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_scaled(inner, by) for inner in value]
    return round(value * by, 9) if type(value) in (int, float) else value  # type: ignore[operator]  # no bool


def _edits(edits: list[Json], pick: Picker) -> Iterator[tuple[str, Json]]:
    for k in pick.one("edit dropped", range(len(edits))):
        yield "edit dropped", {"edits": [*edits[:k], *edits[k + 1 :]]}
    for k in pick.one("edit twice", range(len(edits))):
        yield "edit twice", {"edits": [*edits[: k + 1], *edits[k:]]}
    numbered = [(path, leaf) for path, leaf in leaves_of(edits) if type(leaf) is int]
    for path, leaf in pick.one("another number", numbered):
        assert isinstance(leaf, int), "chosen for that"
        yield "another number", {"edits": put(edits, path, leaf + 1)}
    lengths = [(path, leaf) for path, leaf in leaves_of(edits) if type(leaf) is float]
    for factor in (1.02, 1.1):
        for path, length in pick.one(f"coordinate {100 * (factor - 1):+.0f}%", lengths):
            assert isinstance(length, float), "chosen for that"
            yield f"coordinate {100 * (factor - 1):+.0f}%", {"edits": put(edits, path, round(length * factor + 0.1, 6))}
    faces = [k for k, edit in enumerate(edits) if isinstance(edit, Mapping) and "face" in edit]
    for k in pick.one("face wound the other way", faces):
        edit = edits[k]
        assert isinstance(edit, Mapping), "chosen for that"
        corners = edit["face"]
        assert isinstance(corners, list | tuple), "a face"
        yield "face wound the other way", {"edits": put(edits, (k, "face"), list(reversed(corners)))}
    yield "scale 25.4", {"edits": [*edits, {"scale": INCH_MM}]}
    yield "scale 1.01", {"edits": [*edits, {"scale": 1.01}]}
    yield "face deleted", {"edits": [*edits, {"delete": [0]}]}
    yield "nothing edited", {"edits": []}


def _meshes(vertices: list[Json], faces: list[Json], pick: Picker) -> Iterator[tuple[str, Json]]:
    def mesh(points: Sequence[Json], triangles: Sequence[Json]) -> Json:
        return {"vertices": list(points), "faces": list(triangles)}

    turned: list[Json] = [list(reversed(face)) for face in faces if isinstance(face, list | tuple)]
    yield "mirrored", mesh([put(v, (0,), -_number(at(v, (0,)))) for v in vertices], turned)
    yield "inside out", mesh(vertices, turned)
    yield "scale 1.02", mesh([[_number(x) * 1.02 for x in _three(v)] for v in vertices], faces)
    yield "shifted", mesh([[_number(x) + 1.0 for x in _three(v)] for v in vertices], faces)
    for k in pick.one("face dropped", range(len(faces))):
        yield "face dropped", mesh(vertices, [*faces[:k], *faces[k + 1 :]])
    again = [[_whole(n) + len(vertices) for n in _three(face)] for face in faces]
    yield "body twice", mesh([*vertices, *vertices], [*faces, *again])
    for k in pick.one("vertex moved", range(len(vertices))):
        yield "vertex moved", mesh(put(vertices, (k, 0), _number(at(vertices[k], (0,))) + 1.0), faces)  # type: ignore[arg-type]  # a list


def _three(value: Json) -> Sequence[Json]:
    assert isinstance(value, list | tuple), "a vertex or a face"
    return value


def _number(value: Json) -> float:
    assert isinstance(value, int | float), "a coordinate"
    return float(value)


def _whole(value: Json) -> int:
    assert isinstance(value, int), "a vertex by number"
    return value
