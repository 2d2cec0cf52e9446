"""Whether two formulas mean the same, within a hard budget: exactly here where that goes, else by SymPy in a child.

What a policy wrote is read by `verify.formula_shapes`, a grammar of our own; only its tree is sent to the child, where
nothing is parsed or evaluated as text. The child is forked for each question and killed by CPU time, wall time or
memory. Without the extra `polyathlon[symbolic]`, formulas with functions, roots or constants cannot be compared.
"""

from __future__ import annotations

import atexit
import functools
import importlib.util
import itertools
import os
import select
import subprocess
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Literal

from polyathlon.canonical import Json, canonical_json, expect_map, expect_text, parse_json
from polyathlon.errors import RegistryError, VerifierError
from polyathlon.verify import formula
from polyathlon.verify.formula import Term, exact_value, is_rational, symbols
from polyathlon.verify.formula_parse import FormulaForm
from polyathlon.verify.formula_shapes import is_infinite, read_formula
from polyathlon.verify.grammar import NumberGrammar
from polyathlon.verify.pairing import best_pairs
from polyathlon.verify.tolerance import EXACT, Tolerance

Sameness = Literal["same", "different", "unproven", "unread"]
Numbers = Literal["complex", "real", "positive"]

CPU_S = 4.0
ALL_CPU_S = 10.0
WALL_S = 20.0
MEMORY_BYTES = 2 * 2**30
START_S = 60.0
MAX_PARTS = 60
MAX_ARBITRARY = 4
_SERVER = Path(__file__).parent / "inside" / "formula_server.py"
_DIGITS = NumberGrammar(forms=frozenset({"decimal", "scientific"}))


@dataclass(frozen=True, slots=True)
class Comparison:
    """How formulas are compared.

    `numbers`: what the symbols stand for; sqrt(x^2) is x for "positive" ones only. `tolerance`: how near a constant
    must come to gold; by default it must be gold. `arbitrary`: symbols of gold, at most four, that any other names may
    stand for, such as the constants of an integral.
    """

    numbers: Numbers = "real"
    tolerance: Tolerance = EXACT
    arbitrary: tuple[str, ...] = ()


PLAIN = Comparison()


def same_formula(answer: str, gold: str, form: FormulaForm, comparison: Comparison = PLAIN) -> bool:
    """Return whether `answer` means what `gold` means, as a proven fact. Raises as `compare_formulas`."""
    return compare_formulas(answer, gold, form, comparison) == "same"


def compare_formulas(answer: str, gold: str, form: FormulaForm, comparison: Comparison = PLAIN) -> Sameness:
    """Return how `answer` compares with `gold`, both of `form`; the same whichever is which, tolerance aside.

    "unread": the answer is no formula of that form, or too large. "different": another shape, other free symbols, or
    a point where the two differ. "unproven": they agree wherever they were tried, and no proof was found in the budget
    (4 s of CPU, 10 for all parts together); a verifier that pays for it accepts what agrees to 30 digits at 24 points.

    Raises:
        VerifierError: gold itself cannot be read.
        RegistryError: SymPy is needed and not installed.

    """
    wanted = read_formula(gold, form)
    if wanted is None:
        raise VerifierError(f"The gold formula {gold[:80]!r} cannot be read as {form.shape}. Mend the task source.")
    found = read_formula(answer, form)
    if found is None:
        return "unread"
    work = _Work(comparison)
    names = _renamings(found, wanted, comparison)
    results = [_compared(formula.renamed(found, each), wanted, work) for each in names]
    return next((kind for kind in ("same", "unproven") if kind in results), "different")  # sound: a list of kinds


def _renamings(found: Term, wanted: Term, comparison: Comparison) -> list[dict[str, str]]:
    """Return the ways to give the answer's own symbols the names that gold's arbitrary ones have."""
    if len(comparison.arbitrary) > MAX_ARBITRARY:
        raise VerifierError(f"{len(comparison.arbitrary)} arbitrary symbols; at most {MAX_ARBITRARY} are tried.")
    free = sorted(symbols(wanted) & {*comparison.arbitrary})
    own = sorted(symbols(found) - (symbols(wanted) - {*free}))
    if len(own) != len(free):
        return [{}]
    return [dict(zip(own, order, strict=True)) for order in itertools.permutations(free)]


@dataclass(slots=True)
class _Work:
    """One comparison under way: how, and what CPU seconds the child may still take for it."""

    how: Comparison
    left_s: float = ALL_CPU_S

    def ask(self, ask: str, *terms: Term) -> str:
        """Return the child's answer, "unproven" when the budget is spent."""
        if self.left_s <= 0.0:
            return "unproven"
        trees: list[Json] = [term.json() for term in terms]
        question: dict[str, Json] = {
            "ask": ask,
            "terms": trees,
            "numbers": self.how.numbers,
            "seed": canonical_json(trees),
            "cpu_s": CPU_S if self.left_s > CPU_S else self.left_s,
            "wall_s": WALL_S,
            "memory_bytes": MEMORY_BYTES,
        }
        answer, spent_s = _prover(os.getpid()).ask(canonical_json(question))
        self.left_s -= spent_s
        return answer


def _compared(found: Term, wanted: Term, work: _Work) -> Sameness:
    if found.op in ("tuple", "sequence") and wanted.op == found.op:
        return _in_order(found.parts, wanted.parts, work)
    if found.op in ("set", "union") and wanted.op == found.op:
        if found.name and wanted.name and found.name != wanted.name:
            return "different"
        return _in_any_order(found.parts, wanted.parts, work)
    if found.op == wanted.op == "interval":
        return _in_order(found.parts, wanted.parts, work) if found.name == wanted.name else "different"
    if found.op == wanted.op == "equation":
        gaps = [Term("add", (each.parts[0], Term("neg", (each.parts[1],)))) for each in (found, wanted)]
        return _decided("proportional", gaps[0], gaps[1], work)
    if "dots" in (found.op, wanted.op):
        return "same" if found.op == wanted.op else "different"
    return _same_expression(found, wanted, work)


def _same_expression(found: Term, wanted: Term, work: _Work) -> Sameness:
    if found == wanted:
        return "same"
    if is_infinite(found) or is_infinite(wanted):
        return "different"
    if work.how.tolerance != EXACT and not symbols(found) | symbols(wanted):
        value, gold = _constant(found, work), _constant(wanted, work)
        if value is None or gold is None:
            return "unproven"
        return "same" if work.how.tolerance.admits(value, gold) else "different"
    return _decided("same", found, wanted, work)


def _decided(ask: Literal["same", "proportional"], left: Term, right: Term, work: _Work) -> Sameness:
    """Return whether two expressions are the same, or one a constant times the other: here, or in the child."""
    if symbols(left) != symbols(right):
        return "different"
    if is_rational(left) and is_rational(right):
        agree = formula.same_function if ask == "same" else formula.proportional
        return "same" if agree(left, right) else "different"
    reply = work.ask(ask, left, right)
    return "same" if reply == "same" else "different" if reply == "different" else "unproven"


def _constant(term: Term, work: _Work) -> Fraction | None:
    value = exact_value(term)
    return value if value is not None or is_rational(term) else _DIGITS.value(work.ask("value", term))


def _in_order(found: Sequence[Term], wanted: Sequence[Term], work: _Work) -> Sameness:
    if len(found) != len(wanted):
        return "different"
    return _least([_compared(one, other, work) for one, other in zip(found, wanted, strict=True)])


def _in_any_order(found: Sequence[Term], wanted: Sequence[Term], work: _Work) -> Sameness:
    """Return whether each of `found` is another one of `wanted`, and none is left over."""
    if len(found) != len(wanted) or len(found) > MAX_PARTS:
        return "different"
    if not found:
        return "same"
    kinds = [[_compared(one, other, work) for other in wanted] for one in found]
    for kind, worth in (("same", {"same": 1.0}), ("unproven", {"same": 1.0, "unproven": 1.0})):
        pairs = best_pairs([[worth.get(each, 0.0) for each in row] for row in kinds])
        if len(pairs) == len(found):
            return "same" if kind == "same" else "unproven"
    return "different"


def _least(kinds: Sequence[Sameness]) -> Sameness:
    return next((kind for kind in ("different", "unproven") if kind in kinds), "same")  # sound: a list of kinds


class _Prover:
    """The process that SymPy is loaded in, which forks one for each question. One question at a time."""

    def __init__(self, pid: int) -> None:
        if importlib.util.find_spec("sympy") is None:
            raise RegistryError("Comparing these formulas needs SymPy. Run: pip install 'polyathlon[symbolic]'")
        self._pid = pid
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None

    def ask(self, question: str) -> tuple[str, float]:
        """Return the answer to `question`, a line of JSON, and what CPU seconds it took.

        Raises:
            VerifierError: the process broke twice.

        """
        with self._lock:
            for _ in range(2):
                try:
                    process = self._process or self._started()
                    assert process.stdin is not None
                    process.stdin.write(f"{question}\n")
                    process.stdin.flush()
                    reply = expect_map(parse_json(self._line(process, WALL_S + START_S)))
                    spent_s = reply["cpu_s"]
                    assert isinstance(spent_s, float)
                    return expect_text(reply["answer"]), spent_s
                except (OSError, ValueError):
                    self._stop()
        raise VerifierError("The process that proves formulas broke twice; is SymPy installed whole?")

    def _started(self) -> subprocess.Popen[str]:
        self._process = subprocess.Popen(
            [sys.executable, "-I", str(_SERVER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="ascii",
            env={"LC_ALL": "C", "PYTHONHASHSEED": "0"},
        )
        if self._line(self._process, START_S).strip() != "ready":
            raise ValueError("it did not start")
        return self._process

    def _line(self, process: subprocess.Popen[str], wait_s: float) -> str:
        assert process.stdout is not None
        ready, _, _ = select.select([process.stdout], [], [], wait_s)
        return process.stdout.readline() if ready else ""

    def stop(self) -> None:
        """End the process, where it is one of ours: a fork of us leaves it alone."""
        if os.getpid() == self._pid:
            with self._lock:
                self._stop()

    def _stop(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()


@functools.lru_cache(maxsize=1)
def _prover(pid: int) -> _Prover:
    """Return this process's prover; a fork of this process gets one of its own."""
    prover = _Prover(pid)
    atexit.register(prover.stop)
    return prover
