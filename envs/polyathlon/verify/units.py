"""Quantities: a number and a declared unit, compared after exact conversion. A unit that is not declared is none.

Tables of units are short and a domain declares the ones it asks for, so no library of them is used here: in one that
knows hundreds, with prefixes, "m" for minutes or "ft" for femtotonnes is a right answer that nobody meant.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from polyathlon.verify.grammar import MAX_CHARS, NumberGrammar
from polyathlon.verify.text import plain
from polyathlon.verify.tolerance import EXACT, Tolerance


@dataclass(frozen=True, slots=True)
class Unit:
    """One unit: how it may be written (case counts: mW is no MW), and what one of it is in its kind's base unit.

    A value in base units is value x `factor` + `offset`.
    """

    kind: str
    spellings: tuple[str, ...]
    factor: Fraction = Fraction(1)
    offset: Fraction = Fraction(0)


@dataclass(frozen=True, slots=True)
class Quantity:
    """A value in the base unit of `kind`."""

    value: Fraction
    kind: str


@dataclass(frozen=True, slots=True)
class Units:
    """The units that count, and the one that is meant where none is written: a spelling, or None if one must be.

    Raises:
        ValueError: a spelling belongs to two units, or `unwritten` to none.

    """

    units: tuple[Unit, ...]
    unwritten: str | None = None

    def __post_init__(self) -> None:
        spellings = [plain(spelling) for unit in self.units for spelling in unit.spellings]
        if len({*spellings}) != len(spellings) or any(not spelling for spelling in spellings):
            raise ValueError("A spelling is empty or stands for two units.")
        if self.unwritten is not None and self.unwritten not in spellings:  # sound: a list
            raise ValueError(f"The unit that is meant, {self.unwritten!r}, is none of {', '.join(spellings)}.")

    def read(self, text: str, grammar: NumberGrammar) -> Quantity | None:
        """Return the quantity that `text` is: one number by `grammar` and one unit after it, else None. Never raises.

        The longest spelling that leaves a number counts.
        """
        body = plain(text) if len(text) <= 2 * MAX_CHARS else ""
        for unit, rest in self._split(body):
            value = grammar.value(rest)
            if value is not None:
                return Quantity(value * unit.factor + unit.offset, unit.kind)
        return None

    def _split(self, body: str) -> Iterator[tuple[Unit, str]]:
        named = [(plain(spelling), unit) for unit in self.units for spelling in unit.spellings]
        for spelling, unit in sorted(named, key=lambda pair: -len(pair[0])):
            if body[-len(spelling) :] == spelling:
                yield unit, body[: -len(spelling)]
            if spelling == self.unwritten:
                meant = unit
        if self.unwritten is not None:
            yield meant, body


def same_quantity(value: Quantity | None, gold: Quantity, tolerance: Tolerance = EXACT) -> bool:
    """Return whether two quantities are of one kind and near enough, the tolerance in the kind's base unit."""
    return value is not None and value.kind == gold.kind and tolerance.admits(value.value, gold.value)


def _units(kind: str, *rows: tuple[str, str]) -> tuple[Unit, ...]:
    return tuple(Unit(kind, tuple(names.split("|")), Fraction(factor)) for names, factor in rows)


METRIC_LENGTHS = _units(
    "length",
    ("nm|nanometre|nanometres|nanometer|nanometers", "1/1000000000"),
    ("\u03bcm|um|micrometre|micrometres|micrometer|micrometers", "1/1000000"),
    ("mm|millimetre|millimetres|millimeter|millimeters", "1/1000"),
    ("cm|centimetre|centimetres|centimeter|centimeters", "1/100"),
    ("m|metre|metres|meter|meters", "1"),
    ("km|kilometre|kilometres|kilometer|kilometers", "1000"),
)
IMPERIAL_LENGTHS = _units(
    "length",
    ("in|inch|inches", "0.0254"),
    ("ft|foot|feet", "0.3048"),
    ("yd|yard|yards", "0.9144"),
    ("mi|mile|miles", "1609.344"),
)
METRIC_MASSES = _units(
    "mass",
    ("mg|milligram|milligrams", "1/1000000"),
    ("g|gram|grams", "1/1000"),
    ("kg|kilogram|kilograms", "1"),
    ("t|tonne|tonnes", "1000"),
)
TIMES = _units(
    "time",
    ("ms|millisecond|milliseconds", "1/1000"),
    ("s|sec|second|seconds", "1"),
    ("min|minute|minutes", "60"),
    ("h|hr|hour|hours", "3600"),
    ("d|day|days", "86400"),
)
TEMPERATURES = (
    Unit("temperature", ("K", "kelvin")),
    Unit("temperature", ("\u00b0C", "degrees Celsius"), offset=Fraction("273.15")),
    Unit("temperature", ("\u00b0F", "degrees Fahrenheit"), Fraction(5, 9), Fraction("273.15") - Fraction(160, 9)),
)
