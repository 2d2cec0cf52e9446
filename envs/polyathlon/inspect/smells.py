"""The expressions that the lint stops at, and why."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

WHY = {
    "float": "bare float() reads nan and inf. Use verify.numbers.read_number.",
    "int": "bare int() on text raises on what a policy writes. Use verify.numbers.read_number, or expect_int.",
    "clamp": "clamping turns NaN into full reward. Use verify.credit.expect_share or clamped, which refuse it.",
    "set": "comparing sets forgets how often a thing occurs. Use verify.text.bag_f1, or compare sorted lists.",
    "in": "`in` on strings finds right answers inside wrong ones. Parse, then compare once.",
    "endswith": "endswith/startswith accept anything before or after. Parse, then compare once.",
    "all": "all() of nothing is true. Use verify.credit.every, or test in the same expression that there is something.",
    "eval": "eval/exec/compile run what the policy wrote, and literal_eval raises and hangs on it. Parse it.",
    "json": "json.loads reads NaN, takes the last of two equal keys, and recurses. Use canonical.parse_json.",
    "format": "format() on a text that is no constant fills in what a policy wrote. Pass it as data.",
    "except": "a broad except makes a broken verifier a verdict. Catch the narrowest type, or let it be invalid.",
    "close": "a comparison that is near by default hides its tolerance. Declare one of verify.tolerance.",
    "random": "a verifier draws nothing and reads no clock: the same evidence gives the same verdict.",
}
_EVERYWHERE = re.compile(r"# sound everywhere, (\w+): \S")
_CLOCKS = ("time.", "random.", "np.random.", "numpy.random.", "datetime.now", "datetime.today", "date.today")
_NO_CLOCK = {"time.gmtime": 1, "time.strftime": 2, "time.strptime": 1}
"""From how many arguments on these read none."""
_CONTAINERS = frozenset(
    ("Mapping", "dict", "set", "frozenset", "Sequence", "list", "tuple", "Counter", "Collection", "AbstractSet", "Core")
)
_MAKERS = frozenset(
    ("set", "frozenset", "dict", "list", "tuple", "sorted", "Counter", "range", "expect_map", "expect_list")
)
_NEARNESS = {
    "isclose": ("rel_tol", "abs_tol", "rtol", "atol"),
    "allclose": ("rtol", "atol"),
    "approx": ("rel", "abs"),
    "assert_allclose": ("rtol", "atol"),
}


def smells_of(node: ast.AST, lines: Sequence[str]) -> Iterator[tuple[str, int, str]]:
    """Yield (rule, line, source) of each doubtful expression in `node`, which stands in `lines`.

    A line that ends with `# sound: reason` is excused; a line `# sound everywhere, rule: reason` excuses the rule in
    the whole file.
    """
    excused = {match[1] for line in lines if (match := _EVERYWHERE.search(line))}
    members = _containers(node)
    guarded = {id(part) for inner in ast.walk(node) if isinstance(inner, ast.BoolOp) for part in inner.values[1:]}
    for inner in ast.walk(node):
        rule = _rule(inner)
        if rule == "in" and isinstance(inner, ast.Compare) and ast.unparse(inner.comparators[-1]) in members:
            continue
        if not rule or rule in excused or (rule == "all" and id(inner) in guarded):
            continue
        assert isinstance(inner, ast.expr | ast.ExceptHandler)
        first, last = inner.lineno, inner.lineno if isinstance(inner, ast.ExceptHandler) else inner.end_lineno
        if not any("# sound:" in line for line in lines[first - 1 : last or first]):
            text = "except" if isinstance(inner, ast.ExceptHandler) else ast.unparse(inner)
            yield rule, first, text[:80]


def _rule(node: ast.AST) -> str:
    if isinstance(node, ast.Call):
        return _attribute_rule(node, node.func) if isinstance(node.func, ast.Attribute) else _call_rule(node)
    if isinstance(node, ast.Compare):
        return _compare_rule(node)
    if isinstance(node, ast.ExceptHandler):
        caught = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
        broad = any(one is None or ast.unparse(one) in ("Exception", "BaseException") for one in caught)
        return "except" if broad else ""
    return ""


def _attribute_rule(node: ast.Call, func: ast.Attribute) -> str:
    if func.attr in ("endswith", "startswith"):
        return "endswith"
    if func.attr in ("format", "format_map"):
        return "" if _is_constant(func.value) else "format"
    if func.attr in _NEARNESS:
        return _nearness_rule(node, func.attr)
    root = ast.unparse(func)
    if root in ("json.loads", "json.load"):
        return "json"
    if root in ("ast.literal_eval", "builtins.eval", "builtins.exec"):
        return "eval"
    return "random" if root.startswith(_CLOCKS) and len(node.args) < _NO_CLOCK.get(root, 9) else ""


def _call_rule(node: ast.Call) -> str:
    name = node.func.id if isinstance(node.func, ast.Name) else ""
    if name in ("eval", "exec", "compile", "literal_eval"):
        return "eval"
    if name in _NEARNESS:
        return _nearness_rule(node, name)
    if name == "float" and not (node.args and isinstance(node.args[0], ast.Compare | ast.BoolOp)):
        return "" if node.args and _is_drawn(node.args[0]) else "float"
    if name == "int" and node.args and not isinstance(node.args[0], ast.Compare | ast.BoolOp):
        return "" if _is_drawn(node.args[0]) or _is_arithmetic(node.args[0]) else "int"
    if name in ("min", "max") and _clamps(node, "max" if name == "min" else "min"):
        return "clamp"
    return "all" if name == "all" else "json" if name == "loads" else ""


def _containers(node: ast.AST) -> frozenset[str]:
    """Return the names and fields in `node` that are declared, or made, as what has members and is no text."""
    found: set[str] = set()
    for inner in ast.walk(node):
        if isinstance(inner, ast.arg) and inner.annotation is not None and _has_members(inner.annotation):
            found.add(inner.arg)
        elif isinstance(inner, ast.AnnAssign) and _has_members(inner.annotation):
            found |= {ast.unparse(inner.target), f"self.{ast.unparse(inner.target)}"}
        elif isinstance(inner, ast.Assign) and _is_container(inner.value):
            found |= {ast.unparse(target) for target in inner.targets}
    texts = {inner.arg for inner in ast.walk(node) if isinstance(inner, ast.arg) and _is_text(inner.annotation)}
    return frozenset(found - texts)


def _has_members(annotation: ast.expr) -> bool:
    return ast.unparse(annotation).partition("[")[0] in _CONTAINERS


def _is_text(annotation: ast.expr | None) -> bool:
    return annotation is not None and ast.unparse(annotation) in ("str", "str | None", "Json")


def _is_drawn(node: ast.expr) -> bool:
    """Whether a number comes from a generator or from numpy: it was never text."""
    return isinstance(node, ast.Call) and ast.unparse(node.func).startswith(("rng.", "np.", "numpy.", "round", "len"))


def _is_arithmetic(node: ast.expr) -> bool:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Div | ast.Sub | ast.FloorDiv | ast.Pow)


def _nearness_rule(node: ast.Call, name: str) -> str:
    return "" if any(word.arg in _NEARNESS[name] for word in node.keywords) else "close"


def _clamps(node: ast.Call, other: str) -> bool:
    """Whether min or max cuts a value off: against a decimal constant, or with the other inside."""
    if any(word.arg == "default" for word in node.keywords):
        return False
    if any(isinstance(arg, ast.Constant) and isinstance(arg.value, float) for arg in node.args):
        return True
    return any(_is_call(arg, other) for arg in node.args)


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
    return _is_call(node, "set") or _is_call(node, "frozenset") or isinstance(node, ast.SetComp)


def _is_constant(node: ast.AST) -> bool:
    """Whether a text is the module's own: a literal, or a name in capitals."""
    return isinstance(node, ast.Constant) or (isinstance(node, ast.Name) and node.id.isupper())


def _is_container(node: ast.AST) -> bool:
    """Whether `in` is about members here: a display, a comprehension, or a name in capitals (a constant table)."""
    if isinstance(node, ast.Tuple | ast.List | ast.Set | ast.Dict | ast.SetComp | ast.ListComp | ast.DictComp):
        return True
    if isinstance(node, ast.Attribute):
        return node.attr.isupper()
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id in _MAKERS
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr | ast.BitAnd | ast.Sub):
        return _is_container(node.left) or _is_container(node.right)
    return isinstance(node, ast.Name) and node.id.isupper()
