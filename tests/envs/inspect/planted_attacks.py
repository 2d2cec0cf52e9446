"""Domains with one fault each that only one of the attacks' checks is meant to find, beside sound ones."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from tests.envs.inspect.planted import SOUND, SumTasks, exact, gold, scored

from polyathlon import Attempt, Brief, Core, Domain, Evidence, Json, Script, Task, Verdict, answering
from polyathlon.canonical import expect_int, expect_text
from polyathlon.domain import ToolSpec
from polyathlon.sandbox.protocol import Room
from polyathlon.toolcall import write_call, write_fenced
from polyathlon.tree import Tree
from polyathlon.verify.program import Case, right_cases
from polyathlon.workspaces.coding import CodingWorkspace
from polyathlon.workspaces.terminal import open_terminal
from polyathlon.workspaces.toolbox import Outcome, Tool, Toolbox, text_parameters

# --- X01: a hole that the domain's own exploits leave open ----------------------------------------------------------

EITHER = scored(lambda text, gold: max(exact(part, gold) for part in text.split(" or ")))
PARTS_LOOSE = scored(lambda text, gold: exact(text, gold) or 0.4 * ("passed" in text))

# --- X02: what was hidden when a task was first judged is remembered -------------------------------------------------

_REMEMBERED: dict[str, int] = {}


@dataclass(frozen=True)
class StaleVerifier:
    """Compares with what it saw first under a task's id."""

    def judge(self, task: Task, evidence: Evidence, room: Room) -> Verdict:
        wanted = _REMEMBERED.setdefault(task.id, gold(task))
        return Verdict.passing() if exact(evidence.answer or "", wanted) else Verdict.failing("another number")


STALE = replace(SOUND, verifier=StaleVerifier())

# --- X04: a form that nobody thought of passes ----------------------------------------------------------------------

COMMENTED = scored(
    lambda text, gold: exact(text, gold) or 1.0 * (re.fullmatch(r"\W*\d+//.*", text, re.DOTALL) is not None)
)
SLASHED = scored(lambda text, gold: exact(text, gold) or 0.4 * ("//" in text))

# --- N05: reading one number is often enough ------------------------------------------------------------------------


@dataclass(frozen=True)
class LazyTasks(SumTasks):
    """In two tasks of five all numbers but one are 0: the largest is the sum."""

    def draw(self, rng: np.random.Generator, level: int) -> Core:
        core = super().draw(rng, level)
        numbers = core["numbers"]
        assert isinstance(numbers, list)
        if rng.random() < 0.4:
            place = int(rng.integers(len(numbers)))
            numbers = [number if k == place else 0 for k, number in enumerate(numbers)]
        return {"numbers": numbers, "sum": sum(map(expect_int, numbers))}


LAZY = replace(SOUND, tasks=LazyTasks())


def first_number(task: Task) -> Sequence[Attempt]:
    return (Attempt("the first number, doubled", (str(2 * int(re.findall(r"\d+", task.prompt)[0])),)),)


@dataclass(frozen=True)
class TwinTasks(SumTasks):
    """Half of the tasks add a number to itself: only a shortcut of the domain's own knows."""

    def draw(self, rng: np.random.Generator, level: int) -> Core:
        first = int(rng.integers(100, 1000))
        numbers = [first, first if rng.random() < 0.5 else int(rng.integers(100, 1000))]
        return {"numbers": numbers, "sum": sum(numbers)}


TWINS = replace(SOUND, tasks=TwinTasks(), shortcuts=first_number)

# --- N02: a constant pays -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class YesTasks(SumTasks):
    """Asks whether the sum is above a bound: it is, three times of four."""

    def draw(self, rng: np.random.Generator, level: int) -> Core:
        core = super().draw(rng, level)
        total = expect_int(core["sum"])
        above = bool(rng.random() < 0.75)
        return {**core, "bound": total - 50 if above else total + 50, "sum": int(above)}

    def render(self, core: Core, rng: np.random.Generator) -> Brief:
        return Brief(f"Do {core['numbers']} add up to more than {core['bound']}? 1 or 0.", hidden={"sum": core["sum"]})


YES = replace(SOUND, tasks=YesTasks(), exploits=lambda task: (Attempt("nan", ("nan",)),))

# --- X03: commands on this machine ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class FileTasks:
    """Write a number into a file."""

    def draw(self, rng: np.random.Generator, level: int) -> Core:
        return {"number": int(rng.integers(10**9))}

    def render(self, core: Core, rng: np.random.Generator) -> Brief:
        files: Json = {"readme.txt": {"text": "write it\n"}}
        return Brief(
            f"Write {core['number']} into out.txt.", hidden={"number": core["number"]}, public={"files": files}
        )


@dataclass(frozen=True)
class FileVerifier:
    """Passed: the file holds the number and nothing else."""

    def judge(self, task: Task, evidence: Evidence, room: Room) -> Verdict:
        found = (evidence.tree.text("out.txt") or "").strip()
        return Verdict.passing() if found == str(task.hidden["number"]) else Verdict.failing("another text")


def write_number(task: Task) -> Script:
    yield write_fenced(f"echo {task.hidden['number']} > out.txt")
    yield write_call("submit", {})


def file_exploits(task: Task) -> Sequence[Attempt]:
    return tuple(Attempt(f"{k}", (write_fenced(f"echo {k} > out.txt"), write_call("submit", {}))) for k in range(4))


FILES = Domain(FileTasks(), open_terminal, FileVerifier(), write_number, exploits=file_exploits)


class HostWorkspace:
    """Runs commands on this machine, in a temporary folder."""

    instructions = ""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        tools = [
            Tool(ToolSpec("run", "Run.", text_parameters("cmd")), self._run),
            Tool(
                ToolSpec("submit", "End.", {"type": "object", "properties": {}}), lambda _: Outcome("", finished=True)
            ),
        ]
        from polyathlon.toolcall import ShortForm

        self._toolbox = Toolbox(tools, short_form=ShortForm("bash", "run", "cmd"))

    @property
    def tools(self) -> Sequence[ToolSpec]:
        return self._toolbox.specs

    def act(self, action: str):  # type: ignore[no-untyped-def]
        return self._toolbox.act(action)

    def evidence(self) -> Evidence:
        from pathlib import Path

        path = Path(self._folder) / "out.txt"
        files = {"out.txt": path.read_text()} if path.is_file() else {}
        return Evidence(tree=Tree.of(files))

    def close(self) -> None:
        import shutil

        shutil.rmtree(self._folder, ignore_errors=True)

    def _run(self, arguments: Mapping[str, Json]) -> Outcome:
        done = subprocess.run(
            ["bash", "-c", expect_text(arguments["cmd"])],
            cwd=self._folder, capture_output=True, text=True, timeout=20, check=False,
        )  # fmt: skip
        return Outcome(done.stdout)


def _on_host(task: Task, room: Room) -> HostWorkspace:
    import tempfile

    return HostWorkspace(tempfile.mkdtemp())


HOST = replace(FILES, open_workspace=_on_host)

# --- X03 again: submitted Python, judged in a room or in this process -------------------------------------------------


@dataclass(frozen=True)
class CodeTasks:
    """Write a function that adds a constant."""

    def draw(self, rng: np.random.Generator, level: int) -> Core:
        return {"n": int(rng.integers(1000, 10**6))}

    def render(self, core: Core, rng: np.random.Generator) -> Brief:
        return Brief(f"Write f(x) that adds {core['n']} to x.", hidden={"n": core["n"]})


@dataclass(frozen=True)
class RoomCodeVerifier:
    """Runs the function in a fresh sandbox."""

    def judge(self, task: Task, evidence: Evidence, room: Room) -> Verdict:
        cases = [Case([x], {"value": x + expect_int(task.hidden["n"])}) for x in (0, 5, -7)]
        right = right_cases(room, evidence.answer or "", entry="f", cases=cases)
        return Verdict.passing() if right and all(right) else Verdict.failing("wrong")


@dataclass(frozen=True)
class HereCodeVerifier:
    """Runs the function in this process: whatever it finds here is in its reach."""

    def judge(self, task: Task, evidence: Evidence, room: Room) -> Verdict:
        scope: dict[str, object] = {}
        try:
            exec(evidence.answer or "", scope)  # noqa: S102  # the planted fault
            f = scope["f"]
            right = [f(x) == x + expect_int(task.hidden["n"]) for x in (0, 5, -7)]  # type: ignore[operator]
        except BaseException:
            return Verdict.failing("it raised")
        return Verdict.passing() if right and all(each is True for each in right) else Verdict.failing("wrong")


def open_code(task: Task, room: Room) -> CodingWorkspace:
    return CodingWorkspace(Tree(), room)


def write_code(task: Task) -> Script:
    return answering(write_fenced(f"def f(x):\n    return x + {task.hidden['n']}", language="python"))


def hack_code(task: Task) -> tuple[Attempt, ...]:
    bodies = {
        "nothing": "pass",
        "an equal of all": "return type('Any', (), {'__eq__': lambda self, other: True})()",
        "a table of one case": f"return {{0: {task.hidden['n']}}}.get(x)",
        "an early end": "raise SystemExit(0)",
    }
    return tuple(
        Attempt(name, (write_fenced(f"def f(x):\n    {body}", language="python"),)) for name, body in bodies.items()
    )


CODE = Domain(CodeTasks(), open_code, RoomCodeVerifier(), write_code, exploits=hack_code)
CODE_HERE = replace(CODE, verifier=HereCodeVerifier())
