"""Write a feature-tree program for a plate described in words, every length and place said once."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np

from polyathlon import Brief, Core, Domain, Evidence, Script, Task, Verdict
from polyathlon.canonical import canonical_json, expect_map, parse_json
from polyathlon.sandbox.protocol import Room
from polyathlon.seeding import child
from polyathlon.toolcall import write_call, write_fenced
from polyathlon.verify.geometry import Solid, blind_iou, iou, rescaled_iou
from polyathlon.verify.key import map_part
from polyathlon.verify.part import build_part, read_part
from polyathlon.verify.surface import GeometryError
from polyathlon.workspaces.mesh import open_part
from polyathlon_domains.cad._part_attempts import alternatives, distractors, equivalents, exploits, proves_right
from polyathlon_domains.cad._part_drawing import Axes, draw_part
from polyathlon_domains.cad._part_features import program_of
from polyathlon_domains.cad._part_guesses import shortcuts
from polyathlon_domains.cad._part_probes import TOLERANCE_MM, Probes, found, make_probes
from polyathlon_domains.cad._part_strays import farthest_stray_mm
from polyathlon_domains.cad._part_text import describe_part

MIN_IOU = 0.995
FORM = """Corners are sharp unless said otherwise. Give the part in millimetres as one json block, in the part language:
{"features": [{"op": "add", "box": [dx, dy, dz], "at": [x, y, z]},
{"op": "cut", "cylinder": {"d": .., "h": ..}, "at": [x, y, z]}, ...]}
(a box stands on its lowest corner, a cylinder or slot on the centre of its lower end).
It passes if it overlaps the true part to over 99.5% (intersection over union), every wall, floor and face that is
probed at secret places lies within 0.05 mm, and there is no other material and no other gap beyond that."""

_PLAIN = ("hole", "blind", "pocket", "boss", "pad")
_ALL = (*_PLAIN, "slot along x", "slot along y", "counterbore", "bored boss")
_LEVELS = (
    Axes(2, 3, _PLAIN),
    Axes(3, 4, _ALL, chained=0.8),
    Axes(3, 4, _ALL, chained=0.5, patterned=0.6),
    Axes(4, 5, _ALL, chained=0.4, patterned=0.35, mirrored=0.5),
    Axes(4, 5, _ALL, ("mm", "cm", "in"), chained=0.5, patterned=0.35, mirrored=0.4),
)


@dataclass(frozen=True, slots=True)
class PartTasks:
    """Rectangular plates with holes, pockets, slots and bosses that do not overlap."""

    def draw(self, rng: np.random.Generator, level: int) -> Core:
        return draw_part(rng, _LEVELS[level])

    def render(self, core: Core, rng: np.random.Generator) -> Brief:
        return Brief(f"{describe_part(core, rng)}\n{FORM}", hidden={"part": dict(core)})


@dataclass(frozen=True, slots=True)
class _Reference:
    solid: Solid
    blind: float
    probes: Probes


@dataclass(frozen=True, slots=True)
class PartVerifier:
    """Passed: overlap above 0.995, all probes right and no stray material. Else overlap above a block's x features."""

    def judge(self, task: Task, evidence: Evidence, room: Room) -> Verdict:
        if evidence.answer is None:
            return Verdict.failing("no part was built")
        try:
            solid = read_part(evidence.answer)
        except GeometryError as error:
            return Verdict.failing(str(error))
        reference = _reference(canonical_json(map_part(task.hidden, "part")), task.content_hash)
        overlap = iou(solid, reference.solid)
        features = [found(probes, solid) for probes in reference.probes.features]
        share = sum(features) / len(features)
        parts = {"overlap": round(overlap, 6), "features": share}
        probed = overlap > MIN_IOU and share == 1.0 and found(reference.probes.plate, solid)
        if probed and farthest_stray_mm(solid, reference.solid) <= TOLERANCE_MM:
            return Verdict.passing(parts)
        progress = rescaled_iou(overlap, reference.blind) * share
        return Verdict.failing("another part", progress=round(progress, 6), parts=parts)

    def progress(self, task: Task, evidence: Evidence) -> float:
        verdict = self.judge(task, evidence, None)  # type: ignore[arg-type]  # needs no sandbox
        return 1.0 if verdict.passed else 2.0 * (verdict.reward or 0.0)


@functools.lru_cache(maxsize=32)
def _reference(part: str, content_hash: str) -> _Reference:
    core = expect_map(parse_json(part))
    solid = build_part(program_of(core))
    rng = child("cad.text-to-csg", "probes", content_hash)
    return _Reference(solid, blind_iou(solid), make_probes(core, solid, rng))


def solve(task: Task) -> Script:
    """Build, read the report, submit."""
    program = program_of(expect_map(task.hidden["part"]))
    yield write_call("build", {"program": program})
    yield write_fenced(canonical_json(program), language="json")


DOMAIN = Domain(
    tasks=PartTasks(),
    open_workspace=open_part,
    verifier=PartVerifier(),
    solve=solve,
    alternatives=alternatives,
    equivalents=equivalents,
    distractors=distractors,
    exploits=exploits,
    proves_right=proves_right,
    shortcuts=shortcuts,
)
