"""A short function has one piece cut out; its comment says what it computes. Write exactly the missing piece."""

from __future__ import annotations

# sound everywhere, json: the task's own expected values
import ast
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from polyathlon import Attempt, Brief, Core, Domain, Evidence, Json, Script, Task, Verdict, answering
from polyathlon.canonical import canonical_json, expect_list, expect_text
from polyathlon.errors import TaskError
from polyathlon.sandbox.protocol import Room
from polyathlon.seeding import child
from polyathlon.verify.key import list_part, one_of_part, share_part, text_part
from polyathlon.verify.program import Case, only_code, right_cases
from polyathlon.verify.text import above
from polyathlon.workspaces.question import open_question
from polyathlon_domains.coding import _mutants as mutants
from polyathlon_domains.coding._fill_guesses import shortcuts
from polyathlon_domains.coding._gaps import (
    Gapped,
    PieceKind,
    draw_arguments,
    draw_shape,
    fill_gap,
    write_gapped,
)
from polyathlon_domains.coding._own_code import best_constant_share, outcomes, share_equal, telling
from polyathlon_domains.coding._rewrites import arms_swapped, operands_turned, sums_as_differences
from polyathlon_domains.coding._same_program import same_program

PROMPTS: Mapping[str, tuple[str, ...]] = {
    "expression": (
        "Fill ___ with one expression:\n{program}",
        "Which expression is ___?\n{program}",
        "Write the expression at ___:\n{program}",
    ),
    "statements": (
        "Fill ___ with statements:\n{program}",
        "What stands at ___?\n{program}",
        "Statements for ___:\n{program}",
    ),
}
ENTRY = "f"
NUM_CASES = 14
NUM_CANDIDATES = 60
MIN_OUTCOMES = 6
MAX_TRIVIAL_SHARE = 0.5
MAX_RIVALS = 12
TRIVIAL_PIECES = ("None", "0", "1", "True", "False", "[]")

_PLAIN_NAMES = {"A": "abnmpyz", "B": "ckhqw", "X": "xiu", "S": "srd", "T": "tgo", "P": "yzm", "Q": "klj"}
_LIST_NAMES = ("v", "ns", "xs", "row")
_MISLEADING_NAMES = {"A": ("n", "key", "str"), "B": ("rows", "xs"), "X": ("i", "j", "k")}
_MISLEADING_TOTALS = (("size", "total"), ("last", "first"), ("high", "low"), ("old", "new"), ("max", "min"))
_ABSTRACT = {"F": ENTRY, "G": "g", "A": "a", "B": "b", "X": "x", "S": "s", "T": "t", "P": "p", "Q": "q"}


@dataclass(frozen=True, slots=True)
class FillTasks:
    """Functions of typed shapes; a core is kept when its function tells its inputs well apart."""

    def draw(self, rng: np.random.Generator, level: int) -> Core:
        while True:
            core = draw_shape(rng, level)
            gapped = write_gapped(core, _ABSTRACT)
            arguments = draw_arguments(child("fill", repr(core)), core, num_cases=NUM_CASES)
            wanted = outcomes(_whole(gapped), ENTRY, arguments)
            copies = [[canonical_json({"value": call[place]}) for call in arguments] for place in (0, 1)]
            copied = max(share_equal(copy, wanted) for copy in copies)
            if len(set(wanted)) < MIN_OUTCOMES or copied > MAX_TRIVIAL_SHARE:
                continue
            # only a pair of tests can come out the same for all
            if core["shape"] != "check" or _trivial_share(gapped, arguments, wanted) <= MAX_TRIVIAL_SHARE:
                return core

    def render(self, core: Core, rng: np.random.Generator) -> Brief:
        gapped = write_gapped(core, _names(core, rng))
        templates = PROMPTS[gapped.kind]
        prompt = templates[int(rng.integers(len(templates)))].format(program=gapped.program)
        candidates = draw_arguments(rng, core, num_cases=NUM_CANDIDATES)
        wanted = outcomes(_whole(gapped), ENTRY, candidates)
        rivals = [outcomes(program, ENTRY, candidates) for program in _rivals(gapped)[:MAX_RIVALS]]
        places = telling(wanted, rivals, num_cases=NUM_CASES)
        arguments, expected = [candidates[k] for k in places], [wanted[k] for k in places]
        hidden: dict[str, Json] = {
            "program": gapped.program,
            "kind": gapped.kind,
            "piece": gapped.piece,
            "scope": list(gapped.scope),
            "arguments": cast(Json, arguments),
            "expected": cast(Json, expected),
            "zero": _trivial_share(gapped, arguments, expected),
        }
        return Brief(prompt, hidden)


@dataclass(frozen=True, slots=True)
class FillVerifier:
    """Passed: the completed function does as the original on all hidden inputs. Else its share above trivial pieces."""

    def judge(self, task: Task, evidence: Evidence, room: Room) -> Verdict:
        piece = only_code(evidence.answer or "")
        gapped = _gapped(task)
        filled = None if piece is None else fill_gap(gapped.program, piece, gapped.kind)
        if filled is None:
            return Verdict.failing(f"no {gapped.kind} that can stand in the gap")
        whole = ast.unparse(filled)
        if whole == ast.unparse(_whole(gapped)):  # the very piece that was cut out: nothing to run
            return Verdict.passing()
        right = right_cases(room, whole, entry=ENTRY, cases=_cases(task))
        if right and all(right):
            return Verdict.passing()
        share = sum(right) / len(right)
        zero = share_part(task.hidden, "zero")
        return Verdict.failing("another function", progress=above(share, zero), parts={"cases": share})


def solve(task: Task) -> Script:
    """The piece that was cut out."""
    return answering(expect_text(task.hidden["piece"]))


def equivalents(task: Task) -> Sequence[Attempt]:
    piece = expect_text(task.hidden["piece"])
    rewrites = {
        "white space around it": f"\n  {piece} \n",
        "a fenced block": f"Here it is:\n```python\n{piece}\n```",
        "in answer tags after reasoning": f"The comment says it. <answer>{piece}</answer>",
        "a comment after it": f"{piece}  # as asked",
    }
    if task.hidden["kind"] == "expression":
        rewrites["in parentheses"] = f"({piece})"
        rewrites["without spaces"] = piece.replace(" + ", "+").replace(" * ", "*").replace(" > ", ">")
    else:
        rewrites["indented as in the function"] = piece.replace("\n", "\n        ")
    return tuple(Attempt(name, (text,)) for name, text in rewrites.items())


def alternatives(task: Task) -> Sequence[Attempt]:
    piece = expect_text(task.hidden["piece"])
    return (
        Attempt("operands turned round", (operands_turned(piece),)),
        Attempt("differences as sums", (sums_as_differences(piece),)),
        Attempt("arms swapped", (arms_swapped(piece),)),
    )


def distractors(task: Task) -> Sequence[Attempt]:
    gapped = _gapped(task)
    candidates = cast(list[list[Json]], task.hidden["arguments"])
    wanted = cast(list[str], task.hidden["expected"])
    wrong = [(label, piece) for label, piece in _slips(gapped) if _differs(gapped, piece, candidates, wanted)]
    return tuple(Attempt(f"{label}: {piece}", (piece,)) for label, piece in wrong[:8])


def exploits(task: Task) -> Sequence[Attempt]:
    gapped = _gapped(task)
    program = gapped.program
    if gapped.kind == "expression":
        whole = f"1\ndef {ENTRY}(*_):\n    return 1"
        hack = "__import__('os')._exit(0)"
    else:
        whole = f"def {ENTRY}(*_):\n    return 1"
        hack = "__import__('os')._exit(0)"
    first = cast(list[Json], task.hidden["expected"])[0]
    return (
        Attempt("the program copied back", (program,)),
        Attempt("the function defined anew", (whole,)),
        Attempt("out of the brackets", ("0) or (1",)),
        Attempt("an early return", ("return 0",)),
        Attempt("the process ended", (hack,)),
        Attempt("the interpreter left", ("exit(0)",)),
        Attempt("two pieces", (f"```\n{gapped.piece}\n```\nor\n```\n0\n```",)),
        Attempt("one expected value", (str(first),)),
        Attempt(
            "an equal to everything", ("type('E', (int,), {'__eq__': lambda *_: True, '__hash__': int.__hash__})()",)
        ),
        *(Attempt(f"only {name}", (name,)) for name in gapped.scope),
        *(Attempt(f"only {text}", (text,)) for text in TRIVIAL_PIECES),
    )


def proves_right(task: Task, actions: Sequence[str]) -> bool:
    """Whether the function completed by the last message does as the whole one on 1,000 fresh inputs."""
    piece, gapped = only_code(actions[-1]) if actions else None, _gapped(task)
    filled = None if piece is None else fill_gap(gapped.program, piece, gapped.kind)
    examples = [expect_list(call) for call in expect_list(task.hidden["arguments"])]
    return filled is not None and same_program(
        ast.unparse(_whole(gapped)), ast.unparse(filled), entry=ENTRY, examples=examples, seed=task.id
    )


def _names(core: Core, rng: np.random.Generator) -> dict[str, str]:
    """Return a name for each symbol of `core`, all different; those of the hardest shapes mislead."""
    pools: dict[str, Sequence[str]] = dict(_PLAIN_NAMES)
    shape = core["shape"]
    if shape not in ("value", "choice"):
        pools["A"] = _LIST_NAMES
    if shape in ("two totals", "swap"):
        pools.update(_MISLEADING_NAMES)
        first, second = _MISLEADING_TOTALS[int(rng.integers(len(_MISLEADING_TOTALS)))]
        pools["S"], pools["T"] = ((first,), (second,)) if rng.random() < 0.5 else ((second,), (first,))
    names = {"F": ENTRY, "G": "g"}
    for symbol, pool in pools.items():
        free = [name for name in pool if name not in names.values()]
        names[symbol] = free[int(rng.integers(len(free)))]
    return names


def _gapped(task: Task) -> Gapped:
    hidden = task.hidden
    scope = tuple(map(expect_text, expect_list(hidden["scope"])))
    kind = cast(PieceKind, one_of_part(hidden, "kind", [*PROMPTS]))
    return Gapped(text_part(hidden, "program"), text_part(hidden, "piece"), kind, scope)


def _whole(gapped: Gapped) -> ast.Module:
    whole = fill_gap(gapped.program, gapped.piece, gapped.kind)
    if whole is None:
        raise TaskError(f"{gapped.piece!r} does not fit the gap it was cut from:\n{gapped.program}")
    return whole


def _cases(task: Task) -> list[Case]:
    arguments, expected = list_part(task.hidden, "arguments"), list_part(task.hidden, "expected")
    return [Case(expect_list(a), json.loads(expect_text(e))) for a, e in zip(arguments, expected, strict=True)]


def _slips(gapped: Gapped) -> list[tuple[str, str]]:
    """Return plausible wrong pieces with what went wrong in each."""
    tree = ast.parse(gapped.piece)
    return [(fault.label, mutants.written(tree, [fault])) for fault in mutants.faults(tree, names=gapped.scope)]


def _rivals(gapped: Gapped) -> list[ast.Module]:
    pieces = [piece for _, piece in _slips(gapped)]
    return [whole for piece in pieces if (whole := fill_gap(gapped.program, piece, gapped.kind)) is not None]


def _differs(gapped: Gapped, piece: str, arguments: Sequence[Sequence[Json]], wanted: Sequence[str]) -> bool:
    whole = fill_gap(gapped.program, piece, gapped.kind)
    return whole is not None and outcomes(whole, ENTRY, arguments) != list(wanted)


def _trivial_share(gapped: Gapped, arguments: Sequence[Sequence[Json]], expected: Sequence[str]) -> float:
    """Return the largest share of cases that a name, a constant or `pass` in the gap gets right."""
    pieces = [*TRIVIAL_PIECES, *gapped.scope] if gapped.kind == "expression" else ["pass", *gapped.scope]
    wholes = [fill_gap(gapped.program, piece, gapped.kind) for piece in pieces]
    shares = [share_equal(outcomes(whole, ENTRY, arguments), expected) for whole in wholes if whole is not None]
    return max(best_constant_share(expected), *shares)


DOMAIN = Domain(
    tasks=FillTasks(),
    open_workspace=open_question,
    verifier=FillVerifier(),
    solve=solve,
    alternatives=alternatives,
    equivalents=equivalents,
    distractors=distractors,
    exploits=exploits,
    proves_right=proves_right,
    shortcuts=shortcuts,
)
