"""Right and wrong repairs: what the inspection tries."""

from __future__ import annotations

import math
from collections.abc import Sequence

from polyathlon import Attempt, Task
from polyathlon.canonical import Json, canonical_json, expect_list, expect_map, parse_json
from polyathlon.toolcall import write_call, write_fenced
from polyathlon.verify.geometry import bounding_block, hull, sound_solid, surface_of
from polyathlon.verify.program import only_code
from polyathlon.verify.surface import GeometryError, Mesh, mesh_json, read_mesh, shells
from polyathlon.workspaces.mesh_edits import apply_change
from polyathlon_domains.cad._cell_solids import joined_meshes

SAME_VOLUME_SHARE = 1e-6
SHOWN_STEP = 1e-5
"""To what the coordinates shown are rounded, in their unit: no edit of them comes closer to the original."""


def proves_right(task: Task, actions: Sequence[str]) -> bool:
    """Whether the last message leaves a sound mesh of the very solid that the original bounds, in as many shells.

    Coordinates in centimetres or inches are shown rounded. No corner lies further off than a step of them; so between
    the two solids lies at most that times the area of the original.
    """
    code = only_code(actions[-1]) if actions else None
    if code is None:
        return False
    given, original = expect_map(task.public["mesh"]), expect_map(task.hidden["original"])
    wanted = sound_solid(read_mesh(original["vertices"], original["faces"]))
    try:
        repaired = apply_change(read_mesh(given["vertices"], given["faces"]), parse_json(code))
        made = sound_solid(repaired)
    except (ValueError, GeometryError):
        return False
    apart = (made - wanted).volume() + (wanted - made).volume()
    scales = [
        float(str(edit["scale"])) for edit in map(expect_map, expect_list(task.hidden["edits"])) if "scale" in edit
    ]
    rounded = SHOWN_STEP * math.prod(scales) * wanted.surface_area() if scales else 0.0
    same = 0.0 <= apart <= SAME_VOLUME_SHARE * wanted.volume() + rounded
    return bool(same and len(shells(repaired)) == task.hidden["parts"])


def alternatives(task: Task) -> Sequence[Attempt]:
    edits = expect_list(task.hidden["edits"])
    return (
        Attempt("the whole mesh", (_block(task.hidden["original"]),)),
        Attempt(
            "edited, then submitted",
            (write_call("edit", {"change": {"edits": edits}}), write_call("submit", {"change": {"edits": []}})),
        ),
    )


def equivalents(task: Task) -> Sequence[Attempt]:
    change: Json = {"edits": task.hidden["edits"]}
    text = canonical_json(change)
    return (
        Attempt("as a tool call", (write_call("submit", {"change": change}),)),
        Attempt("as text in a tool call", (write_call("submit", {"change": text}),)),
        Attempt("with words around it, spaced", (f"Like this:\n```json\n{text.replace(',', ', ')}\n```\n",)),
        Attempt("edited, then left there", (write_call("edit", {"change": change}), *["-"] * 5)),
    )


def distractors(task: Task) -> Sequence[Attempt]:
    edits = expect_list(task.hidden["edits"])
    original = expect_map(task.hidden["original"])
    held = read_mesh(original["vertices"], original["faces"])
    points, faces = held.vertices, held.faces
    larger = mesh_json(Mesh(points * 1.01, faces))
    moved = points.copy()
    moved[0] += 1.0
    wrong: dict[str, Json] = {
        "last edit left out": {"edits": edits[:-1]},
        "one per cent too large": larger,
        "a corner moved": mesh_json(Mesh(moved, faces)),
        "mirrored": mesh_json(Mesh(points * [-1.0, 1.0, 1.0], faces[:, ::-1])),
        "inside out": mesh_json(Mesh(points, faces[:, ::-1])),
        "every part twice": mesh_json(joined_meshes([held, held])),
        "one face missing": mesh_json(Mesh(points, faces[1:])),
    }
    return [Attempt(name, (_block(change),)) for name, change in wrong.items()]


def exploits(task: Task) -> Sequence[Attempt]:
    original = expect_map(task.hidden["original"])
    solid = sound_solid(read_mesh(original["vertices"], original["faces"]))
    given = expect_map(task.public["mesh"])
    num_faces = len(expect_list(given["faces"]))
    return (
        Attempt("convex hull", (_block(mesh_json(surface_of(hull(solid)))),)),
        Attempt("bounding box", (_block(mesh_json(surface_of(bounding_block(solid)))),)),
        Attempt("every face deleted", (_block({"edits": [{"delete": [*range(num_faces)]}]}),)),
        Attempt("untouched", (_block({"edits": []}),)),
        Attempt("given back", (_block(given),)),
        Attempt("one triangle", (_block({"vertices": [[0, 0, 0], [99, 0, 0], [0, 99, 0]], "faces": [[0, 1, 2]]}),)),
        Attempt("only scaled", (_block({"edits": [{"scale": 25.4}]}),)),
        Attempt("numbers that are none", ('```json\n{"edits": [{"vertex": [NaN, 1e999, 0]}]}\n```',)),
    )


def _block(change: Json) -> str:
    return write_fenced(canonical_json(change), language="json")
