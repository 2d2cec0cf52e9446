"""The one grammar of tool calls: `<tool_call>{"name": ..., "arguments": {...}}</tool_call>`, or a fenced short form."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from polyathlon.canonical import Json, parse_json_prefix
from polyathlon.domain import ToolSpec
from polyathlon.errors import ToolCallError

OPEN = "<tool_call>"
CLOSE = "</tool_call>"
MAX_MESSAGE_CHARS = 200_000

_FENCE = re.compile(r"^```([A-Za-z0-9_+-]*)[ \t]*\n(.*?)^```[ \t]*$", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that a message asks for, its arguments valid under the tool's schema."""

    name: str
    arguments: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class ShortForm:
    """One fenced block of `language` stands for a call of `tool` with the block's text as its `argument`."""

    language: str
    tool: str
    argument: str


def read_call(message: str, tools: Sequence[ToolSpec], *, short_form: ShortForm | None = None) -> ToolCall:
    """Return the one call that `message` carries; any text around it is free.

    Raises:
        ToolCallError: no call, more than one, broken JSON, an unknown tool, or arguments that do not fit its schema.
            The text says which, and is meant for the policy.

    """
    if len(message) > MAX_MESSAGE_CHARS:
        raise ToolCallError(f"The message has {len(message)} characters; at most {MAX_MESSAGE_CHARS} are read.")
    start = message.find(OPEN)
    if start >= 0:
        call, end = _read_tagged(message, start)
        if OPEN in message[end:]:
            raise ToolCallError(f"The message carries more than one {OPEN}. Send one call a message.")
    elif short_form is not None:
        call = _read_fenced(message, short_form)
    else:
        raise ToolCallError(f"No tool call found. {_how_to(tools, short_form)}")
    return _checked(call, tools)


def write_call(name: str, arguments: Mapping[str, Json]) -> str:
    """Return the message that calls `name` with `arguments`."""
    return f"{OPEN}{json.dumps({'name': name, 'arguments': arguments}, ensure_ascii=False)}{CLOSE}"


def write_fenced(text: str, *, language: str = "bash") -> str:
    """Return the message that carries `text` as one fenced block."""
    return f"```{language}\n{text.rstrip()}\n```"


def _read_tagged(message: str, start: int) -> tuple[ToolCall, int]:
    try:
        value, end = parse_json_prefix(message, start + len(OPEN))
    except ValueError as error:
        raise ToolCallError(f"The text after {OPEN} is {error}.") from None
    rest = message[end:].lstrip()
    if not rest.startswith(CLOSE):
        raise ToolCallError(f"The JSON of the call must be followed by {CLOSE}.")
    if not isinstance(value, Mapping) or set(value) != {"name", "arguments"}:
        raise ToolCallError('A call is an object with the keys "name" and "arguments", and no others.')
    name, arguments = value["name"], value["arguments"]
    if not isinstance(name, str) or not isinstance(arguments, Mapping):
        raise ToolCallError('"name" must be a string and "arguments" an object.')
    return ToolCall(name, arguments), len(message) - len(rest) + len(CLOSE)


def _read_fenced(message: str, short_form: ShortForm) -> ToolCall:
    blocks = [text for language, text in _FENCE.findall(message) if language == short_form.language]
    if len(blocks) != 1:
        found = "no" if not blocks else f"{len(blocks)}"
        raise ToolCallError(
            f"Found {found} fenced {short_form.language} blocks; send exactly one, or one {OPEN}...{CLOSE}."
        )
    return ToolCall(short_form.tool, {short_form.argument: blocks[0].rstrip("\n")})


def _checked(call: ToolCall, tools: Sequence[ToolSpec]) -> ToolCall:
    spec = next((tool for tool in tools if tool.name == call.name), None)
    if spec is None:
        raise ToolCallError(f"There is no tool {call.name[:60]!r}. Tools: {', '.join(tool.name for tool in tools)}.")
    from jsonschema import Draft202012Validator  # 60 ms to import; only a policy that calls tools pays it

    schema = {"type": "object", "additionalProperties": False, **spec.parameters}
    error = next(iter(Draft202012Validator(schema).iter_errors(call.arguments)), None)
    if error is not None:
        where = "".join(f".{part}" for part in error.absolute_path)
        raise ToolCallError(f"{call.name}: arguments{where}: {error.message[:300]}")
    return call


def _how_to(tools: Sequence[ToolSpec], short_form: ShortForm | None) -> str:
    names = ", ".join(tool.name for tool in tools)
    block = f", or one fenced {short_form.language} block" if short_form is not None else ""
    return f'Send one {OPEN}{{"name": ..., "arguments": {{...}}}}{CLOSE}{block}. Tools: {names}.'
