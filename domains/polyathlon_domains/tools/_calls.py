"""Calls compared: typed, defaults aside, as a bag; each right argument of the right function counts."""

from __future__ import annotations

# sound everywhere, in: arguments by name
# sound everywhere, int: a whole float
# sound everywhere, clamp: sums of shares, each finite
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from polyathlon import Call, Json, ToolSpec
from polyathlon.canonical import canonical_json
from polyathlon.verify.calls import defaults_of
from polyathlon.verify.text import bag_f1, plain

MAX_COMPARED = 8
MAX_KEY_CHARS = 60
"""What is compared of a key; no declared argument has a name that long."""


@dataclass(frozen=True, slots=True)
class Told:
    """A call made comparable: its name, and its arguments as one string a leaf, sorted, defaults left out."""

    name: str
    leaves: tuple[str, ...]


def told(call: Call, tools: Sequence[ToolSpec]) -> Told:
    """Return `call` with the arguments left out that only repeat a declared default of its tool in `tools`.

    A whole float counts as the integer; strings are compared in NFKC with single spaces; true is not 1.
    """
    spec = next((tool for tool in tools if tool.name == call.name), None)
    defaults = defaults_of(spec.parameters) if spec is not None else {}
    leaves: list[str] = []
    for name, value in call.arguments.items():
        if name not in defaults or canonical_json(_settled(value)) != canonical_json(_settled(defaults[name])):
            leaves += _leaves([name[:MAX_KEY_CHARS]], _settled(value))
    return Told(call.name, tuple(sorted(leaves)))


def likeness(got: Sequence[Told], wanted: Sequence[Told]) -> float:
    """Return how much two bags of calls share, in [0, 1]: what the calls are worth over the calls of the larger bag.

    A call is worth the F1 of its arguments; of another function nothing, nor without a right argument. So a call for
    every tool is worth no more than one picked blindly. More than 8 calls are worth 0.
    """
    if not got or not wanted or len(got) > MAX_COMPARED:
        return 0.0
    worth = [[bag_f1(one.leaves, other.leaves) if one.name == other.name else 0.0 for other in got] for one in wanted]
    return _best_pairing(worth, frozenset(range(len(got)))) / max(len(got), len(wanted))


def _best_pairing(worth: Sequence[Sequence[float]], free: frozenset[int]) -> float:
    if not worth:
        return 0.0
    skipped = _best_pairing(worth[1:], free)
    paired = (worth[0][k] + _best_pairing(worth[1:], free - {k}) for k in free if worth[0][k] > 0.0)
    return max(skipped, *paired, 0.0)


def _settled(value: Json) -> Json:
    if isinstance(value, Mapping):
        return {key: _settled(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_settled(inner) for inner in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return plain(value) if isinstance(value, str) else value


def _leaves(path: list[str | int], value: Json) -> list[str]:
    if isinstance(value, Mapping) and value:
        return [leaf for key, inner in value.items() for leaf in _leaves([*path, key[:MAX_KEY_CHARS]], inner)]
    if isinstance(value, list) and value:
        return [leaf for place, inner in enumerate(value) for leaf in _leaves([*path, place], inner)]
    return [canonical_json([*path, value])]
