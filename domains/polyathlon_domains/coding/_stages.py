"""Steps over a list of integers, each as Python lines and as a sentence that says exactly what it does.

A stage is [kind, parameters...]: plain JSON. Lines use the symbols {v} (the list), {x}, {y} (values), {i}, {j}
(positions), {o} (a new list), {t}, {u} (numbers), which get their names when a task is rendered.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from polyathlon_domains.coding import _phrases as phrases

Rng = np.random.Generator
_X = {"X": "{x}"}


@dataclass(frozen=True, slots=True)
class Stage:
    """A kind of step: draws its parameters, writes its lines, says its sentence."""

    draw: Callable[[Rng], list[Any]]
    lines: Callable[..., list[str]]
    words: Callable[..., str]


def _number(low: int, high: int) -> Callable[[Rng], int]:
    return lambda rng: int(rng.integers(low, high + 1))


def _drawn(*parts: Callable[[Rng], Any]) -> Callable[[Rng], list[Any]]:
    return lambda rng: [part(rng) for part in parts]


def _test(rng: Rng) -> list[Any]:
    return phrases.draw_test(rng)


def _pair(low: int, high: int, gap: int) -> Callable[[Rng], list[int]]:
    def draw(rng: Rng) -> list[int]:
        first = int(rng.integers(low, high))
        return [first, first + int(rng.integers(gap, 4 * gap))]

    return draw


def _if(test: Sequence[Any]) -> str:
    return phrases.test_code("X", test, _X)


def _said(test: Sequence[Any]) -> str:
    return phrases.test_words(test, {})


TRANSFORMS: Mapping[str, Stage] = {
    "keep": Stage(
        _drawn(_test),
        lambda test: ["{o} = []", "for {x} in {v}:", f"    if {_if(test)}:", "        {o}.append({x})", "{v} = {o}"],
        lambda test: f"Keep only the values that are {_said(test)}.",
    ),
    "change": Stage(
        _drawn(_test, _number(2, 5), _number(1, 30)),
        lambda test, factor, less: [
            *("{o} = []", "for {x} in {v}:", f"    if {_if(test)}:", f"        {{o}}.append({{x}} * {factor})"),
            *("    else:", f"        {{o}}.append({{x}} - {less})", "{v} = {o}"),
        ],
        lambda test, factor, less: (
            f"Multiply each value that is {_said(test)} by {factor}; subtract {less} from every other value."
        ),
    ),
    "clamp": Stage(
        _drawn(_pair(2, 25, 6)),
        lambda ends: [
            *("{o} = []", "for {x} in {v}:", f"    if {{x}} < {ends[0]}:", f"        {{x}} = {ends[0]}"),
            *(f"    elif {{x}} > {ends[1]}:", f"        {{x}} = {ends[1]}", "    {o}.append({x})", "{v} = {o}"),
        ],
        lambda ends: f"Raise values below {ends[0]} to {ends[0]} and lower values above {ends[1]} to {ends[1]}.",
    ),
    "differences": Stage(
        _drawn(_number(2, 9)),
        lambda factor: [
            *("{o} = []", "for {i} in range(1, len({v})):"),
            *(f"    {{o}}.append({{v}}[{{i}}] * {factor} - {{v}}[{{i}} - 1])", "{v} = {o}"),
        ],
        lambda factor: (
            f"Replace the list by one that is shorter by one: {factor} times each value after the first, minus the "
            "value just before it."
        ),
    ),
    "running": Stage(
        _drawn(_number(40, 160)),
        lambda most: [
            *("{o} = []", "{t} = 0", "for {x} in {v}:", "    {t} += {x}", f"    if {{t}} > {most}:"),
            *("        {t} = 0", "    {o}.append({t})", "{v} = {o}"),
        ],
        lambda most: (
            f"Replace each value by the running total up to and including it; a total above {most} becomes 0 at once, "
            "and counting goes on from there."
        ),
    ),
    "runs": Stage(
        _drawn(_number(1, 4)),
        lambda near: [
            *("{o} = []", "for {x} in {v}:", f"    if not {{o}} or abs({{o}}[-1] - {{x}}) > {near}:"),
            *("        {o}.append({x})", "{v} = {o}"),
        ],
        lambda near: f"From left to right, drop every value that differs by {near} or less from the last one kept.",
    ),
    "every": Stage(
        _drawn(_number(0, 2), _number(2, 3)),
        lambda first, step: [f"{{v}} = {{v}}[{first}::{step}]"],
        lambda first, step: f"Keep the values at positions {first}, {first + step}, {first + 2 * step} and so on.",
    ),
    "windows": Stage(
        _drawn(_number(2, 3)),
        lambda width: [
            *("{o} = []", f"for {{i}} in range(len({{v}}) - {width} + 1):"),
            *(f"    {{o}}.append(sum({{v}}[{{i}}:{{i}} + {width}]))", "{v} = {o}"),
        ],
        lambda width: f"Replace the list by the sums of every {width} neighbouring values, from left to right.",
    ),
    "rotate": Stage(
        _drawn(_number(1, 9)),
        lambda shift: ["if {v}:", f"    {{t}} = {shift} % len({{v}})", "    {v} = {v}[{t}:] + {v}[:{t}]"],
        lambda shift: f"Move the first value to the end, {shift} times over.",
    ),
    "sort": Stage(
        _drawn(_number(3, 12)),
        lambda modulus: [f"{{v}} = sorted({{v}}, key=lambda {{x}}: ({{x}} % {modulus}, -{{x}}))"],
        lambda modulus: (
            f"Sort by the remainder modulo {modulus}, ascending; of equal remainders the larger value first."
        ),
    ),
    "fold": Stage(
        _drawn(_number(2, 6)),
        lambda factor: [
            *("{o} = []", "{i}, {j} = (0, len({v}) - 1)", "while {i} < {j}:"),
            *(f"    {{o}}.append({{v}}[{{i}}] * {factor} + {{v}}[{{j}}])", "    {i} += 1", "    {j} -= 1", "{v} = {o}"),
        ],
        lambda factor: (
            f"Pair the first value with the last, the second with the last but one, and so on; put {factor} times the "
            "earlier plus the later of each pair in a new list. A value left over in the middle is dropped."
        ),
    ),
    "until": Stage(
        _drawn(_test),
        lambda test: [
            *(
                "{o} = []",
                "for {x} in {v}:",
                f"    if {_if(test)}:",
                "        break",
                "    {o}.append({x})",
                "{v} = {o}",
            )
        ],
        lambda test: f"Keep only what stands before the first value that is {_said(test)}.",
    ),
}

RESULTS: Mapping[str, Stage] = {
    "weighted": Stage(
        _drawn(_number(2, 4), _number(2, 9), _test),
        lambda cycle, factor, test: [
            *("{t} = 0", "for {i}, {x} in enumerate({v}):", f"    if {_if(test)}:"),
            *(
                f"        {{t}} += {{x}} * ({{i}} % {cycle} + 1)",
                "    else:",
                f"        {{t}} -= {factor}",
                "return {t}",
            ),
        ],
        lambda cycle, factor, test: (
            f"Return a total that starts at 0: a value that is {_said(test)} adds itself times its weight; any other "
            f"takes {factor} off. Weights go 1 to {cycle} by position and start again."
        ),
    ),
    "checksum": Stage(
        _drawn(_number(0, 20), _number(2, 9), _number(50, 200)),
        lambda start, factor, modulus: [
            *(
                f"{{t}} = {start}",
                "for {x} in {v}:",
                f"    {{t}} = ({{t}} * {factor} + {{x}}) % {modulus}",
                "return {t}",
            )
        ],
        lambda start, factor, modulus: (
            f"Return a checksum that starts at {start}: for each value in turn, multiply it by {factor}, add the "
            f"value, and take the remainder modulo {modulus}."
        ),
    ),
    "balance": Stage(
        _drawn(_test, _number(2, 9), _number(3, 40)),
        lambda test, factor, fee: [
            *("{t} = 0", "for {x} in {v}:", f"    if {_if(test)}:", f"        {{t}} += {{x}} * {factor}"),
            *("    else:", "        {t} -= {x}", "if {t} < 0:", f"    {{t}} -= {fee}", "return {t}"),
        ],
        lambda test, factor, fee: (
            f"Return a balance: each value that is {_said(test)} adds {factor} times itself, each other value is taken "
            f"off, and {fee} more at the end if the balance is below 0."
        ),
    ),
    "longest": Stage(
        _drawn(_test, _number(2, 9), _number(1, 3)),
        lambda test, factor, least: [
            *("{t} = {u} = 0", "for {x} in {v}:", f"    if {_if(test)}:", "        {u} += 1"),
            *("        {t} = max({t}, {u})", "    else:", "        {u} = 0"),
            *(f"return {{t}} * {factor} if {{t}} > {least} else len({{v}})",),
        ],
        lambda test, factor, least: (
            f"Find the longest run of neighbouring values that are {_said(test)}. Return its length times {factor} "
            f"when it is longer than {least}, else the number of all values."
        ),
    ),
    "reach": Stage(
        _drawn(_number(40, 140), _number(1, 9), _number(2, 30)),
        lambda goal, step, missing: [
            *("{t} = 0", "for {i}, {x} in enumerate({v}):", f"    {{t}} += {{x}} + {step}", f"    if {{t}} >= {goal}:"),
            *("        return {i}", f"return {{t}} - {missing}"),
        ],
        lambda goal, step, missing: (
            f"Add up each value plus {step} from left to right; return the position (from 0) where the total first is "
            f"{goal} or more. If it never is, return the total minus {missing}."
        ),
    ),
    "drop": Stage(
        _drawn(_number(2, 9), _number(1, 30)),
        lambda factor, less: [
            *("{t} = 0", "for {i} in range(len({v})):", "    for {j} in range({i} + 1, len({v})):"),
            *("        {t} = max({t}, {v}[{i}] - {v}[{j}])", f"return {{t}} * {factor} - {less}"),
        ],
        lambda factor, less: (
            "Find the largest amount by which a later value lies below an earlier one, 0 if none does. Return it times "
            f"{factor}, minus {less}."
        ),
    ),
    "inversions": Stage(
        _drawn(_number(0, 20), _number(2, 9), _number(1, 30)),
        lambda gap, factor, start: [
            *(f"{{t}} = {start}", "for {i} in range(len({v})):", "    for {j} in range({i} + 1, len({v})):"),
            *(f"        if {{v}}[{{i}}] > {{v}}[{{j}}] + {gap}:", f"            {{t}} += {factor}", "return {t}"),
        ],
        lambda gap, factor, start: (
            f"Return {start} plus {factor} for every pair of positions whose earlier value is larger than the later "
            f"one by more than {gap}."
        ),
    ),
    "frequent": Stage(
        _drawn(_number(3, 9), _number(2, 60)),
        lambda modulus, default: [
            *("{o} = {{}}", "for {x} in {v}:", f"    {{y}} = {{x}} % {modulus}", "    {o}[{y}] = {o}.get({y}, 0) + 1"),
            *(f"{{t}}, {{u}} = ({default}, 0)", "for {y} in sorted({o}):", "    if {o}[{y}] > {u}:"),
            *("        {t}, {u} = ({y}, {o}[{y}])", "return [{t}, {u}]"),
        ],
        lambda modulus, default: (
            f"Return [remainder, count] for the most frequent remainder modulo {modulus}, the smallest of several; "
            f"[{default}, 0] when there are no values."
        ),
    ),
    "buckets": Stage(
        _drawn(_number(2, 5), _pair(2, 30, 8)),
        lambda weight, ends: [
            *("{o} = [0, 0, 0]", "for {x} in {v}:", f"    if {{x}} < {ends[0]}:", "        {o}[0] += 1"),
            *(f"    elif {{x}} <= {ends[1]}:", f"        {{o}}[1] += {weight}", "    else:", "        {o}[2] += {x}"),
            "return {o}",
        ],
        lambda weight, ends: (
            f"Return three numbers in a list: how many values are below {ends[0]}; {weight} for each value from "
            f"{ends[0]} to {ends[1]}, both included; and the sum of the values above."
        ),
    ),
    "spread": Stage(
        _drawn(_number(2, 9), _number(5, 60), _number(2, 99)),
        lambda factor, wide, default: [
            *("if len({v}) < 2:", f"    return {default}", "{t} = max({v}) - min({v})", f"if {{t}} > {wide}:"),
            *(f"    return {{t}} // {factor}", "return {t}"),
        ],
        lambda factor, wide, default: (
            f"Return {default} for fewer than two values. Else return the largest value minus the smallest; when that "
            f"is above {wide}, divide it by {factor} and round down."
        ),
    ),
    "itself": Stage(
        _drawn(_test, _number(2, 40), _number(2, 5)),
        lambda test, bonus, most: [
            *("{o} = []", "for {x} in {v}:", f"    if {_if(test)}:", f"        {{o}}.append({{x}} + {bonus})"),
            *(f"    elif len({{o}}) < {most}:", "        {o}.append({x})", "return {o}"),
        ],
        lambda test, bonus, most: (
            f"Return a list built from left to right: a value that is {_said(test)} goes in plus {bonus}; any other "
            f"goes in only while the list holds fewer than {most}."
        ),
    ),
}

GUARDS: Mapping[str, Stage] = {
    "empty": Stage(
        _drawn(),
        lambda: ["if not {v}:", "    raise LookupError('no values')"],
        lambda: "An empty list raises LookupError.",
    ),
    "low": Stage(
        _drawn(_number(1, 4)),
        lambda least: ["for {x} in {v}:", f"    if {{x}} < -{least}:", "        raise ValueError('too low')"],
        lambda least: f"A value below -{least} raises ValueError.",
    ),
    "long": Stage(
        _drawn(_number(5, 7)),
        lambda most: [f"if len({{v}}) > {most}:", "    raise OverflowError('too long')"],
        lambda most: f"More than {most} values raise OverflowError.",
    ),
}
