"""The mesh workspace: building and measuring parts, editing meshes, and what is left as evidence."""

import json

import pytest

from polyathlon.canonical import Json
from polyathlon.domain import Task
from polyathlon.sandbox.choose import default_room
from polyathlon.toolcall import write_call
from polyathlon.verify.geometry import box, surface_of
from polyathlon.verify.surface import Mesh, count_defects, mesh_json, mesh_of
from polyathlon.workspaces.mesh import MeshWorkspace, open_part, open_repair, state_mesh
from polyathlon.workspaces.mesh_edits import apply_change, list_defects

CUBE = surface_of(box((0, 0, 0), (2, 2, 2)))
PROGRAM: Json = {"features": [{"op": "add", "box": [10, 20, 5]}]}


def task(mesh: Mesh | None = None) -> Task:
    public = {} if mesh is None else {"mesh": mesh_json(mesh)}
    return Task("x:0:train:0", 0, 0, "train", "", public, {}, "00")


def part_bench() -> MeshWorkspace:
    return open_part(task(), default_room())


def test_a_fenced_block_builds_submits_and_ends() -> None:
    bench = part_bench()
    seen = bench.act(f"Here:\n```json\n{json.dumps(PROGRAM)}\n```")
    assert seen.finished
    assert "volume 1000.0000" in seen.text
    assert bench.evidence().answer == json.dumps(PROGRAM)


def test_a_broken_submission_costs_a_turn_and_keeps_the_last_part() -> None:
    bench = part_bench()
    assert not bench.act(write_call("build", {"program": PROGRAM})).error
    seen = bench.act(write_call("submit", {"program": "{"}))
    assert (seen.error, seen.finished) == (True, False)
    assert json.loads(bench.evidence().answer or "") == PROGRAM
    assert [call.ok for call in bench.evidence().ledger] == [True, False]


def test_nothing_built_leaves_no_answer() -> None:
    bench = part_bench()
    assert bench.act(write_call("measure", {"point": [0, 0, 0]})).error
    assert bench.evidence().answer is None


def test_probe_section_and_measure_say_where_things_are() -> None:
    bench = part_bench()
    bench.act(write_call("build", {"program": PROGRAM}))
    probe = bench.act(write_call("probe", {"origin": [-3, 1, 1], "direction": [2, 0, 0]}))
    assert probe.text == "enters material at 3.0000 mm\nleaves material at 13.0000 mm"
    assert bench.act(write_call("section", {"axis": "z", "at": 2})).text.startswith("area 200.0000 mm^2, 1 loops")
    assert bench.act(write_call("measure", {"point": [5, 10, 4]})).text.startswith("1.0000 mm from the surface, inside")
    assert bench.act(write_call("measure", {"point": [5, 10, 8]})).text.startswith(
        "3.0000 mm from the surface, outside"
    )


@pytest.mark.parametrize("size", [1e999, 10**400, -1])
def test_hostile_numbers_in_measuring_tools_are_refused(size: float) -> None:
    bench = part_bench()
    bench.act(write_call("build", {"program": PROGRAM}))
    assert bench.act(write_call("probe", {"origin": [size, 0, 0], "direction": [0, 0, 0]})).error


def test_a_deeply_nested_program_object_is_refused() -> None:
    deep = '{"op":"add","part":[' * 400 + "]}" * 400
    bench = part_bench()
    text = f'<tool_call>{{"name": "build", "arguments": {{"program": {{"features": [{deep}]}}}}}}</tool_call>'
    assert bench.act(text).error


def test_a_hole_is_found_and_filled() -> None:
    bench = open_repair(task(Mesh(CUBE.vertices, CUBE.faces[1:])), default_room())
    listed = bench.act(write_call("defects", {})).text
    assert "open edges: 3" in listed
    a, b, c = CUBE.faces[0].tolist()
    seen = bench.act(write_call("submit", {"change": {"edits": [{"fill": [a, b, c]}]}}))
    assert seen.finished
    assert "No counted defect" in seen.text
    assert count_defects(state_mesh(bench.evidence().state)).total == 0


def test_open_edges_are_listed_in_the_direction_of_the_fill() -> None:
    listed = list_defects(Mesh(CUBE.vertices, CUBE.faces[1:]))
    a, b, c = CUBE.faces[0].tolist()
    assert {f"{a}-{b}", f"{b}-{c}", f"{c}-{a}"} == set(listed.splitlines()[1].split(": ")[1].split(", "))


def test_an_open_mesh_is_not_measured() -> None:
    bench = open_repair(task(Mesh(CUBE.vertices, CUBE.faces[1:])), default_room())
    seen = bench.act(write_call("measure", {"point": [0, 0, 0]}))
    assert seen.error
    assert "no sound solid yet" in seen.text


def test_a_change_that_fails_halfway_changes_nothing() -> None:
    bench = open_repair(task(CUBE), default_room())
    seen = bench.act(write_call("edit", {"change": {"edits": [{"delete": [0]}, {"flip": [99]}]}}))
    assert seen.error
    assert len(state_mesh(bench.evidence().state).faces) == 12


def test_an_elbow_shaped_loop_is_filled_without_crossing() -> None:
    loop = [[0, 0, 0], [2, 0, 0], [2, 1, 0], [1, 1, 0], [1, 2, 0], [0, 2, 0]]
    filled = apply_change(mesh_of(loop, []), {"edits": [{"fill": [0, 1, 2, 3, 4, 5]}]})
    corners = filled.corners
    doubled = [float((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])) for a, b, c in corners]
    assert len(doubled) == 4
    assert min(doubled) > 0
    assert sum(doubled) == 6.0  # twice the area of 3: no triangle lies outside


def test_merging_drops_faces_that_collapse() -> None:
    mesh = mesh_of([[0, 0, 0], [2, 0, 0], [0, 2, 0], [1, 0, 0]], [[0, 3, 2], [3, 1, 2], [0, 1, 3]])
    assert apply_change(mesh, {"edits": [{"merge": [3, 0]}]}).faces.tolist() == [[0, 1, 2]]


@pytest.mark.parametrize(
    "change",
    [
        "{",
        "[]",
        '{"edits": {}}',
        '{"edits": [{"delete": [0, 0]}]}',
        '{"edits": [{"delete": [-1]}]}',
        '{"edits": [{"delete": [0]}, {"flip": [0]}]}',
        '{"edits": [{"merge": [0]}]}',
        '{"edits": [{"fill": [0, 1]}]}',
        '{"edits": [{"face": [0, 1, 99]}]}',
        '{"edits": [{"vertex": [0, 0, 1e999]}]}',
        '{"edits": [{"scale": 0}]}',
        '{"edits": [{"scale": 1000}, {"scale": 1000}, {"scale": 1000}]}',
        '{"edits": [{"paint": 1}]}',
        '{"edits": [{"delete": [0], "flip": [1]}]}',
        '{"vertices": [[0, 0, 0]], "faces": [[0, 0, 5]]}',
        '{"edits": [], "vertices": []}',
    ],
)
def test_changes_that_name_nothing_are_refused(change: str) -> None:
    bench = open_repair(task(CUBE), default_room())
    seen = bench.act(write_call("submit", {"change": change}))
    assert (seen.error, seen.finished) == (True, False)
