"""A lint on verifiers: the ways of writing a judgement that have paid wrong answers before.

It reads a class with a `judge` method, the functions and classes that it names, and what those name in turn, in its own
module and in the modules of its own package; and every line of the gym's `verify/`.
"""

from __future__ import annotations

import ast
import importlib.util
import inspect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from polyathlon.domain import Domain
from polyathlon.inspect.finding import WHOLE, CheckResult, Finding, measured
from polyathlon.inspect.play import Stage
from polyathlon.inspect.protocol import RULES
from polyathlon.inspect.smells import WHY, smells_of


@dataclass(frozen=True, slots=True)
class Smell:
    """One doubtful expression: the rule, the file where it is not the verifier's own, the line in it, its source."""

    rule: str
    line: int
    source: str
    file: str = ""

    @property
    def text(self) -> str:
        where = f"{self.file} line {self.line}" if self.file else f"line {self.line}"
        return f"{where}: `{self.source}`: {WHY[self.rule]} If it is sound, end the line with `# sound: reason`."


@dataclass(frozen=True, slots=True)
class _Source:
    """A module's source: what it defines at its top, and where the names come from that it imports."""

    name: str
    lines: Sequence[str]
    defined: dict[str, ast.stmt]
    imported: dict[str, tuple[str, str]]

    @classmethod
    def read(cls, text: str, name: str) -> _Source:
        tree = ast.parse(text)
        defined = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
        imported = {
            alias.asname or alias.name: (node.module, alias.name)
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and node.module and not node.level
            for alias in node.names
        }
        return cls(name, text.splitlines(), dict(defined), imported)


def check_lint(stage: Stage) -> CheckResult:
    """C05: the verifier's source must be free of expressions that are known to pay wrong answers."""
    faults = tuple(Finding(0, 0, smell.text) for smell in lint_domain(stage.subject.domain))
    return CheckResult("C05", (measured(RULES["C05"], WHOLE, len(faults), 1),), faults)


def lint_domain(domain: Domain) -> list[Smell]:
    """Return the smells in the source of the domain's verifier and of what it names in its own package."""
    verifier = type(domain.verifier)
    module = inspect.getmodule(verifier)
    spec = importlib.util.find_spec(module.__name__) if module is not None else None
    if module is None or spec is None or spec.origin is None:
        return []
    return _reached(_Source.read(inspect.getsource(module), module.__name__), verifier.__name__)


def lint_source(source: str, class_name: str) -> list[Smell]:
    """Return the smells of class `class_name` in `source`, in line order; imports are not followed."""
    return _reached(_Source.read(source, ""), class_name)


def lint_files(paths: Sequence[Path]) -> list[Smell]:
    """Return the smells on every line of the modules at `paths`."""
    found: list[Smell] = []
    for path in paths:
        text = path.read_text(encoding="utf-8")
        lines = text.splitlines()
        found += [Smell(*smell, path.name) for smell in smells_of(ast.parse(text), lines)]
    return found


def _reached(first: _Source, class_name: str) -> list[Smell]:
    sources: dict[str, _Source | None] = {first.name: first}
    todo = [(first.name, class_name)]
    seen = {*todo}
    found: list[Smell] = []
    while todo:
        name, wanted = todo.pop()
        source = sources[name]
        node = source.defined.get(wanted) if source is not None else None
        if source is None or node is None:
            continue
        file = "" if source is first else f"{source.name.rpartition('.')[2]}.py"
        found += [Smell(*smell, file) for smell in smells_of(node, source.lines)]
        for reached in sorted(set(_named(node, source, first.name)) - seen):
            seen.add(reached)
            todo.append(reached)
            if reached[0] not in sources:
                sources[reached[0]] = _found(reached[0])
    return sorted(found, key=lambda smell: (smell.file, smell.line))


def _named(node: ast.AST, source: _Source, first: str) -> Iterator[tuple[str, str]]:
    """Yield (module, name) of what `node` names: of its own module, and of modules that share its top package."""
    package = first.partition(".")[0]
    for inner in ast.walk(node):
        if not isinstance(inner, ast.Name):
            continue
        if inner.id in source.defined:
            yield source.name, inner.id
        module, name = source.imported.get(inner.id, ("", ""))
        if first and module.partition(".")[0] == package != "polyathlon":
            yield module, name


def _found(module: str) -> _Source | None:
    """Return the source of `module`, None where it has none to read."""
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
        return None
    return _Source.read(Path(spec.origin).read_text(encoding="utf-8"), module)
