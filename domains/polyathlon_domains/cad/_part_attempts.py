"""Right and wrong programs for a plate in words: what the inspection tries."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from polyathlon import Attempt, Task
from polyathlon.canonical import Json, canonical_json, expect_list, expect_map, parse_json
from polyathlon.toolcall import write_call, write_fenced
from polyathlon.verify.part import build_part
from polyathlon.verify.program import only_code
from polyathlon.verify.surface import GeometryError
from polyathlon_domains.cad._part_features import copies_of, mm, program_of
from polyathlon_domains.cad._part_proof import same_part


def proves_right(task: Task, actions: Sequence[str]) -> bool:
    """Whether the last message is the reference part, written otherwise or within the prompt's tolerance."""
    code = only_code(actions[-1]) if actions else None
    if code is None:
        return False
    try:
        made = build_part(parse_json(code))
    except (ValueError, GeometryError):
        return False
    return same_part(made, build_part(program_of(expect_map(task.hidden["part"]))))


def alternatives(task: Task) -> Sequence[Attempt]:
    program = program_of(expect_map(task.hidden["part"]))
    features = [expect_map(feature) for feature in expect_list(program["features"])]
    polygons: Json = {"features": [_with_polygon(feature) for feature in features]}
    nested: Json = {"features": [{"op": "add", "part": features[:1]}, *features[1:]]}
    return (
        Attempt("circles as polygons of 90 sides", (_block(polygons),)),
        Attempt("the plate as a nested part", (_block(nested),)),
        Attempt("in inches", (_block({"units": "in", **expect_map(_divided(program, 25.4))}),)),
    )


def equivalents(task: Task) -> Sequence[Attempt]:
    program = program_of(expect_map(task.hidden["part"]))
    text = canonical_json(program)
    return (
        Attempt("as a tool call", (write_call("submit", {"program": program}),)),
        Attempt("as text in a tool call", (write_call("submit", {"program": text}),)),
        Attempt("with words around it", (f"Here is the part.\n{_block(program)}\nDone.",)),
        Attempt("spaced", (f"```json\n{text.replace(',', ', ').replace('{', '{ ')}\n```",)),
        Attempt("built, then left there", (write_call("build", {"program": text}), *["-"] * 5)),
    )


def distractors(task: Task) -> Sequence[Attempt]:
    core = expect_map(task.hidden["part"])
    plate, features = expect_map(core["plate"]), expect_list(core["features"])
    steps = expect_list(program_of(core)["features"])
    left_out = program_of({"plate": plate, "features": features[:-1]})
    thick = program_of({**core, "plate": {**plate, "t": [round(mm(plate["t"]) * 1000) + 500, "mm"]}})
    first = expect_map(steps[1])
    x, y, z = expect_list(first["at"])
    shifted: Json = {"features": [steps[0], {**first, "at": [round(_real(x) + 0.3, 6), y, z]}, *steps[2:]]}
    mirrored: Json = {"features": [{"op": "add", "part": steps, "mirror": "x", "at": [mm(plate["l"]), 0, 0]}]}
    wide: Json = {"features": [_doubled(expect_map(step)) for step in steps]}
    wrong = {"last feature left out": left_out, "plate half a millimetre too thick": thick, "shifted 0.3 mm": shifted}
    if not _is_mirrored(core):
        wrong["mirrored left to right"] = expect_map(mirrored)
    if wide != {"features": steps}:
        wrong["radii for diameters"] = expect_map(wide)
    return [Attempt(name, (_block(program),)) for name, program in wrong.items()]


def exploits(task: Task) -> Sequence[Attempt]:
    core = expect_map(task.hidden["part"])
    program = program_of(core)
    plate = expect_map(expect_list(program["features"])[0])
    dx, dy, dz = map(_real, expect_list(plate["box"]))
    top = max(max(copy.sizes.get("h", 0.0) for copy in copies) for copies in copies_of(core))
    copy = copies_of(core)[0][0]
    block: Json = {"op": "add", "box": [dx, dy, round(dz + top, 6)]}
    pin: Json = {"op": "add", "cylinder": {"d": 5, "h": dz}, "at": [copy.x, copy.y, 0]}
    features = expect_list(program["features"])
    return (
        Attempt("bounding block", (_block({"features": [block]}),)),
        Attempt("bare plate", (_block({"features": [plate]}),)),
        Attempt("a tiny piece in the right place", (_block({"features": [pin]}),)),
        Attempt("nothing left", (_block({"features": [block, {**expect_map(block), "op": "cut"}]}),)),
        Attempt("25.4 times too large", (_block({"units": "in", "features": features}),)),
        Attempt("numbers that are none", ('```json\n{"features": [{"op": "add", "box": [NaN, 1e999, 1]}]}\n```',)),
        Attempt("code", ('```json\n__import__("os").system("id")\n```',)),
        Attempt("the block with slits", (_block({"features": [block, *_comb(dx, dy, dz)]}),)),
    )


def _block(program: Json) -> str:
    return write_fenced(canonical_json(program), language="json")


def _comb(dx: float, dy: float, dz: float) -> Sequence[Json]:
    cut: Json = {"op": "cut", "box": [0.02, dy, dz], "repeat": [{"count": 50, "step": [round(dx / 50, 6), 0, 0]}]}
    return (cut,)


def _with_polygon(feature: Mapping[str, Json]) -> Json:
    if "cylinder" not in feature:
        return dict(feature)
    size = expect_map(feature["cylinder"])
    radius, turns = _real(size["d"]) / 2.0, [2.0 * math.pi * k / 90 for k in range(90)]
    points: Json = [[round(radius * math.cos(a), 6), round(radius * math.sin(a), 6)] for a in turns]
    rest = {key: value for key, value in feature.items() if key != "cylinder"}
    return {**rest, "prism": {"points": points, "h": size["h"]}}


def _divided(value: Json, by: float) -> Json:
    """Return `value` with every length in it divided; angles and counts stay."""
    if isinstance(value, Mapping):
        return {key: inner if key in ("turn", "count") else _divided(inner, by) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_divided(inner, by) for inner in value]
    return round(value / by, 9) if isinstance(value, int | float) else value


def _doubled(step: Mapping[str, Json]) -> dict[str, Json]:
    if "cylinder" not in step:
        return dict(step)
    size = expect_map(step["cylinder"])
    return {**step, "cylinder": {**size, "d": 2.0 * _real(size["d"])}}


def _is_mirrored(core: Mapping[str, Json]) -> bool:
    """Whether the part is its own mirror image from left to right."""
    length = mm(expect_map(core["plate"])["l"])
    copies = [copy for group in copies_of(core) for copy in group]
    here = sorted((round(copy.x, 3), round(copy.y, 3), copy.kind, sorted(copy.sizes.items())) for copy in copies)
    there = sorted(
        (round(length - copy.x, 3), round(copy.y, 3), copy.kind, sorted(copy.sizes.items())) for copy in copies
    )
    return here == there


def _real(value: Json) -> float:
    assert isinstance(value, int | float)
    return float(value)
