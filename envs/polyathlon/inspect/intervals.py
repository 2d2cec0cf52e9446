"""Intervals of what was counted: how sure a share is."""

from __future__ import annotations

import math

Z_95 = 1.959964
"""The standard normal's 97.5% point: two-sided 95%."""


def wilson(successes: float, num_cases: int) -> tuple[float, float]:
    """Return the 95% Wilson score interval of `successes` / `num_cases`; (0, 1) of no case.

    `successes` may be a sum of rewards in [0, 1]: no such variable spreads more than one that is 0 or 1, so the
    interval is then too wide rather than too narrow. Source: Wilson, J. Am. Stat. Assoc. 22 (1927) 209.
    """
    if num_cases < 1:
        return 0.0, 1.0
    share = successes / num_cases
    if not 0.0 <= share <= 1.0:
        raise ValueError(f"{successes} of {num_cases} is no share. Give between none and all of the cases.")
    square = Z_95**2
    centre = (share + square / (2 * num_cases)) / (1 + square / num_cases)
    spread = Z_95 * math.sqrt(share * (1 - share) / num_cases + square / (4 * num_cases**2)) / (1 + square / num_cases)
    low = 0.0 if share == 0.0 else max(0.0, centre - spread)
    high = 1.0 if share == 1.0 else min(1.0, centre + spread)
    return low, high
