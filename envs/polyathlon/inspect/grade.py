"""Grades: what a domain, or one level of it, has been shown to be good for."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum


class Grade(IntEnum):
    """From worst to best. A grade is the minimum over everything that was measured, never an average.

    REJECT: breaks the contract; not registered. QUARANTINE: loadable, in no default mixture. BRONZE: an experiment.
    SILVER: fit to train on. GOLD: everything that the protocol asks, without a waiver.
    """

    REJECT = 0
    QUARANTINE = 1
    BRONZE = 2
    SILVER = 3
    GOLD = 4

    @property
    def word(self) -> str:
        """The grade as it is written in tables and certificates."""
        return self.name.lower()


TRAINABLE = Grade.SILVER
"""The least grade that a default mixture takes."""


def grade_of(word: str) -> Grade:
    """Return the grade that `word` names.

    Raises:
        ValueError: there is no such grade.

    """
    for grade in Grade:
        if grade.word == word:
            return grade
    raise ValueError(f"No grade {word!r}; grades are {', '.join(grade.word for grade in Grade)}.")


def least(grades: Iterable[Grade]) -> Grade:
    """Return the minimum; of none, REJECT: nothing was shown."""
    return min(grades, default=Grade.REJECT)
