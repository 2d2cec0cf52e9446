"""Mesh repair: damage, the repair that undoes it, and what wrong repairs earn."""

import numpy as np
import pytest

from polyathlon.canonical import Json, canonical_json, expect_list, expect_map
from polyathlon.domain import Evidence, Task, Verdict
from polyathlon.sandbox.choose import default_room
from polyathlon.toolcall import write_fenced
from polyathlon.verify.geometry import bounding_block, hull, sound_solid, surface_of, volume
from polyathlon.verify.surface import Mesh, count_defects, mesh_json, read_mesh
from polyathlon.workspaces.mesh_edits import apply_change
from polyathlon_domains.cad._cell_solids import LARGE, SMALL, cell_mesh, joined_meshes
from polyathlon_domains.cad._mesh_attempts import proves_right
from polyathlon_domains.cad._mesh_damage import damage
from polyathlon_domains.cad._mesh_patching import patches
from polyathlon_domains.cad.mesh_repair import DOMAIN

PLANES = ([0.0, 10.0, 20.0, 30.0], [0.0, 10.0, 20.0, 30.0], [0.0, 10.0, 20.0, 30.0])
THIRDS = cell_mesh(SMALL["angle"], ([0.0, 31.0 / 3, 20.0, 91.0 / 3],) * 3, 0.0, 0)
ELBOW = cell_mesh(SMALL["angle"], PLANES, 0.0, 0)


def task(sites: list[Json]) -> Task:
    broken = damage(ELBOW, sites, unit_mm=1.0, rng=np.random.default_rng(5))
    hidden: dict[str, Json] = {"original": mesh_json(ELBOW), "parts": 1, "edits": list(broken.edits), "unit": "mm"}
    return Task("x:0:train:0", 0, 0, "train", "", {"mesh": mesh_json(broken.mesh)}, hidden, "ab" * 32)


def judge(of: Task, mesh: Mesh) -> Verdict:
    return DOMAIN.verifier.judge(of, Evidence(state=mesh_json(mesh)), default_room())


FLIPPED = task([{"kind": "flip", "faces": [0, 1]}])


@pytest.mark.parametrize("name", [*SMALL, *LARGE])
def test_cell_solids_are_sound_and_have_the_volume_of_their_cells(name: str) -> None:
    layers = {**SMALL, **LARGE}[name]
    cells = sum(row.count("#") for layer in layers for row in layer)
    mesh = cell_mesh(layers, PLANES, 0.5, 0b1011)
    assert volume(sound_solid(mesh)) == pytest.approx(1000.0 * cells)  # leaning keeps the volume


SITES: dict[str, Json] = {
    "hole": {"kind": "hole", "faces": [0, 1, 4]},
    "corner": {"kind": "corner", "vertex": 0},
    "flip": {"kind": "flip", "faces": [2, 3]},
    "repeat": {"kind": "repeat", "faces": [5], "turned": 1},
    "seam": {"kind": "seam", "vertex": 3, "faces": [int(np.nonzero((ELBOW.faces == 3).any(axis=1))[0][0])]},
    "sliver": {"kind": "sliver", "face": 6, "side": 1, "at": 5},
    "fin": {"kind": "fin", "face": 6, "side": 0, "tip": [3, -4, 5]},
    "shell": {"kind": "shell", "points": [[2, 2, 2], [5, 2, 2], [2, 5, 2], [2, 2, 5]], "inward": 1},
}


@pytest.mark.parametrize("kind", SITES)
@pytest.mark.parametrize("unit_mm", [1.0, 25.4])
def test_each_damage_is_a_defect_and_its_edits_undo_it(kind: str, unit_mm: float) -> None:
    broken = damage(ELBOW, [SITES[kind]], unit_mm=unit_mm, rng=np.random.default_rng(1))
    if kind != "shell":
        assert count_defects(broken.mesh).total > 0
    mended = apply_change(broken.mesh, {"edits": list(broken.edits)})
    assert volume(sound_solid(mended)) == pytest.approx(3000.0, rel=1e-4)
    assert len(mended.faces) == len(ELBOW.faces)


def test_the_original_passes_and_so_does_another_triangulation() -> None:
    other = cell_mesh(SMALL["angle"], PLANES, 0.0, 2**40 - 1)
    assert judge(FLIPPED, ELBOW).passed
    assert judge(FLIPPED, other).passed


@pytest.mark.parametrize(
    "mesh",
    [
        surface_of(hull(sound_solid(ELBOW))),
        surface_of(bounding_block(sound_solid(ELBOW))),
        Mesh(ELBOW.vertices, ELBOW.faces[:0]),
        Mesh(ELBOW.vertices, ELBOW.faces[2:]),
        Mesh(ELBOW.vertices * 25.4, ELBOW.faces),
        Mesh(ELBOW.vertices * [-1.0, 1.0, 1.0], ELBOW.faces[:, ::-1]),
    ],
    ids=["hull", "box", "empty", "bad faces deleted", "25.4 times", "mirrored"],
)
def test_blind_repairs_earn_nothing(mesh: Mesh) -> None:
    assert judge(FLIPPED, mesh).reward == 0.0


def test_the_mesh_as_given_earns_nothing() -> None:
    for site in SITES.values():
        given = task([site])
        mesh = damage(ELBOW, [site], unit_mm=1.0, rng=np.random.default_rng(5)).mesh
        assert judge(given, mesh).reward == 0.0


def test_the_same_solid_twice_does_not_pass() -> None:
    verdict = judge(FLIPPED, joined_meshes([ELBOW, ELBOW]))
    assert not verdict.passed
    assert verdict.reason == "2 shells, not 1"


def test_one_of_two_defects_mended_earns_a_quarter() -> None:
    # a sliver and an inner shell; the sliver is merged away, the shell stays: half the kinds, an exact outside
    sites: list[Json] = [SITES["sliver"], SITES["shell"]]
    inner = damage(ELBOW, sites[1:], unit_mm=1.0, rng=np.random.default_rng(5)).mesh
    verdict = judge(task(sites), inner)
    assert verdict.parts["defects_gone"] == 0.5
    assert 0.2 < (verdict.reward or 0.0) <= 0.25


def test_what_a_patch_by_face_numbers_would_be_worth_is_not_paid() -> None:
    # flipped faces and an inner shell: the faces are turned back; closing what is open is worth a part of that
    sites: list[Json] = [{"kind": "flip", "faces": [0, 1]}, SITES["shell"]]
    given = task(sites)
    inner = damage(ELBOW, sites[1:], unit_mm=1.0, rng=np.random.default_rng(5)).mesh
    assert 0.0 < (judge(given, inner).reward or 0.0) < 0.2
    shown = expect_map(given.public["mesh"])
    broken = read_mesh(shown["vertices"], shown["faces"])
    faces = [(a, b, c) for a, b, c in broken.faces.tolist()]
    for edits in patches(faces, 1.0).values():
        assert judge(given, apply_change(broken, {"edits": edits})).reward == 0.0


def test_a_task_of_level_0_holds_damage_that_no_patch_mends() -> None:
    for seed in range(20):
        sites = expect_list(DOMAIN.tasks.draw(np.random.default_rng(seed), 0)["sites"])
        assert {expect_map(site)["kind"] for site in sites} & {"flip", "seam", "sliver", "fin"}


def test_the_cheapest_way_to_a_half_is_a_closed_mesh_a_hair_off() -> None:
    points = ELBOW.vertices.copy()
    points[0] += 0.2
    verdict = judge(FLIPPED, Mesh(points, ELBOW.faces))
    assert not verdict.passed
    assert 0.45 < (verdict.reward or 0.0) < 0.5


@pytest.mark.parametrize(("shift", "passed"), [(0.04, True), (0.08, False)])
def test_the_surface_may_lie_a_twentieth_of_a_millimetre_off(shift: float, passed: bool) -> None:
    assert judge(FLIPPED, Mesh(ELBOW.vertices + np.array([0.0, 0.0, shift]), ELBOW.faces)).passed is passed


@pytest.mark.parametrize(("further_mm", "proven"), [(0.0, True), (0.01, False)])
@pytest.mark.parametrize("unit_mm", [1.0, 25.4])
def test_the_proof_grants_the_rounding_of_what_is_shown_and_no_more(
    unit_mm: float, further_mm: float, proven: bool
) -> None:
    broken = damage(THIRDS, [], unit_mm=unit_mm, rng=np.random.default_rng(1))
    hidden: dict[str, Json] = {"original": mesh_json(THIRDS), "parts": 1, "edits": list(broken.edits)}
    given = Task("x:0:train:0", 0, 0, "train", "", {"mesh": mesh_json(broken.mesh)}, hidden, "ab" * 32)
    sides = Mesh(THIRDS.vertices + [[further_mm, 0.0, 0.0]] * (THIRDS.vertices[:, :1] > 15.0), THIRDS.faces)
    wrong = write_fenced(canonical_json(mesh_json(sides)), language="json")
    right = write_fenced(canonical_json({"edits": list(broken.edits)}), language="json")
    assert proves_right(given, [right if proven else wrong]) is proven
