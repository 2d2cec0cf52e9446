"""Choices out of a final answer: an option's letter, a set of letters, or one of a few labels; a hedge is none."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from polyathlon.verify.answers import undressed
from polyathlon.verify.text import plain

MAX_CHARS = 2_000
_NEGATION = re.compile(
    r"(?:\b(?:not|never|neither|nor|without|except|cannot be|rather than|instead of|unlike|over)|n['\u2019]t(?: be)?)"
    r"(?:\s+(?:the\s+)?(?:option|answer|choice|letter))?(?:\s+[A-Z]\s+(?:or|nor|and))*\s+[(\[*]*$",
    re.IGNORECASE,
)
_VERBS = frozenset({"is", "was", "and", "or", "but", "not", "because", "since", "fits", "seems", "must", "as"})


def read_choice(text: str, letters: str) -> str | None:
    """Return the one option of `letters`, such as "ABCD", that a final answer chooses, else None. Never raises.

    "C", "(c)", "C. Because ...", "I think it is C" and "not B, the answer is D" choose; "A or B", "A and B", "not A",
    and "C, no, not C" do not. A letter counts where it stands alone: capital, or small when it is the whole answer.
    "A" before a noun and "I" before a verb are words.
    """
    chosen = _chosen(text, letters)
    return next(iter(chosen)) if chosen is not None and len(chosen) == 1 else None


def read_choices(text: str, letters: str) -> frozenset[str] | None:
    """Return the set of options that a final answer chooses: "A and C", "A, C", "AC"; None where it chooses none.

    "A or C" hedges, and is None. Compare the set with the right one: a part of it, or all letters, is another set.
    """
    if len(text) > MAX_CHARS:
        return None
    body = undressed(text, "stop", "brackets", "quotes", "bold", "math", "text")
    if re.search(r"\bor\b|/", body, re.IGNORECASE):
        return None
    packed = re.sub(r"[\s,;&]", "", body)
    if packed and not {*packed} - {*letters} and len({*packed}) == len(packed):
        return frozenset(packed)
    return _chosen(text, letters)


def read_label(text: str, labels: Mapping[str, Sequence[str]]) -> str | None:
    """Return the label that the whole of `text` is, else None: a key of `labels`, or one of its declared spellings.

    Case, white space, a full stop and quotes around it do not matter. Never raises.
    """
    if len(text) > MAX_CHARS:
        return None
    body = plain(undressed(text, "stop", "quotes", "bold")).casefold()
    named = [
        label
        for label, spellings in labels.items()
        if any(plain(one).casefold() == body for one in (label, *spellings))
    ]
    return named[0] if len(named) == 1 else None


def _chosen(text: str, letters: str) -> frozenset[str] | None:
    """Return the letters that `text` affirms; None where it affirms none, or affirms and denies one."""
    if len(text) > MAX_CHARS:
        return None
    body = undressed(text, "stop", "brackets", "quotes", "bold", "math", "text")
    if len(body) == 1 and not {body.upper()} - {*letters}:
        return frozenset(body.upper())
    affirmed: set[str] = set()
    denied: set[str] = set()
    for match in re.finditer(rf"(?<![\w'\u2019-])[{re.escape(letters)}](?![\w'\u2019-])", body):
        if not _is_word(body, match):
            (denied if _NEGATION.search(body[max(match.start() - 40, 0) : match.start()]) else affirmed).add(match[0])
    return frozenset(affirmed) if affirmed and not affirmed & denied else None


def _is_word(body: str, match: re.Match[str]) -> bool:
    """Whether this A is an article, or this I a pronoun: a small word follows that can follow no letter."""
    if match[0] != "A" and match[0] != "I":
        return False
    after = re.match(r" ([a-z]+)", body[match.end() :])
    return after is not None and not {after[1]} <= _VERBS
