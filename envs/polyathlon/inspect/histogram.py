"""Rewards in bins: what one picture shows of a domain."""

from __future__ import annotations

from collections.abc import Mapping

BIN_WIDTH = 0.05
INVALID_BIN = 21
"""The bin of episodes without a reward. Bin k below it holds rewards from k x 0.05 on, and bin 20 the reward 1."""
NUM_BINS = INVALID_BIN + 1


def bin_of(reward: float) -> int:
    """Return the bin of a reward in [0, 1]."""
    return int(reward / BIN_WIDTH + 1e-9)  # 0.15 / 0.05 is a little less than 3


def added(*histograms: Mapping[str, tuple[int, ...]]) -> dict[str, tuple[int, ...]]:
    """Return the sum of histograms by source."""
    sources = sorted({source for histogram in histograms for source in histogram})
    empty = (0,) * NUM_BINS
    return {
        source: tuple(map(sum, zip(*(histogram.get(source, empty) for histogram in histograms), strict=True)))
        for source in sources
    }
