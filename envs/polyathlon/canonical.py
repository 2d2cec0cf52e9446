"""Canonical JSON: one text for one value, on every machine and under every hash seed."""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TypeAlias

Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"


_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
_PLAIN = frozenset((bool, int, str, type(None)))


def canonical_json(value: Json, *, where: str = "value") -> str:
    """Return the one text of `value`: keys sorted, no spaces, ASCII only. Errors say `where` it went wrong.

    Raises:
        ValueError: `value` holds NaN or an infinity.
        TypeError: `value` holds something that is not plain JSON (a key that is no string, a set, a numpy number).

    """
    check_json(value, where=where)
    return _CANONICAL.encode(value)


def check_json(value: object, *, where: str) -> None:
    """Refuse anything but plain JSON, naming the place: `where.key[3]`."""
    fault = _fault(value)
    if fault is not None:
        place, error = fault
        raise type(error)(f"{where}{place} {error}")


def _fault(value: object) -> tuple[str, Exception] | None:
    """Return where the first thing in `value` that is no plain JSON stands, and what it is.

    Places are put together on the way out of a fault only: a long key over a long list must cost nothing.
    """
    if type(value) in _PLAIN:
        return None
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if type(key) is not str:
                return "", TypeError(f"has the key {key!r}; keys must be strings.")
            if (found := _fault(inner)) is not None:
                return f".{key}{found[0]}", found[1]
        return None
    if isinstance(value, list | tuple):
        found_at = ((place, found) for place, inner in enumerate(value) if (found := _fault(inner)) is not None)
        return next(((f"[{place}]{found[0]}", found[1]) for place, found in found_at), None)
    return _leaf_fault(value)


def _leaf_fault(value: object) -> tuple[str, Exception] | None:
    if type(value) is not float:
        kind = type(value).__name__
        return "", TypeError(f"is a {kind}; use plain JSON (int() and float() turn numpy numbers).")
    if math.isfinite(value):
        return None
    return "", ValueError(f"is {value}; JSON has no such number. Use None or a string.")


def content_hash(value: Json, *, where: str = "value") -> str:
    """Return the hexadecimal SHA-256 of the canonical JSON of `value`, 64 characters."""
    return hashlib.sha256(canonical_json(value, where=where).encode("ascii")).hexdigest()


MAX_JSON_CHARS = 200_000
MAX_JSON_DEPTH = 100
_TOO_DEEP = f"the JSON is nested too deep; at most {MAX_JSON_DEPTH} are read"


def parse_json(text: str) -> Json:
    """Return the JSON value that `text` is, read strictly: nothing before or after it but white space.

    Raises:
        ValueError: not JSON; NaN, an infinity or a number that overflows; a key given twice; nested deeper than 100;
            longer than 200,000 characters. The message can be shown to whoever wrote the text.

    """
    value, end = parse_json_prefix(text)
    if text[end:].strip():
        raise ValueError(f"there is more text after the JSON value, from character {end}")
    return value


def parse_json_prefix(text: str, start: int = 0) -> tuple[Json, int]:
    """Return the JSON value that begins at `start` (after white space) and where it ends. Strict as `parse_json`."""
    if len(text) > MAX_JSON_CHARS:
        raise ValueError(f"the text has {len(text)} characters; at most {MAX_JSON_CHARS} are read")
    begin = start + len(text[start:]) - len(text[start:].lstrip())
    try:
        value, end = _STRICT.raw_decode(text, begin)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    except json.JSONDecodeError as error:
        raise ValueError(f"no valid JSON: {error.msg} at character {error.pos}") from None
    if _deeper_than(value, MAX_JSON_DEPTH):  # so that whoever reads it may recurse
        raise ValueError(_TOO_DEEP)
    return value, end


def _deeper_than(value: Json, depth: int) -> bool:
    layer: list[Json] = [value]
    for _ in range(depth + 1):
        boxes = [item for item in layer if isinstance(item, dict | list)]
        if not boxes:
            return False
        layer = [inner for box in boxes for inner in (box.values() if isinstance(box, dict) else box)]
    return True


def _pairs(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    value = dict(pairs)
    if len(value) != len(pairs):
        counts = Counter(key for key, _ in pairs)
        raise ValueError(f"the key {counts.most_common(1)[0][0][:40]!r} is given twice")
    return value


def _number(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text[:40]} is no finite number")
    return value


def _constant(text: str) -> float:
    raise ValueError(f"{text} is no JSON number")


_STRICT = json.JSONDecoder(object_pairs_hook=_pairs, parse_float=_number, parse_constant=_constant)


def expect_text(value: Json) -> str:
    """Return `value`, a string; TypeError when it is none. For reading one's own hidden fields with types."""
    if not isinstance(value, str):
        raise TypeError(f"expected a string, found {type(value).__name__}")
    return value


def expect_int(value: Json) -> int:
    """Return `value`, an integer and no bool; TypeError when it is none."""
    if type(value) is not int:
        raise TypeError(f"expected an integer, found {type(value).__name__}")
    return value


def expect_list(value: Json) -> Sequence[Json]:
    """Return `value`, a list; TypeError when it is none."""
    if not isinstance(value, list | tuple):
        raise TypeError(f"expected a list, found {type(value).__name__}")
    return value


def expect_map(value: Json) -> Mapping[str, Json]:
    """Return `value`, an object; TypeError when it is none."""
    if not isinstance(value, Mapping):
        raise TypeError(f"expected an object, found {type(value).__name__}")
    return value
