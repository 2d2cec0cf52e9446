"""Other ways to write the same program: values stay, syntax changes."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

_MIRROR: Mapping[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.Gt,
    ast.Gt: ast.Lt,
    ast.LtE: ast.GtE,
    ast.GtE: ast.LtE,
    ast.Eq: ast.Eq,
    ast.NotEq: ast.NotEq,
}


def comparisons_turned(source: str) -> str:
    """Return `source` with the two sides of each comparison changed over."""
    return _rewritten(source, _Comparisons())


def operands_turned(source: str) -> str:
    """Return `source` with the operands of sums, products and comparisons changed over. For integers only."""
    return _rewritten(source, _Comparisons(), _Operands())


def sums_as_differences(source: str) -> str:
    """Return `source` with a + b as a - -b, a - b as a + -b, and a += b as a = a + b. For integers only."""
    return _rewritten(source, _Longer())


def arms_swapped(source: str) -> str:
    """Return `source` with each if-else turned: the condition negated and the arms changed over."""
    return _rewritten(source, _Arms())


def _rewritten(source: str, *rewrites: ast.NodeTransformer) -> str:
    tree = ast.parse(source)
    for rewrite in rewrites:
        tree = ast.fix_missing_locations(rewrite.visit(tree))
    return ast.unparse(tree)


class _Comparisons(ast.NodeTransformer):
    def visit_Compare(self, node: ast.Compare) -> Any:
        self.generic_visit(node)
        mirror = _MIRROR.get(type(node.ops[0])) if len(node.ops) == 1 else None
        return node if mirror is None else ast.Compare(node.comparators[0], [mirror()], [node.left])


class _Operands(ast.NodeTransformer):
    def visit_BinOp(self, node: ast.BinOp) -> Any:
        self.generic_visit(node)
        return ast.BinOp(node.right, node.op, node.left) if isinstance(node.op, ast.Add | ast.Mult) else node


class _Longer(ast.NodeTransformer):
    def visit_BinOp(self, node: ast.BinOp) -> Any:
        self.generic_visit(node)
        if not isinstance(node.op, ast.Add | ast.Sub):
            return node
        swapped = ast.Sub() if isinstance(node.op, ast.Add) else ast.Add()
        return ast.BinOp(node.left, swapped, ast.UnaryOp(ast.USub(), node.right))

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        self.generic_visit(node)
        if not isinstance(node.target, ast.Name):
            return node
        return ast.Assign([node.target], ast.BinOp(ast.Name(node.target.id, ast.Load()), node.op, node.value))


class _Arms(ast.NodeTransformer):
    def visit_If(self, node: ast.If) -> Any:
        self.generic_visit(node)
        return ast.If(ast.UnaryOp(ast.Not(), node.test), node.orelse, node.body) if node.orelse else node

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        self.generic_visit(node)
        return ast.IfExp(ast.UnaryOp(ast.Not(), node.test), node.orelse, node.body)
