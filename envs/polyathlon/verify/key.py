"""Reading the answer key: a part that is missing, of another type or empty leaves nothing to judge by.

A verifier that compares with an empty key calls right answers wrong, and an empty answer right. So each part that it
judges by is read by one of these. Where a part may rightly be empty, hide its length beside it: `counted_part`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import UnionType

from polyathlon.canonical import Json, expect_int, expect_list, expect_map, expect_text
from polyathlon.errors import VerifierError
from polyathlon.verify.credit import expect_share, finite

_DRAWN = "There is nothing to judge by: judge the task as it was drawn."


def text_part(hidden: Mapping[str, Json], name: str) -> str:
    """Return the text that `hidden` has under `name`, with something in it.

    Raises:
        VerifierError: there is none: the episode cannot be judged, and is worth neither 0 nor 1. So say all below.

    """
    text = expect_text(_part(hidden, name, str))
    if not text.strip():
        raise _empty(name)
    return text


def one_of_part(hidden: Mapping[str, Json], name: str, choices: Sequence[str]) -> str:
    """Return the text under `name`, one of `choices`: name what else would be ""."""
    text = expect_text(_part(hidden, name, str))
    if text not in choices:  # sound: a sequence of whole texts
        raise VerifierError(f"hidden[{name!r}] is {text!r}, none of {', '.join(map(repr, choices))}.")
    return text


def list_part(hidden: Mapping[str, Json], name: str) -> Sequence[Json]:
    """Return the list under `name`, of one item or more."""
    items = expect_list(_part(hidden, name, list | tuple))
    if not items:
        raise _empty(name)
    return items


def counted_part(hidden: Mapping[str, Json], name: str, count: str) -> Sequence[Json]:
    """Return the list under `name`, which may be empty where the number of its items, under `count`, says so."""
    items, wanted = expect_list(_part(hidden, name, list | tuple)), whole_part(hidden, count)
    if len(items) != wanted:
        raise VerifierError(f"hidden[{name!r}] has {len(items)} items; hidden[{count!r}] says {wanted}.")
    return items


def map_part(hidden: Mapping[str, Json], name: str) -> Mapping[str, Json]:
    """Return the object under `name`, of one key or more."""
    found = expect_map(_part(hidden, name, Mapping))
    if not found:
        raise _empty(name)
    return found


def whole_part(hidden: Mapping[str, Json], name: str) -> int:
    """Return the whole number under `name`; no bool is one."""
    value = _part(hidden, name, int)
    if type(value) is bool:
        raise _another_type(name, value)
    return expect_int(value)


def share_part(hidden: Mapping[str, Json], name: str) -> float:
    """Return the number under `name`, a share in [0, 1]."""
    value = _part(hidden, name, int | float)
    number = finite(value)
    if number is None:
        raise _another_type(name, value)
    return expect_share(number.numerator / number.denominator, f"hidden[{name!r}]")


def flag_part(hidden: Mapping[str, Json], name: str) -> bool:
    """Return the bool under `name`."""
    return _part(hidden, name, bool) is True


def _part(hidden: Mapping[str, Json], name: str, kind: type | UnionType) -> Json:
    if name not in hidden:  # sound: a key of a mapping
        raise VerifierError(f"hidden[{name!r}] is missing. {_DRAWN}")
    value = hidden[name]
    if not isinstance(value, kind):
        raise _another_type(name, value)
    return value


def _another_type(name: str, value: Json) -> VerifierError:
    return VerifierError(f"hidden[{name!r}] is a {type(value).__name__}. {_DRAWN}")


def _empty(name: str) -> VerifierError:
    return VerifierError(f"hidden[{name!r}] is empty. {_DRAWN}")
