"""Sound domains with one fault each in how they repeat, in their space of tasks, their levels and their cost."""

from __future__ import annotations

import itertools
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date

import numpy as np
from tests.envs.inspect.planted import SOUND, SumTasks, SumVerifier, gold
from tests.envs.inspect.planted_evidence import SOUND_FILES, FileVerifier, word_domain

from polyathlon import Attempt, Brief, Core, Evidence, Observation, Script, Task, Verdict
from polyathlon.canonical import expect_int, expect_list
from polyathlon.sandbox.protocol import Room
from polyathlon.verify.numbers import read_number
from polyathlon.workspaces.question import QuestionWorkspace

# --- repeats --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class HashOrderTasks(SumTasks):
    """Lists words in the order of a set: another one under each hash seed."""

    def render(self, core: Core, rng: np.random.Generator) -> Brief:
        brief = super().render(core, rng)
        return replace(brief, prompt=f"{brief.prompt} ({' '.join({'ant', 'bee', 'cat', 'dog', 'elk', 'fox'})})")


@dataclass(frozen=True)
class DatedTasks(SumTasks):
    """Says which year it is."""

    def render(self, core: Core, rng: np.random.Generator) -> Brief:
        brief = super().render(core, rng)
        return replace(brief, prompt=f"Today is in {date.today().year}. {brief.prompt}")


class SharedWorkspace(QuestionWorkspace):
    """Two messages: the answer, and a word that ends it. The answer is kept where every workspace has it."""

    noted: str | None = None

    def act(self, action: str) -> Observation:
        if action == "done":
            return Observation("Done.", finished=True)
        super().act(action)
        SharedWorkspace.noted = super().evidence().answer
        return Observation("Noted.")

    def evidence(self) -> Evidence:
        return Evidence(answer=SharedWorkspace.noted)


def _then_done(attempts: Sequence[Attempt]) -> tuple[Attempt, ...]:
    return tuple(replace(attempt, actions=(*attempt.actions, "done")) for attempt in attempts)


def _noted(task: Task) -> Script:
    yield str(gold(task))
    yield "done"


HASH_ORDER = replace(SOUND, tasks=HashOrderTasks())
DATED = replace(SOUND, tasks=DatedTasks())
SHARED = replace(
    SOUND,
    open_workspace=lambda task, room: SharedWorkspace(),
    solve=_noted,
    equivalents=lambda task: _then_done(SOUND.equivalents(task)),
    distractors=lambda task: _then_done(SOUND.distractors(task)),
    exploits=lambda task: _then_done(SOUND.exploits(task)),
)

# --- space ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class NarrowTasks(SumTasks):
    """Some 50,000 tasks at level 0: enough for 1,000 draws to differ, too few for what a run wants."""

    def draw(self, rng: np.random.Generator, level: int) -> Core:
        numbers = [int(n) for n in rng.integers(100, 324 if level == 0 else 1000, size=level + 2)]
        return {"numbers": numbers, "sum": sum(numbers)}


LETTERS = "bcdfghjklmnpqrstvwxz"


@dataclass(frozen=True)
class LongestTasks(SumTasks):
    """Four options on one line; the longest is right."""

    def draw(self, rng: np.random.Generator, level: int) -> Core:
        def text(size: int) -> str:
            return "".join(LETTERS[int(k)] for k in rng.integers(len(LETTERS), size=size))

        place = int(rng.integers(4))
        options = [text(9 + level if k == place else int(rng.integers(3, 8 + level))) for k in range(4)]
        return {"options": options, "place": place, "numbers": super().draw(rng, level)["numbers"]}

    def render(self, core: Core, rng: np.random.Generator) -> Brief:
        options = " ".join(
            f"{letter}) {text}" for letter, text in zip("ABCD", expect_list(core["options"]), strict=True)
        )
        numbers = " ".join(map(str, expect_list(core["numbers"])))
        return Brief(f"Which one goes with {numbers}? {options}", hidden={"word": "ABCD"[expect_int(core["place"])]})


@dataclass(frozen=True)
class PassageTasks(SumTasks):
    """One of forty long passages, and two numbers: a test task is a train task but for a few characters."""

    def render(self, core: Core, rng: np.random.Generator) -> Brief:
        brief = super().render(core, rng)
        dice = np.random.default_rng(int(rng.integers(40)))
        passage = " ".join("".join(LETTERS[int(k)] for k in dice.integers(len(LETTERS), size=6)) for _ in range(120))
        return replace(brief, prompt=f"{passage}\n{brief.prompt}")


NARROW = replace(SOUND, tasks=NarrowTasks())
LONGEST = word_domain(LongestTasks())
PASSAGES = replace(SOUND, tasks=PassageTasks())

# --- difficulty and cost --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class BackwardTasks(SumTasks):
    """Level 0 asks for the longest sums."""

    def draw(self, rng: np.random.Generator, level: int) -> Core:
        return super().draw(rng, 8 - 4 * level)


@dataclass(frozen=True)
class SlowVerifier:
    """Counts up to the number it was given, one by one."""

    def judge(self, task: Task, evidence: Evidence, room: Room) -> Verdict:
        if read_number(evidence.answer or "", "integer") == gold(task) + 1:
            sum(range(2_000_000))
        return SumVerifier().judge(task, evidence, room)


_KEPT: list[bytes] = []


@dataclass(frozen=True)
class HoardingVerifier:
    """Keeps a note of every judgement."""

    def judge(self, task: Task, evidence: Evidence, room: Room) -> Verdict:
        _KEPT.append(bytes(30_000))
        return SumVerifier().judge(task, evidence, room)


_OPEN: list[int] = []


@dataclass(frozen=True)
class OpeningVerifier:
    """Leaves one descriptor open a judgement."""

    def judge(self, task: Task, evidence: Evidence, room: Room) -> Verdict:
        _OPEN.append(os.open(os.devnull, os.O_RDONLY))
        return FileVerifier().judge(task, evidence, room)


_ASKED: Counter[str] = Counter()
_FLIP = itertools.count()


@dataclass(frozen=True)
class NoisyVerifier:
    """Near misses earn a little, and another little once they have been judged a few times."""

    def judge(self, task: Task, evidence: Evidence, room: Room) -> Verdict:
        verdict = SumVerifier().judge(task, evidence, room)
        if read_number(evidence.answer or "", "integer") != gold(task) + 1:
            return verdict
        _ASKED[task.id] += 1
        return Verdict.failing("near", progress=0.1 + 0.2 * (_ASKED[task.id] > 4 and next(_FLIP) % 2))


BACKWARD = replace(SOUND, tasks=BackwardTasks())
SLOW_JUDGE = replace(SOUND, verifier=SlowVerifier())
HOARDING = replace(SOUND, verifier=HoardingVerifier())
LEAVING_OPEN = replace(SOUND_FILES, verifier=OpeningVerifier())
NOISY = replace(SOUND, verifier=NoisyVerifier())
