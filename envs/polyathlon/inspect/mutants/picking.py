"""Where an operator strikes: places drawn per operator, so that a new operator moves no other one's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from polyathlon.seeding import child

T = TypeVar("T")


class Picker:
    """Draws places for operators. The same names give the same places, operator by operator."""

    def __init__(self, *names: str | int) -> None:
        self._names = names

    def some(self, operator: str, places: Sequence[T], count: int) -> list[T]:
        """Return up to `count` different ones of `places`, in a drawn order."""
        if len(places) < 2:
            return list(places[:count])
        order = child("mutants", operator, *self._names).permutation(len(places))[:count]
        return [places[int(k)] for k in order]

    def one(self, operator: str, places: Sequence[T]) -> list[T]:
        """Return one of `places` in a list; an empty list where there is none."""
        return self.some(operator, places, 1)

    def within(self, *names: str | int) -> Picker:
        """Return the picker of a part: its draws are independent of the whole's."""
        return Picker(*self._names, *names)
