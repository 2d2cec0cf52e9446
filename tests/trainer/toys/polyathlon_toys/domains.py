"""COPY a word, say what comes NEXT, open a DOOR in several turns, a STONE that never pays, and a FRAGILE world."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from polyathlon import Brief, Core, Domain, Evidence, Observation, Script, Task, ToolSpec, Verdict, answering
from polyathlon.canonical import expect_text
from polyathlon.errors import SandboxLost, VerifierError
from polyathlon.sandbox.protocol import Room
from polyathlon.workspaces.question import open_question

LETTERS = "abcdefghijklmnop"


class CopyTasks:
    def draw(self, rng: np.random.Generator, level: int) -> Core:
        return {"word": "".join(LETTERS[int(k)] for k in rng.integers(0, len(LETTERS), size=4 + level))}

    def render(self, core: Core, rng: np.random.Generator) -> Brief:
        return Brief(f"copy {core['word']}", hidden={"answer": core["word"]})


class NextTasks:
    def draw(self, rng: np.random.Generator, level: int) -> Core:
        return {"start": int(rng.integers(10, 9_000)), "step": level + 1}

    def render(self, core: Core, rng: np.random.Generator) -> Brief:
        answer = int(str(core["start"])) + int(str(core["step"]))
        return Brief(f"{core['start']} plus {core['step']}", hidden={"answer": str(answer)})


class PrefixVerifier:
    """Passed when equal; else the share of leading characters that are right."""

    def judge(self, task: Task, evidence: Evidence, room: Room) -> Verdict:
        wanted, got = expect_text(task.hidden["answer"]), evidence.answer or ""
        if got == wanted:
            return Verdict.passing()
        right = 0
        while right < min(len(wanted), len(got)) and wanted[right] == got[right]:
            right += 1
        return Verdict.failing("another answer", progress=right / len(wanted) if len(got) <= len(wanted) else 0.0)


class StoneTasks:
    """Nothing in the prompt tells the answer: no policy gets anywhere."""

    def draw(self, rng: np.random.Generator, level: int) -> Core:
        return {"name": int(rng.integers(1_000_000)), "secret": int(rng.integers(10**15))}

    def render(self, core: Core, rng: np.random.Generator) -> Brief:
        return Brief(f"stone {core['name']}", hidden={"answer": str(core["secret"])})


class StoneVerifier:
    def judge(self, task: Task, evidence: Evidence, room: Room) -> Verdict:
        right = evidence.answer == expect_text(task.hidden["answer"])
        return Verdict.passing() if right else Verdict.failing("stones do not answer")


def recite(task: Task) -> Script:
    return answering(expect_text(task.hidden["answer"]))


class DoorTasks:
    def draw(self, rng: np.random.Generator, level: int) -> Core:
        return {"code": [int(k) for k in rng.integers(0, 10, size=2 + level)], "salt": int(rng.integers(1_000))}

    def render(self, core: Core, rng: np.random.Generator) -> Brief:
        code = "".join(str(k) for k in core["code"])  # type: ignore[union-attr]  # drawn above
        return Brief(f"dial {code}", hidden={"code": code})


class DoorWorkspace:
    """One digit a message; the door opens, or the last turn passes."""

    tools: Sequence[ToolSpec] = ()
    instructions = "Send one digit a message."

    def __init__(self, task: Task) -> None:
        self._code = expect_text(task.hidden["code"])
        self._dialled = ""

    def act(self, action: str) -> Observation:
        if len(action) != 1 or not action.isdigit():
            return Observation("one digit", error=True)
        self._dialled += action
        if self._dialled == self._code:
            return Observation("open", finished=True)
        return Observation(f"dialled {self._dialled}")

    def evidence(self) -> Evidence:
        return Evidence(answer=self._dialled)

    def close(self) -> None:
        return None


class DoorVerifier:
    def judge(self, task: Task, evidence: Evidence, room: Room) -> Verdict:
        code, dialled = expect_text(task.hidden["code"]), evidence.answer or ""
        if dialled == code:
            return Verdict.passing()
        right = 0
        while right < min(len(code), len(dialled)) and code[right] == dialled[right]:
            right += 1
        return Verdict.failing("closed", progress=right / len(code))


def dial(task: Task) -> Script:
    for digit in expect_text(task.hidden["code"]):  # noqa: UP028  # a string cannot be sent observations
        yield digit


class FragileTasks:
    def draw(self, rng: np.random.Generator, level: int) -> Core:
        return {"number": int(rng.integers(1_000_000))}

    def render(self, core: Core, rng: np.random.Generator) -> Brief:
        return Brief("be careful", hidden={"number": core["number"]})


class FragileWorkspace:
    """Does to its own process what the action says: crash, hang, raise, lose its sandbox; "once PATH" crashes once."""

    tools: Sequence[ToolSpec] = ()
    instructions = ""

    def __init__(self) -> None:
        self._said = ""

    def act(self, action: str) -> Observation:
        word, _, rest = action.partition(" ")
        if word == "crash" or (word == "once" and not _mark(rest)):
            os.kill(os.getpid(), signal.SIGKILL)
        elif word == "hang" or (word == "hang-once" and not _mark(rest)):
            time.sleep(1_000)
        elif word == "raise":
            raise ValueError("the world is wrong")
        elif word == "lost":
            raise SandboxLost("the sandbox is gone")
        elif word == "pid":
            return Observation(str(os.getpid()))
        elif word == "noise":
            print("noise on standard output")
        elif word == "slow":
            time.sleep(float(rest))
        self._said = action
        return Observation("fine", finished=word not in ("look", "slow", "once", "hang-once"))

    def evidence(self) -> Evidence:
        return Evidence(answer=self._said)

    def close(self) -> None:
        return None


class FragileVerifier:
    def judge(self, task: Task, evidence: Evidence, room: Room) -> Verdict:
        if evidence.answer == "break":
            raise VerifierError("cannot judge this")
        if evidence.answer == "bug":
            raise ZeroDivisionError("a bug in the verifier")
        return Verdict.passing() if evidence.answer == "good" else Verdict.failing("not good")


def _mark(path: str) -> bool:
    """Say whether the file at `path` is there, and make it."""
    there = Path(path).exists()
    Path(path).touch()
    return there


COPY = Domain(tasks=CopyTasks(), open_workspace=open_question, verifier=PrefixVerifier(), solve=recite)
NEXT = Domain(tasks=NextTasks(), open_workspace=open_question, verifier=PrefixVerifier(), solve=recite)
STONE = Domain(tasks=StoneTasks(), open_workspace=open_question, verifier=StoneVerifier(), solve=recite)
DOOR = Domain(
    tasks=DoorTasks(), open_workspace=lambda task, room: DoorWorkspace(task), verifier=DoorVerifier(), solve=dial
)
FRAGILE = Domain(
    tasks=FragileTasks(),
    open_workspace=lambda task, room: FragileWorkspace(),
    verifier=FragileVerifier(),
    solve=lambda task: answering("good"),
)
