"""Moves and expressions made wrong: an illegal token, an operand used again or changed, an operator swapped, a cut."""

from __future__ import annotations

import re
from collections.abc import Iterator

from polyathlon.inspect.mutants.numbers import number_mutants
from polyathlon.inspect.mutants.picking import Picker

_OTHER = {"+": "-", "-": "+", "*": "+", "/": "*"}
_TOKEN = re.compile(r"\d+|[-+*/()]|[^\s\d()*/+-]+")


def move_mutants(move: str, pick: Picker) -> Iterator[tuple[str, str]]:
    """Yield (operator, move): one mutant for each operator, at a place that `pick` draws."""
    tokens = list(_TOKEN.finditer(move))
    numbers = [match for match in tokens if match[0].isdecimal()]
    signs = [match for match in tokens if match[0] in _OTHER]
    for match in pick.one("operator swapped", signs):
        yield "operator swapped", _put(move, match, _OTHER[match[0]])
    for match in pick.one("illegal token", signs or tokens):
        yield "illegal token", _put(move, match, "^")
    sites: dict[str, list[str]] = {}
    for match in numbers:
        for operator, mutant in number_mutants(match[0]):
            sites.setdefault(f"operand {operator}", []).append(_put(move, match, mutant))
    for operator, mutants in sites.items():
        yield from ((operator, mutant) for mutant in pick.one(operator, mutants))
    for match in pick.one("operand used again", numbers if signs else []):
        yield "operand used again", f"{move}+{match[0]}-{match[0]}"
        yield "operand used again, neutral", f"{move}*{match[0]}/{match[0]}"
    if len(numbers) > 1 and numbers[0][0] != numbers[-1][0]:
        first, last = numbers[0], numbers[-1]
        swapped = f"{move[: first.start()]}{last[0]}{move[first.end() : last.start()]}{first[0]}{move[last.end() :]}"
        yield "first and last operand swapped", swapped
    if move.find("(") >= 0:
        yield "brackets dropped", move.replace("(", "").replace(")", "")
    if len(tokens) > 1:
        yield "truncated", move[: tokens[-1].start()].rstrip()
        yield "truncated to half", move[: tokens[len(tokens) // 2].start()].rstrip()
    yield "claimed", f"{move}=0"


def _put(move: str, match: re.Match[str], new: str) -> str:
    return move[: match.start()] + new + move[match.end() :]
