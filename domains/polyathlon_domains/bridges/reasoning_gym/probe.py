"""What is measured of a generator before its row is written: what guessing earns there, and what the bridge hides."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from polyathlon.canonical import Json
from polyathlon.catalog import MAX_FLOOR
from polyathlon.domain import MAX_PARTIAL_REWARD
from polyathlon.errors import TaskError, VerifierError
from polyathlon.seeding import child
from polyathlon_domains.bridges.reasoning_gym.attempts import NO_ANSWERS
from polyathlon_domains.bridges.reasoning_gym.domain import NUM_SEEDS
from polyathlon_domains.bridges.reasoning_gym.theirs import Generator, Theirs

NUM_ITEMS = 48
NUM_SCORED = 4
FREQUENT = 0.15
"""An answer is frequent when it is right for this share of a level's items: below, two of 48 meet by chance."""
TRIED = ("", *NO_ANSWERS, "-7654321")
MAX_FAILED = 8
"""After so many failures no further item of a level is asked for: each may have cost its whole limit."""
MAX_TRY = 0.05
"""Up to this score a text that is no answer is paid for being a text: a floor. Above, it is a fault."""


@dataclass(frozen=True, slots=True)
class Probe:
    """Of one generator: the floor that its row declares, and how often, of the items tried, something shows.

    `line_feed_costs`: a line feed after the right answer costs its full score, in the library alone. `changes_item`:
    scoring changes the item that is scored. `troubles`: what could not be drawn or scored, in words.
    """

    floor: float
    line_feed_costs: float = 0.0
    changes_item: float = 0.0
    troubles: tuple[str, ...] = field(default=())


def probe(library: Theirs, generator: Generator) -> Probe:
    """Return what is measured of `generator`, on items that no inspection plays."""
    floors: list[float] = [0.0]
    asides: list[Mapping[str, bool]] = []
    troubles: list[str] = []
    for level in range(generator.levels):
        seeds = child("probe", generator.name, level).integers(NUM_SEEDS, size=NUM_ITEMS)
        items = list(_items(library, generator.name, level, [int(seed) for seed in seeds], troubles))
        if not items:
            continue
        floors.append(guessing(items))
        for item in items[:NUM_SCORED]:
            floors += _paid_for_trying(library, generator.name, level, item)
            try:
                asides.append(library.aside(generator.name, level, item))
            except VerifierError as error:
                troubles.append(str(error))
    told = [aside for aside in asides if aside]
    return Probe(
        floor=min(MAX_FLOOR, math.ceil(max(floors) * 200) / 200),
        line_feed_costs=_share(told, "line_feed_costs"),
        changes_item=_share(told, "changes_item"),
        troubles=tuple(dict.fromkeys(troubles)),
    )


def _items(
    library: Theirs, name: str, level: int, seeds: Sequence[int], troubles: list[str]
) -> Iterator[Mapping[str, Json]]:
    num_failed, first = 0, ""
    for seed in seeds:
        try:
            yield library.item(name, level, seed)
        except TaskError as error:
            num_failed += 1
            first = str(error) if num_failed == 1 else first
            if num_failed == MAX_FAILED:
                break
    if num_failed:
        troubles.append(f"{first} ({num_failed} of {len(seeds)} seeds)")


def guessing(items: Sequence[Mapping[str, Json]]) -> float:
    """Return what always giving the most frequent answer of these items earns; 0 where no answer is frequent.

    One standard deviation more than was seen, so that a row does not claim less than it is.
    """
    answers = Counter(item["answer"] for item in items if isinstance(item["answer"], str))
    share = max(answers.values(), default=0) / len(items)
    return share + math.sqrt(share * (1 - share) / len(items)) if share >= FREQUENT else 0.0


def _paid_for_trying(library: Theirs, name: str, level: int, item: Mapping[str, Json]) -> list[float]:
    paid = []
    for text in TRIED:
        try:
            score = library.score(name, level, text, item)
        except VerifierError:  # for the inspection, which says so
            continue
        if 0.0 < score <= MAX_TRY:
            paid.append(MAX_PARTIAL_REWARD * score)
    return paid


def _share(told: Sequence[Mapping[str, bool]], key: str) -> float:
    return sum(aside[key] for aside in told) / len(told) if told else 0.0
