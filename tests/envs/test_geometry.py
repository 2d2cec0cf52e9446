"""Solids judged: the ways in which geometry has paid wrong answers, with values worked by hand."""

import math

import numpy as np
import pytest

from polyathlon.verify.geometry import (
    blind_iou,
    bounding_block,
    box,
    empty,
    first_hit,
    hull,
    iou,
    prism,
    report,
    rescaled_iou,
    section_of,
    sound_solid,
    surface_of,
    volume,
)
from polyathlon.verify.surface import (
    GeometryError,
    Mesh,
    count_defects,
    crosses_itself,
    distances,
    mesh_of,
    read_mesh,
    sample_points,
    signed_volume,
)

CUBE = box((0, 0, 0), (2, 2, 2))
FACES = surface_of(CUBE)
ELBOW = prism([(0, 0), (2, 0), (2, 1), (1, 1), (1, 2), (0, 2)], 0, 1)


def beside(left: Mesh, right: Mesh) -> Mesh:
    return Mesh(np.vstack([left.vertices, right.vertices]), np.vstack([left.faces, right.faces + len(left.vertices)]))


def test_a_box_given_twice_counts_once() -> None:
    doubled = beside(FACES, FACES)
    assert signed_volume(doubled) == pytest.approx(16.0)  # what a naive integral says
    solid = sound_solid(doubled)
    assert volume(solid) == pytest.approx(8.0)
    assert iou(solid, CUBE) == 1.0


def test_overlapping_shells_are_united_before_volume() -> None:
    moved = Mesh(FACES.vertices + [1.0, 0.0, 0.0], FACES.faces)  # noqa: RUF005  # an array's sum
    assert volume(sound_solid(beside(FACES, moved))) == pytest.approx(12.0)


@pytest.mark.parametrize(
    ("mesh", "reason"),
    [
        (Mesh(FACES.vertices, FACES.faces[1:]), "open edges"),
        (Mesh(FACES.vertices, FACES.faces[:1]), "open edges"),
        (Mesh(FACES.vertices, FACES.faces[:0]), "no faces"),
        (Mesh(FACES.vertices, FACES.faces[:, ::-1]), "inside out"),
        (Mesh(FACES.vertices, np.vstack([FACES.faces, FACES.faces[:1]])), "crowded"),
        (Mesh(FACES.vertices, np.vstack([FACES.faces[:1, ::-1], FACES.faces[1:]])), "winding"),
        (Mesh(FACES.vertices * [1.0, 1.0, 0.0], FACES.faces), "thin"),
        (Mesh(FACES.vertices * math.nan, FACES.faces), "not finite"),
    ],
    ids=["missing face", "one triangle", "empty", "inverted", "face twice", "one flipped", "flat", "not a number"],
)
def test_what_is_no_solid_is_refused(mesh: Mesh, reason: str) -> None:
    with pytest.raises(GeometryError, match=reason):
        sound_solid(mesh)


def test_a_face_and_its_back_enclose_nothing() -> None:
    with pytest.raises(GeometryError, match="no volume"):
        sound_solid(mesh_of([[0, 0, 0], [9, 0, 0], [0, 9, 0]], [[0, 1, 2], [0, 2, 1]]))


def test_a_shell_that_crosses_itself_is_refused() -> None:
    points = FACES.vertices.copy()
    points[np.all(points == [2, 2, 2], axis=1)] = [0.5, 0.5, -1.0]
    assert crosses_itself(Mesh(points, FACES.faces))
    assert not crosses_itself(FACES)
    with pytest.raises(GeometryError, match="crosses itself"):
        sound_solid(Mesh(points, FACES.faces))


def test_a_thin_hollow_shell_is_not_the_full_box() -> None:
    inner = surface_of(box((0.05, 0.05, 0.05), (1.95, 1.95, 1.95)))
    hollow = sound_solid(beside(FACES, Mesh(inner.vertices, inner.faces[:, ::-1])))
    assert volume(hollow) == pytest.approx(8.0 - 1.9**3)  # 1.141
    assert iou(hollow, CUBE) == pytest.approx(0.142625)


def test_a_bounding_block_of_a_part_with_holes_is_worth_nothing_after_rescaling() -> None:
    plate = box((0, 0, 0), (100, 100, 10)) - box((10, 10, -1), (20, 20, 11))
    assert iou(bounding_block(plate), plate) == pytest.approx(0.99)
    assert rescaled_iou(iou(bounding_block(plate), plate), blind_iou(plate)) == 0.0
    assert rescaled_iou(1.0, blind_iou(plate)) == 1.0


def test_hull_and_box_of_an_elbow_set_the_zero() -> None:
    # volume 3, box 4, hull 4 less a corner of 1/2
    assert iou(hull(ELBOW), ELBOW) == pytest.approx(3.0 / 3.5)
    assert blind_iou(ELBOW) == pytest.approx(3.0 / 3.5)
    assert rescaled_iou(0.5, blind_iou(ELBOW)) == 0.0


def test_a_mirror_image_is_another_part() -> None:
    assert iou(ELBOW.mirror([1, 0, 0]).translate([2, 0, 0]), ELBOW) == pytest.approx(0.5)


def test_inches_taken_for_millimetres_are_another_part() -> None:
    assert iou(CUBE.scale([25.4, 25.4, 25.4]), CUBE) == pytest.approx(25.4**-3, abs=1e-8)


def test_nothing_agrees_with_nothing_by_zero() -> None:
    assert iou(empty(), empty()) == iou(empty(), CUBE) == 0.0
    assert report(empty()).volume == 0.0
    with pytest.raises(GeometryError, match="empty solid"):
        blind_iou(empty())


def test_one_triangle_that_owns_all_vertices_is_far_from_the_surface_between_them() -> None:
    lone = mesh_of(FACES.vertices.tolist(), [[0, 1, 2]])
    points = sample_points(FACES, 400, np.random.default_rng(7))
    assert float(distances(points, FACES).max()) == pytest.approx(0.0, abs=1e-9)
    assert float(distances(points, lone).mean()) > 0.5


def test_points_are_drawn_by_area() -> None:
    # a face of area 50 beside one of area 0.5: 100 to 1
    mesh = mesh_of([[0, 0, 0], [10, 0, 0], [0, 10, 0], [0, 0, 5], [1, 0, 5], [0, 1, 5]], [[0, 1, 2], [3, 4, 5]])
    points = sample_points(mesh, 2_000, np.random.default_rng(7))
    assert 5 <= int((points[:, 2] > 1).sum()) <= 45


def test_a_corner_that_no_face_has_is_not_near() -> None:
    unused = Mesh(np.vstack([FACES.vertices, [[5.0, 5.0, 5.0]]]), FACES.faces)
    points = np.array([[5.0, 5.0, 5.0], [0.25, 0.25, 3.0]])
    assert distances(points, unused).tolist() == distances(points, FACES).tolist()


def test_distances_to_face_edge_and_corner() -> None:
    points = np.array([[1.0, 1.0, 3.0], [3.0, 1.0, 3.0], [3.0, 3.0, 3.0], [1.0, 1.0, 1.0]])
    assert distances(points, FACES).tolist() == pytest.approx([1.0, math.sqrt(2), math.sqrt(3), 1.0])


def test_a_ray_knows_where_it_starts_and_how_far_it_looks() -> None:
    assert (first_hit(CUBE, (1, 1, 1), (1, 0, 0), 5.0).inside, first_hit(CUBE, (-3, 1, 1), (1, 0, 0), 5.0).inside) == (
        True,
        False,
    )
    assert first_hit(CUBE, (-3, 1, 1), (1, 0, 0), 5.0).distance_mm == pytest.approx(3.0)
    assert first_hit(CUBE, (-3, 1, 1), (1, 0, 0), 2.0).distance_mm is None
    assert first_hit(CUBE, (-3, 1, 1), (-1, 0, 0), 9.0).distance_mm is None


@pytest.mark.parametrize(("axis", "area"), [("x", 2.0), ("y", 2.0), ("z", 3.0)])
def test_sections_have_their_area_and_place(axis: str, area: float) -> None:
    found, loops = section_of(ELBOW, axis, 0.5)
    assert found == pytest.approx(area)
    assert [loop.low for loop in loops] == [(0.0, 0.0)]
    assert loops[0].high == pytest.approx((2.0, 2.0) if axis == "z" else (2.0, 1.0))


def test_defects_are_counted_by_kind() -> None:
    assert count_defects(FACES).total == 0
    assert count_defects(Mesh(FACES.vertices, FACES.faces[1:])).open_edges == 3
    assert count_defects(Mesh(FACES.vertices, np.vstack([FACES.faces, FACES.faces[:1]]))).repeated_faces == 1
    assert count_defects(Mesh(FACES.vertices, FACES.faces[:, ::-1])).inverted_shells == 1


@pytest.mark.parametrize(
    ("vertices", "faces"),
    [
        ([[0, 0, 0]], [[0, 0, 1]]),
        ([[0, 0, 0]], [[0, 0, -1]]),
        ([[0, 0, 0]], [[0, 0, True]]),
        ([[0, 0, 10**400]], []),
        ([[0, 0, True]], []),
        ([[0, 0]], []),
        ("abc", "def"),
        ([[0, 0, 0]], [[0, 0, 0]] * 601),
    ],
)
def test_a_mesh_that_names_nothing_is_refused(vertices: object, faces: object) -> None:
    with pytest.raises(GeometryError):
        read_mesh(vertices, faces)  # type: ignore[arg-type]  # whatever a policy sends
