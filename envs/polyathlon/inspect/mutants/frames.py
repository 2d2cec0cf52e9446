"""What a message holds that can be made wrong: its answer, its program, the arguments of its call, each by its form."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from polyathlon.canonical import Json, expect_text, parse_json, parse_json_prefix
from polyathlon.inspect.mutants.calls import is_calls
from polyathlon.inspect.mutants.csg import is_mesh, is_part
from polyathlon.inspect.mutants.makefile import is_makefile
from polyathlon.inspect.mutants.python_code import parsed
from polyathlon.toolcall import CLOSE, OPEN, write_call

Family: TypeAlias = Literal[
    "text", "record", "move", "calls", "arguments", "python", "shell", "makefile", "sql", "part", "mesh"
]
SOLUTIONS: frozenset[str] = frozenset(
    {"calls", "arguments", "python", "shell", "makefile", "sql", "part", "mesh", "plan"}
)
"""What is carried out to see whether it is right; everything else is an answer, and compared."""

_FENCE = re.compile(r"^```([A-Za-z0-9_+-]*)[ \t]*\n(.*?)^```[ \t]*$", re.DOTALL | re.MULTILINE)
_LANGUAGES: Mapping[str, Family] = {
    **{"python": "python", "py": "python", "bash": "shell", "sh": "shell", "sql": "sql", "make": "makefile"},
}
_KEYS: Mapping[str, Family] = {
    **{"cmd": "shell", "command": "shell", "code": "python", "query": "sql", "move": "move", "script": "shell"},
}
_OF_KIND: Mapping[str, Family] = {"coding": "python", "terminal": "shell", "game": "move"}
_QUERY = re.compile(r"\s*(?:SELECT|WITH)\b", re.IGNORECASE)
_PATH_KEYS = ("path", "file", "filename")


@dataclass(frozen=True, slots=True)
class Frame:
    """A stretch of a message: its content, the family that makes it wrong, and the message with another content."""

    family: Family
    value: Json
    write: Callable[[Json], str]
    where: str = ""


def frames_of(message: str, kind: str) -> list[Frame]:
    """Return what can be made wrong in `message`; `kind` is the workspace's and says what a bare text is.

    A call's arguments are frames of their own; a fenced block is one; else the whole message is.
    """
    start = message.find(OPEN)
    if start >= 0:
        return list(_of_call(message, start))
    block = _FENCE.search(message)
    if block is not None:
        return [_fenced(message, block)]
    return [_of_text(message, expect_text, _OF_KIND.get(kind), "")]


def _of_call(message: str, start: int) -> Iterator[Frame]:
    try:
        call, end = parse_json_prefix(message, start + len(OPEN))
    except ValueError:
        return
    arguments = call.get("arguments") if isinstance(call, Mapping) else None
    close = message.find(CLOSE, end)
    if not isinstance(call, Mapping) or not isinstance(arguments, Mapping) or close < 0:
        return
    name, given = str(call.get("name")), dict(arguments)

    def write(changed: Mapping[str, Json]) -> str:
        return message[:start] + write_call(name, changed) + message[close + len(CLOSE) :]

    plain: dict[str, Json] = {}
    found: list[Frame] = []
    for key, value in given.items():

        def write_one(new: Json, key: str = key) -> str:
            return write({**given, key: new})

        if isinstance(value, str) and key not in _PATH_KEYS:
            found.append(_of_text(value, write_one, _KEYS.get(key), key))
        elif isinstance(value, Mapping | list | tuple):
            found.append(Frame(_form_of(value), value, write_one, key))
        else:
            plain[key] = value
    yield from found
    if plain:  # beside an answer they are part of it: a right file at a wrong path
        family: Family = "arguments" if not found or any(each.family in SOLUTIONS for each in found) else "record"
        rest = {key: value for key, value in given.items() if key not in plain}
        yield Frame(family, plain, lambda new: write({**rest, **_mapping(new)}), "arguments")


def _fenced(message: str, block: re.Match[str]) -> Frame:
    language, body = block[1].lower(), block[2]

    def write(new: Json) -> str:
        return f"{message[: block.start(2)]}{str(new).rstrip()}\n{message[block.end(2) :]}"

    if language == "json":
        return _of_text(body, write, None, "")
    return _of_text(body.rstrip("\n"), write, _LANGUAGES.get(language), "")


def _of_text(text: str, write: Callable[[Json], str], family: Family | None, where: str) -> Frame:
    """Return the frame of a text: JSON by its form, else of `family`, else by what it reads like."""
    if text.lstrip()[:1] in ("{", "["):
        try:
            value = parse_json(text)
        except ValueError:
            pass
        else:
            if isinstance(value, Mapping | list):
                dump = _dump_like(text, value)
                return Frame(_form_of(value), value, lambda new: write(dump(new)), where)
    if is_makefile(text):
        family = "makefile"
    elif _QUERY.match(text):
        family = "sql"
    elif family == "python" and parsed(text) is None:
        family = None
    return Frame(family or "text", text, write, where)


def _form_of(value: Json) -> Family:
    if is_part(value):
        return "part"
    if is_mesh(value):
        return "mesh"
    return "calls" if is_calls(value) else "record"


def _dump_like(text: str, value: Json) -> Callable[[Json], str]:
    """Return a writer of JSON in the layout of `text`, so that only what a mutant means differs."""
    layouts: list[Callable[[Json], str]] = [
        json.dumps,
        lambda new: json.dumps(new, separators=(",", ":")),
        lambda new: json.dumps(new, ensure_ascii=False),
        lambda new: json.dumps(new, separators=(",", ":"), sort_keys=True),
        lambda new: json.dumps(new, indent=1),
        lambda new: json.dumps(new, indent=2),
    ]
    return next((layout for layout in layouts if layout(value) == text.strip()), layouts[0])


def _mapping(value: Json) -> Mapping[str, Json]:
    assert isinstance(value, Mapping), "made of a mapping"
    return value
