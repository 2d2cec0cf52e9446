"""Values of Python as plain JSON and back: what an item of a generator holds, whatever it is made of.

Lists, strings, whole and finite numbers and mappings with string keys stay as they are. Anything else becomes a mapping
with the one key "~", which names its type: {"~": ["tuple", [1, 2]]}.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

import numpy as np

from polyathlon.canonical import Json, canonical_json, expect_list, expect_text

TAG = "~"
_PLAIN = frozenset((bool, int, str, type(None)))


class Uncarried(ValueError):
    """A value that has no form here. `place` is where in the item, `kind` its type."""

    def __init__(self, place: str, kind: str) -> None:
        super().__init__(f"{place or 'the item'} is a {kind}, which is no plain value")
        self.place, self.kind = place, kind


def packed(value: object, place: str = "") -> Json:
    """Return `value` as JSON that `unpacked` turns back into an equal value of the same type.

    Raises:
        Uncarried: it holds something that is no plain value, such as a function.

    """
    kind = type(value)
    if kind in _PLAIN or (kind is float and math.isfinite(value)):  # type: ignore[arg-type]  # it is a float
        return value  # type: ignore[return-value]  # one of the plain kinds
    if isinstance(value, list) and kind is list:
        return [packed(inner, f"{place}[{k}]") for k, inner in enumerate(value)]
    if isinstance(value, dict) and kind is dict:
        if TAG not in value and all(type(key) is str for key in value):
            return {key: packed(inner, f"{place}.{key}") for key, inner in value.items()}
        return {TAG: ["dict", [[packed(k, place), packed(v, f"{place}.{k}")] for k, v in value.items()]]}
    return {TAG: _tagged(value, place)}


def unpacked(value: Json) -> object:
    """Return the value that `packed` turned into this JSON.

    Raises:
        ValueError: it is no such JSON.

    """
    if isinstance(value, list | tuple):
        return [unpacked(inner) for inner in value]
    if not isinstance(value, dict):
        return value
    if TAG not in value:
        return {key: unpacked(inner) for key, inner in value.items()}
    name, inside = expect_list(value[TAG])
    read = _READERS.get(expect_text(name))
    if read is None:
        raise ValueError(f"an item holds a {name!r}, which this version cannot read")
    return read(unpacked(inside))


def _tagged(value: object, place: str) -> list[Json]:
    name = type(value).__name__
    if isinstance(value, tuple) and type(value) is tuple:
        return [name, [packed(inner, f"{place}[{k}]") for k, inner in enumerate(value)]]
    if isinstance(value, set | frozenset):
        inside = [packed(inner, place) for inner in value]
        return [name, sorted(inside, key=canonical_json)]  # a set's own order depends on the hash seed
    if isinstance(value, np.generic):
        return ["numpy", [value.dtype.str, packed(value.item(), place)]]
    if isinstance(value, np.ndarray) and value.dtype != object:
        return ["array", [value.dtype.str, packed(value.tolist(), place)]]
    if isinstance(value, range):
        return [name, [value.start, value.stop, value.step]]
    write = _WRITERS.get(type(value))
    if write is None:
        raise Uncarried(place, name)
    return [name, write(value)]


_WRITERS: dict[type, Callable[..., Json]] = {
    float: str,
    complex: lambda value: [packed(value.real), packed(value.imag)],
    Fraction: lambda value: [value.numerator, value.denominator],
    Decimal: str,
    bytes: lambda value: value.hex(),
    datetime.datetime: lambda value: value.isoformat(),
    datetime.date: lambda value: value.isoformat(),
    datetime.time: lambda value: value.isoformat(),
    datetime.timedelta: lambda value: [value.days, value.seconds, value.microseconds],
}

_READERS: dict[str, Callable[..., object]] = {
    "dict": lambda inside: {_hashable(key): value for key, value in inside},
    "tuple": tuple,
    "set": lambda inside: set(map(_hashable, inside)),
    "frozenset": lambda inside: frozenset(map(_hashable, inside)),
    "numpy": lambda inside: np.dtype(inside[0]).type(inside[1]),
    "array": lambda inside: np.array(inside[1], dtype=inside[0]),
    "range": lambda inside: range(*inside),
    "float": float,
    "complex": lambda inside: complex(*inside),
    "Fraction": lambda inside: Fraction(*inside),
    "Decimal": Decimal,
    "bytes": bytes.fromhex,
    "datetime": datetime.datetime.fromisoformat,
    "date": datetime.date.fromisoformat,
    "time": datetime.time.fromisoformat,
    "timedelta": lambda inside: datetime.timedelta(*inside),
}


def _hashable(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value
