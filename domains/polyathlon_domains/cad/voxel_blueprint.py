"""Follow a building plan on a small grid and list every block: coordinates and material."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from polyathlon import Attempt, Brief, Core, Domain, Evidence, Json, Script, Task, Verdict, answering
from polyathlon.canonical import expect_int, expect_list
from polyathlon.sandbox.protocol import Room
from polyathlon.verify.key import list_part, whole_part
from polyathlon.verify.text import above, bag_f1
from polyathlon.workspaces.question import open_question
from polyathlon_domains.cad._voxel_plan import (
    AXES,
    DIRECTIONS,
    Cell,
    PlanError,
    Step,
    best_box_f1,
    build,
    cell_of,
    write_cell,
)

HEADS = (
    "List all blocks as xyz+letter, like 012R.",
    "Blocks, written xyz+letter (012R)?",
    "Give every block like 012R (xyz, letter).",
)
LETTERS = "RGBWYK"
BLOCK = re.compile(r"\d{3}[A-Z]")
MAX_BLOCKS = 8
HIGHEST_BOX = 0.62

# (cells a side, kinds of step in order) a level; "edit" is a clear or a strip
LEVELS: tuple[tuple[int, tuple[str, ...]], ...] = (
    (5, ("row2", "row2", "row2")),
    (6, ("row3", "on2")),
    (7, ("row2", "on2", "mirror")),
    (8, ("stair2", "on2", "paint", "mirror")),
    (9, ("row3", "on2", "mirror", "edit", "stair2")),
)


@dataclass(frozen=True, slots=True)
class VoxelTasks:
    """Plans that fit the grid, of which every step matters and no one box is a good guess."""

    def draw(self, rng: np.random.Generator, level: int) -> Core:
        size, kinds = LEVELS[level]
        while True:
            steps: list[Step] = []
            for kind in kinds:
                steps.append(_draw_fitting(rng, kind, steps, size))
            if _is_good(steps, size):
                return {"size": size, "steps": steps}

    def render(self, core: Core, rng: np.random.Generator) -> Brief:
        steps = _steps(core["steps"])
        style = int(rng.integers(2))
        lines = [HEADS[int(rng.integers(len(HEADS)))], *(_say(step, style) for step in steps)]
        return Brief("\n".join(lines), hidden={"steps": steps, "size": expect_int(core["size"])})


@dataclass(frozen=True, slots=True)
class VoxelVerifier:
    """Passed: exactly the blocks of the plan, in any order. Else their F1 above what costs no work:

    the best solid box, and the blocks that the plan names outright.
    """

    def judge(self, task: Task, evidence: Evidence, room: Room) -> Verdict:
        got = (evidence.answer or "").replace(",", " ").split()
        if not got or any(BLOCK.fullmatch(block) is None or not block.isascii() for block in got):
            return Verdict.failing("not a list of blocks like 012R")
        cells = _built(task)
        wanted = [write_cell(cell, letter) for cell, letter in cells.items()]
        if sorted(got) == sorted(wanted):
            return Verdict.passing()
        f1 = bag_f1(got, wanted)
        zero = max(best_box_f1(cells), bag_f1(_told(_steps(list_part(task.hidden, "steps"))), wanted))
        return Verdict.failing("other blocks", progress=above(f1, zero), parts={"f1": f1})


def solve(task: Task) -> Script:
    """The blocks in the order in which the plan places them."""
    return answering(" ".join(_blocks(_built(task))))


def alternatives(task: Task) -> Sequence[Attempt]:
    blocks = _blocks(_built(task))
    return (
        Attempt("sorted by coordinates", (" ".join(sorted(blocks)),)),
        Attempt("last placed first", (" ".join(reversed(blocks)),)),
    )


def equivalents(task: Task) -> Sequence[Attempt]:
    blocks = _blocks(_built(task))
    return (
        Attempt("one a line", ("\n".join(blocks),)),
        Attempt("with commas", (", ".join(blocks),)),
        Attempt("in answer tags after reasoning", (f"The row first. <answer>{' '.join(blocks)}</answer>",)),
    )


def distractors(task: Task) -> Sequence[Attempt]:
    cells, steps = _built(task), _steps(list_part(task.hidden, "steps"))
    blocks = _blocks(cells)
    wrong = {
        "one block missing": blocks[:-1],
        "one material wrong": [*blocks[:-1], blocks[-1][:3] + ("R" if blocks[-1][3] != "R" else "G")],
        "one block too many": [
            *blocks,
            next(w for k in range(9) if (w := f"0{k}0W")[:3] not in {b[:3] for b in blocks}),
        ],
        "x and y swapped": [block[1] + block[0] + block[2:] for block in blocks],
        "last step left out": _try(steps[:-1]),
        "first row the other way": _try([_turned(steps[0]), *steps[1:]]),
        "a block twice": [*blocks, blocks[0]],
    }
    return tuple(
        Attempt(name, (" ".join(tried),)) for name, tried in wrong.items() if tried and sorted(tried) != sorted(blocks)
    )


def exploits(task: Task) -> Sequence[Attempt]:
    size, cells = whole_part(task.hidden, "size"), _built(task)
    grid = [(x, y, z) for x in range(size) for y in range(size) for z in range(size)]
    letter = next(iter(cells.values()))
    named = re.findall(r"\d{3}", task.prompt)
    return (
        Attempt("every cell of the grid", (" ".join(write_cell(cell, letter) for cell in grid),)),
        Attempt("every cell in every material", (" ".join(write_cell(cell, c) for cell in grid for c in LETTERS),)),
        Attempt("the example of the prompt", ("012R",)),
        Attempt("named cells in every material", (" ".join(cell + c for cell in named for c in LETTERS),)),
        Attempt("named cells in the letter beside them", (" ".join(_told(_steps(list_part(task.hidden, "steps")))),)),
        Attempt("one block of the answer", (write_cell(next(iter(cells)), letter),)),
        Attempt("blocks glued together", ("".join(_blocks(cells)),)),
        Attempt("full-width digits", (" ".join("\uff10" + block[1:] for block in _blocks(cells)),)),
    )


def proves_right(task: Task, actions: Sequence[str]) -> bool:
    """Whether a bare answer lists each block of the plan once: it may list them in any order."""
    return len(actions) == 1 and sorted(actions[0].split()) == sorted(_blocks(_built(task)))


def shortcuts(task: Task) -> Sequence[Attempt]:
    """The cells that are named, in the letters beside them; every row laid along x from the last cell named."""
    named, rows = (
        re.findall(r"\b\d{3}\b", task.prompt),
        re.findall(r"\b([RGBWYK]{1,4}) (?:from|at) (\d{3})", task.prompt),
    )
    laid = [
        f"{(int(cell[0]) + k) % 10}{cell[1:]}{letter}" for letters, cell in rows for k, letter in enumerate(letters)
    ]
    beside = [cell + letters[0] for letters, cell in rows]
    return (
        Attempt("the cells that are named", (" ".join(beside or [cell + "R" for cell in named] or ["000R"]),)),
        Attempt("every row along x", (" ".join(laid or ["000R"]),)),
    )


def _steps(value: Json) -> list[Step]:
    return [expect_list(step) for step in expect_list(value)]  # type: ignore[misc]  # a plan's own steps, drawn above


def _built(task: Task) -> dict[Cell, str]:
    return build(_steps(list_part(task.hidden, "steps")), size=whole_part(task.hidden, "size"))


def _blocks(cells: dict[Cell, str]) -> list[str]:
    return [write_cell(cell, letter) for cell, letter in cells.items()]


def _told(steps: Sequence[Step]) -> list[str]:
    """Return the blocks that stand in the prompt: where each row and stair begins."""
    return [write_cell(cell_of(step[2]), str(step[1])[0]) for step in steps if step[0] in ("row", "stair")]


def _try(steps: Sequence[Step]) -> list[str]:
    try:
        return _blocks(build(steps, size=10))
    except PlanError:
        return []


def _turned(step: Step) -> Step:
    way = str(step[3])
    return [*step[:3], ("-" if way[0] == "+" else "+") + way[1], *step[4:]]


def _draw_fitting(rng: np.random.Generator, kind: str, before: Sequence[Step], size: int) -> Step:
    """Return a step that fits after `before`, or after ten tries one that does not."""
    for _ in range(10):
        step = _draw_step(rng, kind, size)
        try:
            build([*before, step], size=size)
        except PlanError:
            continue
        return step
    return step


def _draw_step(rng: np.random.Generator, kind: str, size: int) -> Step:
    def letters(count: int) -> str:
        return "".join(LETTERS[int(k)] for k in rng.integers(0, len(LETTERS), size=count))

    name, count = (kind[:-1], int(kind[-1])) if kind[-1].isdigit() else (kind, 0)
    axis = AXES[int(rng.integers(3))]
    if name == "mirror":
        return ["mirror", axis, int(rng.integers(1, size - 1))]
    if name == "paint":
        old, new = (LETTERS[int(k)] for k in rng.permutation(len(LETTERS))[:2])
        return ["paint", old, new]
    if name == "edit":
        return ["strip", letters(1)] if rng.random() < 0.5 else ["clear", axis, int(rng.integers(size))]
    direction = [*DIRECTIONS][int(rng.integers(4 if name == "stair" else 6))]
    if name == "on":
        toward = DIRECTIONS[[*DIRECTIONS][int(rng.integers(6))]]
        far = int(rng.integers(1, 4))
        return ["on", letters(count), [part * far for part in toward], direction]
    start = [int(k) for k in rng.integers(0, size, size=3)]
    return (
        ["stair", letters(1), start, direction, count] if name == "stair" else [name, letters(count), start, direction]
    )


def _is_good(steps: Sequence[Step], size: int) -> bool:
    try:
        cells = build(steps, size=size)
    except PlanError:
        return False
    if not 4 <= len(cells) <= MAX_BLOCKS or best_box_f1(cells) > HIGHEST_BOX:
        return False
    if len(steps) == 2:
        return len(cells) == len(str(steps[0][1])) + len(str(steps[1][1]))
    rest = ([*steps[:k], *steps[k + 1 :]] for k in range(len(steps)))
    return not any(_try(fewer) == _blocks(cells) for fewer in rest)


def _say(step: Step, style: int) -> str:
    kind = step[0]
    if kind == "row" and len(str(step[1])) == 1:
        return f"{step[1]} at {write_cell(cell_of(step[2]))}."
    if kind == "row":
        return f"Row {step[1]} from {write_cell(cell_of(step[2]))} along {step[3]}."
    if kind == "stair":
        count = step[4]
        return f"Stair of {count} {step[1]} from {write_cell(cell_of(step[2]))}: each next one {step[3]} and +z."
    if kind == "on":
        way = next(name for name, part in DIRECTIONS.items() if _along(cell_of(step[2]), part))
        far = max(abs(part) for part in cell_of(step[2]))
        at = f"Start {far} {way} of the last block" if style else f"Go {far} {way} from the last block"
        return f"{at}: row {step[1]} along {step[3]}."
    if kind == "mirror":
        return (
            f"Mirror all in the plane {step[1]}={step[2]}, keep both."
            if style
            else f"Copy all mirrored at {step[1]}={step[2]}."
        )
    if kind == "paint":
        return f"Paint all {step[1]} {step[2]}." if style else f"All {step[1]} become {step[2]}."
    what = f"all {step[1]}" if kind == "strip" else f"all with {step[1]}={step[2]}"
    return f"Remove {what}." if style else f"Take {what} away."


def _along(offset: Cell, direction: Cell) -> bool:
    return all((part > 0) == (way > 0) and (part < 0) == (way < 0) for part, way in zip(offset, direction, strict=True))


DOMAIN = Domain(
    tasks=VoxelTasks(),
    open_workspace=open_question,
    verifier=VoxelVerifier(),
    solve=solve,
    alternatives=alternatives,
    equivalents=equivalents,
    distractors=distractors,
    exploits=exploits,
    proves_right=proves_right,
    shortcuts=shortcuts,
)
