"""Ways to call a tool that nobody chose: its arguments filled with what fits in the request, in order."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence

from polyathlon import Attempt, Json, Task
from polyathlon.canonical import expect_list, expect_map, expect_text

_SIGNATURE = re.compile(r"\b\w+\((?:[^()]|\([^()]*\))*\)")
_PHRASES = re.compile(r"(?:As )?JSON \[.*|\bTools: *", re.DOTALL)
_WHOLE = re.compile(r"(?<![\w:.-])\d+(?![\w:.-])")
_WORDS = re.compile(r"(?<!^)(?<!\. )\b[A-Z][A-Za-z]*(?: [A-Z][a-z]+)*|\b[a-z]{3,}\b")


def shortcuts(task: Task) -> Sequence[Attempt]:
    """The first tool, the last, and every one, each filled by the types of its arguments."""
    tools = [expect_map(tool) for tool in expect_list(task.public["tools"])]
    request = _PHRASES.sub("", _SIGNATURE.sub("", task.prompt)).strip()
    calls: list[Json] = [
        {"name": expect_text(tool["name"]), "arguments": _filled(expect_map(tool["parameters"]), request)}
        for tool in tools
    ]
    ways = {"the first tool, filled": calls[:1], "the last tool, filled": calls[-1:], "every tool, filled": calls}
    return tuple(Attempt(name, (json.dumps(chosen),)) for name, chosen in ways.items())


def _filled(schema: Mapping[str, Json], request: str) -> dict[str, Json]:
    needed = set(map(expect_text, expect_list(schema.get("required", []))))
    wholes, words = iter(_WHOLE.findall(request)), _by_look(request)
    filled: dict[str, Json] = {}
    for name, inner in expect_map(schema["properties"]).items():
        value = _value(expect_map(inner), request, wholes, words)
        if name in needed and value is not None:
            filled[name] = value
    return filled


def _value(schema: Mapping[str, Json], request: str, wholes: Iterator[str], words: Iterator[str]) -> Json:
    if "pattern" in schema:
        found = re.search(expect_text(schema["pattern"]).strip("^$"), request)
        return found[0] if found else None
    if schema.get("type") == "integer":
        whole = next(wholes, None)
        return None if whole is None else int(whole)
    return next(words, None) if schema.get("type") == "string" else None


def _by_look(request: str) -> Iterator[str]:
    """Yield the words of a request that look like values: names first, then its last words."""
    found = _WORDS.findall(request)
    yield from [word for word in found if word[0].isupper()]
    yield from [word for word in found if word[0].islower()][::-1]
