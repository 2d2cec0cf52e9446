"""The easiest reports: one sentence, and a code put together from a thing and a deed, so that no guess hits it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from polyathlon.canonical import Json, expect_int, expect_map, expect_text
from polyathlon_domains.finance._events import draw_day
from polyathlon_domains.finance._names import word

# label: (its part of a code, other words for it)
THINGS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "deal": ("1", ("contract", "agreement")),
    "loan": ("2", ("credit", "advance")),
    "lease": ("3", ("tenancy", "rental")),
    "stake": ("4", ("shareholding", "interest")),
    "mine": ("5", ("quarry", "pit")),
    "plant": ("6", ("factory", "works")),
    "bond": ("7", ("debenture", "note")),
    "brand": ("8", ("trademark", "label")),
}
DEEDS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "won": (".01", ("gained", "secured")),
    "sold": (".02", ("disposed of", "parted with")),
    "ended": (".03", ("terminated", "called off")),
    "grew": (".04", ("increased", "enlarged")),
    "cut": (".05", ("reduced", "scaled back")),
    "froze": (".06", ("suspended", "put on hold")),
    "split": (".07", ("divided", "broke up")),
    "gave": (".08", ("donated", "made a present of")),
}
NUM_THINGS, NUM_DEEDS = 5, 6
"""How many a chart shows: thirty codes, so that one picked blindly is hardly ever right."""
TELLINGS = ("{day}: {party} {deed} a {sum} {thing}.", "On {day} {party} {deed} a {sum} {thing}.")
REWORDED_TELLINGS = (
    "{day}: {party} {deed} a {thing} worth {sum}.",
    "A {thing} of {sum} is what {party} {deed} on {day}.",
    "For {sum}, {party} {deed} a {thing} on {day}.",
)


def draw_plain(rng: np.random.Generator) -> dict[str, Json]:
    """Return one event, and the things and deeds that its chart shows, its own among them."""
    things = [[*THINGS][int(i)] for i in rng.choice(len(THINGS), size=NUM_THINGS, replace=False)]
    deeds = [[*DEEDS][int(i)] for i in rng.choice(len(DEEDS), size=NUM_DEEDS, replace=False)]
    event: Json = {
        "thing": things[0],
        "deed": deeds[0],
        "day": draw_day(rng),
        "party": word(rng),
        "sum": 10_000 * int(rng.integers(2, 100)),
    }
    return {"things": [*sorted(things)], "deeds": [*sorted(deeds)], "event": event}


def plain_chart(things: Sequence[str], deeds: Sequence[str]) -> str:
    """Return the two lists that a code is put together from: "1 deal, 2 loan; .01 bought, .03 ended"."""
    lists = (
        sorted(THINGS[name][0] + f" {name}" for name in things),
        sorted(DEEDS[name][0] + f" {name}" for name in deeds),
    )
    return "; ".join(", ".join(entries) for entries in lists)


def plain_code(thing: str, deed: str) -> str:
    """Return the code of a deed done to a thing: "2.03"."""
    return THINGS[thing][0] + DEEDS[deed][0]


def tell_plain(event: Mapping[str, Json], rng: np.random.Generator, *, reworded: bool) -> str:
    """Return the event in one sentence, day and sum as they are to be answered; `reworded` avoids the chart's words."""
    thing, deed = expect_text(event["thing"]), expect_text(event["deed"])
    words = [_pick(rng, names[label][1]) if reworded else label for names, label in ((THINGS, thing), (DEEDS, deed))]
    telling = _pick(rng, REWORDED_TELLINGS if reworded else TELLINGS)
    return telling.format(
        day=event["day"], party=event["party"], sum=expect_int(event["sum"]), thing=words[0], deed=words[1]
    )


def plain_row(event: Json) -> list[Json]:
    """Return the event as it is to be answered: code, day, party, sum."""
    held = expect_map(event)
    return [plain_code(expect_text(held["thing"]), expect_text(held["deed"])), held["day"], held["party"], held["sum"]]


def _pick(rng: np.random.Generator, texts: Sequence[str]) -> str:
    return texts[int(rng.integers(len(texts)))]
