"""A short function has one piece cut out; its comment says what it computes. Write exactly the missing piece."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from polyathlon import Attempt, Brief, Core, Domain, Evidence, Json, Script, Task, Verdict, answering
from polyathlon.canonical import expect_list, expect_map, expect_text
from polyathlon.errors import TaskError
from polyathlon.sandbox.protocol import Room
from polyathlon.seeding import child
from polyathlon.verify.program import Case, only_code, right_cases
from polyathlon.verify.text import above
from polyathlon.workspaces.question import open_question
from polyathlon_domains.coding import _mutants as mutants
from polyathlon_domains.coding._gaps import (
    Gapped,
    PieceKind,
    draw_arguments,
    draw_shape,
    fill_gap,
    write_gapped,
)
from polyathlon_domains.coding._own_code import best_constant_share, outcomes, share_equal, telling

PROMPTS: Mapping[str, tuple[str, ...]] = {
    "expression": (
        "Fill ___ with one expression:\n{program}",
        "Which expression is ___?\n{program}",
        "Write the expression at ___:\n{program}",
    ),
    "statements": (
        "Fill ___ with statements:\n{program}",
        "Which statements are ___?\n{program}",
        "Write the statements at ___:\n{program}",
    ),
}
ENTRY = "f"
NUM_CASES = 14
NUM_CANDIDATES = 60
MIN_OUTCOMES = 6
MAX_RIVALS = 12
TRIVIAL_PIECES = ("None", "0", "1", "True", "False", "[]")

_PLAIN_NAMES = {"A": "abnmpyz", "B": "ckhqw", "X": "xiu", "S": "srd", "T": "tgo", "P": "yzm", "Q": "klj"}
_LIST_NAMES = ("v", "ns", "xs", "row")
_MISLEADING_NAMES = {"A": ("n", "count", "last"), "B": ("rows", "xs", "items"), "X": ("i", "key", "k")}
_MISLEADING_TOTALS = (("size", "total"), ("last", "first"), ("high", "low"), ("old", "new"), ("step", "acc"))
_ABSTRACT = {"F": ENTRY, "G": "g", "A": "a", "B": "b", "X": "x", "S": "s", "T": "t", "P": "p", "Q": "q"}


@dataclass(frozen=True, slots=True)
class FillTasks:
    """Functions of typed shapes; a core is kept when its function tells its inputs well apart."""

    def draw(self, rng: np.random.Generator, level: int) -> Core:
        while True:
            core = draw_shape(rng, level)
            arguments = draw_arguments(child("fill", repr(core)), core, num_cases=NUM_CASES)
            if len(set(outcomes(_whole(write_gapped(core, _ABSTRACT)), ENTRY, arguments))) >= MIN_OUTCOMES:
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
