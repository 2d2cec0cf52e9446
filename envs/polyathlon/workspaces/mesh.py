"""A bench for solids: build and measure a part from a program, or repair a given mesh. Judges nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, cast

from polyathlon.canonical import Json, canonical_json, expect_map, parse_json
from polyathlon.domain import Call, Evidence, Observation, Task, ToolSpec, WorkspaceState
from polyathlon.sandbox.protocol import Room
from polyathlon.toolcall import ShortForm
from polyathlon.verify.geometry import Solid, Vector, first_hit, report, section_of, sound_solid, surface_of
from polyathlon.verify.part import LANGUAGE, read_part
from polyathlon.verify.surface import (
    GeometryError,
    Mesh,
    count_defects,
    distances,
    mesh_json,
    mesh_of,
    read_mesh,
    read_number,
    read_vector,
)
from polyathlon.workspaces.mesh_edits import EDITS, apply_change, list_defects, write_mesh
from polyathlon.workspaces.toolbox import Outcome, Tool, Toolbox

PART_INSTRUCTIONS = f"""Build the part, look at it, and submit it. One fenced json block is the short form of submit.
The episode ends with submit; when the turns run out, the last part built counts.
{LANGUAGE}"""
REPAIR_INSTRUCTIONS = f"""Repair the mesh, and submit it. One fenced json block is the short form of submit.
submit makes a last change ({{"edits": []}} for none) and ends the episode; when the turns run out, the mesh
counts as it is.
{EDITS}"""

RAY_REACH_MM = 100_000.0
MAX_CROSSINGS = 20
MAX_LOOPS = 30
_VECTOR: dict[str, Json] = {"type": "array", "items": {"type": "number"}, "minItems": 3, "maxItems": 3}
_TEXT_OR_OBJECT: dict[str, Json] = {"type": ["string", "object"]}


class Bench(Protocol):
    """What a workspace's tools work on. Solids and meshes are replaced, never changed, so that they can be kept."""

    def evidence(self) -> Evidence:
        """Return what is there to judge, without the ledger."""
        ...

    def held(self) -> tuple[object, ...]:
        """Return all that it holds."""
        ...

    def hold(self, held: tuple[object, ...]) -> None:
        """Hold again what `held` returned."""
        ...


class MeshWorkspace:
    """Carries out calls on a bench, and freezes what the bench holds as evidence."""

    def __init__(self, tools: Sequence[Tool], bench: Bench, *, instructions: str, argument: str):
        self._toolbox = Toolbox(tools, short_form=ShortForm("json", "submit", argument))
        self._bench = bench
        self.instructions = instructions

    @property
    def tools(self) -> Sequence[ToolSpec]:
        return self._toolbox.specs

    def act(self, action: str) -> Observation:
        return self._toolbox.act(action)

    def evidence(self) -> Evidence:
        return replace(self._bench.evidence(), ledger=self._toolbox.ledger)

    def snapshot(self) -> WorkspaceState:
        return WorkspaceState((self._bench.held(), self._toolbox.ledger))

    def restore(self, state: WorkspaceState) -> None:
        held, ledger = cast(tuple[tuple[object, ...], tuple[Call, ...]], state.values)
        self._bench.hold(held)
        self._toolbox.go_back(ledger)

    def close(self) -> None:
        return None


@dataclass(slots=True)
class PartBench:
    """The last part that was built: its program as JSON text, and the solid. Evidence: `answer` is that text."""

    program: str | None = None
    solid: Solid | None = None

    def build(self, arguments: Mapping[str, Json]) -> Outcome:
        try:
            text = _text_of(arguments["program"])
            solid = read_part(text)
        except GeometryError as error:
            return Outcome(f"Not built: {error}", ok=False)
        self.program, self.solid = text, solid
        return Outcome(f"Built: {_figures(solid)}")

    def submit(self, arguments: Mapping[str, Json]) -> Outcome:
        built = self.build(arguments)
        return replace(built, text=f"Submitted. {built.text}", finished=True) if built.ok else built

    def current(self) -> Solid:
        if self.solid is None:
            raise GeometryError("nothing is built yet. Call build first.")
        return self.solid

    def evidence(self) -> Evidence:
        return Evidence(answer=self.program)

    def held(self) -> tuple[object, ...]:
        return self.program, self.solid

    def hold(self, held: tuple[object, ...]) -> None:
        self.program, self.solid = cast(tuple[str | None, Solid | None], held)


@dataclass(slots=True)
class RepairBench:
    """The mesh as it is now. Evidence: `state` is {"vertices": ..., "faces": ...}, coordinates as the mesh has them."""

    mesh: Mesh

    def edit(self, arguments: Mapping[str, Json]) -> Outcome:
        change = arguments["change"]
        try:
            self.mesh = apply_change(self.mesh, parse_json(change) if isinstance(change, str) else change)
        except ValueError as error:
            return Outcome(f"Nothing is changed: {error}", ok=False)
        return Outcome(f"Changed: {len(self.mesh.faces)} faces. {_count_text(self.mesh)}")

    def submit(self, arguments: Mapping[str, Json]) -> Outcome:
        changed = self.edit(arguments)
        return replace(changed, text=f"Submitted. {changed.text}", finished=True) if changed.ok else changed

    def show(self, _: Mapping[str, Json]) -> Outcome:
        return Outcome(write_mesh(self.mesh))

    def defects(self, _: Mapping[str, Json]) -> Outcome:
        return Outcome(list_defects(self.mesh))

    def current(self) -> Solid:
        try:
            return sound_solid(self.mesh)
        except GeometryError as error:
            raise GeometryError(f"the mesh is no sound solid yet: {error}") from None

    def evidence(self) -> Evidence:
        return Evidence(state=mesh_json(self.mesh))

    def held(self) -> tuple[object, ...]:
        return (self.mesh,)

    def hold(self, held: tuple[object, ...]) -> None:
        (self.mesh,) = cast(tuple[Mesh], held)


def open_part(_task: Task, _room: Room) -> MeshWorkspace:
    """Return a bench that builds parts: what a domain that asks for a part gives as `open_workspace`."""
    bench = PartBench()
    tools = [
        _tool("build", "Build a part and report its figures.", {"program": _TEXT_OR_OBJECT}, bench.build),
        *_looking(bench.current),
        _tool("submit", "Hand in a part; ends the episode.", {"program": _TEXT_OR_OBJECT}, bench.submit),
    ]
    return MeshWorkspace(tools, bench, instructions=PART_INSTRUCTIONS, argument="program")


def open_repair(task: Task, _room: Room) -> MeshWorkspace:
    """Return a bench that holds the mesh in `task.public["mesh"]`: what a repair domain gives as `open_workspace`."""
    given = expect_map(task.public["mesh"])
    bench = RepairBench(read_mesh(given["vertices"], given["faces"]))
    tools = [
        _tool("show", "List the vertices and faces of the mesh as it is now.", {}, bench.show),
        _tool("defects", "List what is wrong with the mesh, and its shells.", {}, bench.defects),
        _tool("edit", "Change the mesh.", {"change": _TEXT_OR_OBJECT}, bench.edit),
        *_looking(bench.current),
        _tool("submit", "Make a last change and end the episode.", {"change": _TEXT_OR_OBJECT}, bench.submit),
    ]
    return MeshWorkspace(tools, bench, instructions=REPAIR_INSTRUCTIONS, argument="change")


def state_mesh(state: Json) -> Mesh:
    """Return the mesh that a repair's evidence holds."""
    held = expect_map(state)
    return mesh_of(held["vertices"], held["faces"])  # type: ignore[arg-type]  # written by RepairBench.evidence


def _looking(current: Callable[[], Solid]) -> tuple[Tool, ...]:
    def probe(arguments: Mapping[str, Json]) -> Outcome:
        origin, along = _vector(arguments, "origin"), _vector(arguments, "direction")
        length = sum(x * x for x in along) ** 0.5
        if not length > 1e-9:
            raise GeometryError("direction has no length.")
        return Outcome(_crossings(current(), origin, (along[0] / length, along[1] / length, along[2] / length)))

    def section(arguments: Mapping[str, Json]) -> Outcome:
        axis, at = str(arguments["axis"]), read_number(arguments["at"], "at")
        area, loops = section_of(current(), axis, at)
        lines = [f"area {area:.4f} mm^2, {len(loops)} loops"]
        names = [name for name in "xyz" if name != axis]
        for loop in loops[:MAX_LOOPS]:
            kind = "outline" if loop.area > 0.0 else "hole"
            spans = ", ".join(
                f"{name} {low:.4f} to {high:.4f}" for name, low, high in zip(names, loop.low, loop.high, strict=True)
            )
            lines.append(f"{kind}: area {abs(loop.area):.4f}, {spans}")
        return Outcome("\n".join(lines))

    def measure(arguments: Mapping[str, Json]) -> Outcome:
        point, solid = _vector(arguments, "point"), current()
        gap = float(distances(mesh_of([point], []).vertices, surface_of(solid))[0])
        side = "inside" if first_hit(solid, point, (0.6, 0.64, 0.48), RAY_REACH_MM).inside else "outside"
        return Outcome(f"{gap:.4f} mm from the surface, {side}. {_figures(solid)}")

    ray: dict[str, Json] = {"origin": _VECTOR, "direction": _VECTOR}
    plane: dict[str, Json] = {"axis": {"enum": ["x", "y", "z"]}, "at": {"type": "number"}}
    return (
        _tool("probe", "Send a ray through the model and list where it crosses the surface.", ray, _guarded(probe)),
        _tool("section", "Cut the model with the plane axis = at; list area and loops.", plane, _guarded(section)),
        _tool(
            "measure", "Distance from a point to the surface, and all figures.", {"point": _VECTOR}, _guarded(measure)
        ),
    )


def _guarded(run: Callable[[Mapping[str, Json]], Outcome]) -> Callable[[Mapping[str, Json]], Outcome]:
    def guarded(arguments: Mapping[str, Json]) -> Outcome:
        try:
            return run(arguments)
        except GeometryError as error:
            return Outcome(f"Not measured: {error}", ok=False)

    return guarded


def _crossings(solid: Solid, origin: Vector, along: Vector) -> str:
    lines: list[str] = []
    travelled, start = 0.0, origin
    while len(lines) < MAX_CROSSINGS:
        hit = first_hit(solid, start, along, RAY_REACH_MM)
        if hit.distance_mm is None:
            break
        travelled += hit.distance_mm
        lines.append(f"{'leaves' if hit.inside else 'enters'} material at {travelled:.4f} mm")
        travelled += 1e-5
        start = (origin[0] + travelled * along[0], origin[1] + travelled * along[1], origin[2] + travelled * along[2])
    return "\n".join(lines) if lines else "the ray meets nothing"


def _text_of(program: Json) -> str:
    try:
        return program if isinstance(program, str) else canonical_json(program)
    except RecursionError:
        raise GeometryError("the program is nested too deep.") from None


def _figures(solid: Solid) -> str:
    found = report(solid)
    low, high = (", ".join(f"{x:.4f}" for x in corner) for corner in (found.low, found.high))
    return (
        f"volume {found.volume:.4f} mm^3, area {found.area:.4f} mm^2, box [{low}] to [{high}] mm, "
        f"components {found.components}, genus {found.genus}, triangles {found.triangles}"
    )


def _count_text(mesh: Mesh) -> str:
    left = [f"{count} {name.replace('_', ' ')}" for name, count in count_defects(mesh).counts().items() if count]
    return f"Left: {', '.join(left)}." if left else "No counted defect is left."


def _vector(arguments: Mapping[str, Json], name: str) -> Vector:
    x, y, z = read_vector(arguments[name], name, size=3)
    return x, y, z


def _tool(
    name: str, description: str, properties: dict[str, Json], run: Callable[[Mapping[str, Json]], Outcome]
) -> Tool:
    schema: dict[str, Json] = {"type": "object", "properties": properties, "required": list(properties)}
    return Tool(ToolSpec(name, description, schema), run)
