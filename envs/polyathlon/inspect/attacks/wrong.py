"""Wrong answers of the right shape: texts and JSON values with their numbers and words replaced."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

from polyathlon.canonical import Json

NUMBER = re.compile(r"\d+(?:\.\d+)?")
WORD = re.compile(r"[^\W\d_]{2,}")


def prompt_numbers(prompt: str) -> list[str]:
    """Return the numbers of a prompt as they are written, each once, in order."""
    return list(dict.fromkeys(NUMBER.findall(prompt)))


def prompt_words(prompt: str) -> list[str]:
    """Return the words of a prompt, each once, in order."""
    return list(dict.fromkeys(WORD.findall(prompt)))


def with_numbers(text: str, change: Callable[[str], str]) -> str | None:
    """Return `text` with every number changed; None where it has none."""
    changed = NUMBER.sub(lambda match: change(match[0]), text)
    return changed if changed != text else None


def one_more(number: str) -> str:
    """Return a number one larger in its leading digit: at least a tenth off, and as long."""
    return f"{int(number[0]) % 9 + 1}{number[1:]}"


def another(text: str, prompt: str, rng: np.random.Generator) -> str:
    """Return a text of the shape of `text` that says something else: other numbers, or other words of the prompt."""
    changed = with_numbers(text, one_more)
    if changed is not None:
        return changed
    words = [word for word in prompt_words(prompt) if word.casefold() not in text.casefold()] or ["none"]
    return WORD.sub(lambda _: words[int(rng.integers(len(words)))], text) if WORD.search(text) else f"{text}{text}"


def with_leaves(value: Json, change: Callable[[Json], Json]) -> Json:
    """Return a JSON value with every leaf changed; its shape stays."""
    if isinstance(value, dict):
        return {key: with_leaves(inner, change) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [with_leaves(inner, change) for inner in value]
    return change(value)


def leaves(value: Json) -> list[Json]:
    """Return the leaves of a JSON value, in order."""
    if isinstance(value, dict):
        return [leaf for inner in value.values() for leaf in leaves(inner)]
    if isinstance(value, list | tuple):
        return [leaf for inner in value for leaf in leaves(inner)]
    return [value]


def other_leaf(value: Json) -> Json:
    """Return another value of the same type: never the same."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 7
    if isinstance(value, float):
        return value * 1.5 + 1.0
    if isinstance(value, str):
        changed = with_numbers(value, one_more)
        return changed if changed is not None else f"{value}x"
    return "x"
