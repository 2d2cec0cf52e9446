"""Texts made comparable, and bags of things compared."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable

from polyathlon.canonical import Json, canonical_json

MAX_MARKS = 30
"""Combining marks in a row that are put in order: the bound of UAX #15's stream-safe text."""


def plain(text: str) -> str:
    """Return `text` in NFKC, without invisible characters, white space runs as single spaces, ends stripped.

    Longer runs of combining marks than any language has are broken up, or ordering them would take quadratic time.
    """
    if text.isascii():
        return " ".join(text.split())
    folded = unicodedata.normalize("NFKC", _stream_safe(text))
    visible = "".join(character for character in folded if unicodedata.category(character) not in ("Cf", "Cs"))
    return " ".join(visible.split())


def _stream_safe(text: str) -> str:
    """Return `text` with a grapheme joiner after each 30 combining marks in a row (UAX #15, section 13)."""
    parts: list[str] = []
    run = 0
    for character in text:
        run = run + 1 if unicodedata.combining(character) else 0
        if run > MAX_MARKS:
            parts.append("\u034f")
            run = 1
        parts.append(character)
    return "".join(parts)


def same_words(left: str, right: str) -> bool:
    """Return whether two texts are the same after `plain`, case aside."""
    return plain(left).casefold() == plain(right).casefold()


def same_value(left: Json, right: Json) -> bool:
    """Return whether two JSON values are the same with the same types: 1 is not true, and not 1.0."""
    return canonical_json(left) == canonical_json(right)


def same_bag(got: Iterable[str], wanted: Iterable[str]) -> bool:
    """Return whether two bags hold the same strings, each as often: [1, 1, 81] is not [1, 81]."""
    return Counter(got) == Counter(wanted)


def bag_f1(got: Iterable[str], wanted: Iterable[str]) -> float:
    """Return the F1 of two bags of strings, in [0, 1]: a thing twice counts twice. Both empty is 0, not 1."""
    mine, theirs = Counter(got), Counter(wanted)
    hits = (mine & theirs).total()
    return 0.0 if hits == 0 else 2 * hits / (mine.total() + theirs.total())


def above(score: float, zero: float) -> float:
    """Return `score` rescaled so that `zero` (what a blind policy gets) is 0 and 1 stays 1; never below 0.

    Both lie in [0, 1]; `zero` below 1.
    """
    return 0.0 if not score > zero else (score - zero) / (1.0 - zero)
