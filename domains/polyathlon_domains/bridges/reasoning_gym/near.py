"""Answers near a right one: what is written otherwise and means the same, and what reads alike and is wrong."""

from __future__ import annotations

import re
from fractions import Fraction

_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?![\w.])")
_WHOLE = re.compile(r"\s*[+-]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?\s*")
_RATIO = re.compile(r"\s*([+-]?\d+)\s*/\s*(\d+)\s*")
MAX_EXACT_DIGITS = 15
_FLIPS = (
    ("true", "false"),
    ("yes", "no"),
    ("knight", "knave"),
    ("hero", "villain"),
    ("valid", "invalid"),
    ("possible", "impossible"),
)


def value_of(text: str) -> Fraction | None:
    """Return the number that all of `text` is, written as a decimal or as a fraction of integers; None otherwise."""
    ratio = _RATIO.fullmatch(text)
    if ratio is not None:
        return Fraction(int(ratio[1]), int(ratio[2])) if int(ratio[2]) else None
    return Fraction(text.strip().replace(",", "")) if _WHOLE.fullmatch(text) and len(text) < 400 else None


def same(left: str, right: str) -> bool:
    """Whether two texts say the same: the same number, or the same words but for case, white space and a full stop."""
    values = value_of(left), value_of(right)
    if None not in values:
        return values[0] == values[1]
    return _words(left) == _words(right)


def last_number_plus_one(text: str) -> str | None:
    """Return `text` with one added to its last number; None where it holds none."""
    found = _last_number(text)
    if found is None:
        return None
    whole, dot, digits = found[0].partition(".")
    raised = int(whole) + (-1 if whole.startswith("-") else 1)
    return _put(text, found, f"{raised}{dot}{digits}")


def last_digit_plus_five(text: str) -> str | None:
    """Return `text` with five added to the last digit of its last number (5 to 0, 7 to 2); None where it holds none.

    And None where that number has more digits than a float keeps: there the last one says little.
    """
    found = _last_number(text)
    if found is None or sum(map(str.isdigit, found[0])) > MAX_EXACT_DIGITS:
        return None
    return _put(text, found, found[0][:-1] + str((int(found[0][-1]) + 5) % 10))


def sign_flipped(text: str) -> str | None:
    """Return the number `text` with its other sign; None where it is no number, or zero."""
    if not value_of(text):
        return None
    stripped = text.strip()
    return stripped[1:] if stripped.startswith("-") else f"-{stripped.removeprefix('+')}"


def tenfold(text: str) -> str | None:
    """Return the whole number `text` with a zero at its end; None where it is no such number, or zero."""
    value = value_of(text)
    return f"{text.strip()}0" if value and re.fullmatch(r"\s*[+-]?\d+\s*", text) else None


def word_flipped(text: str) -> str | None:
    """Return `text` with its first true/false, yes/no, knight/knave turned round; None where it holds none."""
    for left, right in _FLIPS:
        for one, other in ((left, right), (right, left)):
            match = re.search(rf"\b{one}\b", text, re.IGNORECASE)
            if match is not None:
                return text[: match.start()] + _like(match[0], other) + text[match.end() :]
    return None


def shortened(text: str) -> str | None:
    """Return a text without numbers less its last letter and what follows; None for other texts, and short ones."""
    core = re.sub(r"\W+$", "", text)
    return core[:-1] if len(core) >= 4 and not re.search(r"\d", text) else None


def _last_number(text: str) -> re.Match[str] | None:
    return next(reversed(list(_NUMBER.finditer(text))), None)


def _put(text: str, match: re.Match[str], instead: str) -> str:
    return text[: match.start()] + instead + text[match.end() :]


def _words(text: str) -> list[str]:
    return text.strip().removesuffix(".").lower().split()


def _like(model: str, word: str) -> str:
    if model.isupper():
        return word.upper()
    return word.capitalize() if model[0].isupper() else word
