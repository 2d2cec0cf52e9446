"""Tool calls made wrong: one left out, twice, another one, wrong entity or amount; and scripts of several messages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from polyathlon.canonical import Json
from polyathlon.inspect.mutants.picking import Picker
from polyathlon.inspect.mutants.places import leaves_of, put, without
from polyathlon.inspect.mutants.records import leaf_mutants


def is_calls(value: Json) -> bool:
    """Return whether `value` is a list of calls, {"name": ..., "arguments": {...}} each."""
    return (
        isinstance(value, list | tuple)
        and len(value) > 0
        and all(isinstance(call, Mapping) and set(call) == {"name", "arguments"} for call in value)
    )


def calls_mutants(calls: Json, pick: Picker, *, others: Sequence[Json] = ()) -> Iterator[tuple[str, Json]]:
    """Yield (operator, calls): one mutant for each operator. `others` are the calls of other tasks."""
    if not is_calls(calls):
        return
    assert isinstance(calls, list | tuple), "calls"
    rows = list(calls)
    for k in pick.one("call left out", range(len(rows))):
        yield "call left out", [*rows[:k], *rows[k + 1 :]]
    for k in pick.one("call twice", range(len(rows))):
        yield "call twice", [*rows[: k + 1], *rows[k:]]
    if len(rows) > 1 and rows[0] != rows[-1]:
        yield "calls in another order", rows[::-1]
    for other in pick.one("another call", [call for value in others for call in _rows(value) if call not in rows]):
        yield "extra call", [*rows, other]
        yield "another call", [*rows[:-1], other]
    yield from _arguments(rows, pick)


def plan_mutants(actions: Sequence[str], pick: Picker) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield (operator, actions) for a script of several messages: one left out, twice, or in another order."""
    script = tuple(actions)
    if len(script) < 2:
        return
    for k in pick.one("message left out", range(len(script))):
        yield "message left out", (*script[:k], *script[k + 1 :])
    for k in pick.one("message twice", range(len(script) - 1)):
        yield "message twice", (*script[: k + 1], *script[k:])
    for k in pick.one("messages in another order", range(len(script) - 1)):
        if script[k] != script[k + 1]:
            yield "messages in another order", (*script[:k], script[k + 1], script[k], *script[k + 2 :])


def _arguments(rows: list[Json], pick: Picker) -> Iterator[tuple[str, Json]]:
    """Yield wrong entities (texts), wrong amounts (numbers), arguments left out, invented or exchanged."""
    sites: dict[str, list[tuple[tuple[str | int, ...], Json]]] = {}
    for path, leaf in leaves_of(rows):
        if len(path) < 3 or path[1] != "arguments":
            continue
        kind = "wrong entity" if isinstance(leaf, str) else "wrong amount"
        for operator, mutant in leaf_mutants(leaf):
            sites.setdefault(f"{kind}: {operator}", []).append((path, mutant))
    for operator, found in sites.items():
        for path, mutant in pick.one(operator, found):
            yield operator, put(rows, path, mutant)
    named = [(k, key) for k, call in enumerate(rows) for key in _named(call)]
    for k, key in pick.one("argument left out", named):
        yield "argument left out", without(rows, (k, "arguments", key))
    for k in pick.one("argument invented", range(len(rows))):
        yield "argument invented", put(rows, (k, "arguments"), {**_named(rows[k]), "remark": "ok"})
    pairs = [
        (k, one, other)
        for k, call in enumerate(rows)
        for place, one in enumerate(_named(call))
        for other in list(_named(call))[place + 1 :]
        if type(_named(call)[one]) is type(_named(call)[other]) and _named(call)[one] != _named(call)[other]
    ]
    for k, one, other in pick.one("arguments exchanged", pairs):
        arguments = _named(rows[k])
        swapped = {**arguments, one: arguments[other], other: arguments[one]}
        yield "arguments exchanged", put(rows, (k, "arguments"), swapped)


def _named(call: Json) -> Mapping[str, Json]:
    arguments = call["arguments"] if isinstance(call, Mapping) else {}
    return arguments if isinstance(arguments, Mapping) else {}


def _rows(value: Json) -> Sequence[Json]:
    return value if isinstance(value, list | tuple) and is_calls(value) else ()
