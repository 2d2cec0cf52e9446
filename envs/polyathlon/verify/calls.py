"""Tool calls compared by meaning: a default left out is one written out, an unknown argument is refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from polyathlon.canonical import Json
from polyathlon.domain import Call, ToolSpec
from polyathlon.errors import VerifierError
from polyathlon.verify.equality import TYPED, Equality
from polyathlon.verify.pairing import best_pairs

MAX_CALLS = 100


def defaults_of(schema: Mapping[str, Json]) -> dict[str, Json]:
    """Return the defaults that a JSON Schema of type object declares, by argument."""
    return {
        name: inner["default"]
        for name, inner in _properties(schema).items()
        if isinstance(inner, Mapping) and "default" in inner  # sound: keys of an object
    }


def written_out(arguments: Mapping[str, Json], schema: Mapping[str, Json]) -> dict[str, Json] | None:
    """Return `arguments` with every default written out; None for an unknown argument, or one missing that must be."""
    required = schema.get("required", [])
    names = set(required) if isinstance(required, list | tuple) else set()
    if arguments.keys() - _properties(schema).keys() or names - arguments.keys():
        return None
    return {**defaults_of(schema), **arguments}


def same_call(got: Call, wanted: Call, tool: ToolSpec, equality: Equality = TYPED) -> bool:
    """Return whether `got` calls what `wanted` calls with the same arguments, defaults written out.

    Raises:
        VerifierError: the wanted call is none of `tool`'s, or has arguments that it does not take.

    """
    gold = written_out(wanted.arguments, tool.parameters) if wanted.name == tool.name else None
    if gold is None:
        raise VerifierError(f"The wanted call of {wanted.name!r} does not fit the tool {tool.name!r}. Mend the task.")
    given = written_out(got.arguments, tool.parameters) if got.name == wanted.name else None
    return given is not None and equality.same(given, gold)


def same_calls(
    got: Sequence[Call], wanted: Sequence[Call], tools: Sequence[ToolSpec], equality: Equality = TYPED
) -> bool:
    """Return whether `got` are the wanted calls, each as often, in any order. For a fixed order compare them in pairs.

    Raises:
        VerifierError: nothing is wanted, more than 100 are, or a wanted call fits no tool.

    """
    if not 0 < len(wanted) <= MAX_CALLS:
        raise VerifierError(f"{len(wanted)} calls are wanted; 1 to {MAX_CALLS} can be compared.")
    by_name = {tool.name: tool for tool in tools}
    unknown = [call.name for call in wanted if call.name not in by_name]  # sound: a table by name
    if unknown:
        raise VerifierError(f"The wanted calls name {unknown[0]!r}, which is no tool of the task.")
    if len(got) != len(wanted):
        return False
    fits = [[1.0 * same_call(one, other, by_name[other.name], equality) for other in wanted] for one in got]
    return len(best_pairs(fits)) == len(wanted)


def _properties(schema: Mapping[str, Json]) -> Mapping[str, Json]:
    properties = schema.get("properties", {})
    if not isinstance(properties, Mapping):
        raise VerifierError("The tool's parameters are no JSON Schema of type object.")
    return properties
