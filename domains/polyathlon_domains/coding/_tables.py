"""Three related tables under many names, conditions on their rows, and databases that separate near-miss queries.

Whatever the names, there are entities (a tree by `parent`), items, and events of an entity with an item. Ids are keys;
names may repeat; an event's entity, amount and status may be NULL, and so may an entity's place, points and parent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

import numpy as np

Filter = Sequence[Any]
Database = dict[str, list[list[Any]]]

NUM_DAYS = 24
NUM_ITEMS = 7
MAX_AMOUNT = 400


@dataclass(frozen=True, slots=True)
class Theme:
    """Names of tables and columns, and the words that go with them."""

    e: str
    entity: str
    place: str
    points: str
    parent: str
    c: str
    item: str
    kind: str
    v: str
    event: str
    events: str
    day: str
    qty: str
    amount: str
    status: str
    places: tuple[str, ...]
    kinds: tuple[str, ...]
    states: tuple[str, ...]
    first_day: str = "2024-03-01"

    @property
    def e_id(self) -> str:
        return f"{self.entity}_id"

    @property
    def c_id(self) -> str:
        return f"{self.item}_id"

    @property
    def schema(self) -> list[str]:
        return [
            f"CREATE TABLE {self.e} (id INTEGER PRIMARY KEY, name TEXT NOT NULL, {self.place} TEXT, "
            f"{self.points} INTEGER, {self.parent} INTEGER REFERENCES {self.e}(id))",
            f"CREATE TABLE {self.c} (id INTEGER PRIMARY KEY, title TEXT NOT NULL, {self.kind} TEXT NOT NULL)",
            f"CREATE TABLE {self.v} (id INTEGER PRIMARY KEY, {self.e_id} INTEGER REFERENCES {self.e}(id), "
            f"{self.c_id} INTEGER NOT NULL REFERENCES {self.c}(id), {self.day} TEXT NOT NULL, "
            f"{self.qty} INTEGER NOT NULL, {self.amount} INTEGER, {self.status} TEXT)",
        ]

    def date_of(self, offset: int) -> str:
        """Return the ISO date `offset` days after the first."""
        return (date.fromisoformat(self.first_day) + timedelta(days=offset)).isoformat()


_TOWNS = ("Aston", "Brill", "Corby", "Derby", "Ely", "Frome")
THEMES = (
    Theme(
        *("customers", "customer", "city", "points", "referred_by", "products", "product", "category"),
        *("orders", "order", "orders", "ordered_on", "quantity", "amount", "status"),
        *(_TOWNS, ("tools", "toys", "books"), ("paid", "open", "returned")),
    ),
    Theme(
        *("members", "member", "town", "age", "sponsor", "titles", "title", "genre"),
        *("loans", "loan", "loans", "lent_on", "weeks", "fee", "state"),
        *(_TOWNS, ("crime", "poetry", "travel"), ("out", "back", "lost")),
    ),
    Theme(
        *("patients", "patient", "district", "age", "guardian", "treatments", "treatment", "ward"),
        *("visits", "visit", "visits", "visited_on", "hours", "cost", "outcome"),
        *(_TOWNS, ("dental", "eye", "heart"), ("cured", "follow-up", "referred")),
    ),
    Theme(
        *("employees", "employee", "office", "seniority", "manager", "projects", "project", "field"),
        *("bookings", "booking", "bookings", "worked_on", "hours", "expenses", "approval"),
        *(_TOWNS, ("roads", "water", "power"), ("granted", "pending", "refused")),
    ),
    Theme(
        *("farms", "farm", "region", "hectares", "owner_farm", "crops", "crop", "family"),
        *("shipments", "shipment", "shipments", "shipped_on", "pallets", "price", "quality"),
        *(_TOWNS, ("grain", "fruit", "roots"), ("first", "second", "waste")),
    ),
    Theme(
        *("drivers", "driver", "base", "licence_years", "trainer", "vehicles", "vehicle", "class"),
        *("trips", "trip", "trips", "driven_on", "stops", "toll", "report"),
        *(_TOWNS, ("van", "bus", "truck"), ("fine", "late", "damaged")),
    ),
)
_NAMES = ("Ada", "Ben", "Cleo", "Dov", "Eva", "Finn", "Gus", "Hana", "Ida", "Jon", "Kai", "Lena")

_OPERATORS = {"over": ">", "least": ">=", "under": "<", "most": "<="}
_NEAR = {">": ">=", ">=": ">", "<": "<=", "<=": "<"}
_SAID = {"over": "over {n}", "least": "at least {n}", "under": "under {n}", "most": "at most {n}"}


def draw_filters(rng: np.random.Generator, columns: Sequence[str]) -> list[list[Any]]:
    """Return two conditions on events: one on the amount, and one on a column of `columns` (qty, day, status)."""
    amount = ["amount", str(rng.choice(sorted(_OPERATORS))), int(rng.integers(20, MAX_AMOUNT - 20))]
    column = str(rng.choice(list(columns)))
    if column == "qty":
        other: list[Any] = ["qty", str(rng.choice(sorted(_OPERATORS))), int(rng.integers(3, 8))]
    elif column == "day":
        other = ["day", str(rng.choice(["from", "before"])), int(rng.integers(5, NUM_DAYS - 5))]
    else:
        other = ["status", str(rng.choice(["is", "is not", "missing or"]))]
    return [amount, other]


def filter_sql(f: Filter, t: Theme, alias: str = "v") -> str:
    """Return the condition on the event `alias`."""
    column, kind = f[0], f[1]
    if column == "day":
        return f"{alias}.{t.day} {'>=' if kind == 'from' else '<'} '{t.date_of(f[2])}'"
    if column == "status":
        name = f"{alias}.{t.status}"
        forms = {"is": f"{name} = '{t.states[0]}'", "is not": f"{name} IS NOT '{t.states[0]}'"}
        return forms.get(kind, f"({name} = '{t.states[0]}' OR {name} IS NULL)")
    return f"{alias}.{getattr(t, column)} {_OPERATORS[kind]} {f[2]}"


def near_sql(f: Filter, t: Theme, alias: str = "v") -> str:
    """Return a condition that is nearly the same: its bound moved, or NULLs treated the other way."""
    column, kind = f[0], f[1]
    if column == "day":
        return f"{alias}.{t.day} {'>' if kind == 'from' else '<='} '{t.date_of(f[2])}'"
    if column == "status":
        return f"{alias}.{t.status} {'=' if kind != 'is not' else '<>'} '{t.states[0 if kind != 'is' else 1]}'"
    return f"{alias}.{getattr(t, column)} {_NEAR[_OPERATORS[kind]]} {f[2]}"


def filter_words(f: Filter, t: Theme) -> str:
    """Return the condition in English, to stand after the noun: "with quantity at least 3"."""
    column, kind = f[0], f[1]
    if column == "day":
        return f"{'on or after' if kind == 'from' else 'before'} {t.date_of(f[2])}"
    if column == "status":
        extra = {"is": "", "is not": " (no value counts as not that)", "missing or": " or with no value there"}[kind]
        return f"whose {t.status} is {'not ' if kind == 'is not' else ''}'{t.states[0]}'{extra}"
    return f"with {getattr(t, column)} {_SAID[kind].format(n=f[2])}"


@dataclass(frozen=True, slots=True)
class Flavour:
    """How a database is filled: sizes, share of NULLs, how often values repeat or lie at a bound of the question."""

    num_entities: int
    num_events: int
    nulls: float
    ties: float
    edges: float


FLAVOURS: Mapping[str, Flavour] = {
    "mixed": Flavour(6, 36, nulls=0.12, ties=0.2, edges=0.3),
    "nulls": Flavour(6, 36, nulls=0.35, ties=0.2, edges=0.3),
    "ties": Flavour(5, 38, nulls=0.08, ties=0.7, edges=0.3),
    "edges": Flavour(6, 38, nulls=0.08, ties=0.3, edges=0.8),
    "no events": Flavour(6, 0, nulls=0.2, ties=0.2, edges=0.3),
    "sample": Flavour(5, 14, nulls=0.15, ties=0.3, edges=0.4),
}


def draw_database(rng: np.random.Generator, core: Mapping[str, Any], t: Theme, flavour: Flavour) -> Database:
    """Return rows for the three tables, with values near the numbers of `core`: half the events fit it, or few."""
    entities = _draw_entities(rng, core, t, flavour)
    items = [[number, f"{t.item} {number}", str(rng.choice(list(t.kinds)))] for number in range(1, NUM_ITEMS + 1)]
    busy = [row[0] for row in entities[: max(2, len(entities) - 1)]]
    num_spots, span = (3, 5) if core["kind"] == "streak" else (6, 3)  # streaks need days side by side
    spots = [int(k) for k in rng.integers(0, NUM_DAYS - span, size=num_spots)]
    events: list[list[Any]] = []
    for number in range(flavour.num_events):
        owner = None if rng.random() < flavour.nulls / 2 else int(rng.choice(busy))
        if events and rng.random() < flavour.ties / 3:
            twin = events[int(rng.integers(len(events)))]
            events.append([1000 + number, *twin[1:]])
            continue
        fits = rng.random() < (0.1 if core["kind"] == "never" else 0.5)
        values = {f[0]: _draw_value(rng, f, flavour, fits=fits) for f in core["filters"]}
        amount = values["amount"]
        day = values.get("day") or int(rng.choice(spots)) + int(rng.integers(0, span))
        qty = values.get("qty") or int(rng.integers(1, 10))
        if events and rng.random() < flavour.ties:
            qty = events[int(rng.integers(len(events)))][4]
        status = values.get("status", int(rng.integers(-1, 3)))
        state = None if status is None or status < 0 else t.states[status]
        item = int(rng.integers(1, NUM_ITEMS + 1))
        events.append([1000 + number, owner, item, t.date_of(day), qty, amount, state])
    return {t.e: entities, t.c: items, t.v: events}


def _draw_entities(rng: np.random.Generator, core: Mapping[str, Any], t: Theme, flavour: Flavour) -> list[list[Any]]:
    first_id, bound = int(rng.integers(1, 40)), int(core.get("points", 40))
    entities: list[list[Any]] = []
    for number in range(flavour.num_entities):
        above = int(rng.choice([row[0] for row in entities])) if entities and rng.random() < 0.75 else None
        near = rng.random() < 0.5
        points = bound + int(rng.integers(-1, 3)) if near else int(rng.integers(10, 90))
        place = None if rng.random() < flavour.nulls else str(rng.choice(list(t.places[:3])))
        name = str(rng.choice(list(_NAMES[:8])))
        entities.append([first_id + number, name, place, None if rng.random() < flavour.nulls / 2 else points, above])
    return entities


def _draw_value(rng: np.random.Generator, f: Filter, flavour: Flavour, *, fits: bool) -> int | None:
    """Return a value for the column of a condition; one that meets it where `fits`. A status is a number or -1."""
    column = f[0]
    if column == "amount" and not fits and rng.random() < flavour.nulls:
        return None
    low, high = {"amount": (1, MAX_AMOUNT), "qty": (1, 9), "day": (0, NUM_DAYS), "status": (-1, 2)}[column]
    for _ in range(20):
        value = int(rng.integers(low, high + 1))
        if len(f) > 2 and rng.random() < flavour.edges:
            value = min(max(f[2] + int(rng.integers(-1, 2)), low), high)
        if not fits or _meets(f, value):
            return value
    return value


def _meets(f: Filter, value: int) -> bool:
    if f[0] == "status":
        return {"is": value == 0, "is not": value != 0}.get(f[1], value <= 0)
    if f[0] == "day":
        return bool(value >= f[2]) if f[1] == "from" else bool(value < f[2])
    return bool({"over": value > f[2], "least": value >= f[2], "under": value < f[2], "most": value <= f[2]}[f[1]])
