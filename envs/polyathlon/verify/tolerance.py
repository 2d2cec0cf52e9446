"""How near a number must come, as a value that a domain declares: exact arithmetic, and both ends count.

A tolerance is tied to a scale. `Relative(Fraction(1, 100))` at a gold of 0 admits 0 alone: say which `scale` is small
there, or nothing but 0 is right. NaN and infinities never get here: read numbers with `NumberGrammar` or `finite`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, Protocol

from polyathlon.verify.grammar import Numeral
from polyathlon.verify.money import round_half_up
from polyathlon.verify.numbers import within

Halves = Literal["up", "even", "either"]
"""Where a number that lies between two roundings goes: away from zero, to the even one, or both count."""


class Tolerance(Protocol):
    """Says whether a value counts as the gold one. Never raises for finite values."""

    def admits(self, value: Fraction, gold: Fraction) -> bool:
        """Return whether `value` is near enough to `gold`."""
        ...


@dataclass(frozen=True, slots=True)
class Exactly:
    """The gold value alone."""

    def admits(self, value: Fraction, gold: Fraction) -> bool:
        return value == gold


EXACT = Exactly()


@dataclass(frozen=True, slots=True)
class Absolute:
    """At most `limit` from gold, in the number's own unit."""

    limit: Fraction

    def __post_init__(self) -> None:
        _check_size(self.limit, "limit")

    def admits(self, value: Fraction, gold: Fraction) -> bool:
        return within(value, gold, absolute=self.limit)


@dataclass(frozen=True, slots=True)
class Relative:
    """At most `share` of the gold value's size from it, or of `scale` where gold is smaller than that."""

    share: Fraction
    scale: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        _check_size(self.share, "share")
        _check_size(self.scale, "scale")

    def admits(self, value: Fraction, gold: Fraction) -> bool:
        return within(value, gold, relative=self.share, absolute=self.share * self.scale)


@dataclass(frozen=True, slots=True)
class Ulps:
    """At most `count` steps of double precision from gold: for results that were computed in floats."""

    count: int

    def __post_init__(self) -> None:
        _check_size(Fraction(self.count), "count")

    def admits(self, value: Fraction, gold: Fraction) -> bool:
        try:
            step = Fraction(math.ulp(float(gold)))  # sound: a Fraction is finite, and what overflows is caught
        except OverflowError:
            return value == gold
        return within(value, gold, absolute=self.count * step)


@dataclass(frozen=True, slots=True)
class Places:
    """Equal after rounding gold to `places` decimals; the value is rounded alike, so more decimals do no harm."""

    places: int
    halves: Halves = "up"

    def admits(self, value: Fraction, gold: Fraction) -> bool:
        return bool(_rounded(value, self.places, self.halves) & _rounded(gold, self.places, self.halves))


@dataclass(frozen=True, slots=True)
class Digits:
    """Equal after rounding both to as many decimals as `count` significant digits of gold need. Gold 0 is 0 alone."""

    count: int
    halves: Halves = "up"

    def __post_init__(self) -> None:
        if self.count < 1:
            raise ValueError(f"{self.count} significant digits are none; take 1 or more.")

    def admits(self, value: Fraction, gold: Fraction) -> bool:
        if gold == 0:
            return value == 0
        places = self.count - 1 - _magnitude(gold)
        return bool(_rounded(value, places, self.halves) & _rounded(gold, places, self.halves))


def rounds_to(numeral: Numeral, gold: Fraction, *, least_places: int, halves: Halves = "up") -> bool:
    """Return whether a number as written is gold, or a right rounding of it with at least `least_places` decimals.

    For gold 1/3: 0.333 does with `least_places` 3 and not with 4, 0.334 never does.
    """
    if numeral.value == gold:
        return True
    if numeral.places is None or numeral.places < least_places:
        return False
    return numeral.value in _rounded(gold, numeral.places, halves)  # sound: a set of Fractions


def _rounded(value: Fraction, places: int, halves: Halves) -> frozenset[Fraction]:
    up = round_half_up(value, places)
    unit = Fraction(10) ** -places
    even = round(value / unit) * unit
    return frozenset({"up": (up,), "even": (even,), "either": (up, even)}[halves])


def _magnitude(value: Fraction) -> int:
    """Return the power of ten of the first digit: 0 for 5, -2 for 0.05."""
    size = abs(value)
    power = len(str(size.numerator)) - len(str(size.denominator))
    return power if size >= Fraction(10) ** power else power - 1


def _check_size(size: object, name: str) -> None:
    if not isinstance(size, Fraction | int) or size < 0:
        raise ValueError(f"{name} is {size!r}; give a Fraction of 0 or more, such as Fraction('0.01').")
