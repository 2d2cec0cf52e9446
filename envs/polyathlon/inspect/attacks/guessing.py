"""N05 and a part of N02: guesses. Those that read the prompt without solving, and those that do not even read it."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from polyathlon.canonical import expect_map
from polyathlon.domain import Task, ToolSpec
from polyathlon.drawing import TaskKey
from polyathlon.inspect.attacks.level_forms import Known, pools_of
from polyathlon.inspect.attacks.scenes import levels_of
from polyathlon.inspect.attacks.wrong import NUMBER, prompt_numbers
from polyathlon.inspect.blind import FINISHERS, call_of
from polyathlon.inspect.depth import PROOF_SEEDS
from polyathlon.inspect.finding import WHOLE, CheckResult, Measure, measured
from polyathlon.inspect.intervals import wilson
from polyathlon.inspect.play import Playthrough, Stage
from polyathlon.inspect.protocol import RULES
from polyathlon.inspect.wording import actions_text, fault_of, verdict_text
from polyathlon.seeding import child
from polyathlon.toolcall import write_call

TASKS_A_SEED, MAX_TASKS = 6, 384
"""Guesses are played on six tasks for each that other checks look at: their means are small, and must be sure."""
NUM_SLOW_TASKS = 16
SLOW_KINDS = ("mesh", "document")
NUM_FREQUENT = 3
CONSTANTS = ("0", "1", "-1", "2", "10", "yes", "no", "true", "false", "A", "B", "C", "D", "none", "[]", "{}", "a", "x")

Actions = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Guess:
    """What one way to guess earned at one level (WHOLE: on all)."""

    name: str
    level: int
    rewards: tuple[float, ...]
    best: Playthrough

    @property
    def first_half(self) -> float:
        """The mean over every second task. The best of many is chosen by it: its luck there is not counted."""
        return _mean(self.rewards[::2])

    @property
    def second_half(self) -> tuple[float, ...]:
        """The rewards of the other tasks; all of them where there is only one task."""
        return self.rewards[1::2] or self.rewards

    @property
    def mean(self) -> float:
        """The mean over the tasks by which it was not chosen."""
        return _mean(self.second_half)


def check_shortcuts(stage: Stage) -> CheckResult:
    """N05: the domain's own shortcuts, and forms filled with what the prompt shows, must earn the floor on average."""
    guesses = _play_all(stage)
    if not guesses:
        return CheckResult(
            "N05", not_applicable="the domain names no shortcuts, and its answers are no text to fill in"
        )
    floor = stage.subject.entry.row.floor
    measures, faults = [], []
    for level in sorted({guess.level for guess in guesses}, key=lambda level: (level == WHOLE, level)):
        best = max((guess for guess in guesses if guess.level == level), key=lambda guess: guess.first_half)
        measure = _measure(best, floor, proves=stage.subject.num_seeds >= PROOF_SEEDS)
        measures.append(measure)
        if measure.grade < RULES["N05"].grade(RULES["N05"].gold):
            where = "on all levels" if level == WHOLE else f"at level {level}"
            text = f"the shortcut {best.name!r} earns {best.mean:.3f} on average {where}, floor {floor}; best: "
            hint = "Offer more to choose from, correct partial credit for chance, or draw what it relies on less often."
            shown = f"{actions_text(best.best.actions)} earns {verdict_text(best.best)}."
            faults.append(fault_of(stage.subject, best.best, f"{text}{shown} {hint}"))
    numbers = {
        name: statistics.fmean(g.mean for g in guesses if g.name == name) for name in sorted({g.name for g in guesses})
    }
    return CheckResult("N05", tuple(measures), tuple(faults), numbers)


def constant_policies(stage: Stage, key: TaskKey, known: Known) -> dict[str, Actions]:
    """Return what a policy does that never reads: frequent answers, fixed ones, forms with invented numbers, tools.

    A part of N02. `known` is what the level's other references show.
    """
    rng = child("constants", key.domain_id, key.level, key.seed)
    policies: dict[str, Actions] = {}
    if known.carrier is not None:
        for place, answer in enumerate(known.frequent(key, NUM_FREQUENT)):
            policies[f"frequent answer {place}"] = known.carrier.carrying(answer)
        constant = CONSTANTS[int(rng.integers(len(CONSTANTS)))]
        policies["a constant"] = known.carrier.carrying(constant)
        policies["many candidates"] = known.carrier.carrying(" ".join([*CONSTANTS, *map(str, range(100))]))
        others = known.others(key)
        if others:
            policies["the form, invented"] = known.carrier.carrying(others[0].invented(rng))
    tools = [tool for tool in stage.tools(key) if tool.name not in FINISHERS]
    if tools:
        policies["every tool once"] = _each_tool(tools, stage.tools(key))
    return policies


def builtin_shortcuts(task: Task, key: TaskKey, known: Known) -> dict[str, Actions]:
    """Return ways to guess that fit any domain whose answer is a text: forms filled, and numbers copied."""
    if known.carrier is None:
        return {}
    rng, pools, others = child("shortcuts", key.domain_id, key.level, key.seed), pools_of(task), known.others(key)
    texts: dict[str, str] = {}
    for place, form in enumerate(others[:2]):
        texts[f"a form filled in order {place}"] = form.filled_in_order(pools)
        texts[f"a form filled at random {place}"] = form.filled(pools, rng)
    numbers = prompt_numbers(task.prompt)
    if numbers and known.carrier.language == "text" and _mostly_numbers(known.answers):
        texts["the first number"], texts["the last number"] = numbers[0], numbers[-1]
        texts["the largest number"] = max(numbers, key=lambda number: (len(number.partition(".")[0]), number))
    return {name: known.carrier.carrying(text) for name, text in texts.items()}


def _mostly_numbers(answers: Sequence[str]) -> bool:
    single = sum(NUMBER.fullmatch(answer.lstrip("-")) is not None for answer in answers)
    return 2 * single >= len(answers)


def _each_tool(tools: Sequence[ToolSpec], all_tools: Sequence[ToolSpec]) -> Actions:
    ends = [tool for tool in all_tools if tool.name in FINISHERS]
    calls = [call_of(tool, "1") for tool in tools]
    return (*calls, *(write_call(tool.name, {}) for tool in ends[:1] if not _needed(tool)))


def _needed(tool: ToolSpec) -> bool:
    return bool(expect_map(tool.parameters).get("required"))


def _play_all(stage: Stage) -> list[Guess]:
    subject = stage.subject
    found: dict[tuple[str, int], list[Playthrough]] = {}
    for level in levels_of(stage):
        known = Known.of(stage, level)
        for seed in range(_num_tasks(stage)):
            key = TaskKey(subject.entry.id, level, seed)
            task = stage.task(key)
            ways: Mapping[str, Actions] = {
                **{f"own: {attempt.name}": attempt.actions for attempt in subject.domain.shortcuts(task)},
                **({} if subject.costly else builtin_shortcuts(task, key, known)),
            }
            for name, actions in ways.items():
                played = stage.play(key, actions)
                found.setdefault((name, level), []).append(played)
                if _is_slow(stage):
                    found.setdefault((name, WHOLE), []).append(played)
    return [
        Guess(name, level, tuple(each.reward for each in played), max(played, key=lambda each: each.reward))
        for (name, level), played in found.items()
        if level == WHOLE or not _is_slow(stage)
    ]


def _is_slow(stage: Stage) -> bool:
    """Whether so few tasks are played that only all levels together say anything."""
    return stage.subject.costly or stage.subject.entry.row.kind in SLOW_KINDS


def _num_tasks(stage: Stage) -> int:
    subject = stage.subject
    if subject.costly:
        return subject.num_attempt_seeds
    return (
        min(NUM_SLOW_TASKS, subject.num_seeds) if _is_slow(stage) else min(MAX_TASKS, TASKS_A_SEED * subject.num_seeds)
    )


def _measure(guess: Guess, floor: float, *, proves: bool) -> Measure:
    """Return the guess's mean above `floor`; where few tasks prove little, only its interval's lower end."""
    half = guess.second_half
    low, high = wilson(guess.mean * len(half), len(half))
    value = guess.mean if proves else low
    return measured(RULES["N05"], guess.level, value - floor, len(half), interval=(low - floor, high - floor))


def _mean(rewards: Sequence[float]) -> float:
    return statistics.fmean(max(0.0, reward) for reward in rewards)
