"""Rewrites that change no meaning under any sane prompt: white space around, layout and key order of JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from polyathlon.canonical import Json, parse_json_prefix
from polyathlon.domain import Attempt
from polyathlon.inspect.mutants.frames import frames_of
from polyathlon.inspect.mutants.places import boxes_of
from polyathlon.toolcall import CLOSE, OPEN

MINUS = "\u2212"
_NEGATIVE = re.compile(r"(?:(?<=^)|(?<=[\s;,=(]))-(?=\d)", re.MULTILINE)


def rewrites_of(
    actions: Sequence[str], kind: str, *, declared: Sequence[Attempt]
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield (rule, actions) for every rule that applies: each must earn what `actions` earn.

    Where an attempt of `declared` writes a minus as U+2212, the domain accepts that sign, and all are written so.
    """
    ways: dict[str, Callable[[str], str]] = {
        "trailing newline": lambda message: f"{message}\n",
        "white space around": lambda message: f" \n{message} \n\n",
        "JSON laid out": lambda message: _json(message, kind, _same, indent=2),
        "JSON keys in another order": lambda message: _json(message, kind, _reordered, indent=None),
        "words around the call or block": _with_words,
    }
    if any(action.find(MINUS) >= 0 for attempt in declared for action in attempt.actions):
        ways["unicode minus"] = lambda message: _NEGATIVE.sub(MINUS, message)
    original = tuple(actions)
    for rule, way in ways.items():
        rewritten = tuple(way(message) for message in original)
        if rewritten != original:
            yield rule, rewritten


def _with_words(message: str) -> str:
    if message.find(OPEN) >= 0 or message.startswith("```"):
        return f"This is what I do next.\n\n{message}\n"
    return message


def _json(message: str, kind: str, change: Callable[[Json], Json], *, indent: int | None) -> str:
    """Return `message` with its JSON written anew: a call's, and what is JSON in a fenced block or by itself."""
    for frame in frames_of(message, kind):
        if isinstance(frame.value, str) or not any(isinstance(box, Mapping) for _, box in boxes_of(frame.value)):
            continue  # a list of numbers may be a text that happens to read like JSON
        text = frame.write(frame.value)
        if text.find(OPEN) >= 0:
            break
        body = json.dumps(change(frame.value), indent=indent, ensure_ascii=False)
        return message.replace(_shown(message), body, 1)
    return _call(message, change, indent) if message.find(OPEN) >= 0 else message


def _call(message: str, change: Callable[[Json], Json], indent: int | None) -> str:
    start = message.index(OPEN) + len(OPEN)
    value, end = parse_json_prefix(message, start)
    close = message.index(CLOSE, end)
    return message[:start] + json.dumps(change(value), indent=indent, ensure_ascii=False) + message[close:]


def _shown(message: str) -> str:
    """Return the JSON text of a message that holds one: in its fenced block, or all of it."""
    block = re.search(r"^```\w*[ \t]*\n(.*?)\n?^```", message, re.DOTALL | re.MULTILINE)
    return block[1].rstrip("\n") if block is not None else message.strip()


def _same(value: Json) -> Json:
    return value


def _reordered(value: Json) -> Json:
    if isinstance(value, Mapping):
        return {key: _reordered(value[key]) for key in reversed(list(value))}
    if isinstance(value, list | tuple):
        return [_reordered(inner) for inner in value]
    return value
