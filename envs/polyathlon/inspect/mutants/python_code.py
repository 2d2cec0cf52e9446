"""Python made wrong: one edit of the syntax tree, written out again. Nothing is run here."""

from __future__ import annotations

import ast
import copy
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass

from polyathlon.inspect.mutants import python_edits as edits
from polyathlon.inspect.mutants.picking import Picker
from polyathlon.inspect.mutants.python_edits import Edit

_RELATIONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    **{ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt},
    **{ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot},
}
_TURNED: dict[type[ast.cmpop], type[ast.cmpop]] = {ast.Lt: ast.Gt, ast.Gt: ast.Lt, ast.LtE: ast.GtE, ast.GtE: ast.LtE}
_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    **{ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.FloorDiv: ast.Mod, ast.Mod: ast.FloorDiv},
    **{ast.Div: ast.Mult, ast.Pow: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd},
}
_CALLS = {
    **{"min": "max", "max": "min", "sum": "len", "any": "all", "all": "any", "append": "extend"},
    **{"sorted": "list", "abs": "int", "round": "int", "reversed": "list", "lower": "upper", "upper": "lower"},
    **{"strip": "lstrip", "find": "rfind"},
}


@dataclass(frozen=True, slots=True)
class _Site:
    """One edit of one node: `place` counts nodes as `ast.walk` meets them."""

    operator: str
    place: int
    edit: Edit


def python_mutants(source: str, pick: Picker) -> Iterator[tuple[str, str]]:
    """Yield (operator, source): one mutant for each operator, at a place that `pick` draws.

    `source` is a module, statements out of a function, or one expression; nothing is yielded for what does not parse.
    """
    tree = parsed(source)
    if tree is None:
        return
    sites: dict[str, list[_Site]] = {}
    for place, node in enumerate(ast.walk(tree)):
        for operator, edit in _edits(node):
            sites.setdefault(operator, []).append(_Site(operator, place, edit))
    right = ast.dump(tree)
    for operator, found in sites.items():
        for site in pick.some(operator, found, len(found)):  # the first that leaves another program
            mutant = _edited(tree, site)
            if mutant is not None and ast.dump(mutant) != right:
                yield operator, ast.unparse(mutant)
                break


def parsed(source: str) -> ast.Module | None:
    """Return the tree of `source`, its common indentation aside; None where it is no Python."""
    try:
        return ast.parse(textwrap.dedent(source).strip("\n"))
    except (SyntaxError, ValueError, RecursionError):
        return None


def same_python(left: str, right: str) -> bool:
    """Return whether two sources are the same but for layout and comments."""
    one, other = parsed(left), parsed(right)
    return one is not None and other is not None and ast.dump(one) == ast.dump(other)


def _edited(tree: ast.Module, site: _Site) -> ast.Module | None:
    """Return a copy of `tree` with one edit made; None where that leaves no program."""
    mutant = copy.deepcopy(tree)
    target = next(node for place, node in enumerate(ast.walk(mutant)) if place == site.place)
    new = site.edit(target)
    if new is not target:
        put = _Putting(target, new).visit(mutant)
        assert isinstance(put, ast.Module), "no edit is of the module itself"
        mutant = put
    _fill_empty(mutant)
    ast.fix_missing_locations(mutant)
    try:
        ast.parse(ast.unparse(mutant))
    except (SyntaxError, ValueError):
        return None
    return mutant if mutant.body else None


class _Putting(ast.NodeTransformer):
    """Puts `new` in the place of one node."""

    def __init__(self, old: ast.AST, new: ast.AST | None) -> None:
        self._old, self._new = old, new

    def visit(self, node: ast.AST) -> ast.AST | None:
        """Return what stands in the place of `node`; None drops it."""
        return self._new if node is self._old else self.generic_visit(node)


def _fill_empty(tree: ast.Module) -> None:
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and not body and not isinstance(node, ast.Module):
            body.append(ast.Pass())


def _edits(node: ast.AST) -> Iterator[tuple[str, Edit]]:
    yield from _of_comparison(node)
    yield from _of_operation(node)
    yield from _of_constant(node)
    yield from _of_call(node)
    yield from _of_statement(node)
    yield from _of_function(node)


def _of_comparison(node: ast.AST) -> Iterator[tuple[str, Edit]]:
    if isinstance(node, ast.Compare):
        for k, operator in enumerate(node.ops):
            if type(operator) in _RELATIONS:
                yield "relation: boundary", edits.setting_item("ops", k, _RELATIONS[type(operator)]())
            if type(operator) in _TURNED:
                yield "relation: turned round", edits.setting_item("ops", k, _TURNED[type(operator)]())
    if isinstance(node, ast.BoolOp):
        other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield "and for or", edits.setting("op", other)
        for k in range(len(node.values)):
            yield "part of a condition dropped", edits.dropping_value(k)
    if isinstance(node, ast.If | ast.IfExp | ast.While):
        yield "condition negated", edits.negating
    if isinstance(node, ast.IfExp):
        yield "arm always taken", edits.giving("body")
    if isinstance(node, ast.comprehension) and node.ifs:
        yield "filter dropped", edits.setting("ifs", [])


def _of_operation(node: ast.AST) -> Iterator[tuple[str, Edit]]:
    if isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in _ARITHMETIC:
        yield "arithmetic swapped", edits.setting("op", _ARITHMETIC[type(node.op)]())
    if isinstance(node, ast.BinOp):
        if not isinstance(node.op, ast.Add | ast.Mult | ast.BitAnd | ast.BitOr):
            yield "operands swapped", edits.turning
        yield "operand dropped", edits.giving("left")
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.Not):
        yield "sign or not dropped", edits.giving("operand")
    if isinstance(node, ast.Slice):
        yield "limit removed", edits.setting("upper" if node.upper is not None else "lower", None)


def _of_constant(node: ast.AST) -> Iterator[tuple[str, Edit]]:
    if not isinstance(node, ast.Constant):
        return
    if isinstance(node.value, bool):
        yield "flag flipped", edits.setting("value", not node.value)
    elif isinstance(node.value, int | float):
        yield "constant +1", edits.setting("value", node.value + 1)
        if node.value > 0:
            yield "constant -1", edits.setting("value", node.value - 1)
    elif isinstance(node.value, str) and node.value:
        yield "text cut", edits.setting("value", node.value[:-1])


def _of_call(node: ast.AST) -> Iterator[tuple[str, Edit]]:
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple) and len(node.value.elts) == 2:
        yield "assigned one after the other", edits.swapping_elements
    if not isinstance(node, ast.Call):
        return
    name = _called(node)
    if name in _CALLS:
        yield "other function", edits.renaming(_CALLS[name])
    if name == "range" and node.args:
        yield "range one shorter", edits.range_end(-1)
        yield "range one longer", edits.range_end(1)
        yield "range from one later", edits.range_start
    if len(node.args) == 2 and name not in ("min", "max") and not isinstance(node.args[0], ast.Starred):
        yield "arguments swapped", edits.swapping_arguments
    if name in ("min", "max") and len(node.args) == 2:
        yield "limit removed", edits.giving_item("args", 0)
    for k, keyword in enumerate(node.keywords):
        if keyword.arg in ("key", "reverse", "default"):
            yield f"argument {keyword.arg} dropped", edits.dropping_keyword(k)


def _of_statement(node: ast.AST) -> Iterator[tuple[str, Edit]]:
    if isinstance(node, ast.Assign | ast.AugAssign | ast.Expr | ast.If | ast.For | ast.Continue | ast.Break):
        is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if not is_text:
            yield "statement dropped", lambda _: None
    if isinstance(node, ast.Raise):
        yield "exception swallowed", lambda _: ast.Pass()
        if isinstance(node.exc, ast.Call):
            yield "another exception", edits.other_exception
    if isinstance(node, ast.If) and node.orelse:
        yield "else dropped", edits.setting("orelse", [])
    if isinstance(node, ast.Continue):
        yield "break for continue", lambda _: ast.Break()
    if isinstance(node, ast.Break):
        yield "continue for break", lambda _: ast.Pass()
    if isinstance(node, ast.Return) and node.value is not None:
        yield "default returned", edits.setting("value", ast.Constant(0))
        yield "nothing returned", edits.setting("value", ast.Constant(None))
        yield "other type returned", edits.as_text


def _of_function(node: ast.AST) -> Iterator[tuple[str, Edit]]:
    if not isinstance(node, ast.FunctionDef):
        return
    if any(isinstance(inner, ast.Raise) for inner in ast.walk(node)):
        yield "any exception swallowed", edits.guarded
    for argument in node.args.args[1:]:
        yield "parameter ignored", edits.ignoring(argument.arg)
    if any(isinstance(inner, ast.Return) for inner in node.body) and len(node.body) > 1:
        yield "argument returned", edits.argument_returned


def _called(node: ast.Call) -> str:
    if isinstance(node.func, ast.Name):
        return node.func.id
    return node.func.attr if isinstance(node.func, ast.Attribute) else ""
