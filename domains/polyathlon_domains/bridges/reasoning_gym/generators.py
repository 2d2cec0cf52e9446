"""The library itself, as a process of its own sees it: which generators there are, their items, and their scores."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import functools
import importlib
import math
import os
import random  # noqa: TID251  # theirs: to set what they draw from, never to draw
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from polyathlon.canonical import Json, canonical_json, expect_map
from polyathlon.seeding import child_seed
from polyathlon_domains.bridges.reasoning_gym.wire import packed, unpacked

LEFT_OUT = {"composite": "mixes other generators, and has no task of its own"}
MAX_LEVELS = 5
MAX_GLOBAL_LEVEL = 12
MAX_SEED = 2**31
FULL_SCORE = 1.0 - 1e-9
READ_ONCE = frozenset(("arc_agi", "codeio", "figlet_font", "group_anagrams", "rearc", "spell_backward", "word_ladder"))
"""Generators whose constructor reads a file for 50 ms and more, and draws nothing: one is made, and seeded again."""

SLOW_LEVELS: Mapping[str, tuple[int, ...]] = {
    "game_of_life": (3,),
    "jugs": (2, 3),
    "n_queens": (4,),
    "number_sequence": (2, 3),
    "sokoban": (0, 4),
    "zebra_puzzles": (3, 4),
}
"""Levels of their curricula that are none here: some items take over 5 s of CPU time, or most take half a second."""
TOO_SLOW = "an item takes seconds of CPU time, or more than five"


class Dataset(Protocol):
    """What the library calls a dataset: items by number, and a score for an answer to one of them."""

    def __getitem__(self, place: int, /) -> dict[str, Any]: ...

    def score_answer(self, answer: str | None, entry: dict[str, Any]) -> Any: ...


@dataclass(frozen=True, slots=True)
class Facts:
    """One generator: its family, how many levels its curriculum gives, and the levels of it that do not work, and why.

    `default_scorer` is true where it leaves the scoring to the library.
    """

    name: str
    family: str
    levels: int
    broken_levels: Mapping[str, str]
    default_scorer: bool


def facts() -> list[Facts]:
    """Return every generator, by name."""
    return [_facts(name) for name in sorted(_factory().DATASETS) if name not in LEFT_OUT]


def item(name: str, level: int, seed: int, *, ambient: int) -> Json:
    """Return the item of generator `name` that `seed` gives at `level`, as `wire` writes it.

    `ambient` seeds the generators of random numbers that belong to nobody: the same item is to come whatever it is.

    Raises: whatever the generator does.

    """
    with _ambient(child_seed("ambient", name, level, seed, ambient)):
        return packed(dict(_dataset(name, level, seed % MAX_SEED)[0]))


def prepare(name: str, level: int) -> None:
    """Make what scores the items of `name` at `level`, if it is not there."""
    _judge(name, level)


def score(name: str, level: int, answer: str | None, entry: Json) -> Json:
    """Return what the generator's own verifier gives `answer`: a number, or the text of what is none.

    Raises: whatever the verifier does.

    """
    found = _judge(name, level).score_answer(answer, expect_entry(entry))
    if isinstance(found, bool | int | float | np.number):
        number = float(found)
        return number if math.isfinite(number) else str(number)
    return f"{type(found).__name__} {str(found)[:80]}"


def aside(name: str, level: int, entry: Json) -> Json:
    """Return what this bridge keeps from its users, and the library's own do meet: whether a line feed after the right
    answer costs its full score, and whether scoring changes the item that is handed over.

    Raises: whatever the verifier does.

    """
    mine, untouched = expect_entry(entry), canonical_json(packed(expect_entry(entry)))
    gold = mine["answer"]
    judge = _judge(name, level)
    if not isinstance(gold, str) or not float(judge.score_answer(gold, mine)) >= FULL_SCORE:
        return {}
    changed = canonical_json(packed(mine)) != untouched
    strict = not float(judge.score_answer(f"{gold}\n", expect_entry(entry))) >= FULL_SCORE
    return {"line_feed_costs": strict, "changes_item": changed}


def expect_entry(entry: Json) -> dict[str, Any]:
    """Return the item that `entry` is, a fresh one: verifiers have been seen to change theirs."""
    found = unpacked(expect_map(entry))
    assert isinstance(found, dict)
    return found


@functools.cache
def _factory() -> Any:
    with open(os.devnull, "w", encoding="utf-8") as nowhere, contextlib.redirect_stdout(nowhere):
        importlib.import_module("reasoning_gym")
        return importlib.import_module("reasoning_gym.factory")


def _facts(name: str) -> Facts:
    dataset_class, _ = _factory().DATASETS[name]
    family = dataset_class.__module__.split(".")[1].replace("_", "-")
    levels, broken = _levels(name)
    return Facts(name, family, max(1, len(levels)), broken, "score_answer" not in vars(dataset_class))


@functools.cache
def _levels(name: str) -> tuple[tuple[int, ...], dict[str, str]]:
    """Return which global levels of its curriculum are levels of ours, and those that it cannot be set to, with why.

    The first five that are valid and differ. None: its default settings are its one level.
    """
    if not _factory().has_curriculum(name):
        return (), {}
    found: dict[str, int] = {}
    broken: dict[str, list[str]] = {}
    seen: set[str] = set()
    slow = SLOW_LEVELS.get(name, ())
    for level in range(MAX_GLOBAL_LEVEL):
        if level in slow:
            broken.setdefault(TOO_SLOW, []).append(str(level))
            continue
        try:
            settings = _settings(name, level, seed=0)
            if repr(settings) in seen:  # above the top of every attribute it is the top again
                continue
            seen.add(repr(settings))
            if hasattr(settings, "validate"):
                settings.validate()
        except Exception as error:  # their settings raise what they like
            broken.setdefault(f"{type(error).__name__}: {error}", []).append(str(level))
            continue
        if len(found) < MAX_LEVELS:
            found[repr(settings)] = level
    return tuple(found.values()), {", ".join(levels): why for why, levels in broken.items()}


def _settings(name: str, global_level: int | None, *, seed: int) -> Any:
    own = {"seed": seed, "size": 1}
    if global_level is None:
        return _factory().DATASETS[name][1](**own)
    curriculum = _factory().create_curriculum(name)
    curriculum.set_global_level(global_level)
    return curriculum.generate_configuration(own)


def _made(name: str, level: int, seed: int) -> Dataset:
    levels, _ = _levels(name)
    dataset: Dataset = _factory().DATASETS[name][0](_settings(name, levels[level] if levels else None, seed=seed))
    return dataset


def _dataset(name: str, level: int, seed: int) -> Dataset:
    if name not in READ_ONCE:
        return _made(name, level, seed)
    first, shared = _first(name, level)
    for field, value in shared.items():  # what they keep on the class belongs to the level made last
        setattr(type(first), field, value)
    again = copy.copy(first)
    settings = dataclasses.replace(again.config, seed=seed)  # type: ignore[attr-defined]  # every dataset has both
    again.config, again.seed = settings, seed  # type: ignore[attr-defined]
    return again


@functools.cache
def _first(name: str, level: int) -> tuple[Dataset, dict[str, object]]:
    made = _made(name, level, 0)
    plain: dict[str, object] = {key: value for key, value in vars(type(made)).items() if isinstance(value, list | dict)}
    return made, plain


@functools.cache
def _judge(name: str, level: int) -> Dataset:
    return _dataset(name, level, 0)


@contextlib.contextmanager
def _ambient(seed: int) -> Iterator[None]:
    before, numpy_before = random.getstate(), np.random.get_state()  # noqa: NPY002  # theirs, as above
    random.seed(seed)
    np.random.seed(seed % 2**32)  # noqa: NPY002
    try:
        yield
    finally:
        random.setstate(before)
        np.random.set_state(numpy_before)  # noqa: NPY002
