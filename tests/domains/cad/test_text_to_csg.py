"""Plates in words: what a written part means, what passes, and what a wrong part earns."""

import json
import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

import polyathlon
from polyathlon.canonical import Json
from polyathlon.domain import Evidence, Task, Verdict
from polyathlon.drawing import TaskKey, draw_task
from polyathlon.sandbox.choose import default_room
from polyathlon.verify.geometry import report
from polyathlon.verify.part import build_part
from polyathlon_domains.cad._part_features import copies_of, program_of
from polyathlon_domains.cad._part_text import describe_part
from polyathlon_domains.cad.text_to_csg import DOMAIN

# a 100 x 60 x 10 mm plate: a hole of 10 mm at (20, 30), and a pocket 20 x 10, 4 deep, 40 mm right of it
CORE: dict[str, Json] = {
    "plate": {"l": [100_000, "mm"], "w": [6_000, "cm"], "t": [10_000, "mm"]},
    "features": [
        {
            "kind": "hole",
            "sizes": {"d": [10_000, "mm"]},
            "x": ["left", [20_000, "mm"]],
            "y": ["mid", [0, "mm"]],
            "many": {},
        },
        {
            "kind": "pocket",
            "sizes": {"l": [20_000, "mm"], "w": [10_000, "mm"], "depth": [4_000, "mm"]},
            "x": [0, [40_000, "mm"]],
            "y": [0, [0, "mm"]],
            "many": {},
        },
    ],
}
PLATE: dict[str, Json] = {"op": "add", "box": [100, 60, 10]}
HOLE: dict[str, Json] = {"op": "cut", "cylinder": {"d": 10, "h": 10}, "at": [20, 30, 0]}
POCKET: dict[str, Json] = {"op": "cut", "box": [20, 10, 4], "at": [50, 25, 6]}


def task(core: dict[str, Json] = CORE) -> Task:
    return Task("x:0:train:0", 0, 0, "train", "", {}, {"part": core}, "ab" * 32)


def judge(*features: Json, units: str = "mm") -> Verdict:
    answer = json.dumps({"units": units, "features": features})
    return DOMAIN.verifier.judge(task(), Evidence(answer=answer), default_room())


def test_the_part_as_described_passes() -> None:
    assert judge(PLATE, HOLE, POCKET).passed


def test_words_say_what_the_core_says() -> None:
    text = describe_part(CORE, np.random.default_rng(3))
    assert "20 mm from the left edge and midway between the front and back edges" in text
    assert "40 mm to the right of the centre of hole A and level with the centre of hole A in y" in text
    assert "6 cm" in text


def test_patterns_and_mirrors_lie_where_they_are_said() -> None:
    feature: dict[str, Json] = {
        "kind": "hole",
        "sizes": {"d": [5_000, "mm"]},
        "x": ["left", [10_000, "mm"]],
        "y": ["front", [12_000, "mm"]],
    }
    row: dict[str, Json] = {**feature, "many": {"row": "x", "count": 3, "pitch": [1_000, "in"]}}
    corners: dict[str, Json] = {**feature, "many": {"mirror": "xy"}}
    ring: dict[str, Json] = {
        **feature,
        "x": ["left", [50_000, "mm"]],
        "many": {"circle": 4, "across": [20_000, "mm"], "first": 0},
    }
    spots = [[(copy.x, copy.y) for copy in copies_of({**CORE, "features": [kind]})[0]] for kind in (row, corners, ring)]
    assert spots[0] == [(10.0, 12.0), (35.4, 12.0), (60.8, 12.0)]
    assert spots[1] == [(10.0, 12.0), (90.0, 12.0), (10.0, 48.0), (90.0, 48.0)]
    assert spots[2] == [(60.0, 12.0), (50.0, 22.0), (40.0, 12.0), (50.0, 2.0)]
    for kind, holes in ((row, 3), (corners, 4)):
        assert report(build_part(program_of({**CORE, "features": [kind]}))).genus == holes


NOTHING_SHOWN: list[tuple[Json, ...]] = [
    (PLATE,),
    (PLATE, {**PLATE, "op": "cut"}),
    ({**HOLE, "op": "add"},),
    (PLATE, {**HOLE, "at": [80, 30, 0]}),
]


@pytest.mark.parametrize(
    "features",
    NOTHING_SHOWN,
    ids=["bounding block", "nothing", "a tiny piece", "a hole elsewhere"],
)
def test_what_shows_no_feature_earns_nothing(features: tuple[Json, ...]) -> None:
    assert judge(*features).reward == 0.0


def test_inches_for_millimetres_earn_nothing() -> None:
    assert judge(PLATE, HOLE, POCKET, units="in").reward == 0.0


def test_the_cheapest_way_to_a_half_is_all_features_but_a_slip() -> None:
    # one of two features right, and an overlap above the block's: the hole's share of what is cut, times one half
    hole_only = judge(PLATE, HOLE)
    assert hole_only.parts["features"] == 0.5
    cut_by_hole, cut_by_pocket = 10 * 32 * 25 * np.sin(np.pi / 32), 800.0
    block = 1 - (cut_by_hole + cut_by_pocket) / 60_000
    overlap = (60_000 - cut_by_hole - cut_by_pocket) / (60_000 - cut_by_hole)
    assert hole_only.reward == pytest.approx(0.5 * 0.5 * (overlap - block) / (1 - block), abs=1e-5)
    assert 0.1 < (hole_only.reward or 0) < 0.25


@pytest.mark.parametrize(("shift", "passed"), [(0.04, True), (0.08, False)])
def test_probes_hold_to_a_twentieth_of_a_millimetre(shift: float, passed: bool) -> None:
    moved: Json = {"op": "cut", "box": [20, 10, 4], "at": [50 + shift, 25, 6]}
    assert judge(PLATE, HOLE, moved).passed is passed


def test_a_needle_hole_through_a_face_does_not_pass_although_the_overlap_is_full() -> None:
    shallow: Json = {"op": "cut", "box": [20, 10, 3.8], "at": [50, 25, 6.2]}
    verdict = judge(PLATE, HOLE, shallow)
    assert verdict.parts["overlap"] > 0.999
    assert not verdict.passed


def test_probes_depend_on_the_task_alone() -> None:
    evidence = Evidence(answer=json.dumps({"features": [PLATE, HOLE]}))
    room = default_room()
    assert DOMAIN.verifier.judge(task(), evidence, room) == DOMAIN.verifier.judge(task(), evidence, room)
    other = replace(task(), content_hash="cd" * 32)
    assert DOMAIN.verifier.judge(other, evidence, room).reward == DOMAIN.verifier.judge(task(), evidence, room).reward


def test_levels_bring_chains_patterns_symmetry_and_units() -> None:
    name = "polyathlon/cad.text-to-csg-v1"
    source = polyathlon.load_domain(name).tasks
    drawn = [[draw_task(source, TaskKey(name, level, seed)).prompt for seed in range(12)] for level in range(5)]
    texts = ["".join(prompt.partition("Corners are sharp")[0] for prompt in prompts) for prompts in drawn]
    marks = ("the centre of", " of them", "symmetric", "75 in")
    shown = [[mark in text for mark in marks] for text in texts]
    assert shown == [
        [False, False, False, False],
        [True, False, False, False],
        [True, True, False, False],
        [True, True, True, False],
        [True, True, True, True],
    ]


def test_a_missing_extra_is_answered_with_the_pip_line() -> None:
    code = (
        "import sys; sys.modules['manifold3d'] = None; import polyathlon;"
        "polyathlon.load_domain('cad.mass-properties-v1'); polyathlon.load_domain('cad.text-to-csg-v1')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert "no module 'manifold3d'. Try: pip install 'polyathlon[cad]'" in done.stderr
