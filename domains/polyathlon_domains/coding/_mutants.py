"""Small faults in Python programs: where each can be put, and the program with some of them in it."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

_COMPARE: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.Gt),
    ast.LtE: (ast.Lt, ast.GtE),
    ast.Gt: (ast.GtE, ast.Lt),
    ast.GtE: (ast.Gt, ast.LtE),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
# never to a product: a loop that squares would not end
_BINARY: dict[type[ast.operator], tuple[type[ast.operator], ...]] = {
    ast.Add: (ast.Sub,),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Add,),
    ast.FloorDiv: (ast.Mod,),
    ast.Mod: (ast.FloorDiv,),
}
_CALLS = {"min": "max", "max": "min", "sum": "len", "any": "all", "all": "any"}


@dataclass(frozen=True, slots=True)
class Fault:
    """One edit of a tree: `owner.field` (its `index`-th element, if a list) becomes `new`. `line` counts from 1."""

    owner: ast.AST
    field: str
    index: int | None
    new: Any
    line: int
    label: str

    def put(self) -> Any:
        """Make the edit in place, and return what stood there."""
        if self.index is None:
            old = getattr(self.owner, self.field)
            setattr(self.owner, self.field, self.new)
            return old
        elements = getattr(self.owner, self.field)
        old, elements[self.index] = elements[self.index], self.new
        return old

    def undo(self, old: Any) -> None:
        """Put `old`, which `put` returned, back."""
        if self.index is None:
            setattr(self.owner, self.field, old)
        else:
            getattr(self.owner, self.field)[self.index] = old


def faults(tree: ast.AST, *, names: Sequence[str] = ()) -> list[Fault]:
    """Return every fault that fits somewhere in `tree`, in an order that depends on the tree alone.

    With `names`, a variable of these may also be mistaken for the next of them.
    """
    return [fault for node in ast.walk(tree) for fault in _of(node, names)]


@contextlib.contextmanager
def faulty(chosen: Sequence[Fault]) -> Iterator[None]:
    """Keep the `chosen` faults in their tree for a while, and take them out again."""
    olds = [fault.put() for fault in chosen]
    try:
        yield
    finally:
        for fault, old in zip(reversed(chosen), reversed(olds), strict=True):
            fault.undo(old)


def written(tree: ast.AST, chosen: Sequence[Fault]) -> str:
    """Return the source of `tree` with the `chosen` faults in it; the tree is left as it was."""
    with faulty(chosen):
        return ast.unparse(tree)


def _of(node: ast.AST, names: Sequence[str]) -> Iterator[Fault]:
    line = getattr(node, "lineno", 0)
    if isinstance(node, ast.Compare):
        for index, operator in enumerate(node.ops):
            for other in _COMPARE.get(type(operator), ()):
                yield Fault(node, "ops", index, other(), line, "comparison")
    elif isinstance(node, ast.BinOp | ast.AugAssign):
        for swapped in _BINARY.get(type(node.op), ()):
            yield Fault(node, "op", None, swapped(), line, "arithmetic")
    elif isinstance(node, ast.Constant):
        yield from _of_constant(node, line)
    elif isinstance(node, ast.BoolOp):
        yield Fault(node, "op", None, ast.Or() if isinstance(node.op, ast.And) else ast.And(), line, "connective")
    elif isinstance(node, ast.Name) and node.id in names and isinstance(node.ctx, ast.Load):
        following = names[(list(names).index(node.id) + 1) % len(names)]
        if following != node.id:
            yield Fault(node, "id", None, following, line, "variable")
    yield from _of_call(node, line)
    yield from _of_flow(node, line)


def _of_constant(node: ast.Constant, line: int) -> Iterator[Fault]:
    if type(node.value) is bool:
        yield Fault(node, "value", None, not node.value, line, "flag")
    elif type(node.value) is int:
        yield Fault(node, "value", None, node.value + 1, line, "constant")
        if node.value != 0:
            yield Fault(node, "value", None, node.value - 1, line, "constant")


def _of_call(node: ast.AST, line: int) -> Iterator[Fault]:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield Fault(node, "op", None, ast.UAdd(), line, "sign")
    if not isinstance(node, ast.Call):
        return
    if isinstance(node.func, ast.Name) and node.func.id in _CALLS:
        yield Fault(node.func, "id", None, _CALLS[node.func.id], line, "call")
    if len(node.args) == 2 and isinstance(node.func, ast.Name) and node.func.id not in _CALLS:
        yield Fault(node, "args", None, [node.args[1], node.args[0]], line, "arguments")


def _of_flow(node: ast.AST, line: int) -> Iterator[Fault]:
    if isinstance(node, ast.If | ast.IfExp):
        yield Fault(node, "test", None, ast.UnaryOp(ast.Not(), node.test), line, "condition")
    for field in ("body", "orelse"):
        body = getattr(node, field, None)
        for index, inner in enumerate(body if isinstance(body, list) else ()):
            if isinstance(inner, ast.Continue):
                yield Fault(node, field, index, ast.Break(), inner.lineno, "flow")
            elif isinstance(inner, ast.AugAssign):
                yield Fault(node, field, index, ast.Pass(), inner.lineno, "dropped statement")
