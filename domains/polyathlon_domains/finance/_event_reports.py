"""Reports of events: what took place, among plans, other days and sums, corrections and withdrawals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from polyathlon.canonical import Json, expect_int, expect_text
from polyathlon_domains.finance._events import BY_LABEL, NOISE, Item, draw_day, write_day, write_sum
from polyathlon_domains.finance._names import person, word

WIDE_STEPS = (10_000, 100_000)


@dataclass(frozen=True, slots=True)
class Event:
    """One event: its item's label, its day (YYYY-MM-DD), its party, and its sum in units, None where none is named."""

    label: str
    day: str
    party: str
    amount: int | None

    def as_json(self) -> dict[str, Json]:
        return {"item": self.label, "day": self.day, "party": self.party, "sum": self.amount}


@dataclass(frozen=True, slots=True)
class Report:
    """The text of a report, and the events that it tells of but that did not take place like that."""

    text: str
    decoys: tuple[Event, ...] = ()


def read_event(value: Mapping[str, Json]) -> Event:
    """Return the event that `Event.as_json` wrote."""
    amount = None if value["sum"] is None else expect_int(value["sum"])
    return Event(expect_text(value["item"]), expect_text(value["day"]), expect_text(value["party"]), amount)


def draw_event(item: Item, rng: np.random.Generator, steps: Sequence[int]) -> Event:
    """Return an event of `item`; its sum is 2 to 99 times one of `steps`, each a multiple of 10,000 units."""
    amount = int(rng.integers(2, 100)) * steps[int(rng.integers(len(steps)))] if item.has_amount else None
    return Event(item.label, draw_day(rng), person(rng) if item.who == "person" else word(rng), amount)


def tell_hedged(events: Sequence[Event], idle: Sequence[Item], rng: np.random.Generator) -> Report:
    """Return the events told in any order among a plan for the first of `idle`, and other days and sums."""
    plan = draw_event(idle[0], rng, WIDE_STEPS)
    sentences = [*(_told(event, rng) for event in events), _planned(plan, rng), _noise(rng)]
    return Report(" ".join(sentences[int(i)] for i in rng.permutation(len(sentences))), (plan,))


def tell_amended(events: Sequence[Event], idle: Sequence[Item], rng: np.random.Generator) -> Report:
    """Return a report and its amendment: one event is corrected, one more is withdrawn, one is only planned."""
    gone, plan = (draw_event(item, rng, WIDE_STEPS) for item in idle[:2])
    place = int(rng.integers(len(events)))
    right = events[place]
    if right.amount is not None and rng.random() < 0.5:
        old = replace(right, amount=right.amount + 10_000 * int(rng.integers(1, 50)))
        mended = f"the sum of the {right.label} is {write_sum(right.amount, rng)}"
    else:
        day = draw_day(rng)
        old = replace(right, day=day if day != right.day else "2030-12-31")
        mended = f"the day of the {right.label} is {write_day(right.day, rng)}"
    first = [_told(event, rng) for event in (*events[:place], old, *events[place + 1 :], gone)]
    first += [_planned(plan, rng), _noise(rng)]
    amends = [f"{mended[0].upper()}{mended[1:]}.", f"The {gone.label} did not take place."]
    text = " ".join(first[int(i)] for i in rng.permutation(len(first)))
    return Report(f"{text}\nAmendment: {' '.join(amends[int(i)] for i in rng.permutation(2))}", (old, gone, plan))


def _told(event: Event, rng: np.random.Generator) -> str:
    amount = "" if event.amount is None else write_sum(event.amount, rng)
    return _sentence(_pick(rng, BY_LABEL[event.label].told), write_day(event.day, rng), event.party, amount)


def _planned(event: Event, rng: np.random.Generator) -> str:
    amount = "" if event.amount is None else write_sum(event.amount, rng)
    return _sentence(BY_LABEL[event.label].planned, "", event.party, amount)


def _noise(rng: np.random.Generator) -> str:
    day, amount = write_day(draw_day(rng), rng), write_sum(10_000 * int(rng.integers(2, 900)), rng)
    return _sentence(_pick(rng, NOISE), day, "", amount)


def _sentence(template: str, day: str, party: str, amount: str) -> str:
    return template.format(day=day, party=party, sum=amount)


def _pick(rng: np.random.Generator, texts: Sequence[str]) -> str:
    return texts[int(rng.integers(len(texts)))]
