"""A lint on verifiers: the ways of writing a judgement that have paid wrong answers before.

It reads the classes that have a `judge` method, and the module's functions that they call by name.
"""

from __future__ import annotations

import ast
import importlib.util
import inspect
from collections.abc import Iterator
from dataclasses import dataclass

from polyathlon.domain import Domain

WHY = {
    "float": "bare float() reads nan and inf. Use verify.numbers.read_number.",
    "int": "bare int() on text raises on what a policy writes. Use verify.numbers.read_number, or expect_int.",
    "clamp": "min(max(...)) turns NaN into full reward. Verdict.failing refuses it; check the value instead.",
    "set": "comparing sets forgets how often a thing occurs. Use verify.text.bag_f1, or compare sorted lists.",
    "in": "`in` on strings finds right answers inside wrong ones. Parse, then compare once.",
    "endswith": "endswith/startswith accept anything before or after. Parse, then compare once.",
    "all": "all() of nothing is true. Test that there is something to check in the same expression.",
    "eval": "eval/exec/compile run what the policy wrote. Parse it.",
    "random": "a verifier draws nothing and reads no clock: the same evidence gives the same verdict.",
}


@dataclass(frozen=True, slots=True)
class Smell:
    """One doubtful expression: the rule, the line in its file, and the source of it."""

    rule: str
    line: int
    source: str

    @property
    def text(self) -> str:
        return (
            f"line {self.line}: `{self.source}`: {WHY[self.rule]} If it is sound, end the line with `# sound: reason`."
        )


def lint_domain(domain: Domain) -> list[Smell]:
    """Return the smells in the source of the domain's verifier and of what it calls in its own module."""
    verifier = type(domain.verifier)
    module = inspect.getmodule(verifier)
    spec = importlib.util.find_spec(module.__name__) if module is not None else None
    if module is None or spec is None or spec.origin is None:
        return []
    return lint_source(inspect.getsource(module), verifier.__name__)


def lint_source(source: str, class_name: str) -> list[Smell]:
    """Return the smells of class `class_name` in `source`, in line order."""
    tree = ast.parse(source)
    lines = source.splitlines()
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    todo: list[ast.AST] = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == class_name]
    seen: set[str] = set()
    smells: list[Smell] = []
    while todo:
        node = todo.pop()
        smells.extend(_smells(node, lines))
        for name in sorted(_called(node) & set(functions) - seen):
            seen.add(name)
            todo.append(functions[name])
    return sorted(smells, key=lambda smell: smell.line)


def _called(node: ast.AST) -> set[str]:
    return {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}


def _smells(node: ast.AST, lines: list[str]) -> Iterator[Smell]:
    guarded = {id(part) for inner in ast.walk(node) if isinstance(inner, ast.BoolOp) for part in inner.values[1:]}
    for inner in ast.walk(node):
        rule = _rule(inner)
        if rule == "all" and id(inner) in guarded:
            continue
        if rule and isinstance(inner, ast.expr) and not _excused(inner, lines):
            yield Smell(rule, inner.lineno, ast.unparse(inner)[:80])


def _excused(node: ast.expr, lines: list[str]) -> bool:
    return any("# sound:" in line for line in lines[node.lineno - 1 : (node.end_lineno or node.lineno)])


def _rule(node: ast.AST) -> str:
    if isinstance(node, ast.Call):
        return _call_rule(node)
    if isinstance(node, ast.Compare):
        return _compare_rule(node)
    return ""


def _call_rule(node: ast.Call) -> str:
    if isinstance(node.func, ast.Attribute):
        if node.func.attr in ("endswith", "startswith"):
            return "endswith"
        root = ast.unparse(node.func)
        return "random" if root.startswith(("time.", "random.", "np.random.", "datetime.now", "datetime.today")) else ""
    if not isinstance(node.func, ast.Name):
        return ""
    name = node.func.id
    if name in ("eval", "exec", "compile"):
        return "eval"
    if name == "float":
        return "float"
    if name == "int" and node.args and not isinstance(node.args[0], ast.Compare | ast.BoolOp):
        return "int"
    if name in ("min", "max") and any(_is_call(arg, "max" if name == "min" else "min") for arg in node.args):
        return "clamp"
    return "all" if name == "all" else ""


def _compare_rule(node: ast.Compare) -> str:
    sides = [node.left, *node.comparators]
    if any(isinstance(op, ast.Eq | ast.NotEq) for op in node.ops) and any(_is_set(side) for side in sides):
        return "set"
    if any(isinstance(op, ast.In | ast.NotIn) for op in node.ops) and not _is_container(node.comparators[-1]):
        return "in"
    return ""


def _is_call(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name


def _is_set(node: ast.AST) -> bool:
    return _is_call(node, "set") or isinstance(node, ast.SetComp)


def _is_container(node: ast.AST) -> bool:
    """Whether `in` is about members here: a display, a comprehension, or a name in capitals (a constant table)."""
    if isinstance(node, ast.Tuple | ast.List | ast.Set | ast.Dict | ast.SetComp | ast.ListComp | ast.DictComp):
        return True
    return isinstance(node, ast.Name) and node.id.isupper()
