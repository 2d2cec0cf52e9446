"""Running code that this family generated, never a policy's, and choosing the inputs that tell programs apart."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from polyathlon.canonical import Json, canonical_json
from polyathlon_domains.coding._mutants import Fault, faulty

MAX_ROUNDS = 1_500  # branches taken and calls of one run: ours need fewer, a mutant that needs more never ends
TOO_LONG: Json = {"error": "(too long)"}


class _TooLong(BaseException):
    pass


class OwnProgram:
    """A program of ours, ready to be run with and without faults in it; branches are counted as they are taken."""

    def __init__(self, program: ast.Module | str, entry: str) -> None:
        """Take a source, or a tree, which is changed."""
        tree = _Counting().visit(ast.parse(program) if isinstance(program, str) else program)
        self.tree: ast.Module = ast.fix_missing_locations(tree)
        self._entry = entry

    def outcomes(self, cases: Sequence[Sequence[Json]], *, faults: Sequence[Fault] = ()) -> list[str]:
        """Return {"value": ...} or {"error": class name} of a call on a copy of each list of arguments, as JSON text.

        What is no plain JSON reads as its `repr`, so that it equals no outcome that is. `faults` are of `self.tree`.
        """
        return [text for text, _ in self._run(cases, faults)]

    def branches(self, cases: Sequence[Sequence[Json]]) -> list[frozenset[str]]:
        """Return the numbers of the branches that each call takes."""
        return [taken for _, taken in self._run(cases, ())]

    def _run(self, cases: Sequence[Sequence[Json]], faults: Sequence[Fault]) -> list[tuple[str, frozenset[str]]]:
        taken: list[str] = []

        def take(branch: str) -> None:
            taken.append(branch)
            if len(taken) > MAX_ROUNDS:
                raise _TooLong

        scope: dict[str, Any] = {"_take": take}
        with faulty(faults):
            for fault in faults:
                _place(fault)
            code = compile(self.tree, "<generated>", "exec")
        exec(code, scope)  # noqa: S102  # generated here, from trusted templates
        found = []
        for arguments in cases:
            taken.clear()
            found.append((_text(_outcome(scope[self._entry], arguments)), frozenset(taken)))
        return found


def outcomes(program: ast.Module | str, entry: str, cases: Sequence[Sequence[Json]]) -> list[str]:
    """Return the outcomes of a program of ours; see OwnProgram.outcomes. A tree is changed."""
    return OwnProgram(program, entry).outcomes(cases)


def share_equal(found: Sequence[str], wanted: Sequence[str]) -> float:
    """Return the share of places where two equally long lists agree, in [0, 1]."""
    return sum(a == b for a, b in zip(found, wanted, strict=True)) / len(wanted)


def best_constant_share(wanted: Sequence[str]) -> float:
    """Return the share of the most frequent outcome: what the best constant program gets."""
    return max(Counter(wanted).values()) / len(wanted)


def branch_rivals(branches: Sequence[frozenset[str]], wanted: Sequence[str]) -> list[list[str]]:
    """Return a rival for each branch, wrong wherever that branch is taken: telling them all takes every branch."""
    known = sorted(frozenset[str]().union(*branches))
    return [["" if k in taken else text for taken, text in zip(branches, wanted, strict=True)] for k in known]


def telling(wanted: Sequence[str], rivals: Sequence[Sequence[str]], *, num_cases: int) -> list[int]:
    """Return `num_cases` places that tell `wanted` from every rival that can be told, outcomes as varied as may be.

    Greedy: each next place is the one that the rivals caught least so far get wrong, then the rarest outcome. Once half
    the places are chosen and all rivals caught, the rest are the first whose outcome is new, so that a program half
    right gets some of them.
    """
    caught = [0] * len(rivals)
    seen: Counter[str] = Counter()
    chosen: list[int] = []
    left = list(range(len(wanted)))
    while left and len(chosen) < num_cases:
        gains = {place: _gain(place, wanted, rivals, caught) for place in left}
        fresh = any(
            rival[place] != wanted[place] for place in left for rival, n in zip(rivals, caught, strict=True) if not n
        )
        if len(chosen) >= num_cases // 2 and not fresh:
            break
        best = max(left, key=lambda place: (gains[place] - 2.0 * (not fresh) * seen[wanted[place]], -place))
        left.remove(best)
        chosen.append(best)
        seen[wanted[best]] += 1
        caught = [times + (rival[best] != wanted[best]) for times, rival in zip(caught, rivals, strict=True)]
    left.sort(key=lambda place: (seen[wanted[place]], place))
    return sorted([*chosen, *left[: num_cases - len(chosen)]])


def calls_that_tell(
    program: OwnProgram,
    faults: Sequence[Fault],
    calls: Sequence[Sequence[Json]],
    pool: Sequence[Sequence[Json]],
    *,
    most: int,
) -> list[Sequence[Json]]:
    """Return up to `most` calls of `pool`, such that they and `calls` tell every one of `faults` that the pool can."""
    chosen: list[Sequence[Json]] = []
    wanted, more = program.outcomes(calls), program.outcomes(pool)
    for fault in faults:
        here = [*calls, *chosen]
        if len(chosen) >= most or program.outcomes(here, faults=[fault]) != wanted:
            continue
        found = program.outcomes(pool, faults=[fault])
        place = next((k for k, (one, right) in enumerate(zip(found, more, strict=True)) if one != right), None)
        if place is not None:
            chosen.append(pool[place])
            wanted = [*wanted, more[place]]
    return chosen


def _gain(place: int, wanted: Sequence[str], rivals: Sequence[Sequence[str]], caught: Sequence[int]) -> float:
    told = (times for times, rival in zip(caught, rivals, strict=True) if rival[place] != wanted[place])
    return sum(1 / (1 + times) ** 2 for times in told)


def _place(fault: Fault) -> None:
    """Give what `fault` puts in a place in the source. All else has one, and to place it anew costs more than a run."""
    if isinstance(fault.new, ast.expr | ast.stmt):
        fault.new.lineno = fault.new.end_lineno = max(1, fault.line)
        fault.new.col_offset = fault.new.end_col_offset = 0


def _outcome(function: Callable[..., Any], arguments: Sequence[Json]) -> Json:
    try:
        return {"value": function(*map(_fresh, arguments))}
    except Exception as error:  # whatever our own program raises is its outcome
        return {"error": type(error).__name__}
    except _TooLong:
        return TOO_LONG


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
    """Counts every round of a loop, every call of a function and every way out of an `if`, each under its number."""

    def __init__(self) -> None:
        self._branches = 0

    def visit_If(self, node: ast.If) -> Any:
        self.generic_visit(node)
        node.orelse = [self._take(), *node.orelse]
        node.body = [self._take(), *node.body]
        return node

    def visit_For(self, node: ast.For) -> Any:
        return self._counted(node)

    def visit_While(self, node: ast.While) -> Any:
        return self._counted(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        return self._counted(node)

    def _counted(self, node: Any) -> Any:
        self.generic_visit(node)
        node.body = [self._take(), *node.body]
        return node

    def _take(self) -> ast.stmt:
        self._branches += 1
        # the number is text: a fault may change any integer
        return ast.Expr(ast.Call(ast.Name("_take", ast.Load()), [ast.Constant(f"{self._branches}")], []))
