"""Credit put together so that nothing odd becomes reward: finite shares, gates that nothing passes by being empty."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction

from polyathlon.canonical import Json
from polyathlon.errors import VerifierError

_SLACK = 1e-9


def finite(value: Json) -> Fraction | None:
    """Return the exact value that a JSON number is written as, else None: bools, texts, NaN, infinities. Never raises.

    The float 0.1 is 1/10 here, as it is written.
    """
    if type(value) is int:
        return Fraction(value)
    return Fraction(repr(value)) if type(value) is float and math.isfinite(value) else None


def expect_finite(value: float, where: str) -> float:
    """Return `value`, a number of the verifier's own making.

    Raises:
        VerifierError: NaN or an infinity: the episode cannot be judged, and is worth neither 0 nor 1.

    """
    if not math.isfinite(value):
        raise VerifierError(f"{where} is {value}: a verifier computed no number. Check what it divides by.")
    return value


def expect_share(value: float, where: str) -> float:
    """Return `value` as a share in [0, 1]; what lies outside by less than 1e-9 is the end itself.

    Raises:
        VerifierError: NaN, an infinity, or outside: a clamp would hide it.

    """
    if not -_SLACK <= expect_finite(value, where) <= 1.0 + _SLACK:
        raise VerifierError(f"{where} is {value}; it must lie in [0, 1]. Mend the formula instead of clamping it.")
    return clamped(value, low=0.0, high=1.0)


def clamped(value: float, *, low: float, high: float) -> float:
    """Return the number in [low, high] that is nearest to `value`.

    Raises:
        VerifierError: `value` is NaN or an infinity; or low is above high.

    """
    if not low <= high:
        raise VerifierError(f"Nothing lies between {low} and {high}.")
    expect_finite(value, "a clamped number")
    return low if value < low else high if value > high else value


def every(flags: Iterable[bool]) -> bool:
    """Return whether all `flags` are true.

    Raises:
        VerifierError: there are none: nothing was checked, so nothing passed.

    """
    return share_right(flags) == 1.0


def share_right(flags: Iterable[bool]) -> float:
    """Return the share of `flags` that are true, in [0, 1].

    Raises:
        VerifierError: there are none, or one is no bool.

    """
    listed = list(flags)
    if not listed or any(type(flag) is not bool for flag in listed):
        raise VerifierError(
            f"{len(listed)} checks ran, and each must say True or False: nothing can be judged by them."
        )
    return sum(listed) / len(listed)


def best_of(scores: Sequence[float], where: str) -> float:
    """Return the largest of `scores`, one for each right answer there is, each a share. Not rounded.

    Raises:
        VerifierError: there are none, or one is no share.

    """
    if not scores:
        raise VerifierError(f"{where}: there is no right answer to compare with.")
    return max(expect_share(score, where) for score in scores)
