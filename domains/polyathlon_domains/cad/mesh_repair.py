"""Repair a damaged triangle mesh: holes, flipped and repeated faces, seams, slivers, fins, inner shells."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from polyathlon import Brief, Core, Domain, Evidence, Script, Task, Verdict
from polyathlon.canonical import Json, canonical_json, expect_list, expect_map, expect_text, parse_json
from polyathlon.sandbox.protocol import Room
from polyathlon.seeding import child
from polyathlon.toolcall import write_call, write_fenced
from polyathlon.verify.geometry import bounding_block, hull, sound_solid, surface_of, volume
from polyathlon.verify.key import map_part, whole_part
from polyathlon.verify.surface import (
    Floats,
    GeometryError,
    Mesh,
    count_defects,
    distances,
    mesh_json,
    read_mesh,
    sample_points,
    shells,
)
from polyathlon.verify.text import above
from polyathlon.workspaces.mesh import open_repair, state_mesh
from polyathlon.workspaces.mesh_edits import apply_change, write_mesh
from polyathlon_domains.cad._cell_solids import LARGE, SMALL, draw_shape, draw_shell, mesh_of_shapes
from polyathlon_domains.cad._mesh_attempts import alternatives, distractors, equivalents, exploits, proves_right
from polyathlon_domains.cad._mesh_damage import KINDS, NOT_PATCHED, damage, draw_site
from polyathlon_domains.cad._mesh_guesses import shortcuts
from polyathlon_domains.cad._mesh_patching import patches

MAX_GAP_MM = 0.05
MAX_VOLUME_ERROR = 0.005
NUM_SAMPLES = 500
CLOSER_THAN_BLIND = 0.75  # of a block's mean gap: four standard errors of the samples clear of luck
UNIT_MM: Mapping[str, float] = {"mm": 1.0, "cm": 10.0, "in": 25.4}
UNIT_WORDS: Mapping[str, str] = {"mm": "mm", "cm": "cm", "in": "inches"}

_STORIES = (
    "This mesh came damaged out of an export. It should bound {parts}.",
    "A scan was meshed badly. What it shows should be {parts}.",
    "Repair this mesh for printing. It should bound {parts}.",
)
_RULES = """Its faces are flat and go on flat under any hole until they meet; there are no cavities.
Coordinates are in {unit}{deliver}.
It passes when every edge has exactly two faces, all wound counter-clockwise seen from outside, no face is thinner than
0.01 mm, nothing lies inside or hangs on, the volume is within 0.5% of the original's and no surface point more than
0.05 mm away from it. Reply with one json block of edits, such as {{"edits": [{{"delete": [4]}}, {{"flip": [0, 2]}},
{{"merge": [9, 3]}}, {{"vertex": [1, 2, 3]}}, {{"face": [5, 8, 2]}}, {{"scale": 2}}]}}: faces and vertices by number,
a new vertex takes the next number, merge replaces the first vertex by the second. Or with a whole mesh as
{{"vertices": [[x, y, z], ...], "faces": [[a, b, c], ...]}}. Vertices (v) and faces (f):"""


@dataclass(frozen=True, slots=True)
class _Level:
    """`small` and `wide`: how many damages of everyday kinds, and how many wide holes or lost corners."""

    shapes: tuple[str, ...]
    small: tuple[int, int]
    wide: int = 0
    inner: tuple[int, int] = (0, 0)
    units: tuple[str, ...] = ("mm",)
    parts: tuple[int, int] = (1, 1)
    leans: int = 3


_LEVELS = (
    _Level((*SMALL,), (1, 2)),
    _Level((*SMALL,), (1, 2), wide=1),
    _Level((*SMALL, *LARGE), (1, 2), wide=1, inner=(1, 2)),
    _Level((*LARGE,), (1, 2), wide=1, inner=(1, 2), units=("cm", "in")),
    _Level((*SMALL,), (2, 3), wide=1, inner=(1, 2), units=("mm", "cm", "in"), parts=(2, 3), leans=1),
)


@dataclass(frozen=True, slots=True)
class RepairTasks:
    """Concave solids of flat faces, and damage at places that do not touch each other."""

    def draw(self, rng: np.random.Generator, level: int) -> Core:
        how = _LEVELS[level]
        shapes: list[Json] = [
            draw_shape(how.shapes, how.leans, rng) for _ in range(int(rng.integers(how.parts[0], how.parts[1] + 1)))
        ]
        mesh = mesh_of_shapes(shapes)
        taken: set[int] = set()
        kinds = [("wide hole", "corner")[int(rng.integers(2))] for _ in range(how.wide)]
        kinds += _draw_kinds(int(rng.integers(how.small[0], how.small[1] + 1)), rng)
        sites: list[Json] = [site for kind in kinds if (site := draw_site(kind, mesh, taken, rng)) is not None]
        sites += [draw_shell(shapes, rng) for _ in range(int(rng.integers(how.inner[0], how.inner[1] + 1)))]
        return {"shapes": shapes, "sites": sites, "unit": how.units[int(rng.integers(len(how.units)))]}

    def render(self, core: Core, rng: np.random.Generator) -> Brief:
        unit = expect_text(core["unit"])
        shapes = expect_list(core["shapes"])
        original, count = mesh_of_shapes(shapes), len(shapes)
        broken = damage(original, expect_list(core["sites"]), unit_mm=UNIT_MM[unit], rng=rng)
        parts = "one solid part" if count == 1 else f"{count} separate solid parts"
        story = _STORIES[int(rng.integers(len(_STORIES)))].format(parts=parts)
        deliver = "" if unit == "mm" else f"; the result must be in mm (1 {unit} = {UNIT_MM[unit]:g} mm)"
        prompt = f"{story} {_RULES.format(unit=UNIT_WORDS[unit], deliver=deliver)}\n{write_mesh(broken.mesh)}"
        hidden: dict[str, Json] = {
            "original": mesh_json(original),
            "parts": count,
            "edits": broken.edits,
            "unit": unit,
        }
        return Brief(prompt, hidden=hidden, public={"mesh": mesh_json(broken.mesh)})


@dataclass(frozen=True, slots=True)
class _Reference:
    mesh: Mesh
    volume: float
    points: Floats
    blind_mm: float


def _draw_kinds(count: int, rng: np.random.Generator) -> list[str]:
    """Return `count` different kinds of everyday damage, at least one of which no patch by face numbers mends."""
    first = NOT_PATCHED[int(rng.integers(len(NOT_PATCHED)))]
    others = [kind for kind in KINDS if kind != first]
    return [first, *(others[int(k)] for k in rng.permutation(len(others))[: count - 1])]


@dataclass(frozen=True, slots=True)
class RepairVerifier:
    """Passed: a sound solid of the original's volume and surface. Else, only if closed: defects gone x closeness.

    That counts above what the best patch by face numbers alone would be worth: it takes no look at where they stand.
    """

    def judge(self, task: Task, evidence: Evidence, room: Room) -> Verdict:
        mesh = state_mesh(evidence.state)
        if not len(mesh.faces):
            return Verdict.failing("there are no faces")
        if open_edges := count_defects(mesh).open_edges:
            return Verdict.failing(f"{open_edges} open edges")  # the gate: it encloses nothing, whatever it looks like
        seed = task.content_hash
        reference = _reference(canonical_json(map_part(task.hidden, "original")), seed)
        worst, mean = _gaps(mesh, reference, seed)
        parts_wanted = whole_part(task.hidden, "parts")
        problem = self._problem(mesh, reference, parts_wanted, worst)
        gone = _share_gone(_given(task), mesh, parts_wanted)
        parts = {"worst_gap_mm": round(worst, 4), "defects_gone": round(gone, 6)}
        if problem is None:
            return Verdict.passing(parts)
        progress = above(_worth(gone, mean, reference), _worth_of_patches(task))
        return Verdict.failing(problem, progress=round(progress, 6), parts=parts)

    def progress(self, task: Task, evidence: Evidence) -> float:
        verdict = self.judge(task, evidence, None)  # type: ignore[arg-type]  # needs no sandbox
        return 1.0 if verdict.passed else 2.0 * (verdict.reward or 0.0)

    def _problem(self, mesh: Mesh, reference: _Reference, num_parts: int, worst_mm: float) -> str | None:
        """Return what keeps `mesh` from passing, or None."""
        try:
            solid = sound_solid(mesh)
        except GeometryError as error:
            return str(error)
        if len(shells(mesh)) != num_parts:
            return f"{len(shells(mesh))} shells, not {num_parts}"
        if not abs(volume(solid) - reference.volume) <= MAX_VOLUME_ERROR * reference.volume:
            return "another volume"
        return None if worst_mm <= MAX_GAP_MM else f"the surface is up to {worst_mm:.3f} mm off"


def _worth(gone: float, mean_mm: float, reference: _Reference) -> float:
    """Return the share of defects gone times how much closer than a block the surface is."""
    limit = CLOSER_THAN_BLIND * reference.blind_mm
    return gone * (1.0 - mean_mm / limit) if mean_mm < limit else 0.0


def _worth_of_patches(task: Task) -> float:
    """Return what the best patch by face numbers alone is worth."""
    found = expect_map(task.hidden)
    return _patches_worth(
        canonical_json(task.public["mesh"]),
        canonical_json(found["original"]),
        task.content_hash,
        whole_part(found, "parts"),
        UNIT_MM[expect_text(found["unit"])],
    )


@functools.lru_cache(maxsize=32)
def _patches_worth(given: str, original: str, seed: str, num_parts: int, unit_mm: float) -> float:
    held = expect_map(parse_json(given))
    broken = read_mesh(held["vertices"], held["faces"])
    reference = _reference(original, seed)
    worths = [0.0]
    for edits in patches([(a, b, c) for a, b, c in broken.faces.tolist()], unit_mm).values():
        patched = apply_change(broken, {"edits": edits})
        if not count_defects(patched).open_edges:
            worths.append(
                _worth(_share_gone(broken, patched, num_parts), _gaps(patched, reference, seed)[1], reference)
            )
    return max(worths)


def _gaps(mesh: Mesh, reference: _Reference, seed: str) -> tuple[float, float]:
    """Return the largest gap between the two surfaces, corners included, and the mean one, both ways, mm."""
    there = distances(reference.points, mesh)
    back = distances(_samples(mesh, seed), reference.mesh)
    corners = (
        distances(reference.mesh.vertices, mesh),
        distances(mesh.vertices[np.unique(mesh.faces)], reference.mesh),
    )
    worst: float = max(gap.max(initial=0.0).item() for gap in (there, back, *corners))
    mean: float = (there.mean() + back.mean()).item() / 2.0 if len(back) else worst
    return worst, mean


def _samples(mesh: Mesh, seed: str) -> Floats:
    try:
        return sample_points(mesh, NUM_SAMPLES, child("cad.mesh-repair", "samples", seed))
    except GeometryError:  # faces without any area: their corners are looked at all the same
        return mesh.vertices[:0]


def _given(task: Task) -> Mesh:
    given = expect_map(task.public["mesh"])
    return read_mesh(given["vertices"], given["faces"])


def _share_gone(given: Mesh, mesh: Mesh, num_parts: int) -> float:
    """Return the mean over kinds of defects, those that came new among them, of the share that is gone."""
    before, after = _defects(given, num_parts), _defects(mesh, num_parts)
    shares = [1.0 - after[kind] / count if after[kind] < count else 0.0 for kind, count in before.items() if count]
    shares += [0.0 for kind, count in after.items() if count and not before[kind]]
    return sum(shares) / len(shares) if shares else 0.0


def _defects(mesh: Mesh, num_parts: int) -> dict[str, int]:
    spare = len(shells(mesh)) - num_parts
    return {**count_defects(mesh).counts(), "shells": abs(spare)}


@functools.lru_cache(maxsize=32)
def _reference(original: str, seed: str) -> _Reference:
    held = expect_map(parse_json(original))
    mesh = read_mesh(held["vertices"], held["faces"])
    solid = sound_solid(mesh)
    points = _samples(mesh, seed)
    blocks = [surface_of(block) for block in (hull(solid), bounding_block(solid))]
    blind = [
        (distances(points, block).mean() + distances(_samples(block, seed), mesh).mean()) / 2.0 for block in blocks
    ]
    return _Reference(mesh, volume(solid), points, min(blind).item())


def solve(task: Task) -> Script:
    """List the defects, then undo them in one change."""
    yield write_call("defects", {})
    yield write_fenced(canonical_json({"edits": task.hidden["edits"]}), language="json")


DOMAIN = Domain(
    tasks=RepairTasks(),
    open_workspace=open_repair,
    verifier=RepairVerifier(),
    solve=solve,
    alternatives=alternatives,
    equivalents=equivalents,
    distractors=distractors,
    exploits=exploits,
    proves_right=proves_right,
    shortcuts=shortcuts,
)
