"""U05: test tasks that are nearly a train task, found by MinHash and then compared in full."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from polyathlon.domain import Task
from polyathlon.inspect.finding import CheckResult
from polyathlon.inspect.play import Stage
from polyathlon.inspect.protocol import RULES
from polyathlon.inspect.space.survey import public_text, survey_of
from polyathlon.inspect.tally import Tally
from polyathlon.seeding import child
from polyathlon.verify.text import plain

SHINGLE_CHARS = 13
NEAR = 0.8
NUM_BANDS, ROWS_A_BAND = 16, 4
"""A pair with a Jaccard index of 0.8 shares a band with probability 1 - (1 - 0.8^4)^16 = 0.9998."""
WORDING = 0.05
"""A shingle in more of a level's tasks than this is wording, and says nothing about which task it is."""
MAX_READ_CHARS = 8_000

Hashes = NDArray[np.uint64]


def check_likeness(stage: Stage) -> CheckResult:
    """U05: the share of test tasks that are nearly a train task of their level, wording that all share left out."""
    tally = Tally("U05", stage.subject.entry.row.levels)
    for draws in survey_of(stage).levels:
        near = near_pairs([*map(_text, draws.train)], [*map(_text, draws.test)])
        tally.count(draws.level, len(near), num_cases=len(draws.test))
        if near and len(near) > RULES["U05"].gold * len(draws.test):
            place, other = near[0]
            test, train = draws.test[place], draws.train[other]
            text = f"{len(near)} of {len(draws.test)} test tasks of level {draws.level} are nearly a train task: seed"
            text += f" {test.seed} of test is like seed {train.seed} of train. Vary more than a name or a number."
            replay = f"polyathlon play {stage.subject.entry.id} --level {draws.level} --split test --seed {test.seed}"
            tally.fault(draws.level, test.seed, text, replay)
    return tally.result(tally.shares())


def near_pairs(train: Sequence[str], test: Sequence[str]) -> list[tuple[int, int]]:
    """Return (test, train) for each test text that is nearly a train text, with the first such train text.

    Near is a Jaccard index of 13-character shingles of 0.8 or more, those left out that are in over 5% of all texts.
    """
    if not train or not test:
        return []
    sets = _without_wording([shingles(text) for text in (*train, *test)])
    signatures = _signatures(sets)
    bands: dict[tuple[int, bytes], list[int]] = defaultdict(list)
    for place in range(len(train)):
        for band, mark in enumerate(_bands(signatures[place])):
            bands[band, mark].append(place)
    found = []
    for place in range(len(test)):
        mine = sets[len(train) + place]
        marks = enumerate(_bands(signatures[len(train) + place]))
        candidates = sorted({other for band, mark in marks for other in bands.get((band, mark), ())})
        match = next((other for other in candidates if jaccard(mine, sets[other]) >= NEAR), None)
        if match is not None:
            found.append((place, match))
    return found


def shingles(text: str) -> Hashes:
    """Return the different hashes of all runs of 13 characters of `text`, white space folded, in order."""
    codes = np.frombuffer(plain(text)[:MAX_READ_CHARS].encode("utf-32-le", "surrogatepass"), "<u4").astype(np.uint64)
    if len(codes) < SHINGLE_CHARS:
        codes = np.pad(codes, (0, SHINGLE_CHARS - len(codes)))
    windows = np.lib.stride_tricks.sliding_window_view(codes, SHINGLE_CHARS)  # (runs, 13)
    return np.unique(_mixed((windows * _POWERS).sum(axis=1, dtype=np.uint64)))


def jaccard(one: Hashes, other: Hashes) -> float:
    """Return the share of all shingles that both have; 0 where there is none."""
    both = len(np.intersect1d(one, other, assume_unique=True))
    either = len(one) + len(other) - both
    return both / either if either else 0.0


def _without_wording(sets: Sequence[Hashes]) -> list[Hashes]:
    """Return the sets without the shingles that many of them have. Few texts have no wording that could be told."""
    every, counts = np.unique(np.concatenate(sets), return_counts=True)
    common = every[counts > max(2.0, WORDING * len(sets))]
    return [np.setdiff1d(one, common, assume_unique=True) for one in sets]


def _signatures(sets: Sequence[Hashes]) -> NDArray[np.uint64]:
    """Return the least of 64 hashes over each set: (sets, 64). Empty sets are alike in nothing."""
    rng = child("inspect likeness")
    size = NUM_BANDS * ROWS_A_BAND
    factors = rng.integers(0, 2**62, size=size, dtype=np.uint64) * np.uint64(2) + np.uint64(1)  # odd: one to one
    table = np.empty((len(sets), size), dtype=np.uint64)
    for place, one in enumerate(sets):
        if len(one):
            table[place] = (one[:, None] * factors).min(axis=0)
        else:
            table[place] = rng.integers(1, 2**63, size=size, dtype=np.uint64)
    return table


def _bands(signature: NDArray[np.uint64]) -> list[bytes]:
    return [signature[k * ROWS_A_BAND : (k + 1) * ROWS_A_BAND].tobytes() for k in range(NUM_BANDS)]


def _mixed(values: Hashes) -> Hashes:
    """Return `values` with all bits stirred (the finaliser of MurmurHash3, 64 bit)."""
    mixed = values ^ (values >> np.uint64(33))
    mixed = mixed * np.uint64(0xFF51AFD7ED558CCD)
    mixed ^= mixed >> np.uint64(33)
    mixed = mixed * np.uint64(0xC4CEB9FE1A85EC53)
    return np.asarray(mixed ^ (mixed >> np.uint64(33)), dtype=np.uint64)


def _powers() -> Hashes:
    powers = [pow(0x9E3779B97F4A7C15, place + 1, 2**64) for place in range(SHINGLE_CHARS)]
    return np.array(powers, dtype=np.uint64)


_POWERS = _powers()


def _text(task: Task) -> str:
    return f"{task.prompt}\n{public_text(task.public)}"
