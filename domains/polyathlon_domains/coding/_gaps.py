"""Short functions with one piece missing: their shapes by level, their text, and the arguments that try them out."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from polyathlon_domains.coding import _phrases as phrases
from polyathlon_domains.coding._phrases import Names

GAP = "___"
PieceKind = Literal["expression", "statements"]
Core = dict[str, Any]

SHAPES: tuple[tuple[str, ...], ...] = (
    ("value",),
    ("value", "choice"),
    ("keep", "fold", "check"),
    ("helper sum", "helper sorted", "helper count"),
    ("two totals", "swap"),
)
_LIST_SHAPES = ("keep", "fold", "check", "helper sum", "helper sorted", "helper count", "two totals", "swap")


@dataclass(frozen=True, slots=True)
class Gapped:
    """A program with a gap, the piece that was cut out, its class of syntax, and the names known at the gap."""

    program: str
    piece: str
    kind: PieceKind
    scope: tuple[str, ...]


def draw_shape(rng: np.random.Generator, level: int) -> Core:
    """Return the core of one function of `level`."""
    shape = str(rng.choice(list(SHAPES[level])))
    if shape == "value":
        return {"shape": shape, "start": str(rng.choice(["A", "B"])), "steps": _draw_value(rng, level)}
    if shape == "fold":
        last: list[int | str] = [str(rng.choice(["mod", "cap", "lift"])), int(rng.integers(50, 1000))]
        steps: list[list[int | str]] = [
            ["times", int(rng.integers(2, 10))],
            [str(rng.choice(["plus", "minus"])), "X"],
            last,
        ]
        return {"shape": shape, "start": int(rng.integers(0, 10)), "steps": steps}
    if shape == "swap":
        steps = [[str(rng.choice(["plus", "minus"])), "X"], ["mod", int(rng.integers(30, 100))]]
        start = [int(rng.integers(0, 10)), int(rng.integers(0, 10))]
        return {"shape": shape, "start": start, "steps": steps, "else": [["times", int(rng.integers(2, 10))]]}
    helped = shape.startswith("helper")
    chain = phrases.draw_steps(
        rng, 2 if helped else 1, others="B", operators=phrases.ARITHMETIC, variable=1.0 if helped else 0.1
    )
    core: Core = {"shape": shape, "steps": chain, "test": phrases.draw_test(rng)}
    if shape == "choice":
        core["else"] = phrases.draw_steps(rng, 1, others="B", operators=phrases.ARITHMETIC, variable=0.5)
    elif shape == "check":
        core["join"] = str(rng.choice(["and", "or"]))
        core["test2"] = phrases.draw_test(rng, kinds=("over", "under", "multiple", "other"))
    elif helped:
        core["flip"] = bool(rng.random() < 0.5)
        if shape == "helper sum":
            core["after"] = phrases.draw_steps(rng, 1, others="", operators=("plus", "minus", "mod"), variable=0.0)
    return core


def _draw_value(rng: np.random.Generator, level: int) -> list[list[int | str]]:
    if level == 0:
        return phrases.draw_steps(rng, 2, others="AB", operators=phrases.ARITHMETIC, variable=0.05)
    head = phrases.draw_steps(rng, 1, others="", operators=phrases.BOUNDED, variable=0.0)
    return head + phrases.draw_steps(rng, 2, others="AB", operators=phrases.ARITHMETIC, variable=0.5)


def write_gapped(core: Mapping[str, Any], names: Names) -> Gapped:
    """Return the function of `core` in `names`: F, A, B (parameters), X (in a loop), S, T (totals), G (helper)."""
    shape = str(core["shape"])
    if shape in ("value", "choice"):
        return _scalar(core, names)
    if shape in ("two totals", "swap"):
        return _block(core, names)
    return _over_list(core, names)


def fill_gap(program: str, piece: str, kind: PieceKind) -> ast.Module | None:
    """Return `program` with `piece` in its gap, or None when `piece` is not of that class of syntax.

    The piece is parsed alone and set in as a tree, so that no bracket, quote or comment reaches beyond the gap.
    """
    nodes = _parse_expression(piece) if kind == "expression" else _parse_statements(piece)
    if nodes is None:
        return None
    filled: ast.Module = _Filling(nodes).visit(ast.parse(program))
    return ast.fix_missing_locations(filled)


def draw_arguments(rng: np.random.Generator, core: Mapping[str, Any], *, num_cases: int) -> list[list[Any]]:
    """Return `num_cases` lists of arguments, near the numbers where behaviour changes."""
    edges = [edge + shift for edge in phrases.numbers_in(core) for shift in (-1, 0, 1)]
    pool = [*edges, 0, 1, -1]

    def number() -> int:
        return int(rng.choice(pool)) if rng.random() < 0.5 else int(rng.integers(-30, 130))

    if str(core["shape"]) not in _LIST_SHAPES:
        return [[number(), number()] for _ in range(num_cases)]
    lengths = [0, 1, 2, *(int(n) for n in rng.integers(3, 7, size=num_cases - 3))]
    return [[[number() for _ in range(length)], number()] for length in lengths]


def _scalar(core: Mapping[str, Any], names: Names) -> Gapped:
    start = str(core.get("start", "A"))
    code, words = phrases.chain_code(start, core["steps"], names), phrases.chain_words(start, core["steps"], names)
    if core["shape"] == "choice":
        test, rest = core["test"], core["else"]
        code += f" if {phrases.test_code('A', test, names)} else {phrases.chain_code('A', rest, names)}"
        condition = f"{names['A']} is {phrases.test_words(test, names)}"
        words = f"{words} if {condition}, else {phrases.chain_words('A', rest, names)}"
    program = f"def {names['F']}({names['A']}, {names['B']}):\n  # {words}\n  return {GAP}"
    return Gapped(program, _tidy(code), "expression", (names["A"], names["B"]))


def _over_list(core: Mapping[str, Any], names: Names) -> Gapped:
    f, a, b, x, t = (names[symbol] for symbol in "FABXT")
    head = f"def {f}({a}, {b}):\n"
    shape = core["shape"]
    if shape == "fold":
        words = f"{t} starts at {core['start']}; for each {x}: {phrases.chain_words('T', core['steps'], names)}"
        body = f"  # {words}\n  {t} = {core['start']}\n  for {x} in {a}:\n    {t} = {GAP}\n  return {t}"
        return Gapped(head + body, _tidy(phrases.chain_code("T", core["steps"], names)), "expression", (a, b, x, t))
    value, value_words = phrases.chain_code("X", core["steps"], names), phrases.chain_words("X", core["steps"], names)
    test, test_words = phrases.test_code("X", core["test"], names), phrases.test_words(core["test"], names)
    if shape == "check":
        both = f"{test} {core['join']} {phrases.test_code('X', core['test2'], names)}"
        words = f"sum {value_words}, {x} in {a} {test_words} {core['join']} {phrases.test_words(core['test2'], names)}"
        body = f"  {t} = 0\n  for {x} in {a}:\n    if {GAP}:\n      {t} += {_tidy(value)}\n  return {t}"
        return Gapped(f"{head}  # {words}\n{body}", _tidy(both), "expression", (a, b, x, t))
    if shape == "keep":
        body = f"  # list of {value_words}, for {x} in {a} {test_words}\n  return {GAP}"
        return Gapped(head + body, _tidy(f"[{value} for {x} in {a} if {test}]"), "expression", (a, b))
    return _with_helper(core, names, head=head)


def _with_helper(core: Mapping[str, Any], names: Names, *, head: str) -> Gapped:
    a, b, x, g, p, q = (names[symbol] for symbol in "ABXGPQ")
    helped = _tidy(phrases.chain_code("X", core["steps"], {**names, "X": p, "B": q}))
    first, second, call = (q, p, f"{g}({b}, {x})") if core["flip"] else (p, q, f"{g}({x}, {b})")
    helper = f"def {g}({first}, {second}):\n  return {helped}\n"
    value, test_words = phrases.chain_words("X", core["steps"], names), phrases.test_words(core["test"], names)
    loop = f"{call} for {x} in {a} if {phrases.test_code('X', core['test'], names)}"
    if core["shape"] == "helper count":
        piece = f"sum({phrases.test_code('C', core['test'], {'C': call})} for {x} in {a})"
        words = f"how many {x} in {a} have ({value}) {test_words}"
    elif core["shape"] == "helper sum":
        piece = phrases.chain_code("E", core["after"], {"E": f"sum({loop})"})[1:-1]
        words = phrases.chain_words("E", core["after"], {"E": f"sum of ({value}) for {x} in {a} {test_words},"})
    else:
        piece, words = f"sorted({loop})", f"({value}) for {x} in {a} {test_words}, sorted"
    return Gapped(f"{helper}{head}  # {words}\n  return {GAP}", piece, "expression", (a, b))


def _block(core: Mapping[str, Any], names: Names) -> Gapped:
    f, a, b, x, s, t = (names[symbol] for symbol in "FABXST")
    if core["shape"] == "two totals":
        value, test = core["steps"], core["test"]
        start = "0, 0"
        words = f"{s}: sum {phrases.chain_words('X', value, names)}; {t}: count {phrases.test_words(test, names)}"
        piece = f"{s} += {_tidy(phrases.chain_code('X', value, names))}\n{t} += {phrases.test_code('X', test, names)}"
    else:
        start = f"{core['start'][0]}, {core['start'][1]}"
        new_s, new_t = phrases.chain_words("T", core["steps"], names), phrases.chain_words("S", core["else"], names)
        words = f"each {x}, at once {s} is {new_s}; {t} is {new_t}"
        left, right = (
            _tidy(phrases.chain_code(start, core[key], names)) for start, key in (("T", "steps"), ("S", "else"))
        )
        piece = f"{s}, {t} = {left}, {right}"
    body = f"  {s}, {t} = {start}\n  for {x} in {a}:\n    {GAP}\n  return [{s}, {t}]"
    program = f"def {f}({a}, {b}):\n  # {words}\n{body}"
    return Gapped(program, piece, "statements", (a, b, x, s, t))


def _tidy(code: str) -> str:
    return ast.unparse(ast.parse(code))


MAX_PIECE_CHARS = 300  # far below what makes Python's own parser or tree walks run out of stack
_STATEMENTS = (
    *(ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr, ast.If, ast.For, ast.While),
    *(ast.Pass, ast.Continue, ast.Break),
)


def _parse_expression(piece: str) -> list[ast.stmt] | None:
    tree = _parsed(piece.strip(), "eval")
    return [ast.Expr(tree.body)] if isinstance(tree, ast.Expression) and not _yields(tree) else None


def _parse_statements(piece: str) -> list[ast.stmt] | None:
    first, _, rest = piece.strip().partition("\n")
    lines = [line for line in rest.split("\n") if line.strip()]
    indent = min((len(line) - len(line.lstrip()) for line in lines), default=0)
    level = "" if not first.rstrip().endswith(":") else " " * 4  # sound: how deep a piece is indented, not its worth
    for text in (piece.strip(), "\n".join([first, *(level + line[indent:] for line in lines)])):
        tree = _parsed(text, "exec")
        if isinstance(tree, ast.Module):
            whole = [node for node in ast.walk(tree) if isinstance(node, ast.stmt)]
            allowed = bool(whole) and all(isinstance(node, _STATEMENTS) for node in whole)
            return tree.body if allowed and not _yields(tree) else None
    return None


def _yields(tree: ast.AST) -> bool:
    return any(isinstance(node, ast.Yield | ast.YieldFrom | ast.Await) for node in ast.walk(tree))


def _parsed(text: str, mode: Literal["eval", "exec"]) -> ast.AST | None:
    if len(text) > MAX_PIECE_CHARS:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a policy's odd escape is no news to the trainer
        try:
            return ast.parse(text, mode=mode)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None


class _Filling(ast.NodeTransformer):
    """Puts nodes in the place of the gap, which is a name: an expression, or a statement of its own."""

    def __init__(self, nodes: list[ast.stmt]) -> None:
        self._nodes = nodes

    def visit_Expr(self, node: ast.Expr) -> Any:
        if isinstance(node.value, ast.Name) and node.value.id == GAP:
            return self._nodes
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.expr:
        only = self._nodes[0]
        return only.value if node.id == GAP and isinstance(only, ast.Expr) else node
