"""Names of companies, people, streets and towns that exist nowhere."""

from __future__ import annotations

import numpy as np

_HEADS = (
    "Nor",
    "Tel",
    "Bra",
    "Kes",
    "Vol",
    "Mar",
    "Dun",
    "Fen",
    "Gal",
    "Hol",
    "Jas",
    "Lor",
    "Pel",
    "Ros",
    "Sor",
    "Wen",
)
_TAILS = ("vik", "mar", "dane", "low", "tex", "bury", "ko", "lund", "mont", "ris", "stad", "via")
_GIVEN = (
    "Ada",
    "Ben",
    "Cora",
    "Dan",
    "Eva",
    "Finn",
    "Gia",
    "Hugo",
    "Ida",
    "Jon",
    "Kim",
    "Lea",
    "Max",
    "Nia",
    "Oto",
    "Pia",
)
_TRADES = ("Tools", "Foods", "Paper", "Glass", "Textiles", "Optics", "Timber", "Pumps", "Cables", "Paints", "Seeds")
_FORMS = ("Ltd", "GmbH", "SA", "Oy", "BV", "Inc", "AB")
_STREETS = ("Harbour Road", "Mill Lane", "Station Street", "Quarry Way", "Elm Court", "Foundry Row", "North Quay")


def word(rng: np.random.Generator) -> str:
    """Return one made-up name, 5 to 7 letters; there are 192."""
    return _pick(rng, _HEADS) + _pick(rng, _TAILS)


def company(rng: np.random.Generator) -> str:
    """Return a company with trade and legal form: "Norvik Paper BV"."""
    return f"{word(rng)} {_pick(rng, _TRADES)} {_pick(rng, _FORMS)}"


def person(rng: np.random.Generator) -> str:
    """Return a person: "Ada Telmar"."""
    return f"{_pick(rng, _GIVEN)} {word(rng)}"


def address(rng: np.random.Generator) -> str:
    """Return an address on one line, its parts between commas: "12 Mill Lane, 4821 Norvik"."""
    return f"{int(rng.integers(1, 200))} {_pick(rng, _STREETS)}, {int(rng.integers(1_000, 10_000))} {word(rng)}"


def tax_id(rng: np.random.Generator) -> str:
    """Return a tax number: two letters and nine digits."""
    letters = "".join(chr(65 + int(n)) for n in rng.integers(0, 26, size=2))
    return f"{letters}{int(rng.integers(10**8, 10**9))}"


def _pick(rng: np.random.Generator, names: tuple[str, ...]) -> str:
    return names[int(rng.integers(len(names)))]
