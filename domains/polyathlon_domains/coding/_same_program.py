"""Whether two programs do the same on a thousand inputs that no verifier has seen: run apart from any judgement."""

from __future__ import annotations

import ast
from collections.abc import Sequence

import numpy as np

from polyathlon.canonical import Json, canonical_json
from polyathlon.sandbox.choose import default_room
from polyathlon.verify.program import MAX_SOURCE_CHARS, run_cases

NUM_INPUTS = 1_000
ENDS = (20, 100, 400, NUM_INPUTS)  # most programs that differ do so at once
MAX_LENGTH = 12


def same_program(right: str, other: str, *, entry: str, examples: Sequence[Sequence[Json]], seed: str) -> bool:
    """Return whether `entry` of both sources gives the same, errors by class, on inputs like `examples` and at bounds.

    Inputs are drawn from `seed`: the examples changed, with the programs' own numbers and those beside them. A call
    that ends in neither a value nor an error counts as different.
    """
    if len(other) > MAX_SOURCE_CHARS or not examples:
        return False
    if _read_alike(right, other):
        return True
    rng = np.random.default_rng([*seed.encode("utf-8")])
    inputs = inputs_like(examples, (right, other), rng, num_inputs=NUM_INPUTS)
    room, start = default_room(), 0
    for end in ENDS:
        some, start = inputs[start:end], end
        found = run_cases(room, other, entry=entry, arguments=some)
        if None in found:
            return False
        wanted = run_cases(room, right, entry=entry, arguments=some)
        for one, two in zip(wanted, found, strict=True):
            if one is None or canonical_json(one) != canonical_json(two):
                return False
    return True


def _read_alike(right: str, other: str) -> bool:
    """Whether both are one program to Python's parser: spaces, comments and brackets aside."""
    try:
        return ast.dump(ast.parse(right)) == ast.dump(ast.parse(other))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False


def _numbers_of(*sources: str) -> list[int]:
    """Return the whole numbers that stand in the sources, those beside them, and their negatives."""
    found: set[int] = set()
    for source in sources:
        try:
            nodes = ast.walk(ast.parse(source))
        except (SyntaxError, ValueError, RecursionError):
            continue
        found |= {node.value for node in nodes if isinstance(node, ast.Constant) and type(node.value) is int}
    return sorted({sign * number + step for number in found | {0} for sign in (1, -1) for step in (-1, 0, 1)})


def inputs_like(
    examples: Sequence[Sequence[Json]], sources: Sequence[str], rng: np.random.Generator, *, num_inputs: int
) -> list[list[Json]]:
    """Return lists of arguments like `examples`, with the numbers that stand in `sources` and those beside them."""
    numbers = _numbers_of(*sources)
    picked = (examples[int(rng.integers(len(examples)))] for _ in range(num_inputs))
    return [[_varied(argument, numbers, rng) for argument in example] for example in picked]


def _varied(value: Json, numbers: Sequence[int], rng: np.random.Generator) -> Json:
    """Return a value of the same shape: some numbers changed, lists longer, shorter or in another order."""
    if type(value) is int:
        return _number(value, numbers, rng)
    if isinstance(value, list | tuple):
        rows = [_varied(inner, numbers, rng) for inner in value]
        if rows and all(type(row) is type(rows[0]) for row in rows) and type(rows[0]) in (int, list):
            rows = _resized(rows, numbers, rng)
        return rows
    if isinstance(value, str) and value:
        letters = list(value)
        return "".join(letters[int(k)] for k in rng.permutation(len(letters)))
    return value


def _number(value: int, numbers: Sequence[int], rng: np.random.Generator) -> int:
    way = rng.random()
    if way < 0.4:
        return value
    if way < 0.7:
        return numbers[int(rng.integers(len(numbers)))]
    return value + int(rng.integers(-3, 4)) if way < 0.85 else int(rng.integers(-130, 131))


def _resized(rows: list[Json], numbers: Sequence[int], rng: np.random.Generator) -> list[Json]:
    way = rng.random()
    if way < 0.15:
        return rows[: int(rng.integers(len(rows) + 1))]
    if way < 0.35 and len(rows) < MAX_LENGTH:
        more = [rows[int(rng.integers(len(rows)))] for _ in range(int(rng.integers(1, 4)))]
        return [*rows, *(_varied(row, numbers, rng) for row in more)]
    return [rows[int(k)] for k in rng.permutation(len(rows))] if way < 0.5 else rows
