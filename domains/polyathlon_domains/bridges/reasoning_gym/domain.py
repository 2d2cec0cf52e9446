"""A generator of reasoning-gym as a domain: its items are the tasks, its own `score_answer` is the verifier."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np

from polyathlon.canonical import Json, expect_text
from polyathlon.catalog import did_you_mean
from polyathlon.domain import Brief, Core, Domain, Evidence, Script, Task, Verdict, answering
from polyathlon.errors import TaskError, VerifierError
from polyathlon.sandbox.protocol import Room
from polyathlon.verify.key import map_part
from polyathlon.workspaces.question import open_question
from polyathlon_domains.bridges.reasoning_gym import attempts
from polyathlon_domains.bridges.reasoning_gym.theirs import Theirs, elsewhere, known_generators, theirs

FULL_SCORE = 1.0 - 1e-9
NUM_SEEDS = 2**31
MAX_TRIES = 5


@dataclass(frozen=True, slots=True)
class Items:
    """Items of one generator of reasoning-gym, as they are; the core is a whole item, and its question makes the task.

    Where the generator raises for a seed, the next one is asked for, four times at most.
    """

    generator: str

    def draw(self, rng: np.random.Generator, level: int) -> Core:
        return self._draw(theirs(), rng, level)

    def draw_elsewhere(self, rng: np.random.Generator, level: int) -> Core:
        """Return what `draw` does, in a process with another hash seed and other random numbers of nobody's."""
        return self._draw(elsewhere(), rng, level)

    def identity(self, core: Core) -> Json:
        """Return the question: some metadata tells of how it came about, and one question must lie in one split."""
        return core["question"]

    def render(self, core: Core, rng: np.random.Generator) -> Brief:
        entry = {key: value for key, value in core.items() if key != "question"}
        return Brief(expect_text(core["question"]), hidden={"generator": self.generator, "entry": entry})

    def _draw(self, library: Theirs, rng: np.random.Generator, level: int) -> Core:
        for _ in range(MAX_TRIES - 1):  # some generators raise at some seeds: they say themselves that they gave up
            try:
                return library.item(self.generator, level, int(rng.integers(NUM_SEEDS)))
            except TaskError:
                continue
        return library.item(self.generator, level, int(rng.integers(NUM_SEEDS)))


@dataclass(frozen=True, slots=True)
class TheirVerifier:
    """Passed: the library's own score is 1. Any lower score s in [0, 1) earns s / 2, as all partial credit here does.

    A score that is no number, or lies outside of [0, 1], and a verifier that raises or does not end, are failures of
    the verifier: no reward at all.
    """

    generator: str

    def judge(self, task: Task, evidence: Evidence, room: Room) -> Verdict:
        item = {"question": task.prompt, **map_part(task.hidden, "entry")}
        score = theirs().score(self.generator, task.level, evidence.answer, item)
        if not 0.0 <= score <= 1.0 + 1e-9:
            raise VerifierError(f"reasoning-gym's verifier of {self.generator} gave {score}, outside of 0 to 1")
        parts = {"score": score}
        if score >= FULL_SCORE:
            return Verdict.passing(parts)
        return Verdict.failing(f"reasoning-gym gives {score:.4g}", progress=score, parts=parts)


@functools.cache
def domain_of(generator: str) -> Domain:
    """Return the domain of `generator`.

    Raises:
        AttributeError: the library has no generator of this name.

    """
    if generator not in known_generators():
        raise AttributeError(f"no generator {generator!r}.{did_you_mean(generator, list(known_generators()))}")
    return Domain(
        Items(generator),
        open_question,
        TheirVerifier(generator),
        _solve,
        equivalents=attempts.equivalents,
        distractors=attempts.distractors,
        exploits=attempts.exploits,
        shortcuts=attempts.shortcuts,
        proves_right=attempts.proves_right,
    )


def _solve(task: Task) -> Script:
    return answering(attempts.right_answer(task) or "")
