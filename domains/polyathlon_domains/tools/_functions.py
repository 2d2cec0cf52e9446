"""Callable functions of everyday services: their arguments, and words that ask for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from polyathlon import Json, ToolSpec
from polyathlon_domains.tools._arguments import (
    BASKET,
    CENTS,
    CITY,
    CODES,
    COLORS,
    DATE,
    FOOD,
    FOOD_LIST,
    GRAMS,
    LABELS,
    METRES,
    MINUTES,
    PEOPLE,
    PEOPLE_LIST,
    PERCENT,
    PERSON,
    PLACE,
    ROOM,
    SHARES,
    SONGS,
    TICKERS,
    TIME,
    TITLES,
    Kind,
    integer,
    one_of,
)


@dataclass(frozen=True, slots=True)
class Slot:
    """An argument of a function. An optional one has the words that mention it, and perhaps a default."""

    name: str
    kind: Kind
    mention: str | None = None
    default: Json = None

    @property
    def schema(self) -> Mapping[str, Json]:
        return self.kind.schema if self.default is None else {**self.kind.schema, "default": self.default}


@dataclass(frozen=True, slots=True)
class Function:
    """A function and ways to ask for it; "{name}" stands for a needed argument, "{more}" for the optional ones."""

    name: str
    group: str
    asks: tuple[str, ...]
    slots: tuple[Slot, ...]

    @property
    def needed(self) -> tuple[Slot, ...]:
        return tuple(slot for slot in self.slots if slot.mention is None)

    @property
    def optional(self) -> tuple[Slot, ...]:
        return tuple(slot for slot in self.slots if slot.mention is not None)

    def spec(self, *, num_optional: int) -> ToolSpec:
        """Return the function as a tool, with the first `num_optional` of its optional arguments."""
        slots = (*self.needed, *self.optional[:num_optional])
        parameters: dict[str, Json] = {
            "type": "object",
            "properties": {slot.name: slot.schema for slot in slots},
            "required": [slot.name for slot in self.needed],
        }
        does = self.asks[0].replace("{more}", "").replace("{", "<").replace("}", ">")
        return ToolSpec(self.name, does, parameters)


FLAT: tuple[Function, ...] = (
    Function(
        "alarm",
        "clock",
        ("Set an alarm at {time}{more}.", "Wake me at {time}{more}."),
        (
            Slot("time", TIME),
            Slot("label", one_of(LABELS), " labelled {}"),
            Slot("volume", integer(1, 9), " at volume {}", 5),
        ),
    ),
    Function(
        "timer",
        "clock",
        ("Start a timer of {minutes}{more}.", "Count down {minutes}{more}."),
        (
            Slot("minutes", MINUTES),
            Slot("label", one_of(LABELS), " labelled {}"),
            Slot("repeat", PEOPLE, ", {} times", 1),
        ),
    ),
    Function(
        "pay",
        "money",
        ("Pay {to} {cents}{more}.", "Send {cents} to {to}{more}."),
        (
            Slot("to", PERSON),
            Slot("cents", CENTS),
            Slot("note", one_of(LABELS), " for {}"),
            Slot("on", DATE, " on {}"),
        ),
    ),
    Function(
        "trade",
        "money",
        ("Buy {shares} shares of {symbol}{more}.", "Get {shares} {symbol} shares{more}."),
        (
            Slot("symbol", one_of(TICKERS)),
            Slot("shares", SHARES),
            Slot("limit_cents", CENTS, " below {}"),
            Slot("account", one_of(("main", "joint", "pension")), " in the {} account", "main"),
        ),
    ),
    Function(
        "weather",
        "weather",
        ("Weather in {city} on {day}{more}?", "How will {city} be on {day}{more}?"),
        (
            Slot("city", CITY),
            Slot("day", DATE),
            Slot("unit", one_of(("C", "F", "K"), closed=True), " in {}", "C"),
            Slot("hour", TIME, " at {}"),
        ),
    ),
    Function(
        "light",
        "home",
        ("Set the {room} light to {percent}{more}.", "Dim the {room} lamp to {percent}{more}."),
        (
            Slot("room", ROOM),
            Slot("percent", PERCENT),
            Slot("color", one_of(COLORS), " in {}", "white"),
            Slot("fade_minutes", MINUTES, " over {}"),
        ),
    ),
    Function(
        "play",
        "music",
        ("Play {song} in the {room}{more}.", "Put {song} on in the {room}{more}.", "In the {room}, play {song}{more}."),
        (
            Slot("song", one_of(SONGS)),
            Slot("room", ROOM),
            Slot("volume", integer(1, 9), " at volume {}", 5),
            Slot("repeat", PEOPLE, " {} times", 1),
        ),
    ),
    Function(
        "log_run",
        "sport",
        (
            "Log a run of {metres} in {minutes}{more}.",
            "I ran {metres} in {minutes}{more}, note it.",
            "In {minutes} I ran {metres}{more}: log it.",
        ),
        (
            Slot("metres", METRES),
            Slot("minutes", MINUTES),
            Slot("on", DATE, " on {}"),
            Slot("with", PERSON, " with {}"),
        ),
    ),
    Function(
        "weigh",
        "food",
        ("Note {grams} of {food}{more}.", "Add {grams} of {food} to my diary{more}."),
        (
            Slot("food", FOOD),
            Slot("grams", GRAMS),
            Slot("meal", one_of(("lunch", "dinner", "snack"), closed=True), " for {}", "lunch"),
            Slot("on", DATE, " on {}"),
        ),
    ),
    Function(
        "flight",
        "travel",
        (
            "Find a flight from {from} to {to}{more}.",
            "Look up flights {from} to {to}{more}.",
            "Flights to {to} from {from}{more}?",
        ),
        (
            Slot("from", one_of(CODES)),
            Slot("to", one_of(CODES)),
            Slot("date", DATE, " on {}"),
            Slot("seats", PEOPLE, " for {} people", 1),
        ),
    ),
    Function(
        "table",
        "meals",
        ("Book a table for {people} at {time}{more}.", "Reserve for {people} people at {time}{more}."),
        (Slot("people", PEOPLE), Slot("time", TIME), Slot("name", PERSON, " under {}"), Slot("date", DATE, " on {}")),
    ),
)

NESTED: tuple[Function, ...] = (
    Function(
        "taxi",
        "travel",
        ("Taxi to {to} at {time}{more}.", "At {time} I need a cab to {to}{more}."),
        (Slot("to", PLACE), Slot("time", TIME), Slot("seats", PEOPLE, " for {} people", 1)),
    ),
    Function(
        "ship",
        "post",
        ("Ship {grams} to {to}{more}.", "Post a parcel of {grams} to {to}{more}."),
        (Slot("to", PLACE), Slot("grams", GRAMS), Slot("insure_cents", CENTS, " insured for {}")),
    ),
    Function(
        "order",
        "food",
        ("Order {items}{more}.", "Get me {items}{more}."),
        (Slot("items", BASKET), Slot("note", one_of(LABELS), ", note {}"), Slot("by", TIME, " by {}")),
    ),
    Function(
        "shopping",
        "food",
        ("Put {items} on the list{more}.", "Add {items} to my list{more}."),
        (Slot("items", FOOD_LIST), Slot("list", one_of(("weekly", "party", "camping")), " called {}", "weekly")),
    ),
    Function(
        "meet",
        "work",
        ("Invite {guests} at {time}{more}.", "Meeting with {guests} at {time}{more}."),
        (
            Slot("guests", PEOPLE_LIST),
            Slot("time", TIME),
            Slot("title", one_of(TITLES), " titled {}"),
            Slot("minutes", MINUTES, " for {}", 30),
        ),
    ),
)

ALL: Mapping[str, Function] = {function.name: function for function in (*FLAT, *NESTED)}
CONVERTED: tuple[Function, ...] = tuple(
    function for function in ALL.values() if any(slot.kind.say_otherwise is not None for slot in function.needed)
)
"""The functions of which a needed argument can be said in another unit or form."""
