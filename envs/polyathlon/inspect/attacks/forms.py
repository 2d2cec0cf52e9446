"""The form of a level's answers, read off other tasks' references, and filled with what a prompt shows.

Whoever has seen a few answers knows their form. What is earned by filling it without solving is a guess.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

MAX_SHOWN_CHARS = 20_000
COMMON = 0.6
"""In what share of the other answers a token must stand to belong to the form."""

_CLASSES: tuple[tuple[str, str], ...] = (
    ("time", r"\d{1,2}:\d{2}(?::\d{2})?"),
    ("day", r"\d{4}-\d{2}-\d{2}"),
    ("code", r"\d\.\d{2}(?!\d)"),
    ("decimal", r"\d+\.\d+"),
    ("whole", r"\d+"),
    ("name", r"[A-Z][a-z]+"),
    ("word", r"[a-z]+(?:-[a-z]+)*"),
    ("capitals", r"[A-Z]+"),
    ("other", r"[^\W\d_]+"),
)
_PARTS = re.compile("|".join(f"(?P<{name}>{pattern})" for name, pattern in _CLASSES))

Pools = Mapping[str, Sequence[str]]


def shown_by_class(text: str) -> dict[str, list[str]]:
    """Return the parts that a text shows, by class (times, days, codes, numbers, names, words), in order."""
    found: dict[str, list[str]] = {name: [] for name, _ in _CLASSES}
    for match in _PARTS.finditer(text[:MAX_SHOWN_CHARS]):
        found[str(match.lastgroup)].append(match[0])
    return found


@dataclass(frozen=True, slots=True)
class Form:
    """An answer taken apart: literal text, and between it the class of each part that changes from task to task."""

    pieces: tuple[tuple[str, str], ...]
    """(class, text) in order; the class is "" for what belongs to the form."""

    def filled(self, pools: Pools, rng: np.random.Generator) -> str:
        """Return the form with each part drawn from those of its class that are shown; its own where none is."""
        return "".join(self._drawn(name, text, pools, rng) for name, text in self.pieces)

    def filled_in_order(self, pools: Pools) -> str:
        """Return the form with the parts of each class in the order in which they are shown, no place twice."""
        used: Counter[str] = Counter()
        written = []
        for name, text in self.pieces:
            pool = pools.get(name, ())
            if not name or not pool:
                written.append(text)
                continue
            written.append(pool[used[name] % len(pool)])
            used[name] += 1
        return "".join(written)

    def invented(self, rng: np.random.Generator) -> str:
        """Return the form with other digits in every number: right in form, and read off nothing."""
        return "".join(
            re.sub(r"\d", lambda _: str(int(rng.integers(10))), text) if name else text for name, text in self.pieces
        )

    def _drawn(self, name: str, text: str, pools: Pools, rng: np.random.Generator) -> str:
        pool = pools.get(name, ())
        return pool[int(rng.integers(len(pool)))] if name and pool else text


def forms_of(answers: Sequence[str]) -> list[Form]:
    """Return the form of each of a level's answers: parts that stand in most of them are form, all others change."""
    parts = [{match[0] for match in _PARTS.finditer(answer)} for answer in answers]
    counts = Counter(part for found in parts for part in found)
    common = {part for part, count in counts.items() if count > COMMON * len(answers) and len(answers) > 2}
    return [_form(answer, common) for answer in answers]


def _form(answer: str, common: set[str]) -> Form:
    pieces: list[tuple[str, str]] = []
    end = 0
    for match in _PARTS.finditer(answer):
        if match.start() > end:
            pieces.append(("", answer[end : match.start()]))
        pieces.append(("" if match[0] in common else str(match.lastgroup), match[0]))
        end = match.end()
    if end < len(answer):
        pieces.append(("", answer[end:]))
    return Form(tuple(pieces))
