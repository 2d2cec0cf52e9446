"""The part language: what programs build, and what is refused before it costs anything."""

import json
import math
import time

import pytest

from polyathlon.canonical import Json
from polyathlon.verify.geometry import report, volume
from polyathlon.verify.part import build_part, read_part
from polyathlon.verify.surface import GeometryError

PLATE: Json = {"op": "add", "box": [40, 30, 5]}


def test_a_box_stands_on_its_lowest_corner() -> None:
    found = report(build_part({"features": [{"op": "add", "box": [3, 4, 5], "at": [1, -1, 0]}]}))
    assert found.volume == pytest.approx(60.0)
    assert (found.low, found.high) == ((1.0, -1.0, 0.0), (4.0, 3.0, 5.0))


def test_units_scale_everything() -> None:
    assert volume(build_part({"units": "in", "features": [{"op": "add", "box": [1, 1, 1]}]})) == pytest.approx(25.4**3)


def test_a_cylinder_is_a_polygon_of_64_sides_with_corners_on_the_circle() -> None:
    solid = build_part({"features": [{"op": "add", "cylinder": {"d": 2, "h": 3}}]})
    assert volume(solid) == pytest.approx(3 * 32 * math.sin(math.pi / 32))
    assert report(solid).high == pytest.approx((1.0, 1.0, 3.0))


def test_a_slot_is_as_long_as_it_says() -> None:
    found = report(build_part({"features": [{"op": "add", "slot": {"l": 10, "w": 4, "h": 1}}]}))
    assert (found.low, found.high) == ((-5.0, -2.0, 0.0), (5.0, 2.0, 1.0))
    assert found.volume == pytest.approx(6 * 4 + 4 * 32 * math.sin(math.pi / 32))


def test_mirror_comes_before_turn_and_turn_before_the_place() -> None:
    feature: Json = {"op": "add", "box": [1, 2, 3], "mirror": "x", "turn": [0, 0, 90], "at": [10, 0, 0]}
    found = report(build_part({"features": [feature]}))
    # mirrored: x -1..0, y 0..2; a quarter turn: x -2..0, y -1..0; moved by 10
    assert found.low == pytest.approx((8.0, -1.0, 0.0))
    assert found.high == pytest.approx((10.0, 0.0, 3.0))


def test_repeats_multiply() -> None:
    holes: Json = {
        "op": "cut",
        "cylinder": {"d": 2, "h": 5},
        "at": [5, 5, 0],
        "repeat": [{"count": 3, "step": [10, 0, 0]}, {"count": 2, "step": [0, 15, 0]}],
    }
    assert report(build_part({"features": [PLATE, holes]})).genus == 6


def test_copies_around_a_point_keep_their_distance() -> None:
    pins: Json = {
        "op": "add",
        "box": [2, 2, 2],
        "at": [9, -1, 0],
        "repeat": [{"count": 4, "around": [0, 0], "turn": 90}],
    }
    found = report(build_part({"features": [pins]}))
    assert found.components == 4
    assert found.low == pytest.approx((-11.0, -11.0, 0.0))


def test_keep_leaves_what_both_hold() -> None:
    other: Json = {"op": "keep", "box": [10, 10, 10], "at": [35, 25, 0]}
    assert volume(build_part({"features": [PLATE, other]})) == pytest.approx(5 * 5 * 5)


def test_a_part_within_a_part_counts_as_one_shape() -> None:
    ring: Json = [{"op": "add", "box": [4, 4, 1]}, {"op": "cut", "box": [2, 2, 1], "at": [1, 1, 0]}]
    assert volume(build_part({"features": [{"op": "add", "part": ring, "at": [5, 5, 5]}]})) == pytest.approx(12.0)


def test_a_flush_cut_in_inches_leaves_no_film() -> None:
    features: Json = [
        {"op": "add", "box": [2, 2, 0.3], "at": [0, 0, 0.1]},
        {"op": "cut", "cylinder": {"d": 0.5, "h": 0.3}, "at": [1, 1, 0.1]},
    ]
    found = report(build_part({"units": "in", "features": features}))
    assert (found.genus, found.components) == (1, 1)


@pytest.mark.parametrize(
    "program",
    [
        "",
        "[]",
        "{}",
        '{"features": []}',
        '{"features": [1]}',
        '{"features": [{"op": "add", "box": [1, 1, NaN]}]}',
        '{"features": [{"op": "add", "box": [1, 1, 1e999]}]}',
        '{"features": [{"op": "add", "box": [1, 1, 0]}]}',
        '{"features": [{"op": "add", "box": [1, 1, -1]}]}',
        '{"features": [{"op": "add", "box": [1, 1, true]}]}',
        '{"features": [{"op": "add", "box": [1, 1, "1"]}]}',
        '{"features": [{"op": "add", "box": [1, 1]}]}',
        '{"features": [{"op": "add", "box": [1, 1, 1' + "0" * 400 + "]}]}",
        '{"features": [{"op": "add"}]}',
        '{"features": [{"op": "add", "box": [1, 1, 1], "cylinder": {"d": 1, "h": 1}}]}',
        '{"features": [{"op": "add", "box": [1, 1, 1], "colour": "red"}]}',
        '{"features": [{"op": "melt", "box": [1, 1, 1]}]}',
        '{"features": [{"op": ["add"], "box": [1, 1, 1]}]}',
        '{"features": [{"op": "add", "box": [1, 1, 1], "mirror": "w"}]}',
        '{"features": [{"op": "add", "box": [1, 1, 1], "at": [1, 1]}]}',
        '{"features": [{"op": "add", "box": [1, 1, 1], "repeat": [{"count": 0, "step": [1, 0, 0]}]}]}',
        '{"features": [{"op": "add", "box": [1, 1, 1], "repeat": [{"count": 2.0, "step": [1, 0, 0]}]}]}',
        '{"features": [{"op": "add", "box": [1, 1, 1], "repeat": [{"count": 101, "step": [1, 0, 0]}]}]}',
        '{"units": "furlong", "features": [{"op": "add", "box": [1, 1, 1]}]}',
        '{"units": ["mm"], "features": [{"op": "add", "box": [1, 1, 1]}]}',
        '{"features": [{"op": "add", "slot": {"l": 2, "w": 4, "h": 1}}]}',
        '{"features": [{"op": "add", "prism": {"points": [[0, 0], [1, 0]], "h": 1}}]}',
        '{"features": ' + "[" * 5000 + "]" * 5000 + "}",
        '{"features": [{"op": "add", "box": [1, 1, 1], "box": [2, 2, 2]}]}',
    ],
)
def test_what_the_language_lacks_is_refused_with_a_reason(program: str) -> None:
    with pytest.raises(GeometryError, match=r"\w{3}"):
        read_part(program)


def nested(depth: int) -> Json:
    return {"op": "add", "part": [nested(depth - 1)]} if depth else {"op": "add", "box": [1, 1, 1]}


def rods(turn: list[int], step: list[int], count: int) -> Json:
    repeat: Json = [{"count": count, "step": step}]
    return {"op": "add", "cylinder": {"d": 1, "h": 200}, "turn": turn, "repeat": repeat}


@pytest.mark.parametrize(
    "features",
    [
        [nested(6)],
        [{"op": "add", "box": [1, 1, 1]}] * 201,
        [rods([0, 90, 0], [0, 2, 0], 60), rods([-90, 0, 0], [2, 0, 0], 60)],
        [rods([0, 90, 0], [0, 2, 0], 20), rods([-90, 0, 0], [2, 0, 0], 20)],
        [{**rods([0, 90, 0], [0, 0, 0], 1), "repeat": [{"count": 90, "around": [100, 0], "turn": 2}]}],  # type: ignore[dict-item]
    ],
    ids=["too deep", "too many features", "too many copies", "crossing rods", "a star of rods"],
)
def test_a_program_that_grows_without_bound_is_refused_soon(features: list[Json]) -> None:
    began = time.process_time()
    with pytest.raises(GeometryError):
        read_part(json.dumps({"features": features}))
    assert time.process_time() - began < 3.0
