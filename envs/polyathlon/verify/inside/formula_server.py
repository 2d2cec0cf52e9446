"""Decides about formulas with SymPy in processes that are thrown away; sent trees only, never a text to evaluate.

Standard input: a line of JSON for each question: {"ask": "same" | "proportional" | "value", "terms": [tree, ...],
"numbers": "complex" | "real" | "positive", "seed": text, "cpu_s", "wall_s", "memory_bytes"}; a tree is a flat
list, each node after its parts: [op, name, numerator, denominator, number of parts]. Standard output: a line "ready",
then for each question a line of JSON, {"answer": ..., "cpu_s": ...}: "same", "different" or "unproven", or the digits
of a value. Every question is answered in a fork that is killed when it takes too long or too much; the answer is then
"unproven".
"""

from __future__ import annotations

# sound everywhere, int: digits that the judge wrote
import contextlib
import hashlib
import json
import math
import os
import resource
import select
import signal
import sys
from collections.abc import Callable
from typing import Any

import mpmath
import sympy

NUM_POINTS = 24
MIN_POINTS = 8
NUM_DIGITS = 50
AGREES = mpmath.mpf(10) ** -30

FUNCTIONS: dict[str, str] = {"arcsin": "asin", "arccos": "acos", "arctan": "atan", "ln": "log"}

Tree = list[Any]


def nested(flat: list[Any]) -> Tree:
    """Return the tree of a flat list as [op, name, numerator, denominator, parts]."""
    stack: list[Tree] = []
    for op, name, top, bottom, num_parts in flat:
        first = len(stack) - num_parts
        parts, stack = stack[first:], stack[:first]
        stack.append([op, name, top, bottom, parts])
    return stack[0]


def built(tree: Tree, leaves: dict[str, Any]) -> Any:
    """Return the SymPy expression of `tree`; `leaves` are its symbols."""
    op, name, top, bottom, parts = tree[0], str(tree[1]), tree[2], tree[3], tree[4]
    if op == "number":
        return sympy.Rational(int(top), int(bottom))
    if op == "symbol":
        return leaves[name]
    if op == "constant":
        return {"pi": sympy.pi, "e": sympy.E, "i": sympy.I, "oo": sympy.oo}[name]
    inner = [built(part, leaves) for part in parts]
    if op == "call":
        return getattr(sympy, FUNCTIONS.get(name, name))(inner[0])
    return {
        "add": lambda: sympy.Add(*inner),
        "neg": lambda: -inner[0],
        "mul": lambda: sympy.Mul(*inner),
        "div": lambda: inner[0] / inner[1],
        "pow": lambda: sympy.Pow(inner[0], inner[1]),
        "factorial": lambda: sympy.factorial(inner[0]),
        "abs": lambda: sympy.Abs(inner[0]),
    }[op]()


def valued(tree: Tree, point: dict[str, Any]) -> Any:
    """Return the value of `tree` at `point` in mpmath's numbers. Raises ZeroDivisionError, ValueError."""
    op, name, top, bottom, parts = tree[0], str(tree[1]), tree[2], tree[3], tree[4]
    if op == "number":
        return mpmath.mpf(int(top)) / int(bottom)
    if op == "symbol":
        return point[name]
    if op == "constant":
        return {"pi": mpmath.pi, "e": mpmath.e, "i": mpmath.mpc(0, 1), "oo": mpmath.inf}[name] + 0
    inner = [valued(part, point) for part in parts]
    if op == "call":
        return getattr(mpmath, FUNCTIONS.get(name, name))(inner[0])
    return {
        "add": lambda: mpmath.fsum(inner),
        "neg": lambda: -inner[0],
        "mul": lambda: mpmath.fprod(inner),
        "div": lambda: inner[0] / inner[1],
        "pow": lambda: mpmath.power(inner[0], inner[1]),
        "factorial": lambda: mpmath.factorial(inner[0]),
        "abs": lambda: abs(inner[0]),
    }[op]()


def names_in(tree: Tree) -> set[str]:
    """Return the names of the symbols of `tree`."""
    own = {tree[1]} if tree[0] == "symbol" else set()
    return own.union(*(names_in(part) for part in tree[4]))


def drawn(names: list[str], numbers: str, seed: str) -> dict[str, Any]:
    """Return a point: a number for each of `names`, that follow from `seed`."""
    point = {}
    for name in names:
        bits = hashlib.sha512(f"{seed}{name}".encode()).digest()
        first, second = (mpmath.mpf(int.from_bytes(half)) / 2**256 for half in (bits[:32], bits[32:]))
        if numbers == "positive":
            point[name] = 3 * first + mpmath.mpf(1) / 100
        elif numbers == "real":
            point[name] = 6 * first - 3
        else:
            point[name] = mpmath.mpc(4 * first - 2, 4 * second - 2)
    return point


def refuted(question: dict[str, Any]) -> bool | None:
    """Return whether some point tells the two trees apart; None where too few points have values."""
    left, right = question["terms"]
    names = sorted(names_in(left) | names_in(right))
    num_met, first = 0, None
    for number in range(NUM_POINTS if names else 1):
        point = drawn(names, question["numbers"], f"{question['seed']} {number}")
        with contextlib.suppress(ZeroDivisionError, ValueError, OverflowError, TypeError):
            one, other = valued(left, point), valued(right, point)
            if not (mpmath.isfinite(one) and mpmath.isfinite(other)):
                continue
            num_met += 1
            if question["ask"] == "proportional":
                first = first or (one, other)
                one, other = one * first[1], other * first[0]
            if abs(one - other) > AGREES * max(abs(one), abs(other), mpmath.mpf(1)):
                return True
    return False if num_met >= (MIN_POINTS if names else 1) else None


def proven(question: dict[str, Any]) -> bool:
    """Return whether SymPy shows that the two trees are the same, or in a fixed ratio."""
    kinds: dict[str, dict[str, bool]] = {"complex": {}, "real": {"real": True}, "positive": {"positive": True}}
    names = sorted(set().union(*(names_in(tree) for tree in question["terms"])))
    leaves = {name: sympy.Symbol(f"s{k}", **kinds[question["numbers"]]) for k, name in enumerate(names)}
    one, other = (built(tree, leaves) for tree in question["terms"])
    if question["ask"] == "proportional":
        ratio = sympy.simplify(one / other)
        return not ratio.free_symbols and ratio.is_zero is False and ratio.is_finite is True
    gap = one - other
    attempts: tuple[Callable[[Any], Any], ...] = (
        sympy.expand,
        sympy.simplify,
        lambda each: sympy.radsimp(sympy.expand(each, func=True)),
    )
    return any(attempt(gap).is_zero for attempt in attempts) or gap.equals(0) is True


def answered(question: dict[str, Any]) -> str:
    """Return the answer to a question."""
    mpmath.mp.dps = NUM_DIGITS
    if question["ask"] == "value":
        value = valued(question["terms"][0], {})
        return (
            mpmath.nstr(value, NUM_DIGITS - 10)
            if isinstance(value, mpmath.mpf) and mpmath.isfinite(value)
            else "unproven"
        )
    known = refuted(question)
    if known:
        return "different"
    return "same" if known is not None and proven(question) else "unproven"


def main() -> None:
    """Answer the questions on standard input, each in a fork of its own."""
    print("ready", flush=True)
    for line in sys.stdin:
        question = json.loads(line)  # sound: the judge wrote it
        question["terms"] = [nested(flat) for flat in question["terms"]]
        receive, send = os.pipe()
        child = os.fork()
        if child == 0:
            answer(question, send)
        os.close(send)
        text = waited(receive, question["wall_s"])
        os.close(receive)
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        _, _, usage = os.wait4(child, 0)
        print(json.dumps({"answer": text or "unproven", "cpu_s": usage.ru_utime + usage.ru_stime}), flush=True)


def answer(question: dict[str, Any], send: int) -> None:
    """Write the answer to `send` and end this process."""
    status = 1
    try:
        seconds = math.ceil(question["cpu_s"])
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        resource.setrlimit(resource.RLIMIT_AS, (question["memory_bytes"], question["memory_bytes"]))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.dup2(os.open(os.devnull, os.O_RDWR), 2)
        os.write(send, answered(question).encode("ascii"))
        status = 0
    finally:
        os._exit(status)


def waited(receive: int, wall_s: float) -> str:
    """Return what comes from `receive` until it is closed; "" when that takes longer than `wall_s`."""
    ready, _, _ = select.select([receive], [], [], wall_s)
    return os.read(receive, 4096).decode("ascii") if ready else ""


if __name__ == "__main__":
    main()
