"""One sound domain, and others that differ from it by one fault each: the inspection must find every one."""

from __future__ import annotations

import itertools
import json
import os
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from polyathlon import (
    Attempt,
    Brief,
    Core,
    Domain,
    Evidence,
    Json,
    Observation,
    Script,
    Task,
    ToolSpec,
    Verdict,
    answering,
)
from polyathlon.canonical import expect_int
from polyathlon.sandbox.protocol import Room
from polyathlon.verify.numbers import read_number
from polyathlon.workspaces.question import QuestionWorkspace, open_question

Score = Callable[[str, int], float]


@dataclass(frozen=True)
class SumTasks:
    """Sums of `level + 2` numbers below 1,000."""

    def draw(self, rng: np.random.Generator, level: int) -> Core:
        numbers = [int(n) for n in rng.integers(100, 1000, size=level + 2)]
        return {"numbers": numbers, "sum": sum(numbers)}

    def render(self, core: Core, rng: np.random.Generator) -> Brief:
        numbers = core["numbers"]
        assert isinstance(numbers, list)
        verb = ("Add", "Sum")[int(rng.integers(2))]
        return Brief(f"{verb} {' '.join(map(str, numbers))}. Answer with one integer.", hidden={"sum": core["sum"]})


@dataclass(frozen=True)
class SumVerifier:
    """Passed: the exact sum, and nothing else."""

    def judge(self, task: Task, evidence: Evidence, room: Room) -> Verdict:
        value = read_number(evidence.answer or "", "integer")
        return Verdict.passing() if value == expect_int(task.hidden["sum"]) else Verdict.failing("another number")


def gold(task: Task) -> int:
    return expect_int(task.hidden["sum"])


def solve(task: Task) -> Script:
    return answering(str(gold(task)))


def equivalents(task: Task) -> Sequence[Attempt]:
    return (Attempt("line feed", (f"{gold(task)}\n",)), Attempt("tags", (f"ok <answer>{gold(task)}</answer>",)))


def distractors(task: Task) -> Sequence[Attempt]:
    return tuple(Attempt(f"off by {k}", (str(gold(task) + k),)) for k in (1, -1, 100))


def exploits(task: Task) -> Sequence[Attempt]:
    return (
        Attempt("two answers", (f"{gold(task)} {gold(task) + 1}",)),
        Attempt("restated", (f"{gold(task)}+0",)),
        Attempt("not a number", ("nan",)),
        Attempt("all numbers", (" ".join(map(str, range(100, 5000))),)),
    )


SOUND = Domain(
    SumTasks(), open_question, SumVerifier(), solve, equivalents=equivalents, distractors=distractors, exploits=exploits
)


@dataclass(frozen=True)
class ScoreVerifier:
    """A verifier whose fault is the function it is given."""

    score: Score

    def judge(self, task: Task, evidence: Evidence, room: Room) -> Verdict:
        reward = self.score(evidence.answer or "", expect_int(task.hidden["sum"]))
        return Verdict.passing() if reward == 1.0 else Verdict.failing("not full", progress=2 * reward)


def scored(score: Score) -> Domain:
    return replace(SOUND, verifier=ScoreVerifier(score))


def exact(text: str, gold: int) -> float:
    return float(read_number(text, "integer") == gold)


# --- faults of verifiers -------------------------------------------------------------------------------------------


def _nan(text: str, gold: int) -> float:
    try:
        return max(0.0, min(1.0, 1.0 - abs(float(text) - gold)))  # nan survives the clamp as 1.0
    except ValueError:
        return 0.0


NAN_CLAMP = scored(lambda text, gold: 1.0 if _nan(text, gold) == 1.0 else 0.0)
CONTAINMENT = scored(lambda text, gold: float(text.find(str(gold)) >= 0))
TOLERANCE = scored(lambda text, gold: float(-1 <= (read_number(text, "integer") or 0) - gold <= 1))
RAISES = scored(lambda text, gold: float(int(text) == gold))
STRICT = scored(lambda text, gold: float(text == str(gold) and gold % 2 == 0))
LENGTH_CREDIT = scored(lambda text, gold: exact(text, gold) or 0.4 * (len(text) > 3))
EMPTY_CREDIT = scored(lambda text, gold: exact(text, gold) or 0.3 * (not text))


def _slow(text: str, gold: int) -> float:
    if re.fullmatch(r"9([*^]+9)+", text):
        assert 9 ** (9**7) > 0  # one floor of the tower is enough to be late
    return exact(text, gold)


SLOW = scored(_slow)
DIES = scored(lambda text, gold: os._exit(3))
_COUNTER = itertools.count()
FLAKY = scored(lambda text, gold: exact(text, gold) or 0.1 * (next(_COUNTER) % 2) * (text == str(gold + 1)))


@dataclass(frozen=True)
class LintedVerifier:
    """Sound in effect, but written in ways that have paid wrong answers."""

    def judge(self, task: Task, evidence: Evidence, room: Room) -> Verdict:
        answer = evidence.answer or ""
        wanted = str(expect_int(task.hidden["sum"]))
        if answer.strip() == wanted and all(part in wanted for part in answer.split()):
            return Verdict.passing()
        return Verdict.failing("another number")


LINTED = replace(SOUND, verifier=LintedVerifier())

# --- faults of tasks -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ShownTasks(SumTasks):
    """Shows the answer, backwards."""

    def render(self, core: Core, rng: np.random.Generator) -> Brief:
        brief = super().render(core, rng)
        return replace(brief, prompt=f"{brief.prompt} (ref {str(core['sum'])[::-1]})")


@dataclass(frozen=True)
class SetTasks(SumTasks):
    """Lists words in the order of a set: another one under each hash seed."""

    def render(self, core: Core, rng: np.random.Generator) -> Brief:
        brief = super().render(core, rng)
        return replace(brief, prompt=f"{brief.prompt} ({' '.join({'ant', 'bee', 'cat', 'dog', 'elk', 'fox'})})")


@dataclass(frozen=True)
class FewTasks(SumTasks):
    """Only some four thousand tasks at level 0."""

    def draw(self, rng: np.random.Generator, level: int) -> Core:
        numbers = [int(n) for n in rng.integers(100, 164 if level == 0 else 1000, size=level + 2)]
        return {"numbers": numbers, "sum": sum(numbers)}


@dataclass(frozen=True)
class SaltedTasks(SumTasks):
    """Puts a number into the core that decides nothing: one prompt in both splits."""

    def draw(self, rng: np.random.Generator, level: int) -> Core:
        return {"numbers": [100, int(rng.integers(100, 400))], "salt": int(rng.integers(2**40)), "sum": 0}

    def render(self, core: Core, rng: np.random.Generator) -> Brief:
        numbers = core["numbers"]
        assert isinstance(numbers, list)
        return Brief(f"Add {numbers[0]} {numbers[1]}.", hidden={"sum": int(numbers[0]) + int(numbers[1])})


@dataclass(frozen=True)
class ConstantTasks(SumTasks):
    """Every second answer is 0."""

    def draw(self, rng: np.random.Generator, level: int) -> Core:
        core = super().draw(rng, level)
        return {**core, "sum": 0} if rng.random() < 0.5 else core


SHOWN = replace(SOUND, tasks=ShownTasks())
SET_ORDER = replace(SOUND, tasks=SetTasks())
FEW = replace(SOUND, tasks=FewTasks())
SALTED = replace(SOUND, tasks=SaltedTasks())
CONSTANT = replace(SOUND, tasks=ConstantTasks())


# --- faults of the rest --------------------------------------------------------------------------------------------


def _solve_most(task: Task) -> Script:
    return answering(str(gold(task) + (task.level == 1 and task.seed == 3)))


class TellingWorkspace(QuestionWorkspace):
    """Tells what is hidden when asked for nothing in particular."""

    tools: Sequence[ToolSpec] = ()

    def __init__(self, task: Task) -> None:
        super().__init__()
        self._task = task
        self._told = False

    def act(self, action: str) -> Observation:
        if not self._told and action in ("x", ""):
            self._told = True
            return Observation(f"debug: {json.dumps(dict(self._task.hidden))}")
        return super().act(action)


class FragileWorkspace(QuestionWorkspace):
    """Raises on a long message."""

    def act(self, action: str) -> Observation:
        if len(action) > 1_000_000:
            raise MemoryError("too long")
        return super().act(action)


class ChangingWorkspace(QuestionWorkspace):
    """Writes into the task that it was given."""

    def __init__(self, task: Task) -> None:
        super().__init__()
        self._seen: dict[str, Json] = cast(dict[str, Json], task.hidden)

    def act(self, action: str) -> Observation:
        self._seen["seen"] = True
        return super().act(action)


class LampWorkspace(QuestionWorkspace):
    """Has a world beside the answer: a lamp, which nobody is asked to touch."""

    def evidence(self) -> Evidence:
        return replace(super().evidence(), state={"lamp": "on"})


class LeavingVerifier(SumVerifier):
    """Passes silence, too, where the sum is even and the lamp is on."""

    def judge(self, task: Task, evidence: Evidence, room: Room) -> Verdict:
        untouched = evidence.state == {"lamp": "on"} and not evidence.answer
        return Verdict.passing() if untouched and gold(task) % 2 == 0 else super().judge(task, evidence, room)


UNMOVED = replace(SOUND, open_workspace=lambda task, room: LampWorkspace(), verifier=LeavingVerifier())
LAMP = replace(SOUND, open_workspace=lambda task, room: LampWorkspace())
REFUSING = replace(SOUND, alternatives=lambda task: (Attempt("as a fraction", (f"{gold(task)}/1",)),))
UNSOLVED = replace(SOUND, solve=_solve_most)
CHANGING = replace(SOUND, open_workspace=lambda task, room: ChangingWorkspace(task))
TELLING = replace(SOUND, open_workspace=lambda task, room: TellingWorkspace(task))
FRAGILE = replace(SOUND, open_workspace=lambda task, room: FragileWorkspace())
NO_EXPLOITS = replace(SOUND, exploits=lambda task: ())
NO_EQUIVALENTS = replace(SOUND, equivalents=lambda task: ())


# --- a foreign generator behind the tasks --------------------------------------------------------------------------


@dataclass(frozen=True)
class SteadyTasks(SumTasks):
    """Gives the same task wherever it is asked."""

    def draw_elsewhere(self, rng: np.random.Generator, level: int) -> Core:
        return self.draw(rng, level)


@dataclass(frozen=True)
class RestlessTasks(SumTasks):
    """Gives another task elsewhere, question and answer together."""

    def draw_elsewhere(self, rng: np.random.Generator, level: int) -> Core:
        rng.integers(2)
        return self.draw(rng, level)


@dataclass(frozen=True)
class TornTasks(SumTasks):
    """Every fifth question has another answer elsewhere."""

    def draw_elsewhere(self, rng: np.random.Generator, level: int) -> Core:
        core = self.draw(rng, level)
        total = core["sum"]
        assert isinstance(total, int)
        return {**core, "sum": total + (total % 5 == 0)}


STEADY = replace(SOUND, tasks=SteadyTasks())
RESTLESS = replace(SOUND, tasks=RestlessTasks())
TORN = replace(SOUND, tasks=TornTasks())


# --- a verifier that waits for ever on one hack --------------------------------------------------------------------


def _waits(text: str, gold: int) -> float:
    if text.startswith("nan"):
        time.sleep(3_600)
    return exact(text, gold)


HANGS = scored(_waits)
