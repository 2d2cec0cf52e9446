"""Edits of Python's syntax trees: each changes one node in place, or gives what shall stand there instead."""

from __future__ import annotations

import ast
from collections.abc import Callable

Edit = Callable[[ast.AST], ast.AST | None]
"""Changes a node in place and returns it, or returns what shall stand there instead; None drops a statement."""


def setting(field: str, new: object) -> Edit:
    """Return the edit that sets a field of the node."""

    def edit(node: ast.AST) -> ast.AST:
        setattr(node, field, new)
        return node

    return edit


def setting_item(field: str, place: int, new: object) -> Edit:
    """Return the edit that sets one item of a list that the node holds."""

    def edit(node: ast.AST) -> ast.AST:
        getattr(node, field)[place] = new
        return node

    return edit


def giving(field: str) -> Edit:
    """Return the edit that puts one child in the place of the node."""

    def edit(node: ast.AST) -> ast.AST:
        child: ast.AST = getattr(node, field)
        return child

    return edit


def giving_item(field: str, place: int) -> Edit:
    """Return the edit that puts one item of a list that the node holds in the place of the node."""

    def edit(node: ast.AST) -> ast.AST:
        child: ast.AST = getattr(node, field)[place]
        return child

    return edit


def dropping_value(place: int) -> Edit:
    """Return the edit that drops one part of a condition joined by and, or."""

    def edit(node: ast.AST) -> ast.AST:
        assert isinstance(node, ast.BoolOp), "chosen for that"
        kept = [*node.values[:place], *node.values[place + 1 :]]
        return kept[0] if len(kept) == 1 else ast.BoolOp(node.op, kept)

    return edit


def negating(node: ast.AST) -> ast.AST:
    """Put `not` before the test."""
    assert isinstance(node, ast.If | ast.IfExp | ast.While), "chosen for that"
    node.test = ast.UnaryOp(ast.Not(), node.test)
    return node


def turning(node: ast.AST) -> ast.AST:
    """Exchange the operands."""
    assert isinstance(node, ast.BinOp), "chosen for that"
    node.left, node.right = node.right, node.left
    return node


def renaming(name: str) -> Edit:
    """Return the edit that calls another function or method instead."""

    def edit(node: ast.AST) -> ast.AST:
        assert isinstance(node, ast.Call), "chosen for that"
        if isinstance(node.func, ast.Attribute):
            node.func.attr = name
        elif isinstance(node.func, ast.Name):
            node.func.id = name
            if name == "list":
                node.keywords = []
        return node

    return edit


def range_end(step: int) -> Edit:
    """Return the edit that ends a range `step` later."""

    def edit(node: ast.AST) -> ast.AST:
        assert isinstance(node, ast.Call), "chosen for that"
        place = 0 if len(node.args) == 1 else 1
        operator: ast.operator = ast.Add() if step > 0 else ast.Sub()
        node.args[place] = ast.BinOp(node.args[place], operator, ast.Constant(1))
        return node

    return edit


def range_start(node: ast.AST) -> ast.AST:
    """Begin a range one later."""
    assert isinstance(node, ast.Call), "chosen for that"
    if len(node.args) == 1:
        node.args = [ast.Constant(1), *node.args]
    else:
        node.args[0] = ast.BinOp(node.args[0], ast.Add(), ast.Constant(1))
    return node


def swapping_arguments(node: ast.AST) -> ast.AST:
    """Exchange the two arguments."""
    assert isinstance(node, ast.Call), "chosen for that"
    node.args = [node.args[1], node.args[0]]
    return node


def swapping_elements(node: ast.AST) -> ast.AST:
    """Exchange the two values assigned at once."""
    assert isinstance(node, ast.Assign), "chosen for that"
    assert isinstance(node.value, ast.Tuple), "chosen for that"
    node.value.elts = [node.value.elts[1], node.value.elts[0]]
    return node


def dropping_keyword(place: int) -> Edit:
    """Return the edit that drops one keyword argument."""

    def edit(node: ast.AST) -> ast.AST:
        assert isinstance(node, ast.Call), "chosen for that"
        node.keywords = [*node.keywords[:place], *node.keywords[place + 1 :]]
        return node

    return edit


def other_exception(node: ast.AST) -> ast.AST:
    """Raise another class."""
    assert isinstance(node, ast.Raise), "chosen for that"
    name = node.exc.func.id if isinstance(node.exc, ast.Call) and isinstance(node.exc.func, ast.Name) else ""
    node.exc = ast.Call(ast.Name("KeyError" if name != "KeyError" else "ValueError", ast.Load()), [], [])
    return node


def as_text(node: ast.AST) -> ast.AST:
    """Return the value as text."""
    assert isinstance(node, ast.Return), "chosen for that"
    assert node.value is not None, "chosen for that"
    node.value = ast.Call(ast.Name("str", ast.Load()), [node.value], [])
    return node


def guarded(node: ast.AST) -> ast.AST:
    """Let the whole function return 0 where anything is raised."""
    assert isinstance(node, ast.FunctionDef), "chosen for that"
    handler = ast.ExceptHandler(ast.Name("Exception", ast.Load()), None, [ast.Return(ast.Constant(0))])
    node.body = [ast.Try(node.body, [handler], [], [])]
    return node


def ignoring(parameter: str) -> Edit:
    """Return the edit that sets a parameter to 0 before it is used."""

    def edit(node: ast.AST) -> ast.AST:
        assert isinstance(node, ast.FunctionDef), "chosen for that"
        node.body = [ast.Assign([ast.Name(parameter, ast.Store())], ast.Constant(0)), *node.body]
        return node

    return edit


def argument_returned(node: ast.AST) -> ast.AST:
    """Return the first argument, and do nothing else."""
    assert isinstance(node, ast.FunctionDef), "chosen for that"
    first = node.args.args
    node.body = [ast.Return(ast.Name(first[0].arg, ast.Load()) if first else ast.Constant(None))]
    return node
