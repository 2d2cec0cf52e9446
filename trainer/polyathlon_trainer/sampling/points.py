"""Numbers that depend on (seed, sample, place) only, so that what else is in a batch changes no text. No torch here."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_A = np.uint64(0xBF58476D1CE4E5B9)
_MIX_B = np.uint64(0x94D049BB133111EB)


def uniforms(seeds: Sequence[int], samples: Sequence[int], *, start: int, count: int) -> NDArray[np.float64]:
    """Return (R, count) numbers in [0, 1): row r belongs to (seeds[r], samples[r]), column c to place `start` + c.

    Counter-based (the SplitMix64 finaliser, applied once a word): any entry can be computed alone.
    """
    state = _mix(np.array([seed % 2**64 for seed in seeds], dtype=np.uint64))
    state = _mix(state ^ _mix(np.array(samples, dtype=np.uint64) + _GOLDEN))
    places = np.arange(start, start + count, dtype=np.uint64)
    with np.errstate(over="ignore"):
        words = _mix(state[:, None] + _mix(places * _GOLDEN)[None, :])
    return (words >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _mix(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    with np.errstate(over="ignore"):
        words = words + _GOLDEN
        words = (words ^ (words >> np.uint64(30))) * _MIX_A
        words = (words ^ (words >> np.uint64(27))) * _MIX_B
        return words ^ (words >> np.uint64(31))
