"""What rewards can and cannot show: intervals, paired gains, and how many findings are false. Pure; never NaN.

Prompts are the unit: samples of one prompt are averaged first, so that four samples of 128 prompts count as 128
observations. Rewards lie in [0, 1]. Seeds are fixed: the same rewards give the same numbers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.stats import t as student

from polyathlon.seeding import child

Rows: TypeAlias = Sequence[Sequence[float]]
"""One row a prompt, in it one reward a sample."""
Floats: TypeAlias = npt.NDArray[np.float64]

NUM_RESAMPLES = 10_000
MAX_EXACT = 14
TOUCHABLE = (0.05, 0.95)


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean with its 95% interval. `mean`, `low` and `high` are None when there was nothing to average."""

    mean: float | None
    low: float | None
    high: float | None
    num_prompts: int
    num_samples: int


@dataclass(frozen=True, slots=True)
class Gain:
    """A paired difference, after - before, with its 95% interval and two-sided p-value. None and 1 without pairs."""

    mean: float | None
    low: float | None
    high: float | None
    p_value: float
    num_prompts: int

    @property
    def includes_zero(self) -> bool:
        """Whether the interval leaves it open that nothing changed; true when there is no interval."""
        return self.low is None or self.high is None or self.low <= 0.0 <= self.high


NO_GAIN = Gain(mean=None, low=None, high=None, p_value=1.0, num_prompts=0)


def mean_interval(rows: Rows) -> Interval:
    """Return the mean over prompts with Student's interval, clustered by prompt, cut to [0, 1].

    Prompts that all have the same mean (or a single prompt) have no spread to estimate from; the interval then allows
    for the largest share of other prompts that n draws miss with probability 0.025, each of them worth anything in
    [0, 1]. For n zeros that is Clopper and Pearson's [0, 1 - 0.025^(1/n)].
    """
    means = _prompt_means(rows)
    count = len(means)
    samples = sum(len(row) for row in rows)
    if count == 0:
        return Interval(mean=None, low=None, high=None, num_prompts=0, num_samples=0)
    centre = float(means.mean())
    if np.ptp(means) == 0.0:
        unseen = _unseen_share(count)
        low, high = centre * (1.0 - unseen), centre + (1.0 - centre) * unseen
    else:
        half = float(student.ppf(0.975, count - 1) * means.std(ddof=1) / math.sqrt(count))
        low, high = max(0.0, centre - half), min(1.0, centre + half)
    return Interval(mean=centre, low=low, high=high, num_prompts=count, num_samples=samples)


def paired_gain(before: Rows, after: Rows) -> Gain:
    """Return after - before, prompt by prompt, over the prompts that both have samples of.

    Interval: percentiles of the bootstrap over prompts, widened by sqrt(n / (n - 1)) as the bootstrap's spread is short
    of the sample's by that. p-value: sign flips of the differences, exact up to 14 that are not zero, else 10,000
    drawn with the one seen among them (so never 0). Equal differences get the allowance of `mean_interval`.
    """
    differences = paired_differences(before, after)
    count = len(differences)
    if count == 0:
        return NO_GAIN
    centre = float(differences.mean())
    if np.ptp(differences) == 0.0:
        unseen = _unseen_share(count)
        low, high = centre - (1.0 + centre) * unseen, centre + (1.0 - centre) * unseen
    else:
        low, high = _percentiles(_resampled_means(differences), centre)
    return Gain(mean=centre, low=low, high=high, p_value=sign_flip_p(differences), num_prompts=count)


def pooled_gain(differences: Mapping[str, Floats]) -> Gain:
    """Return the mean over domains of their mean paired differences: each domain counts the same.

    `differences` is {domain_id: paired_differences(...)}; domains without pairs are left out. The bootstrap draws
    prompts within each domain (the domains are the ones of interest, not a sample), and so do the sign flips.
    """
    present = [values for _, values in sorted(differences.items()) if len(values)]
    if not present:
        return NO_GAIN
    everything = np.concatenate(present)
    if len(present) == 1 or np.ptp(everything) == 0.0:
        return paired_gain([(0.0,)] * len(everything), [(float(value),) for value in everything])
    centre = float(np.mean([values.mean() for values in present]))
    order = child("pooled gain")
    resampled, flipped = np.zeros(NUM_RESAMPLES), np.zeros(NUM_RESAMPLES)
    for values in present:  # the draws for one n are the same in every domain; another order makes them independent
        resampled += order.permutation(_resampled_means(values)) / len(present)
        flipped += order.permutation(_flips(len(values)) @ values / len(values)) / len(present)
    low, high = _percentiles(resampled, centre)
    return Gain(
        mean=centre,
        low=low,
        high=high,
        p_value=_share_as_large(flipped, centre),
        num_prompts=sum(len(values) for values in present),
    )


def paired_differences(before: Rows, after: Rows) -> Floats:
    """Return the differences of prompt means, (n,), over the prompts that have samples in both."""
    pairs = [
        (math.fsum(late) / len(late)) - (math.fsum(early) / len(early))
        for early, late in zip(before, after, strict=False)  # a smaller evaluation holds the first prompts
        if len(early) and len(late)
    ]
    return np.array(pairs, dtype=np.float64)


def sign_flip_p(differences: Floats) -> float:
    """Return the two-sided p-value of a zero centre: how often random signs give a mean as far from zero."""
    moved = differences[differences != 0.0]
    if len(moved) == 0:
        return 1.0
    if len(moved) <= MAX_EXACT:
        signs = 1.0 - 2.0 * ((np.arange(2 ** len(moved))[:, None] >> np.arange(len(moved))) & 1)  # (2^n, n) of +1, -1
        return float(np.mean(np.abs(signs @ moved) >= abs(moved.sum()) * (1.0 - 1e-9)))
    return _share_as_large(_flips(len(differences)) @ differences, float(differences.sum()))


def benjamini_hochberg(p_values: Sequence[float]) -> list[float]:
    """Return the adjusted p-values in the same order: those at most 0.05 hold false discovery at 5%.

    Benjamini and Hochberg (1995), step-up, with the monotone adjustment.
    """
    count = len(p_values)
    ranked = sorted(range(count), key=lambda place: p_values[place])
    adjusted = [1.0] * count
    smallest = 1.0
    for rank in range(count, 0, -1):
        place = ranked[rank - 1]
        smallest = min(smallest, p_values[place] * count / rank)
        adjusted[place] = smallest
    return adjusted


def touchable(after_sft: Mapping[str, Rows]) -> list[str]:
    """Return the domains that the policy can touch, sorted: those with a mean reward after SFT in [0.05, 0.95]."""
    low, high = TOUCHABLE
    means = {domain_id: mean_interval(rows).mean for domain_id, rows in after_sft.items()}
    return sorted(domain_id for domain_id, mean in means.items() if mean is not None and low <= mean <= high)


def _prompt_means(rows: Rows) -> Floats:
    return np.array([math.fsum(row) / len(row) for row in rows if len(row)], dtype=np.float64)


def _unseen_share(count: int) -> float:
    return float(1.0 - 0.025 ** (1.0 / count))


def _percentiles(resampled: Floats, centre: float) -> tuple[float, float]:
    low, high = np.quantile(resampled, (0.025, 0.975))
    return max(-1.0, min(float(low), centre)), min(1.0, max(float(high), centre))


def _resampled_means(values: Floats) -> Floats:
    """Return bootstrap means of `values`, (10000,), spread by sqrt(n / (n - 1)) around their mean."""
    count, centre = len(values), values.mean()
    stretch = math.sqrt(count / (count - 1)) if count > 1 else 1.0
    return np.asarray(centre + stretch * (_draws(count) @ values / count - centre))


def _share_as_large(flipped: Floats, seen: float) -> float:
    as_large = int(np.sum(np.abs(flipped) >= abs(seen) * (1.0 - 1e-9)))
    return (as_large + 1) / (len(flipped) + 1)


@lru_cache(maxsize=4)
def _draws(count: int) -> npt.NDArray[np.float32]:
    """Return how often each of `count` prompts is drawn in each resample, (10000, count)."""
    rng = child("bootstrap", count)
    return rng.multinomial(count, np.full(count, 1.0 / count), size=NUM_RESAMPLES).astype(np.float32)


@lru_cache(maxsize=4)
def _flips(count: int) -> npt.NDArray[np.float32]:
    """Return random signs, (10000, count) of +1 and -1."""
    return (1 - 2 * child("sign flips", count).integers(0, 2, size=(NUM_RESAMPLES, count))).astype(np.float32)
