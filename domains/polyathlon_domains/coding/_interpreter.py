"""A step-limited interpreter for the small part of Python that sampled programs use. It executes nothing natively."""

from __future__ import annotations

import ast
import functools
import operator
from collections.abc import Callable, Mapping
from typing import Any

MAX_STEPS = 1_200
MAX_SIZE = 60
MAX_INTEGER = 10**9
MAX_DEPTH = 40


class ProgramError(Exception):
    """The program leaves the language, its limits, or the ground of sense (a bad index, a missing key)."""


_BINARY: Mapping[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Div: operator.truediv,
}
_IN_PLACE: Mapping[type[ast.AST], Callable[[Any, Any], Any]] = {**_BINARY, ast.Add: operator.iadd}
_COMPARE: Mapping[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.In: lambda left, right: left in right,
    ast.Is: operator.is_,
}
_BUILTINS: Mapping[str, Callable[..., Any]] = {
    "len": len,
    "range": range,
    "sum": sum,
    "max": max,
    "min": min,
    "sorted": sorted,
    "str": str,
    "list": list,
    "abs": abs,
}
_METHODS: Mapping[type, frozenset[str]] = {
    list: frozenset({"append", "pop", "insert", "extend", "reverse", "sort", "index", "count"}),
    dict: frozenset({"get", "items", "pop", "keys", "values"}),
    str: frozenset({"upper", "join", "replace", "split", "count", "find", "title", "zfill"}),
}


class _Return(Exception):
    def __init__(self, value: object) -> None:
        self.value = value


@functools.lru_cache(maxsize=32)
def run_program(source: str) -> str:
    """Return what `source` prints.

    Raises:
        ProgramError: it uses what is not known here, takes over 1,200 steps, or fails as Python would.

    """
    machine = _Machine()
    try:
        machine.block(ast.parse(source).body, {})
    except (SyntaxError, TypeError, ValueError, LookupError, ArithmeticError, AttributeError, _Return) as error:
        raise ProgramError(f"{type(error).__name__}: {error}") from error
    return "".join(machine.printed)


Scope = dict[str, Any]


@functools.cache
def _handler(prefix: str, kind: str) -> str:
    return f"_{prefix}_{kind.lower()}"


class _Machine:
    def __init__(self) -> None:
        self.printed: list[str] = []
        self._functions: dict[str, ast.FunctionDef] = {}
        self._steps = 0
        self._depth = 0

    def block(self, body: list[ast.stmt], scope: Scope) -> None:
        for statement in body:
            self._dispatch("do", statement, scope)

    def _dispatch(self, prefix: str, node: ast.AST, scope: Scope) -> Any:
        self._steps += 1
        if self._steps > MAX_STEPS:
            raise ProgramError(f"more than {MAX_STEPS} steps")
        handler = getattr(self, _handler(prefix, type(node).__name__), None)
        if handler is None:
            raise ProgramError(f"{type(node).__name__} is not in the language")
        return handler(node, scope)

    def _value(self, node: ast.AST, scope: Scope) -> Any:
        value = self._dispatch("get", node, scope)
        if isinstance(value, int | float) and abs(value) > MAX_INTEGER:
            raise ProgramError("a number grows too large")
        if isinstance(value, str | list | dict | range) and len(value) > MAX_SIZE:
            raise ProgramError("a value grows too long")
        return value

    # statements

    def _do_expr(self, node: ast.Expr, scope: Scope) -> None:
        self._value(node.value, scope)

    def _do_assign(self, node: ast.Assign, scope: Scope) -> None:
        value = self._value(node.value, scope)
        for target in node.targets:
            self._store(target, value, scope)

    def _do_augassign(self, node: ast.AugAssign, scope: Scope) -> None:
        before = self._value(node.target, scope)
        self._store(node.target, _IN_PLACE[type(node.op)](before, self._value(node.value, scope)), scope)

    def _do_for(self, node: ast.For, scope: Scope) -> None:
        for item in self._value(node.iter, scope):
            self._store(node.target, item, scope)
            self.block(node.body, scope)

    def _do_while(self, node: ast.While, scope: Scope) -> None:
        while self._value(node.test, scope):
            self.block(node.body, scope)

    def _do_if(self, node: ast.If, scope: Scope) -> None:
        self.block(node.body if self._value(node.test, scope) else node.orelse, scope)

    def _do_functiondef(self, node: ast.FunctionDef, _scope: Scope) -> None:
        self._functions[node.name] = node

    def _do_return(self, node: ast.Return, scope: Scope) -> None:
        raise _Return(None if node.value is None else self._value(node.value, scope))

    def _store(self, target: ast.expr, value: Any, scope: Scope) -> None:
        if isinstance(target, ast.Name):
            scope[target.id] = value
        elif isinstance(target, ast.Tuple):
            for part, inner in zip(target.elts, value, strict=True):
                self._store(part, inner, scope)
        elif isinstance(target, ast.Subscript):
            self._value(target.value, scope)[self._value(target.slice, scope)] = value
        else:
            raise ProgramError(f"{type(target).__name__} cannot be assigned to")

    # expressions

    def _get_constant(self, node: ast.Constant, _scope: Scope) -> Any:
        return node.value

    def _get_name(self, node: ast.Name, scope: Scope) -> Any:
        return scope[node.id]

    def _get_binop(self, node: ast.BinOp, scope: Scope) -> Any:
        return _BINARY[type(node.op)](self._value(node.left, scope), self._value(node.right, scope))

    def _get_unaryop(self, node: ast.UnaryOp, scope: Scope) -> Any:
        value = self._value(node.operand, scope)
        return not value if isinstance(node.op, ast.Not) else -value

    def _get_boolop(self, node: ast.BoolOp, scope: Scope) -> Any:
        stop = isinstance(node.op, ast.Or)
        value: Any = None
        for part in node.values:
            value = self._value(part, scope)
            if bool(value) == stop:
                return value
        return value

    def _get_compare(self, node: ast.Compare, scope: Scope) -> bool:
        left = self._value(node.left, scope)
        for sign, part in zip(node.ops, node.comparators, strict=True):
            right = self._value(part, scope)
            if not _COMPARE[type(sign)](left, right):
                return False
            left = right
        return True

    def _get_ifexp(self, node: ast.IfExp, scope: Scope) -> Any:
        return self._value(node.body if self._value(node.test, scope) else node.orelse, scope)

    def _get_list(self, node: ast.List, scope: Scope) -> Any:
        return [self._value(part, scope) for part in node.elts]

    def _get_tuple(self, node: ast.Tuple, scope: Scope) -> Any:
        return tuple(self._value(part, scope) for part in node.elts)

    def _get_dict(self, node: ast.Dict, scope: Scope) -> Any:
        keys = [self._value(key, scope) for key in node.keys if key is not None]
        return dict(zip(keys, (self._value(value, scope) for value in node.values), strict=True))

    def _get_subscript(self, node: ast.Subscript, scope: Scope) -> Any:
        return self._value(node.value, scope)[self._value(node.slice, scope)]

    def _get_slice(self, node: ast.Slice, scope: Scope) -> slice:
        parts = (node.lower, node.upper, node.step)
        return slice(*(None if part is None else self._value(part, scope) for part in parts))

    def _get_joinedstr(self, node: ast.JoinedStr, scope: Scope) -> str:
        return "".join(str(self._value(part, scope)) for part in node.values)

    def _get_formattedvalue(self, node: ast.FormattedValue, scope: Scope) -> str:
        spec = "" if node.format_spec is None else self._value(node.format_spec, scope)
        return format(self._value(node.value, scope), spec)

    def _get_call(self, node: ast.Call, scope: Scope) -> Any:
        arguments = [self._value(argument, scope) for argument in node.args]
        if node.keywords:
            raise ProgramError("keyword arguments are not in the language")
        if isinstance(node.func, ast.Attribute):
            owner = self._value(node.func.value, scope)
            if node.func.attr not in _METHODS.get(type(owner), ()):
                raise ProgramError(f"{type(owner).__name__}.{node.func.attr} is not in the language")
            return getattr(owner, node.func.attr)(*arguments)
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name == "print":
            return self.printed.append(" ".join(map(str, arguments)) + "\n")
        if name in self._functions:
            return self._call(self._functions[name], arguments)
        if name not in _BUILTINS:
            raise ProgramError(f"the function {name!r} is not in the language")
        return _BUILTINS[name](*arguments)

    def _call(self, function: ast.FunctionDef, arguments: list[Any]) -> Any:
        if self._depth >= MAX_DEPTH:
            raise ProgramError("the recursion is too deep")
        names = [argument.arg for argument in function.args.args]
        self._depth += 1
        try:
            self.block(function.body, dict(zip(names, arguments, strict=True)))
        except _Return as result:
            return result.value
        finally:
            self._depth -= 1
        return None
