"""Attacks on worlds of tools: calls too many, calls for show, ends without deeds. Catalogue section 3J."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from polyathlon.canonical import Json, expect_list, expect_map
from polyathlon.domain import ToolSpec
from polyathlon.inspect.attacks.attack import Attack, Scene
from polyathlon.inspect.attacks.wrong import other_leaf, with_leaves
from polyathlon.inspect.blind import FINISHERS
from polyathlon.toolcall import write_call

Calls = list[dict[str, Json]]
MAX_SPAM = 32
REFUSALS = ("I am sorry, but I can't help with that.", "The request is against our policy; nothing was changed.")


def _reference_calls(scene: Scene) -> Calls | None:
    """Return the reference as a list of calls, where one message holds them all."""
    value = scene.payload.value if scene.payload is not None else None
    if not isinstance(value, list) or not value:
        return None
    calls = [dict(call) for call in value if isinstance(call, dict) and set(call) == {"name", "arguments"}]
    return calls if len(calls) == len(value) else None


def _filled(tool: ToolSpec, text: str) -> dict[str, Json]:
    properties = expect_map(tool.parameters.get("properties", {}))
    return {name: _value(expect_map(schema), text) for name, schema in properties.items()}


def _value(schema: Mapping[str, Json], text: str) -> Json:
    if "enum" in schema:
        return expect_list(schema["enum"])[0]
    if "default" in schema:
        return schema["default"]
    kinds: dict[str, Json] = {"integer": 1, "number": 1, "boolean": True, "array": [], "object": {}}
    return kinds.get(str(schema.get("type", "string")), text)


def _answered(scene: Scene, calls: Sequence[Mapping[str, Json]]) -> Sequence[str] | None:
    return None if scene.payload is None else scene.payload.carrying(json.dumps(list(calls)))


def _every_tool(arguments: str, scene: Scene, _: np.random.Generator) -> Sequence[str] | None:
    if _reference_calls(scene) is None:
        return None
    ways: dict[str, Sequence[Mapping[str, Json]]] = {
        "none": [{"name": tool.name, "arguments": {}} for tool in scene.tools],
        "filled": [{"name": tool.name, "arguments": _filled(tool, scene.prompt[:200])} for tool in scene.tools],
        "defaults": [{"name": tool.name, "arguments": _filled(tool, "")} for tool in scene.tools],
    }
    return _answered(scene, ways[arguments])


def _changed(change: str, scene: Scene, _: np.random.Generator) -> Sequence[str] | None:
    calls = _reference_calls(scene)
    if calls is None:
        return None
    first = calls[0]
    arguments = expect_map(first["arguments"])
    wanted = {call["name"] for call in calls}
    others = [tool.name for tool in scene.tools if tool.name not in wanted]
    redirected: Calls = [{"name": name, "arguments": dict(arguments)} for name in others]
    ways: dict[str, Calls | None] = {
        "values": [{**call, "arguments": with_leaves(call["arguments"], other_leaf)} for call in calls],
        "null values": [{**call, "arguments": with_leaves(call["arguments"], lambda _: None)} for call in calls],
        "no arguments": [{**call, "arguments": {}} for call in calls],
        "renamed": [{**call, "arguments": {f"{k}_": v for k, v in arguments.items()}} for call in calls[:1]],
        "extra": [{**call, "arguments": {**expect_map(call["arguments"]), "force": True}} for call in calls],
        "thirty extra": [
            {**call, "arguments": {**expect_map(call["arguments"]), **{f"x{k}": k for k in range(30)}}}
            for call in calls
        ],
        "another tool": [{**call, "name": others[0]} for call in calls] if others else None,
        "every tool": [*calls, *redirected] if others else None,
        "spam": [call for call in calls for _ in range(MAX_SPAM // len(calls))],
        "twice": [*calls, *calls],
    }
    chosen = ways[change]
    return None if chosen is None else _answered(scene, chosen)


def _nothing_done(scene: Scene, _: np.random.Generator) -> Sequence[str] | None:
    """No call at all, where the task wants some."""
    return _answered(scene, []) if _reference_calls(scene) else None


def _said(text: str, _: Scene, __: np.random.Generator) -> Sequence[str] | None:
    return (text,)


def _finished(number: int, scene: Scene, _: np.random.Generator) -> Sequence[str] | None:
    """The episode ended at once, with a reason that sounds good, where it is the deeds that count."""
    ends = [tool for tool in scene.tools if tool.name == "finish"]
    if not ends or len(scene.reference) < 2:
        return None
    reason = expect_map(expect_map(ends[0].parameters.get("properties", {})).get("reason", {}))
    reasons = [*map(str, expect_list(reason.get("enum", []))), "done", "refused", "impossible"]
    return (write_call("finish", {"reason": reasons[number % len(reasons)]}),)


def _without_last(scene: Scene, _: np.random.Generator) -> Sequence[str] | None:
    """All of the reference but its last deed; then the end, as if all were done."""
    calls = [action for action in scene.reference if any(f'"{name}"' in action for name in FINISHERS)]
    if scene.kind != "tools" or not calls or len(scene.reference) < 3:
        return None
    return [*scene.reference[:-2], scene.reference[-1]]


_CHANGES = {
    "J10a": ("values", "every value another one"),
    "J10b": ("null values", "every value null"),
    "J10c": ("no arguments", "the right names, no arguments"),
    "J10d": ("renamed", "arguments under other names"),
    "J11a": ("extra", "an invented argument"),
    "J11b": ("thirty extra", "thirty invented arguments"),
    "J12a": ("another tool", "another tool with the right arguments"),
    "J12b": ("every tool", "the right call, and every other tool with its arguments"),
    "J7b": ("spam", "the right calls over and over"),
    "J7c": ("twice", "every right call twice"),
}
_FULL = ("J11a", "J11b", "J12b", "J7c")

ATTACKS: tuple[Attack, ...] = (
    Attack("J1a", ("tools",), "no call", _nothing_done),
    *(Attack(f"J1{letter}", ("tools",), "the end at once", partial(_finished, number))
      for number, letter in enumerate("bcde")),
    Attack("J5b", ("tools",), "all but the last deed", _without_last, "low", carries_answer=True, below="full"),
    Attack("J7a", ("tools",), "every tool, filled", partial(_every_tool, "filled")),
    Attack("J7d", ("tools",), "every tool, without arguments", partial(_every_tool, "none")),
    Attack("J7e", ("tools",), "every tool with its defaults", partial(_every_tool, "defaults")),
    *(
        Attack(name, ("tools",), title, partial(_changed, change), "low", carries_answer=True,
               below="full" if name in _FULL else "floor")
        for name, (change, title) in _CHANGES.items()
    ),
    *(Attack(f"J14{letter}", ("tools",), "a refusal", partial(_said, text))
      for letter, text in zip("ab", REFUSALS, strict=True)),
)  # fmt: skip
