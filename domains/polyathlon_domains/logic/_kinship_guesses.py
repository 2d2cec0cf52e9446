"""Ways to answer questions of kinship by matching names, without following a relation."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from polyathlon import Attempt, Task

_TOLD = re.compile(r"(\w+) is (\w+)'s ([\w-]+)\.")
_ASKED = re.compile(r"(\w+) is (\w+)'s\?")
_OTHERWISE = {"a child": "son", "a parent": "mother", "a sibling": "brother", "a grandmother": "grandmother"}


def shortcuts(task: Task) -> Sequence[Attempt]:
    """What is told of a pair, and one relation for every other; or the words that are told, wherever they stand."""
    told = {(subject, owner): word for subject, owner, word in _TOLD.findall(task.prompt)}
    asked = _ASKED.findall(task.prompt)
    words = [*told.values()]
    ways = {f"what is told, else {name}": [told.get(pair, word) for pair in asked] for name, word in _OTHERWISE.items()}
    ways["what is told, in either direction"] = [_either(told, pair) for pair in asked]
    ways["the words as they are told"] = (words * len(asked))[: len(asked)]
    ways["what is told of either person"] = [_about(told, pair) for pair in asked]
    return tuple(Attempt(name, (", ".join(answers),)) for name, answers in ways.items())


def _either(told: Mapping[tuple[str, str], str], pair: tuple[str, str]) -> str:
    return told.get(pair) or told.get((pair[1], pair[0])) or "cousin"


def _about(told: Mapping[tuple[str, str], str], pair: tuple[str, str]) -> str:
    """Return the word that is told of the pair's first person, whoever it is told about."""
    return told.get(pair) or next((word for (subject, _), word in told.items() if subject == pair[0]), "cousin")
