"""What a company may have to report: items, their labels and house codes, and sentences that tell of them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

import numpy as np

from polyathlon.verify.dates import write_date


@dataclass(frozen=True, slots=True)
class Item:
    """One reportable item. `told` are sentences that it happened, `planned` one that it has not (yet).

    `who` says whether the party is a company or a person; `has_amount` is false where no money is named.
    """

    code: str
    label: str
    told: tuple[str, ...]
    planned: str
    who: str = "company"
    has_amount: bool = True


ITEMS: tuple[Item, ...] = (
    Item(
        "1.01",
        "contract",
        ("{day}: {party} signed a {sum} contract.", "We won a {sum} contract from {party} on {day}."),
        "A contract of {sum} with {party} may follow.",
    ),
    Item(
        "2.02",
        "loan",
        ("{day}: {party} lent us {sum}.", "We borrowed {sum} from {party} on {day}."),
        "Talks with {party} on a loan of {sum} go on.",
    ),
    Item(
        "3.02",
        "shares",
        ("{day}: new shares sold to {party} for {sum}.", "{party} got new shares for {sum} on {day}."),
        "{party} may buy new shares for {sum}.",
    ),
    Item(
        "8.01",
        "lawsuit",
        ("{day}: {party} sued us for {sum}.", "On {day} {party} filed suit for {sum}."),
        "{party} has hinted at a lawsuit over {sum}.",
    ),
    Item(
        "2.01",
        "purchase",
        ("{day}: we took over {party} for {sum}.", "For {sum} we acquired {party} on {day}."),
        "We are looking at a takeover of {party} for {sum}.",
    ),
    Item(
        "2.03",
        "disposal",
        ("{day}: we sold a plant to {party} for {sum}.", "A plant of ours went to {party} for {sum} on {day}."),
        "{party} has shown interest in a plant of ours at {sum}.",
    ),
    Item(
        "2.06",
        "write-off",
        ("{day}: we wrote off {sum} of our stake in {party}.", "Our stake in {party} lost {sum} in value on {day}."),
        "Our stake in {party} may have to be cut by {sum}.",
    ),
    Item(
        "8.02",
        "fine",
        ("{day}: the regulator {party} fined us {sum}.", "We were fined {sum} by the regulator {party} on {day}."),
        "The regulator {party} is weighing a fine of {sum}.",
    ),
    Item(
        "1.02",
        "termination",
        ("{day}: {party} ended a deal with us worth {sum}.", "Our deal of {sum} with {party} was ended on {day}."),
        "{party} may end its deal with us, worth {sum}.",
    ),
    Item(
        "5.02",
        "exit",
        ("{day}: director {party} resigned.", "{party} left our board on {day}."),
        "{party} is thinking of leaving our board.",
        who="person",
        has_amount=False,
    ),
    Item(
        "5.03",
        "entry",
        ("{day}: {party} became a director.", "{party} joined our board on {day}."),
        "{party} may be asked to join our board.",
        who="person",
        has_amount=False,
    ),
    Item(
        "4.01",
        "auditor",
        ("{day}: {party} became our auditor.", "We changed to {party} as auditor on {day}."),
        "We may ask {party} to be our auditor.",
        has_amount=False,
    ),
)
BY_LABEL = {item.label: item for item in ITEMS}

NOISE = (
    "Filed {day}.",
    "Our order book stood at {sum} on {day}.",
    "A bond of {sum} falls due on {day}.",
    "Last year's sales were {sum}.",
)


def write_sum(amount: int, rng: np.random.Generator) -> str:
    """Return `amount`, a multiple of 10,000, in one of the ways reports write it: "1.25 million", "340 thousand"."""
    way = int(rng.integers(3))
    if way == 0:
        return f"{amount:,}"
    if way == 1 and amount < 1_000_000:
        return f"{amount // 1000} thousand"
    return f"{amount // 1_000_000}.{amount % 1_000_000 // 10_000:02d} million"


def write_day(iso: str, rng: np.random.Generator) -> str:
    """Return the day in words, "17 April 2031" or "17 Apr 2031"."""
    text = write_date(date.fromisoformat(iso), "long")
    day, month, year = text.split()
    return text if rng.random() < 0.5 else f"{day} {month[:3]} {year}"


def draw_day(rng: np.random.Generator) -> str:
    """Return a day of the years 2031 to 2039, YYYY-MM-DD."""
    return date.fromordinal(int(rng.integers(date(2031, 1, 1).toordinal(), date(2040, 1, 1).toordinal()))).isoformat()
