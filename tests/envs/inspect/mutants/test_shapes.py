"""Feature programs, mesh edits and blocks made wrong, every expected value worked out by hand."""

from typing import Any

from polyathlon.inspect.mutants.csg import block_mutants, is_mesh, is_part, mesh_mutants, part_mutants
from polyathlon.inspect.mutants.picking import Picker

PICK = Picker("test")
PLATE: dict[str, Any] = {"op": "add", "box": [100, 100, 100]}
HOLE: dict[str, Any] = {"op": "cut", "cylinder": {"d": 100, "h": 100}, "at": [5, 5, 0]}
PART: dict[str, Any] = {"features": [PLATE, HOLE]}


def test_one_dimension_of_a_part_by_two_and_by_ten_per_cent() -> None:
    for operator, value in {
        "dimension +2%": 102,
        "dimension -2%": 98,
        "dimension +10%": 110,
        "dimension -10%": 90,
    }.items():
        changed = dict(part_mutants(PART, PICK))[operator]
        assert str(changed).count(str(float(value))) == 1
        assert str(changed).count("100") == 4


def test_features_dropped_turned_into_material_and_shifted() -> None:
    found: dict[str, Any] = dict(part_mutants(PART, PICK))
    assert found["feature dropped"] in ({"features": [PLATE]}, {"features": [HOLE]})
    assert found["added, not cut"] == {"features": [PLATE, {**HOLE, "op": "add"}]}
    assert found["feature shifted 1.0 mm"] in (
        {"features": [PLATE, {**HOLE, "at": [6, 5, 0]}]},
        {"features": [PLATE, {**HOLE, "at": [5, 6, 0]}]},
    )
    assert found["bounding box"] == {"features": [PLATE]}


def test_the_whole_part_mirrored_turned_scaled_and_joined_by_another() -> None:
    found: dict[str, Any] = dict(part_mutants(PART, PICK))
    assert found["mirrored"] == {"features": [{"op": "add", "part": [PLATE, HOLE], "mirror": "x", "at": [100.0, 0, 0]}]}
    assert found["rotated by 90 degrees"] == {"features": [{"op": "add", "part": [PLATE, HOLE], "turn": [0, 0, 90]}]}
    assert found["scale 0.1"]["features"][0]["box"] == [10.0, 10.0, 10.0]
    assert found["extra body"]["features"][2] == {"op": "add", "box": [5, 5, 5], "at": [120.0, 0, 0]}


def test_patterns_get_one_copy_more_or_fewer_and_wider() -> None:
    row = {**HOLE, "repeat": [{"count": 3, "step": [10, 0, 0]}]}
    found: dict[str, Any] = dict(part_mutants({"features": [PLATE, row]}, PICK))
    assert found["one copy more"]["features"][1]["repeat"] == [{"count": 4, "step": [10, 0, 0]}]
    assert found["one copy fewer"]["features"][1]["repeat"] == [{"count": 2, "step": [10, 0, 0]}]
    assert found["pitch 2% wider"]["features"][1]["repeat"] == [{"count": 3, "step": [10.2, 0, 0]}]


def test_forms_are_told_apart() -> None:
    assert is_part(PART)
    assert is_mesh({"edits": []})
    assert not is_part({"features": []})
    assert not is_mesh({"edits": [], "note": 1})


def test_edits_of_a_mesh() -> None:
    edits: list[dict[str, Any]] = [{"face": [1, 2, 3]}, {"vertex": [1.0, 2.0, 3.0]}]
    found: dict[str, Any] = dict(mesh_mutants({"edits": edits}, PICK))
    assert found["edit dropped"] in ({"edits": edits[:1]}, {"edits": edits[1:]})
    assert found["face wound the other way"] == {"edits": [{"face": [3, 2, 1]}, edits[1]]}
    assert found["another number"]["edits"][0]["face"] in ([2, 2, 3], [1, 3, 3], [1, 2, 4])
    assert found["scale 25.4"] == {"edits": [*edits, {"scale": 25.4}]}
    assert found["nothing edited"] == {"edits": []}


def test_a_whole_mesh() -> None:
    mesh: dict[str, Any] = {"vertices": [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], "faces": [[0, 1, 2]]}
    found: dict[str, Any] = dict(mesh_mutants(mesh, PICK))
    assert found["mirrored"] == {"vertices": [[-1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], "faces": [[2, 1, 0]]}
    assert found["inside out"] == {**mesh, "faces": [[2, 1, 0]]}
    assert found["face dropped"] == {**mesh, "faces": []}
    assert found["body twice"]["faces"] == [[0, 1, 2], [3, 4, 5]]


def test_blocks_of_a_grid() -> None:
    found: dict[str, Any] = dict(block_mutants("012R 345B", PICK))
    assert found["shifted"] == "112R 445B"
    assert found["mirrored"] == "912R 645B"
    assert found["rotated by 90 degrees"] == "192R 465B"
    assert found["y and z exchanged"] == "021R 354B"
    assert found["one block moved"] in ("112R 345B", "012R 445B")
    assert found["extra block"] == "012R 345B 999R"
    assert found["two materials exchanged"] == "012B 345R"
    assert list(block_mutants("012R 34B", PICK)) == []
