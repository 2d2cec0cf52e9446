"""Intervals for shares: how far a count in so many tries can be trusted."""

from __future__ import annotations

import math

Z_95 = 1.959963984540054


def wilson(successes: int, trials: int) -> tuple[float, float]:
    """Return the 95% interval of a share by E. B. Wilson's score (1927): within [0, 1], (0, 1) of no trials.

    Raises:
        ValueError: more successes than trials, or a negative number.

    """
    if not 0 <= successes <= trials:
        raise ValueError(f"{successes} successes of {trials} trials: it must be 0 to all of them.")
    if trials == 0:
        return 0.0, 1.0
    share, z2 = successes / trials, Z_95 * Z_95
    middle = (share + z2 / (2 * trials)) / (1 + z2 / trials)
    half = Z_95 / (1 + z2 / trials) * math.sqrt(share * (1 - share) / trials + z2 / (4 * trials * trials))
    # the ends of a share of 0 or 1 are exact, whatever the rounding
    low = 0.0 if successes == 0 else middle - half
    high = 1.0 if successes == trials else middle + half
    return low, high
