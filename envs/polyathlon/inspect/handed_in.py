"""What actions hand in: the texts inside calls, fenced blocks and answer tags, without their wrapping."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from polyathlon.canonical import Json, canonical_json, parse_json_prefix
from polyathlon.toolcall import OPEN
from polyathlon.workspaces.question import final_answer

_FENCE = re.compile(r"^```[A-Za-z0-9_+-]*[ \t]*\n(.*?)^```[ \t]*$", re.DOTALL | re.MULTILINE)


def texts_in(action: str) -> tuple[str, ...]:
    """Return the texts that one message hands over: a call's arguments, the code of its one block, or its answer."""
    if OPEN in action:
        return tuple(_argument_texts(_arguments(action)))
    blocks = _FENCE.findall(action)
    if len(blocks) == 1:
        return (str(blocks[0]).strip(),)
    answer = final_answer(action)
    return (answer if answer else action.strip(),)


def texts_of(actions: Sequence[str]) -> tuple[str, ...]:
    """Return the texts of all messages, in order, empty ones left out."""
    return tuple(text for action in actions for text in texts_in(action) if text)


def calls_in(action: str) -> tuple[Mapping[str, Json], ...]:
    """Return the calls, {"name": ..., "arguments": {...}} each, that one message makes or gives as its answer."""
    found: list[Json] = []
    for text in (action[action.index(OPEN) + len(OPEN) :],) if OPEN in action else texts_in(action):
        try:
            value, _ = parse_json_prefix(text, 0)
        except ValueError:
            continue
        found += value if isinstance(value, list | tuple) else [value]
    return tuple(call for call in found if isinstance(call, Mapping) and set(call) == {"name", "arguments"})


def arguments_of(action: str) -> Mapping[str, Json]:
    """Return the arguments of the call that `action` carries; none where it carries no call."""
    return _arguments(action) if OPEN in action else {}


def _arguments(action: str) -> Mapping[str, Json]:
    try:
        value, _ = parse_json_prefix(action, action.index(OPEN) + len(OPEN))
    except ValueError:
        return {}
    arguments = value.get("arguments") if isinstance(value, Mapping) else None
    return arguments if isinstance(arguments, Mapping) else {}


def _argument_texts(arguments: Mapping[str, Json]) -> list[str]:
    return [value if isinstance(value, str) else canonical_json(value) for value in arguments.values()]
