"""Policies that know nothing: each must earn no more than the declared floor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from polyathlon.canonical import Json, expect_list, expect_map
from polyathlon.domain import Task, ToolSpec
from polyathlon.toolcall import write_call

FINISHERS = ("submit", "finish", "answer")
_LETTERS = np.array(list("abcdefghijklmnopqrstuvwxyz0123456789 .,;:-+*/()[]{}\"'<>=\n"))


def blind_policies(
    task: Task, tools: Sequence[ToolSpec], rng: np.random.Generator, *, others: Sequence[Sequence[str]]
) -> dict[str, tuple[str, ...]]:
    """Return the actions of each blind policy on `task`. `others` are the reference actions of other tasks."""
    words = random_text(rng)
    policies: dict[str, tuple[str, ...]] = {
        "nop": (),
        "random": (words, *(_random_call(tools, rng) for _ in range(3)), *_ending(tools, words)),
        "echo": (task.prompt, *_ending(tools, task.prompt)),
        "empty": _ending(tools, "") or ("",),
    }
    for number, other in enumerate(others):
        policies[f"another task's answer {number}"] = tuple(other)
    return policies


def random_text(rng: np.random.Generator) -> str:
    """Return up to 60 random ASCII characters."""
    return "".join(rng.choice(_LETTERS, size=int(rng.integers(1, 60))))


def call_of(tool: ToolSpec, text: str) -> str:
    """Return a call of `tool` that fits its schema, with `text` wherever a string fits, optional arguments too."""
    properties = expect_map(tool.parameters.get("properties", {}))
    return write_call(tool.name, {name: _value(expect_map(schema), text) for name, schema in properties.items()})


def _ending(tools: Sequence[ToolSpec], text: str) -> tuple[str, ...]:
    return tuple(call_of(tool, text) for tool in tools if tool.name in FINISHERS)


def _random_call(tools: Sequence[ToolSpec], rng: np.random.Generator) -> str:
    open_tools = [tool for tool in tools if tool.name not in FINISHERS]
    if not open_tools:
        return random_text(rng)
    word = "".join(rng.choice(_LETTERS[:26], size=int(rng.integers(1, 9))))  # letters alone: a shell runs no such word
    return call_of(open_tools[int(rng.integers(len(open_tools)))], f"zz{word}")


def _value(schema: Mapping[str, Json], text: str) -> Json:
    if "enum" in schema:
        return expect_list(schema["enum"])[0]
    values: dict[str, Json] = {
        "string": text,
        "integer": schema.get("minimum", 1),
        "number": schema.get("minimum", 1),
        "boolean": True,
        "array": [],
        "object": {},
    }
    return values.get(str(schema.get("type", "string")), text)
