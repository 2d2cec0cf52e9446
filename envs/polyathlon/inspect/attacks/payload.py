"""Where an answer stands in the actions that hand it in, and how to hand in another one in its place."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from polyathlon.canonical import Json, canonical_json, parse_json, parse_json_prefix
from polyathlon.catalog import Kind
from polyathlon.domain import ToolSpec
from polyathlon.inspect.blind import FINISHERS
from polyathlon.toolcall import OPEN, write_call, write_fenced
from polyathlon.workspaces.question import final_answer

Language = Literal["text", "json", "python", "piece", "sql", "bash"]
"""What an answer is written in. A "piece" is Python that stands in a gap of something larger."""

Carrier = Literal["bare", "fence", "call"]

_FENCE = re.compile(r"^```([A-Za-z0-9_+-]*)[ \t]*\n(.*?)^```[ \t]*$", re.DOTALL | re.MULTILINE)
_LANGUAGES: dict[str, Language] = {"python": "python", "py": "python", "sql": "sql", "json": "json"}


@dataclass(frozen=True, slots=True)
class Payload:
    """An answer: its text, its language, and what carries it.

    `name` is the fence's language or the tool's name, `argument` the tool's argument. `is_value` says that the argument
    is JSON itself, and `text` its JSON text.
    """

    text: str
    language: Language
    carrier: Carrier = "bare"
    name: str = ""
    argument: str = ""
    is_value: bool = False

    def carrying(self, text: str) -> tuple[str, ...]:
        """Return the actions that hand in `text` in the place of this answer."""
        if self.carrier == "bare":
            return (text,)
        if self.carrier == "fence":
            return (write_fenced(text, language=self.name),)
        return (write_call(self.name, {self.argument: self._value(text)}),)

    @property
    def value(self) -> Json:
        """The JSON value that the answer is, or None where it is none."""
        try:
            return parse_json(self.text)
        except ValueError:
            return None

    def _value(self, text: str) -> Json:
        if not self.is_value:
            return text
        try:
            return parse_json(text)
        except ValueError:
            return text


def payload_of(actions: Sequence[str], tools: Sequence[ToolSpec], kind: Kind) -> Payload | None:
    """Return the answer in the last of `actions` that carries one; None where the deeds themselves are the answer."""
    for action in reversed(actions):
        found = _called(action, kind) if OPEN in action else _fenced(action)
        if found is None and OPEN not in action and "```" not in action and not _acts_by_calls(tools, kind):
            found = _bare(action, kind)
        if found is not None:
            return found
    return None


def _acts_by_calls(tools: Sequence[ToolSpec], kind: Kind) -> bool:
    """Whether every message is a call: then bare text answers nothing. (Some worlds of tools take calls as JSON.)"""
    return bool(tools) and (kind != "tools" or any(tool.name in FINISHERS for tool in tools))


def _called(action: str, kind: Kind) -> Payload | None:
    try:
        call, _ = parse_json_prefix(action, action.index(OPEN) + len(OPEN))
    except ValueError:
        return None
    if not isinstance(call, dict) or call.get("name") not in FINISHERS:
        return None
    arguments = call.get("arguments")
    if not isinstance(arguments, dict):
        return None
    for argument, value in arguments.items():
        language = _language_of(argument, kind)
        if isinstance(value, str) and value:
            return Payload(value, language, "call", str(call["name"]), argument)
        if isinstance(value, dict | list) and value:
            return Payload(canonical_json(value), "json", "call", str(call["name"]), argument, is_value=True)
    return None


def _language_of(argument: str, kind: Kind) -> Language:
    named: dict[str, Language] = {"code": "python", "query": "sql", "program": "json", "change": "json"}
    return named.get(argument, "json" if kind in ("document", "mesh") else "text")


def _fenced(action: str) -> Payload | None:
    blocks = _FENCE.findall(action)
    if len(blocks) != 1 or blocks[0][0] not in _LANGUAGES:
        return None
    name, text = blocks[0]
    return Payload(text.rstrip("\n"), _LANGUAGES[name], "fence", name)


def _bare(action: str, kind: Kind) -> Payload | None:
    text = final_answer(action)
    if not text:
        return None
    bare: dict[Kind, Language] = {"coding": "piece", "terminal": "bash"}
    if kind in bare:
        return Payload(text, bare[kind])
    payload = Payload(text, "text")
    return Payload(text, "json") if isinstance(payload.value, dict | list) else payload
