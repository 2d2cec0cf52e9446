"""Running code that this family generated, never a policy's, and choosing the inputs that tell programs apart."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from polyathlon.canonical import Json, canonical_json

MAX_ROUNDS = 500  # loop rounds and calls of one run: ours need fewer, a mutant that needs more never ends
TOO_LONG: Json = {"error": "(too long)"}


class _TooLong(BaseException):
    pass


def load(program: ast.Module | str, entry: str) -> Callable[[Sequence[Json]], Json]:
    """Return what runs `entry` of our own program on a copy of arguments: {"value": ...} or {"error": ...}.

    A program given as a tree is changed: rounds are counted in it.
    """
    module = ast.parse(program) if isinstance(program, str) else program
    rounds = [0]

    def tick() -> None:
        rounds[0] += 1
        if rounds[0] > MAX_ROUNDS:
            raise _TooLong

    counted = ast.fix_missing_locations(_Counting().visit(module))
    scope: dict[str, Any] = {"_tick": tick}
    exec(compile(counted, "<generated>", "exec"), scope)  # noqa: S102  # generated here, from trusted templates
    function = scope[entry]

    def run(arguments: Sequence[Json]) -> Json:
        rounds[0] = 0
        try:
            return {"value": function(*map(_fresh, arguments))}
        except Exception as error:  # whatever our own program raises is its outcome
            return {"error": type(error).__name__}
        except _TooLong:
            return TOO_LONG

    return run


def outcomes(program: ast.Module | str, entry: str, cases: Sequence[Sequence[Json]]) -> list[str]:
    """Return the outcome of `entry` of our own `program` on each list of arguments, as canonical JSON.

    What is no plain JSON reads as its `repr`, so that it equals no outcome that is.
    """
    run = load(program, entry)
    return [_text(run(arguments)) for arguments in cases]


def share_equal(found: Sequence[str], wanted: Sequence[str]) -> float:
    """Return the share of places where two equally long lists agree, in [0, 1]."""
    return sum(a == b for a, b in zip(found, wanted, strict=True)) / len(wanted)


def best_constant_share(wanted: Sequence[str]) -> float:
    """Return the share of the most frequent outcome: what the best constant program gets."""
    return max(Counter(wanted).values()) / len(wanted)


def telling(wanted: Sequence[str], rivals: Sequence[Sequence[str]], *, num_cases: int) -> list[int]:
    """Return `num_cases` places that tell `wanted` from every rival that can be told, outcomes as varied as may be.

    The first half is greedy: each next place is the one that the rivals caught least so far get wrong, then the rarest
    outcome. The rest are the first places left whose outcome is new, so that a program half right gets some of them.
    """
    caught = [0] * len(rivals)
    seen: Counter[str] = Counter()
    chosen: list[int] = []
    left = list(range(len(wanted)))
    while left and len(chosen) < num_cases // 2:
        best = max(left, key=lambda place: (_gain(place, wanted, rivals, caught) - 2.0 * seen[wanted[place]], -place))
        left.remove(best)
        chosen.append(best)
        seen[wanted[best]] += 1
        caught = [times + (rival[best] != wanted[best]) for times, rival in zip(caught, rivals, strict=True)]
    left.sort(key=lambda place: (seen[wanted[place]], place))
    return sorted([*chosen, *left[: num_cases - len(chosen)]])


def _gain(place: int, wanted: Sequence[str], rivals: Sequence[Sequence[str]], caught: Sequence[int]) -> float:
    told = (times for times, rival in zip(caught, rivals, strict=True) if rival[place] != wanted[place])
    return sum(1 / (1 + times) ** 2 for times in told)


def _fresh(value: Any) -> Any:
    if isinstance(value, list):
        return [_fresh(inner) for inner in value]
    return {key: _fresh(inner) for key, inner in value.items()} if isinstance(value, dict) else value


def _text(value: Json) -> str:
    try:
        return canonical_json(value)
    except (TypeError, ValueError):
        return repr(value)


class _Counting(ast.NodeTransformer):
    """Counts every round of a loop and every call of a function."""

    def visit_For(self, node: ast.For) -> Any:
        return self._counted(node)

    def visit_While(self, node: ast.While) -> Any:
        return self._counted(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        return self._counted(node)

    def _counted(self, node: Any) -> Any:
        self.generic_visit(node)
        tick = ast.Expr(ast.Call(ast.Name("_tick", ast.Load()), [], []))
        node.body = [tick, *node.body]
        return node
