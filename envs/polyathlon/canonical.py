"""Canonical JSON: one text for one value, on every machine and under every hash seed."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from typing import TypeAlias

Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"


def canonical_json(value: Json) -> str:
    """Return the one text of `value`: keys sorted, no spaces, ASCII only.

    Raises:
        ValueError: `value` holds NaN or an infinity.
        TypeError: `value` holds something that is not plain JSON (a key that is no string, a set, a numpy number).

    """
    check_json(value, where="value")
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def check_json(value: object, *, where: str) -> None:
    """Refuse anything but plain JSON, naming the place: `where.key[3]`."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if type(key) is not str:
                raise TypeError(f"{where} has the key {key!r}; keys must be strings.")
            check_json(inner, where=f"{where}.{key}")
    elif isinstance(value, list | tuple):
        for place, inner in enumerate(value):
            check_json(inner, where=f"{where}[{place}]")
    elif type(value) is float:
        if not math.isfinite(value):
            raise ValueError(f"{where} is {value}; JSON has no such number. Use None or a string.")
    elif value is not None and type(value) not in (bool, int, str):
        raise TypeError(f"{where} is a {type(value).__name__}; use plain JSON (int() and float() turn numpy numbers).")


def content_hash(value: Json) -> str:
    """Return the hexadecimal SHA-256 of the canonical JSON of `value`, 64 characters."""
    return hashlib.sha256(canonical_json(value).encode("ascii")).hexdigest()
