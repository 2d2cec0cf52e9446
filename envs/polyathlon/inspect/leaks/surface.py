"""L03: a predictor that reads a prompt's surface, and learns from hundreds of answers, must earn nothing by it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from polyathlon.drawing import TaskKey
from polyathlon.inspect.finding import WHOLE, CheckResult, measured
from polyathlon.inspect.intervals import wilson
from polyathlon.inspect.leaks.predictors import bayes, by_fields, nearest, surface
from polyathlon.inspect.play import Stage
from polyathlon.inspect.protocol import RULES
from polyathlon.inspect.space.survey import Answered, answered_of, public_text
from polyathlon.inspect.tally import Tally
from polyathlon.toolcall import OPEN

NUM_FOLDS = 5
NUM_PLAYED = 40
MIN_CASES_FOR_BOUND = 125
"""No reward in so many tries bounds the mean at 0.03; a smoke test has fewer, and is graded by what it saw."""
MIN_ANSWERS = 20

Guesses = Mapping[int, tuple[str, ...]]
"""Actions by the number of the task that they are a guess at."""


def check_surface(stage: Stage) -> CheckResult:
    """L03: what nearest neighbour and naive Bayes earn on tasks that they did not learn from, above the floor.

    Five folds: each task is guessed at by predictors that learned from the four other folds of all levels. Guesses are
    played; in a sandbox they are compared with the reference's own words instead.
    """
    subject = stage.subject
    known = [one for level in answered_of(stage) for one in level if one.actions]
    if len(known) < MIN_ANSWERS:
        return CheckResult("L03", not_applicable=f"{len(known)} answers are known, too few to learn from")
    asked = [number for number, one in enumerate(known) if _place(known, number) < NUM_PLAYED]
    earned: dict[str, list[float]] = {}
    for method, guesses in _guesses(known, asked).items():
        earned[method] = [_reward(stage, known[number], guesses[number]) for number in asked]
    floor = subject.entry.row.floor
    best = max(earned, key=lambda method: sum(earned[method]))
    tally = Tally("L03", subject.entry.row.levels)
    for number, reward in zip(asked, earned[best], strict=True):
        tally.count(known[number].task.level, reward - floor)
    total, cases = sum(earned[best]), len(asked)
    low, high = wilson(min(total, cases), cases)
    value = (high if cases >= MIN_CASES_FOR_BOUND else total / cases) - floor
    whole = measured(RULES["L03"], WHOLE, value, cases, interval=(low - floor, high - floor))
    if whole.grade < RULES["L03"].grade(0.0):
        text = f"{best} earns {total / cases:.3f} on average from the prompt's surface, floor {floor}."
        hint = (
            "Draw what decides the answer independently of wording, order, length and seed; ask for more than a class."
        )
        tally.fault(0, 0, f"{text} {hint}")
    numbers = {method: sum(rewards) / cases for method, rewards in earned.items()}
    return tally.result((*tally.shares(), whole), {**numbers, "learned_from": len(known) * (NUM_FOLDS - 1) / NUM_FOLDS})


def _guesses(known: Sequence[Answered], asked: Sequence[int]) -> dict[str, Guesses]:
    """Return each method's guesses at the tasks numbered in `asked`."""
    texts = [f"{one.task.prompt}\n{public_text(one.task.public)}" for one in known]
    table = surface([one.task for one in known], texts)
    found: dict[str, dict[int, tuple[str, ...]]] = {}
    for fold in range(NUM_FOLDS):
        here = [number for number in asked if number % NUM_FOLDS == fold]
        learned = [number for number in range(len(known)) if number % NUM_FOLDS != fold]
        if not here:
            continue
        train, questions = table[learned], table[here]
        for method, actions in _methods(train, [known[number] for number in learned], questions):
            found.setdefault(method, {}).update(zip(here, actions, strict=True))
    return {method: guesses for method, guesses in found.items() if len(guesses) == len(asked)}


def _methods(
    train: np.ndarray, learned: Sequence[Answered], questions: np.ndarray
) -> Iterator[tuple[str, list[tuple[str, ...]]]]:
    yield "nearest neighbour", [learned[place].actions for place in nearest(train, questions)]
    wholes = [one.whole for one in learned]
    by_whole = {one.whole: one.actions for one in learned}
    yield "naive Bayes", [by_whole[whole] for whole in bayes(train, wholes, questions)]
    if all(len(one.actions) == 1 and OPEN not in one.actions[0] and "```" not in one.actions[0] for one in learned):
        yield "naive Bayes by fields", [(text,) for text in by_fields(train, wholes, questions)]


def _reward(stage: Stage, one: Answered, guess: tuple[str, ...]) -> float:
    if stage.subject.costly:
        return float(guess == one.actions)
    key = TaskKey(stage.subject.entry.id, one.task.level, one.task.seed)
    return max(0.0, stage.play(key, guess).reward)


def _place(known: Sequence[Answered], number: int) -> int:
    """Return which of its level's tasks the one numbered so is."""
    first = next(place for place, one in enumerate(known) if one.task.level == known[number].task.level)
    return number - first
