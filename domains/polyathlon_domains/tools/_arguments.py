"""Kinds of arguments: schemas, values, and how each is said outright and in other units or forms."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from polyathlon import Json

NAMES = ("Ana", "Ben", "Cleo", "Dana", "Emil", "Fay", "Gus", "Hana", "Ivo", "Jude", "Kira", "Leo", "Mia", "Nils", "Oda")
CITIES = ("Oslo", "Lima", "Rome", "Kyiv", "Quito", "Bern", "Cork", "Baku", "Doha", "Riga", "Seoul", "Turin", "Perth")
STREETS = ("Elm St", "High St", "Mill Rd", "Oak Ave", "Park Rd", "Lake Dr", "Bay St", "Hill Rd", "King St", "Dock Rd")
FOODS = ("rice", "tea", "flour", "soup", "plums", "beans", "oats", "honey", "pasta", "corn", "figs", "leeks", "salt")
ROOMS = ("hall", "attic", "study", "porch", "kitchen", "cellar", "office", "garage", "bath", "den")
COLORS = ("red", "blue", "green", "amber", "violet", "white")
LABELS = ("gym", "yoga", "bread", "school", "laundry", "piano", "garden", "taxes", "chess", "vitamins", "rehearsal")
TITLES = ("Budget", "Design review", "Retro", "Hiring", "Roadmap", "Launch", "Standup", "Audit", "Kickoff", "Demo")
CODES = ("OSL", "LIM", "FCO", "KBP", "UIO", "ZRH", "ORK", "GYD", "DOH", "RIX", "ICN", "TRN", "PER", "LIS", "YVR")
TICKERS = ("ACME", "BOLT", "CYAN", "DUNE", "ECHO", "FERN", "GLOW", "HALO", "IRIS", "JADE", "KELP", "LUNA")
SONGS = ("Blue Train", "Gymnopedie", "So What", "Clocks", "Heroes", "Toxic", "Hallelujah", "Yesterday", "Creep")
MONTHS = "January February March April May June July August September October November December".split()  # noqa: SIM905
SMALL = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]


class Dice:
    """Short names for what the samplers ask of a generator."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng

    def number(self, low: int, high: int) -> int:
        """Return an integer in [low, high]."""
        return int(self._rng.integers(low, high + 1))

    def pick(self, options: Sequence[str]) -> str:
        """Return one of `options`."""
        return options[int(self._rng.integers(len(options)))]

    def some(self, options: Sequence[str], count: int) -> list[str]:
        """Return `count` different ones of `options`."""
        return [options[int(k)] for k in self._rng.permutation(len(options))[:count]]


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of argument: its JSON Schema, values, how it is said outright, and how in other units or forms."""

    schema: Mapping[str, Json]
    sample: Callable[[Dice], Json]
    say: Callable[[Json], str] = str
    say_otherwise: Callable[[Json], str] | None = None


def one_of(options: Sequence[str], *, closed: bool = False) -> Kind:
    schema: dict[str, Json] = {"type": "string", **({"enum": list(options)} if closed else {})}
    return Kind(schema, lambda dice: dice.pick(options))


def integer(low: int, high: int, said: str = "{}", otherwise: Callable[[int], str] | None = None) -> Kind:
    def outright(value: Json) -> str:
        return said.format(value)

    def in_other_words(value: Json) -> str:
        assert otherwise is not None, "asked for only where there are other words"
        return otherwise(as_int(value))

    words = None if otherwise is None else in_other_words
    return Kind({"type": "integer"}, lambda dice: dice.number(low, high), outright, words)


def as_int(value: Json) -> int:
    """Return an integer argument drawn here."""
    assert isinstance(value, int), "an integer drawn here"
    return value


def _clock(value: Json) -> str:
    hour, minute = map(int, str(value).split(":"))
    half, twelve = ("am" if hour < 12 else "pm"), hour % 12 or 12
    if minute in (15, 30):
        return f"{'half' if minute == 30 else 'quarter'} past {twelve} {half}"
    return f"quarter to {twelve % 12 + 1} {half}" if minute == 45 and twelve < 11 else f"{twelve}:{minute:02d} {half}"


def _day(value: Json) -> str:
    year, month, day = map(int, str(value).split("-"))
    return f"{day} {MONTHS[month - 1]} {year}"


def _hours(minutes: int) -> str:
    hours, rest = divmod(minutes, 60)
    return f"{hours} h" if rest == 0 else f"{hours} h {rest} min"


def _decimal(value: int, per_unit: int, unit: str) -> str:
    return f"{value / per_unit:g} {unit}"


def _place(value: Json) -> str:
    assert isinstance(value, Mapping), "an address drawn here"
    return f"{value['number']} {value['street']} in {value['city']}"


def _listed(value: Json) -> str:
    assert isinstance(value, Sequence), "a list drawn here"
    return ", ".join(map(str, value[:-1])) + f" and {value[-1]}"


def _counted(value: Json) -> str:
    assert isinstance(value, Sequence), "a list drawn here"
    return " and ".join(f"{item['count']} {item['name']}" for item in value if isinstance(item, Mapping))


def _counted_in_words(value: Json) -> str:
    assert isinstance(value, Sequence), "a list drawn here"
    return " and ".join(f"{SMALL[as_int(item['count'])]} {item['name']}" for item in value if isinstance(item, Mapping))


def _object(**properties: Json) -> dict[str, Json]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _sample_place(dice: Dice) -> Json:
    return {"number": dice.number(1, 99), "street": dice.pick(STREETS), "city": dice.pick(CITIES)}


def _sample_basket(dice: Dice) -> Json:
    return [{"name": name, "count": dice.number(2, 12)} for name in dice.some(FOODS, 2)]


_TEXT: dict[str, Json] = {"type": "string"}
_INT: dict[str, Json] = {"type": "integer"}
TIME = Kind(
    {"type": "string", "pattern": "^\\d{2}:\\d{2}$", "form": "HH:MM"},
    lambda dice: f"{dice.number(0, 23):02d}:{dice.number(0, 59):02d}",
    say_otherwise=_clock,
)
DATE = Kind(
    {"type": "string", "pattern": "^\\d{4}-\\d{2}-\\d{2}$", "form": "YYYY-MM-DD"},
    lambda dice: f"{dice.number(2025, 2029)}-{dice.number(1, 12):02d}-{dice.number(1, 28):02d}",
    say_otherwise=_day,
)
MINUTES = integer(61, 600, "{} minutes", _hours)
CENTS = integer(101, 9999, "{} cents", lambda cents: f"${cents // 100}.{cents % 100:02d}")
METRES = integer(101, 9999, "{} metres", lambda metres: _decimal(metres, 1000, "km"))
GRAMS = integer(51, 2999, "{} grams", lambda grams: _decimal(grams, 1000, "kg"))
PERCENT = integer(1, 99, "{}%", lambda percent: f"{percent / 100:g} of full")
PEOPLE = integer(2, 12, "{}", lambda count: SMALL[count])
SHARES = integer(2, 999)
PERSON, CITY, FOOD, ROOM = one_of(NAMES), one_of(CITIES), one_of(FOODS), one_of(ROOMS)
PLACE = Kind(_object(number=_INT, street=_TEXT, city=_TEXT), _sample_place, _place)
PEOPLE_LIST = Kind({"type": "array", "items": _TEXT}, lambda dice: dice.some(NAMES, dice.number(2, 3)), _listed)
FOOD_LIST = Kind({"type": "array", "items": _TEXT}, lambda dice: dice.some(FOODS, dice.number(2, 3)), _listed)
BASKET = Kind({"type": "array", "items": _object(name=_TEXT, count=_INT)}, _sample_basket, _counted, _counted_in_words)
