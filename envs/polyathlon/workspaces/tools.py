"""Worlds of typed functions: calls are checked, carried out or refused with a typed error, and kept in a ledger."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar, cast

from polyathlon.canonical import Json, canonical_json, parse_json
from polyathlon.domain import Call, Evidence, Observation, ToolSpec, WorkspaceState
from polyathlon.errors import ToolCallError
from polyathlon.toolcall import CLOSE, OPEN, ToolCall, read_call
from polyathlon.workspaces.question import final_answer
from polyathlon.workspaces.toolbox import Outcome, Tool, Toolbox

MAX_CALLS = 32
MAX_DEPTH = 12
HOW_TO_FINISH = f'Send one {OPEN}{{"name": ..., "arguments": {{...}}}}{CLOSE} a message; call finish at the end.'
HOW_TO_ANSWER = (
    f'Reply with a JSON array of calls, each {{"name": ..., "arguments": {{...}}}}, or [] when no tool fits; a single '
    f"call may also be one {OPEN}...{CLOSE}. In a signature, ? marks an optional argument, = its default, : its type "
    "or form; an argument without one is a string."
)


class World(Protocol):
    """The state that functions read and change: any object that `copy.deepcopy` can copy."""

    def as_json(self) -> Json:
        """Return the whole state as plain JSON: what a verifier compares."""
        ...


W = TypeVar("W", bound=World)


class CallRefused(Exception):
    """A function cannot do what it was asked: `kind` is a short name such as "not_found", the text says why."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


@dataclass(frozen=True, slots=True)
class Function(Generic[W]):
    """A tool of a world. `run` changes the world it is given and returns the result, or raises CallRefused."""

    spec: ToolSpec
    run: Callable[[W, Mapping[str, Json]], Json]


class ToolsWorkspace(Generic[W]):
    """Acts on a world by one call a message, until `finish`.

    Each call works on a copy of the world that replaces it only when the call succeeds: a refused call changes nothing.
    The evidence holds every call, the world's state, and as answer the reason given to `finish` (None before it).
    `reasons` are the only ones that `finish` takes, where there are any.
    """

    def __init__(self, world: W, functions: Sequence[Function[W]], *, reasons: Sequence[str] = ()) -> None:
        self._world = copy.deepcopy(world)
        self._reason: str | None = None
        finish = Tool(_finish_spec(reasons), self._finish)
        self._toolbox = Toolbox(
            [*(Tool(function.spec, self._carrying_out(function)) for function in functions), finish]
        )

    @property
    def tools(self) -> Sequence[ToolSpec]:
        return self._toolbox.specs

    @property
    def instructions(self) -> str:
        return HOW_TO_FINISH

    def act(self, action: str) -> Observation:
        """Carry out one call; its result is JSON, or {"error": {"kind", "message"}}."""
        if self._reason is not None:
            return Observation("The episode is finished.", finished=True, error=True)
        return self._toolbox.act(action)

    def evidence(self) -> Evidence:
        return Evidence(answer=self._reason, ledger=self._toolbox.ledger, state=self._world.as_json())

    def snapshot(self) -> WorkspaceState:
        return WorkspaceState((copy.deepcopy(self._world), self._reason, self._toolbox.ledger))

    def restore(self, state: WorkspaceState) -> None:
        world, self._reason, ledger = cast(tuple[W, str | None, tuple[Call, ...]], state.values)
        self._world = copy.deepcopy(world)
        self._toolbox.go_back(ledger)

    def close(self) -> None:
        return None

    def _carrying_out(self, function: Function[W]) -> Callable[[Mapping[str, Json]], Outcome]:
        def run(arguments: Mapping[str, Json]) -> Outcome:
            draft = copy.deepcopy(self._world)
            try:
                result = function.run(draft, arguments)
            except CallRefused as error:
                refusal: Json = {"error": {"kind": error.kind, "message": str(error)}}
                return Outcome(json.dumps(refusal), ok=False, result=refusal)
            self._world = draft
            return Outcome(json.dumps(result), result=result)

        return run

    def _finish(self, arguments: Mapping[str, Json]) -> Outcome:
        self._reason = str(arguments["reason"])
        return Outcome("Finished.", finished=True, result=self._reason)


class CallsWorkspace:
    """Takes one message with all its calls, and carries out none of them: what is judged is what was asked for.

    The ledger holds the calls in order, `ok` where the arguments fit the tool's schema; the answer is their canonical
    JSON, "[]" for none, and None where the message could not be read.
    """

    instructions = HOW_TO_ANSWER

    def __init__(self, tools: Sequence[ToolSpec]) -> None:
        self.tools: Sequence[ToolSpec] = tuple(tools)
        self._ledger: tuple[Call, ...] = ()
        self._answer: str | None = None

    def act(self, action: str) -> Observation:
        """Read the calls; the episode is over whatever the message was."""
        try:
            calls = read_calls(action)
        except ToolCallError as error:
            return Observation(str(error), finished=True, error=True)
        complaints = [complaint(call, self.tools) for call in calls]
        self._ledger = tuple(
            Call(call.name, call.arguments, wrong, ok=wrong is None)
            for call, wrong in zip(calls, complaints, strict=True)
        )
        self._answer = canonical_json([{"name": call.name, "arguments": call.arguments} for call in calls])
        wrong = [text for text in complaints if text is not None]
        return Observation("\n".join(wrong) or f"{len(calls)} calls received.", finished=True, error=bool(wrong))

    def evidence(self) -> Evidence:
        return Evidence(answer=self._answer, ledger=self._ledger)

    def snapshot(self) -> WorkspaceState:
        return WorkspaceState((self._answer, self._ledger))

    def restore(self, state: WorkspaceState) -> None:
        self._answer, self._ledger = cast(tuple[str | None, tuple[Call, ...]], state.values)

    def close(self) -> None:
        return None


def read_calls(message: str) -> tuple[ToolCall, ...]:
    """Return the calls of `message`: a JSON array of them (perhaps in answer tags), or one tagged call.

    Their names and arguments are not checked against any tool.

    Raises:
        ToolCallError: something else, more than 32 calls, or JSON nested deeper than 12. The text is for the policy.

    """
    answer = final_answer(message)
    if answer is None:
        raise ToolCallError("No single answer found: send one JSON array of calls.")
    try:
        value = _tagged(answer) if OPEN in answer else parse_json(answer)
    except ValueError as error:
        raise ToolCallError(f"The answer is no JSON array of calls: {error}.") from None
    if not isinstance(value, list):
        raise ToolCallError("The answer must be a JSON array of calls; [] for none.")
    if len(value) > MAX_CALLS or _too_deep(value):
        raise ToolCallError(f"At most {MAX_CALLS} calls are read, nested at most {MAX_DEPTH} deep.")
    return tuple(_call(item) for item in value)


def complaint(call: ToolCall, tools: Sequence[ToolSpec]) -> str | None:
    """Return why `call` does not fit `tools` (an unknown name, arguments outside the schema), or None when it does."""
    try:
        read_call(f"{OPEN}{canonical_json({'name': call.name, 'arguments': call.arguments})}{CLOSE}", tools)
    except ToolCallError as error:
        return str(error)
    return None


def signature(spec: ToolSpec) -> str:
    """Return `spec` in one short line, such as `table(place, people:int, time:HH:MM, deposit?:num, smoking=false)`."""
    return f"{spec.name}({_members(spec.parameters)})"


def _members(schema: Mapping[str, Json]) -> str:
    properties, required = schema.get("properties", {}), schema.get("required", ())
    assert isinstance(properties, Mapping), "a JSON Schema of type object"
    assert isinstance(required, Sequence), "a JSON Schema of type object"
    return ", ".join(_member(name, inner, needed=name in required) for name, inner in properties.items())


def _member(name: str, schema: Json, *, needed: bool) -> str:
    assert isinstance(schema, Mapping), "a property's schema"
    kind = _kind(schema)
    default = f"={json.dumps(schema['default'])}" if "default" in schema else ""
    return f"{name}{'' if needed or default else '?'}{f':{kind}' if kind else ''}{default}"


def _kind(schema: Mapping[str, Json]) -> str:
    written = schema.get("form")
    if isinstance(written, str):
        return written
    options, items = schema.get("enum"), schema.get("items")
    if isinstance(options, Sequence):
        return "|".join(map(str, options))
    if schema.get("type") == "object":
        return f"{{{_members(schema)}}}"
    if isinstance(items, Mapping):
        return f"[{_kind(items) or 'str'}]"
    return {"integer": "int", "number": "num", "boolean": "bool"}.get(str(schema.get("type")), "")


def _finish_spec(reasons: Sequence[str]) -> ToolSpec:
    reason: dict[str, Json] = {"type": "string", **({"enum": list(reasons)} if reasons else {})}
    parameters: dict[str, Json] = {"type": "object", "properties": {"reason": reason}, "required": ["reason"]}
    return ToolSpec("finish", "End the episode and say why.", parameters)


def _tagged(message: str) -> Json:
    start = message.index(OPEN) + len(OPEN)
    inside, closing, rest = message[start:].rpartition(CLOSE)
    if not closing or OPEN in rest:
        raise ValueError(f"{OPEN} is never closed")
    return [parse_json(inside)]


def _call(item: Json) -> ToolCall:
    if not isinstance(item, Mapping) or set(item) != {"name", "arguments"}:
        raise ToolCallError('Each call is an object with the keys "name" and "arguments", and no others.')
    name, arguments = item["name"], item["arguments"]
    if not isinstance(name, str) or not isinstance(arguments, Mapping):
        raise ToolCallError('"name" must be a string and "arguments" an object.')
    return ToolCall(name, arguments)


def _too_deep(value: Json) -> bool:
    layer: list[Json] = [value]
    for _ in range(MAX_DEPTH):
        below: list[Json] = []
        for item in layer:
            if isinstance(item, Mapping):
                below.extend(item.values())
            elif isinstance(item, list):
                below.extend(item)
        if not below:
            return False
        layer = below
    return True
