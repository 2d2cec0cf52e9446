"""Texts that may be answers: numbers, expressions, lists, JSON and calls, all made of what a prompt shows."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from polyathlon.canonical import Json, expect_list, expect_map
from polyathlon.domain import ToolSpec
from polyathlon.inspect.attacks.forms import Form
from polyathlon.inspect.attacks.payload import Payload
from polyathlon.inspect.attacks.wrong import prompt_numbers, prompt_words
from polyathlon.inspect.blind import FINISHERS
from polyathlon.toolcall import write_call

MAX_PARTS = 8
MARKS = (" ", ", ", ",", ";", "\n", "; ", " = ", "=", "-", ": ", " or ", "|")
SIGNS = ("+", "-", "*", "/", "//", "%", "**")
LITERALS = (
    "",
    "0",
    "1",
    "-1",
    "yes",
    "no",
    "true",
    "false",
    "null",
    "none",
    "nan",
    "inf",
    "[]",
    "{}",
    "()",
    ".",
    "-",
    "=",
    '""',
)
KEYS = ("answer", "value", "result", "name", "arguments", "total", "id")

Actions = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Words:
    """What a fuzz makes its texts of: the numbers, words and lines of a prompt, forms of answers, and the tools."""

    prompt: str
    numbers: Sequence[str]
    words: Sequence[str]
    pools: Mapping[str, Sequence[str]]
    forms: Sequence[Form]
    tools: Sequence[ToolSpec]
    carrier: Payload | None

    @classmethod
    def of(
        cls, prompt: str, *, pools: Mapping[str, Sequence[str]], forms: Sequence[Form], tools: Sequence[ToolSpec],
        carrier: Payload | None,
    ) -> Words:  # fmt: skip
        """Return the material of one task."""
        numbers, words = prompt_numbers(prompt) or ["1"], prompt_words(prompt) or ["x"]
        return cls(prompt, numbers, words, pools, forms, tools, carrier)


Family = Callable[[Words, np.random.Generator], "str | None"]


def _pick(options: Sequence[str], rng: np.random.Generator) -> str:
    return options[int(rng.integers(len(options)))]


def _literal(_: Words, rng: np.random.Generator) -> str:
    return _pick(LITERALS, rng)


def _number(words: Words, rng: np.random.Generator) -> str:
    """A shown number, a small one, or what one operation makes of two shown ones."""
    way = int(rng.integers(4))
    if way == 0:
        return _pick(words.numbers, rng)
    if way == 1:
        return str(int(rng.integers(-20, 200)))
    left, right = float(_pick(words.numbers, rng)), float(_pick(words.numbers, rng))
    value = (left + right, left - right, left * right, left / right if right else 0.0)[int(rng.integers(4))]
    return f"{value:.10g}" if way == 2 else f"{value:.{int(rng.integers(4))}f}"


def _numbers(words: Words, rng: np.random.Generator) -> str:
    return _pick(MARKS, rng).join(_number(words, rng) for _ in range(int(rng.integers(2, MAX_PARTS))))


def _expression(words: Words, rng: np.random.Generator, depth: int = 3) -> str:
    if depth == 0 or rng.random() < 0.3:
        return _pick(words.numbers, rng)
    left, right = _expression(words, rng, depth - 1), _expression(words, rng, depth - 1)
    text = f"{left}{_pick(SIGNS, rng)}{right}"
    return f"({text})" if rng.random() < 0.4 else text


def _working(words: Words, rng: np.random.Generator) -> str:
    """An expression, and after "=" a value: as a claim."""
    return f"{_expression(words, rng, 2)}={_number(words, rng)}"


def _recombined(words: Words, rng: np.random.Generator) -> str:
    """A few of the prompt's parts in any order, one mark between them."""
    parts = [*words.words, *words.numbers]
    return _pick(MARKS, rng).join(_pick(parts, rng) for _ in range(int(rng.integers(1, MAX_PARTS))))


def _slice(words: Words, rng: np.random.Generator) -> str:
    start = int(rng.integers(len(words.prompt)))
    return words.prompt[start : start + int(rng.integers(1, 80))]


def _line(words: Words, rng: np.random.Generator) -> str:
    return _pick([line for line in words.prompt.splitlines() if line.strip()] or ["x"], rng)


def _filled(words: Words, rng: np.random.Generator) -> str | None:
    return words.forms[int(rng.integers(len(words.forms)))].filled(words.pools, rng) if words.forms else None


def _spliced(words: Words, rng: np.random.Generator) -> str | None:
    """The head of one answer's form and the tail of another's, filled."""
    if not words.forms:
        return None
    first, second = _filled(words, rng) or "", _filled(words, rng) or ""
    return first[: int(rng.integers(len(first) + 1))] + second[int(rng.integers(len(second) + 1)) :]


def _repeated(words: Words, rng: np.random.Generator) -> str | None:
    text = _filled(words, rng)
    return None if text is None else _pick(("\n", " ", ", ", ";"), rng).join([text] * int(rng.integers(2, 6)))


def _json(words: Words, rng: np.random.Generator) -> str:
    keys = [*words.words, *KEYS]

    def value(depth: int) -> Json:
        way = int(rng.integers(6 if depth else 4))
        if way == 0:
            return _pick(words.words, rng)
        if way == 1:
            return int(float(_pick(words.numbers, rng)))
        if way == 2:
            return (None, True, False, 0, "")[int(rng.integers(5))]
        if way == 3:
            return _pick(words.numbers, rng)
        inner = [value(depth - 1) for _ in range(int(rng.integers(4)))]
        return inner if way == 4 else {_pick(keys, rng): each for each in inner}

    made = value(2)
    return json.dumps(made if isinstance(made, dict | list) else [made])


def _calls(words: Words, rng: np.random.Generator) -> str | None:
    """Up to three calls of the tools by their schemas, as one JSON array."""
    if not words.tools:
        return None
    tools = [words.tools[int(rng.integers(len(words.tools)))] for _ in range(int(rng.integers(1, 4)))]
    return json.dumps([{"name": tool.name, "arguments": arguments_of(tool, words, rng)} for tool in tools])


FAMILIES: dict[str, Family] = {
    "literal": _literal,
    "number": _number,
    "numbers": _numbers,
    "expression": _expression,
    "working": _working,
    "recombined": _recombined,
    "slice": _slice,
    "line": _line,
    "form filled": _filled,
    "forms spliced": _spliced,
    "form repeated": _repeated,
    "json": _json,
    "calls": _calls,
}


def arguments_of(tool: ToolSpec, words: Words, rng: np.random.Generator) -> dict[str, Json]:
    """Return arguments that fit a tool's schema, with values from the prompt; optional ones half the time."""
    schema = expect_map(tool.parameters)
    needed = set(map(str, expect_list(schema.get("required", []))))
    properties = expect_map(schema.get("properties", {}))
    return {
        name: _valued(expect_map(inner), words, rng, 2)
        for name, inner in properties.items()
        if name in needed or rng.random() < 0.5
    }


def _valued(schema: Mapping[str, Json], words: Words, rng: np.random.Generator, depth: int) -> Json:
    options = expect_list(schema.get("enum", []))
    if options:
        return options[int(rng.integers(len(options)))]
    kind = schema.get("type", "string")
    kinds = [kind] if isinstance(kind, str) else [str(each) for each in expect_list(kind)]
    chosen = _pick(kinds, rng)
    if chosen in ("integer", "number"):
        return int(float(_pick(words.numbers, rng)))
    if chosen == "boolean":
        return bool(rng.integers(2))
    if chosen == "array" and depth:
        inner = schema.get("items", {})
        return [_valued(expect_map(inner), words, rng, depth - 1) for _ in range(int(rng.integers(4)))]
    if chosen == "object" and depth:
        inside = expect_map(schema.get("properties", {}))
        return {name: _valued(expect_map(each), words, rng, depth - 1) for name, each in inside.items()}
    return _fitting(schema, words, rng) if chosen == "string" else None


def _fitting(schema: Mapping[str, Json], words: Words, rng: np.random.Generator) -> str:
    pattern = str(schema.get("pattern", ""))
    pool = {"\\d{2}:\\d{2}": "time", "\\d{4}-\\d{2}-\\d{2}": "day"}.get(pattern.strip("^$"), "")
    if words.pools.get(pool):
        return _pick(words.pools[pool], rng)
    return _pick([*words.words, *words.numbers], rng)


def acted(words: Words, rng: np.random.Generator) -> Actions:
    """Return a few calls of the tools with values from the prompt, and then the end: where deeds are the answer."""
    tools = [tool for tool in words.tools if tool.name not in FINISHERS]
    ends = [tool for tool in words.tools if tool.name in FINISHERS]
    calls = [tools[int(rng.integers(len(tools)))] for _ in range(int(rng.integers(1, 4)))] if tools else []
    return tuple(write_call(tool.name, arguments_of(tool, words, rng)) for tool in [*calls, *ends[:1]])


def proposed(name: str, words: Words, rng: np.random.Generator) -> Actions | None:
    """Return the actions of one try of a family, or None where it makes nothing of this task."""
    if words.carrier is None:
        return acted(words, rng)
    text = FAMILIES[name](words, rng)
    return None if text is None else words.carrier.carrying(text)
