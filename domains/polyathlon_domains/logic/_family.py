"""One large family without half- or step-kin, the words for who is whose what, and how words chain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

FEMALE, MALE = 0, 1

# From a person's view: P a parent, C a child, S a sibling, M the one married to. "PS": a parent's sibling.
WORDS: Mapping[str, tuple[str, str]] = {
    "P": ("mother", "father"),
    "C": ("daughter", "son"),
    "S": ("sister", "brother"),
    "M": ("wife", "husband"),
    "PP": ("grandmother", "grandfather"),
    "CC": ("granddaughter", "grandson"),
    "PS": ("aunt", "uncle"),
    "SC": ("niece", "nephew"),
    "PSC": ("cousin", "cousin"),
    "MP": ("mother-in-law", "father-in-law"),
    "CM": ("daughter-in-law", "son-in-law"),
    "MS": ("sister-in-law", "brother-in-law"),
    "SM": ("sister-in-law", "brother-in-law"),
    "PPP": ("great-grandmother", "great-grandfather"),
    "CCC": ("great-granddaughter", "great-grandson"),
    "PPS": ("great-aunt", "great-uncle"),
    "SCC": ("great-niece", "great-nephew"),
}
NEUTRAL: Mapping[str, str] = {"P": "parent", "C": "child", "S": "sibling"}
CHAINS = ("PP", "CC", "PS", "SC")
SYNONYMS: Mapping[str, str] = {
    "grandaunt": "great-aunt",
    "granduncle": "great-uncle",
    "grandniece": "great-niece",
    "grandnephew": "great-nephew",
}

# What a chain of two means where nobody is half- or step-kin. A child's parent may be oneself: no rule.
_INVERSE: Mapping[str, str] = {"P": "C", "C": "P", "S": "S", "M": "M"}
_REDUCED: Mapping[str, str] = {"SS": "S", "PC": "S", "SP": "P", "CS": "C", "PM": "P", "MC": "C"}
_PLAIN_REDUCED = ("SS",)

# Three generations of a couple (0, 1), the couples (3, 5) and (4, 6), the birth family of 5, and a fourth generation
COUPLES: tuple[tuple[int, int], ...] = ((0, 1), (3, 5), (4, 6), (7, 14), (12, 13))
CHILDREN: Mapping[tuple[int, int], tuple[int, ...]] = {
    (0, 1): (2, 3, 4),
    (3, 5): (7, 8),
    (4, 6): (9, 10),
    (12, 13): (5, 11),
    (7, 14): (15, 16),
}
NUM_PEOPLE = 17


@dataclass(frozen=True, slots=True)
class Tie:
    """`other` is `one`'s `kind`: a basic tie (P, C, S, M), or a told chain of two (PP, CC, PS, SC)."""

    one: int
    other: int
    kind: str


Path: TypeAlias = "Sequence[tuple[int, str]]"
"""Steps from one person to another: (place of the tie used, its kind in this direction)."""


def read_word(text: str) -> tuple[str, int | None] | None:
    """Return (a relation's female word, the gender that `text` says) of a relation word, None for anything else.

    Case, hyphens and spaces aside. The gender is None where the word has none (cousin).
    """
    return _READ.get(_squeezed(text))


def inverse(chain: str) -> str:
    """Return `chain` seen from its other end: "PS" (an aunt or uncle) is "SC" (a niece or nephew)."""
    return "".join(_INVERSE[tie] for tie in reversed(chain))


def reduce_steps(kinds: Sequence[str], *, whole_kin: bool) -> str | None:
    """Return the relation that ties one after another amount to, or None where it is not certain.

    A told chain hides the person in its middle, who may be the one at the end of the next ("a grandmother's child"): it
    is only joined, never reduced.
    """
    chain = "".join(kinds)
    if any(len(kind) > 1 for kind in kinds):
        return chain if chain in WORDS else None
    return reduce_chain(chain, whole_kin=whole_kin)


def reduce_chain(chain: str, *, whole_kin: bool) -> str | None:
    """Return the relation that a chain of basic ties amounts to, all people on it known, or None if uncertain.

    `whole_kin`: that nobody is half- or step-kin is given; without it only a sibling's sibling is a sibling.
    """
    if "CP" in chain:
        return None
    for place in range(len(chain) - 1):
        pair = chain[place : place + 2]
        if pair in _REDUCED:
            if not whole_kin and pair not in _PLAIN_REDUCED:
                return None
            return reduce_chain(chain[:place] + _REDUCED[pair] + chain[place + 2 :], whole_kin=whole_kin)
    return chain if chain in WORDS else None


def paths_between(ties: Sequence[Tie]) -> list[tuple[tuple[int, int], Path]]:
    """Return, for each pair of people, the way from the first to the second: (place in `ties`, kind) a step."""
    near: dict[int, list[tuple[int, int, str]]] = {}
    for place, tie in enumerate(ties):
        near.setdefault(tie.one, []).append((tie.other, place, tie.kind))
        near.setdefault(tie.other, []).append((tie.one, place, inverse(tie.kind)))
    ways: list[tuple[tuple[int, int], Path]] = []
    for start in near:
        ahead: list[tuple[int, int, Path]] = [(start, -1, [])]
        for here, came_by, path in ahead:  # grows while it is read
            for other, place, kind in near[here]:
                if place != came_by:
                    ahead.append((other, place, [*path, (place, kind)]))
        ways += [((start, end), path) for end, _, path in ahead[1:]]
    return ways


def _squeezed(text: str) -> str:
    return "".join(text.casefold().replace("-", " ").split())


def _readable() -> Mapping[str, tuple[str, int | None]]:
    readable: dict[str, tuple[str, int | None]] = {}
    for female, male in WORDS.values():
        for gender, word in ((MALE, male), (FEMALE, female)):
            readable[_squeezed(word)] = (female, None if female == male else gender)
    return {**readable, **{_squeezed(other): readable[_squeezed(word)] for other, word in SYNONYMS.items()}}


def _ties() -> tuple[Tie, ...]:
    ties = [Tie(one, other, "M") for a, b in COUPLES for one, other in ((a, b), (b, a))]
    for parents, children in CHILDREN.items():
        ties += [Tie(child, parent, "P") for child in children for parent in parents]
        ties += [Tie(parent, child, "C") for child in children for parent in parents]
        ties += [Tie(one, other, "S") for one in children for other in children if one != other]
    told = [
        Tie(first.one, second.other, first.kind + second.kind)
        for first in ties
        for second in ties
        if first.other == second.one and first.kind + second.kind in CHAINS
    ]
    return (*ties, *dict.fromkeys(told))


_READ = _readable()
TIES = _ties()
BASIC_OF, CHAINS_OF = (
    tuple(
        tuple(tie for tie in TIES if tie.one == person and (len(tie.kind) > 1) == long) for person in range(NUM_PEOPLE)
    )
    for long in (False, True)
)
