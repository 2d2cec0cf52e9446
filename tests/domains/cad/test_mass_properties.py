"""Mass properties: closed forms against hand-worked values and a mesh integral, and what slips earn."""

import math
from fractions import Fraction

import pytest

from polyathlon.canonical import Json
from polyathlon.domain import Evidence, Task, Verdict
from polyathlon.sandbox.choose import default_room
from polyathlon.verify.geometry import volume
from polyathlon.verify.part import build_part
from polyathlon_domains.cad._mass_bodies import Body, asked_figure, body_json, body_of, part_figures, write_value
from polyathlon_domains.cad.mass_properties import DOMAIN


def judge(answer: str, values: list[str], ask: str = "mass") -> Verdict:
    hidden: dict[str, Json] = {"values": values, "ask": ask}
    task = Task("x:0:train:0", 0, 0, "train", "", {}, hidden, "ab" * 32)
    return DOMAIN.verifier.judge(task, Evidence(answer=answer), default_room())


def test_a_box_less_a_bore_has_the_volume_of_its_mesh() -> None:
    body = Body("box", (10, 8, 5), bore=4)
    assert float(body.volume) == pytest.approx(400 - math.pi * 20, rel=1e-8)
    solid = build_part(
        {
            "features": [
                {"op": "add", "box": [10, 8, 5]},
                {"op": "cut", "cylinder": {"d": 4, "h": 5}, "at": [5, 4, 0]},
            ]
        }
    )
    assert float(body.volume) == pytest.approx(volume(solid), rel=1e-3)  # the mesh's circle has 64 sides


@pytest.mark.parametrize(
    ("body", "axis", "inertia"),
    [
        (Body("box", (2, 4, 6), 10), "x", 48 * (16 + 36) / 12),
        (Body("box", (2, 4, 6), 10), "z", 48 * (4 + 16) / 12),
        (Body("sphere", (4,), 30), "y", 0.4 * 3 * 4 / 3 * math.pi * 8 * 4),
        (Body("cylinder", (4, 6), 10), "z", 24 * math.pi * 4 / 2),
        (Body("cylinder", (4, 6), 10), "x", 24 * math.pi * (3 * 4 + 36) / 12),
        (Body("cylinder", (4, 6), 10, axis="x"), "x", 24 * math.pi * 4 / 2),
        # a tube: outer radius 2, inner 1: m (R^2 + r^2) / 2 with m = 18 pi
        (Body("cylinder", (4, 6), 10, bore=2), "z", 18 * math.pi * 5 / 2),
        # turned by the angle of cosine 0.8: 0.64 Ix + 0.36 Iy
        (Body("box", (2, 4, 6), 10, turn=(8, 6)), "x", 0.64 * 208 + 0.36 * 160),
        (Body("box", (2, 4, 6), 10, turn=(8, 6)), "z", 80),
    ],
)
def test_moments_of_inertia_are_the_textbooks(body: Body, axis: str, inertia: float) -> None:
    assert float(body.own_inertia(axis)) == pytest.approx(inertia, rel=1e-7)


def test_the_parallel_axis_term_takes_the_distance_to_the_axis() -> None:
    body = Body("box", (1, 1, 1), 20, at=(3, 4, 100))
    assert body.offset_inertia("z") == 2 * 25
    assert body.offset_inertia("x") == 2 * (16 + 10_000)


def test_the_centre_is_weighted_by_mass() -> None:
    bodies = [Body("box", (1, 1, 1), 10, at=(2, 0, 0)), Body("box", (1, 1, 3), 20, at=(9, 0, 0))]
    assert asked_figure(bodies, "centre", "x") == Fraction(1 * 2 + 6 * 9, 7)
    assert part_figures(bodies, "centre", "x") == [1, 6]


def test_bodies_survive_json() -> None:
    body = Body("cylinder", (4, 6), 27, (1, 2, 3), 2, "y", (8, 6))
    assert body_of(body_json(body)) == body


@pytest.mark.parametrize(
    ("value", "text"), [(Fraction(24), "24"), (Fraction(1, 3), "0.33333"), (Fraction(123456, 10), "12346")]
)
def test_values_are_written_to_five_digits(value: Fraction, text: str) -> None:
    assert write_value(value) == text


@pytest.mark.parametrize(
    ("answer", "reward"),
    [
        ("100;200;300;600", 1.0),
        ("100.4; 199.2 ;3.0e2;+603", 1.0),  # all within half a per cent, the last at its edge
        ("100;200;300;603.1", 0.5 * 2 / 3),  # three of four, one put down to luck
        ("100;200;1;600", 0.5 * 2 / 3),
        ("100;200;1;1", 0.5 / 3),
        ("1;1;1;600", 0.0),
        ("600", 0.0),
        ("100;200;300", 0.0),
        ("100;200;300;600;600", 0.0),
        ("nan;nan;nan;nan", 0.0),
        ("100;200;300;6e999", 0.5 * 2 / 3),
        ("595-605;1;1;1", 0.0),
        ("", 0.0),
    ],
)
def test_figures_are_paid_by_the_piece(answer: str, reward: float) -> None:
    assert judge(answer, ["100/1", "200/1", "300/1", "600/1"]).reward == pytest.approx(reward)


def test_whole_volumes_are_exact() -> None:
    gold = ["100/1", "200/1", "300/1", "600/1"]
    assert judge("100;200;300;600.0", gold, "volume").passed
    assert judge("100;200;300;601", gold, "volume").reward == pytest.approx(0.5 * 2 / 3)


def test_the_cheapest_way_to_a_third_is_three_right_figures_of_four() -> None:
    assert (judge("100;200;300;0", ["100/1", "200/1", "300/1", "600/1"]).reward or 0) == pytest.approx(1 / 3)
