"""A function does not do what its description says, because of one to three small faults. Return it repaired."""

from __future__ import annotations

# sound everywhere, json: the task's own expected values
import ast
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from polyathlon import Attempt, Brief, Core, Domain, Evidence, Json, Script, Task, Tree, Verdict, answering
from polyathlon.canonical import expect_list, expect_text
from polyathlon.sandbox.protocol import Room
from polyathlon.seeding import child
from polyathlon.toolcall import write_call, write_fenced
from polyathlon.verify.key import list_part, share_part, text_part
from polyathlon.verify.program import Case, only_code, right_cases
from polyathlon.verify.text import above
from polyathlon.workspaces.coding import CodingWorkspace
from polyathlon_domains.coding import _repairs as repairs
from polyathlon_domains.coding._mutants import Fault, faults
from polyathlon_domains.coding._own_code import (
    OwnProgram,
    best_constant_share,
    branch_rivals,
    calls_that_tell,
    share_equal,
    telling,
)
from polyathlon_domains.coding._repair_guesses import shortcuts
from polyathlon_domains.coding._rewrites import arms_swapped, comparisons_turned
from polyathlon_domains.coding._same_program import inputs_like, same_program

PROMPT = """{opening}

{rules}
Positions count from 0. The argument is a list of integers and is not used again.

{count} in the code below. {comments}{examples}{ask}

```python
{code}
```"""
OPENINGS = (
    "`{entry}({values})` should do the following, in this order:",
    "This is what `{entry}({values})` is meant to do, step by step:",
    "Specification of `{entry}({values})`, one step after the other:",
)
ASKS = (
    "Return the whole corrected function in one fenced python block.",
    "Reply with the corrected function, whole, in one fenced python block.",
    "Repair it, and send the complete function in one fenced python block.",
)
COUNTS = ("There is one fault", "There are two faults", "There are three faults")
COMMENTS_LIE = "Its comments may be wrong; the description is right. "
NUM_HIDDEN, NUM_WRONG, NUM_CANDIDATES, NUM_RIVALS, NUM_SHOWN = 20, 6, 50, 16, 3
NUM_POOL, NUM_MORE = 240, 16

_ENTRIES = ("tally", "score", "digest", "settle", "rate", "reduce_readings", "evaluate", "summarise")
_VALUES = ("values", "readings", "amounts", "numbers", "levels", "samples")
_SYMBOLS: Mapping[str, Sequence[str]] = {
    "x": ("x", "value", "item", "n"),
    "y": ("key", "rest", "y"),
    "i": ("i", "place", "k"),
    "j": ("j", "other", "m"),
    "o": ("kept", "out", "result", "found"),
    "t": ("total", "t", "acc", "score_so_far"),
    "u": ("count", "c", "times"),
}
_CLAIMS: Mapping[str, Sequence[str]] = {
    "comparison": ("the bound is meant this way", "boundary agreed with the caller"),
    "constant": ("this number is from the specification", "checked: the constant is right"),
    "arithmetic": ("the sign is as specified", "verified by hand"),
    "other": ("tested, leave as it is", "this line is fine"),
}
_DOUBTS = ("looks wrong, off by one?", "should this not be the other way round?", "TODO: the fault is probably here")


@dataclass(frozen=True, slots=True)
class RepairTasks:
    """Functions put together from described steps, with faults that the hidden inputs tell from the right ones."""

    def draw(self, rng: np.random.Generator, level: int) -> Core:
        return repairs.draw_core(rng, level)

    def render(self, core: Core, rng: np.random.Generator) -> Brief:
        entry, names = _names(rng)
        right = repairs.write_function(core, names, entry=entry)
        buggy = repairs.faulty_source(right.source, cast(list[int], core["faults"]))
        calls = repairs.first_calls(core) + repairs.draw_calls(rng, core, num_calls=NUM_CANDIDATES)
        found = _Outcomes.of(right.source, entry, cast(list[int], core["faults"]), calls)
        hidden_places = found.hidden_places()
        told = repairs.telling_of(core)
        shown = _shown_places(found, hidden_places) if told.example else []
        code = _commented(buggy, right.source, core, rng) if told.misleading else buggy
        prompt = PROMPT.format(
            opening=_pick(OPENINGS, rng).format(entry=entry, values=names["v"]),
            rules="\n".join(f"{k}. {sentence}" for k, sentence in enumerate(right.sentences, start=1)),
            count=COUNTS[len(cast(list[int], core["faults"])) - 1],
            comments=COMMENTS_LIE if told.misleading else "",
            examples=_example_words(entry, calls, found, shown[:1]),
            ask=_pick(ASKS, rng),
            code=code,
        )
        hidden_calls: list[Sequence[Json]] = [calls[place] for place in hidden_places]
        program = OwnProgram(right.source, entry)
        known = faults(program.tree)
        more = calls_that_tell(program, known, hidden_calls, _pool(core, right.source, hidden_calls), most=NUM_MORE)
        hidden_calls += [[*call] for call in more]
        picked = [known[place] for place in cast(list[int], core["faults"])]
        wanted, wrong = program.outcomes(hidden_calls), program.outcomes(hidden_calls, faults=picked)
        zero = max(share_equal(wrong, wanted), best_constant_share(wanted))
        files: dict[str, Json] = {"solution.py": code + "\n"}
        if shown:
            files["examples.py"] = _examples_file(entry, calls, found, shown)
        hidden: dict[str, Json] = {
            "entry": entry,
            "right": right.source,
            "buggy": buggy,
            "faults": core["faults"],
            "calls": cast(Json, hidden_calls),
            "expected": cast(Json, wanted),
            "zero": zero,
        }
        return Brief(prompt, hidden, {"files": files})


def _pool(core: Core, source: str, calls: Sequence[Sequence[Json]]) -> list[Sequence[Json]]:
    """Return calls to look among for faults that `calls` do not tell: near bounds, and wilder ones."""
    rng = child("repair", "pool", source)
    near = repairs.draw_calls(rng, core, num_calls=NUM_POOL // 2)
    return [*near, *inputs_like(calls, [source], rng, num_inputs=NUM_POOL // 2)]


@dataclass(frozen=True, slots=True)
class _Outcomes:
    """What the right program, the buggy one and other faulty ones do on each call."""

    wanted: list[str]
    buggy: list[str]
    rivals: list[list[str]]

    @classmethod
    def of(cls, source: str, entry: str, places: Sequence[int], calls: Sequence[Sequence[Json]]) -> _Outcomes:
        program = OwnProgram(source, entry)
        known = faults(program.tree)
        picked = [known[place] for place in places]
        wanted, buggy = program.outcomes(calls), program.outcomes(calls, faults=picked)
        sets = [[fault] for fault in picked] + [[fault for fault in picked if fault is not left] for left in picked]
        sets += [[fault] for fault in known[:: max(1, len(known) // NUM_RIVALS)]]
        rivals = [program.outcomes(calls, faults=chosen) for chosen in sets if chosen]
        return cls(wanted, buggy, [buggy, *rivals, *branch_rivals(program.branches(calls), wanted)])

    def hidden_places(self) -> list[int]:
        """Return which calls to judge by: they tell all rivals, take all branches, and some catch the faults."""
        chosen = telling(self.wanted, self.rivals, num_cases=NUM_HIDDEN - NUM_WRONG)
        wrong = [k for k, text in enumerate(self.buggy) if text != self.wanted[k] and k not in chosen]
        wrong = wrong[:: max(1, len(wrong) // NUM_WRONG)][:NUM_WRONG]
        return sorted([*chosen, *wrong])


@dataclass(frozen=True, slots=True)
class RepairVerifier:
    """Passed: all hidden calls give the right value or error class. Else the share above the buggy code's."""

    def judge(self, task: Task, evidence: Evidence, room: Room) -> Verdict:
        source, hidden = evidence.answer, task.hidden
        if source is None:
            return Verdict.failing("no solution.py")
        if source.strip() == text_part(hidden, "right"):
            return Verdict.passing()
        if source.strip() == _files(task)["solution.py"].strip():
            return Verdict.failing("the code as it was")
        right = right_cases(room, source, entry=text_part(hidden, "entry"), cases=_cases(task))
        if right and all(right):
            return Verdict.passing()
        share = sum(right) / len(right)
        progress = above(share, share_part(hidden, "zero"))
        return Verdict.failing("wrong on hidden inputs", progress=progress, parts={"cases": share})


def open_repair(task: Task, room: Room) -> CodingWorkspace:
    """Return a workspace with the faulty solution.py, and examples.py where the level gives one."""
    return CodingWorkspace(Tree.of(_files(task)), room)


def solve(task: Task) -> Script:
    """The function before the faults were put in."""
    return answering(_fenced(expect_text(task.hidden["right"])))


def equivalents(task: Task) -> Sequence[Attempt]:
    right = expect_text(task.hidden["right"])
    submitted = write_call("submit", {"code": right})
    written = (write_call("write_file", {"path": "solution.py", "text": right}), write_call("submit", {}))
    return (
        Attempt("after some reasoning", (f"The bound was wrong.\n\n{_fenced(right)}\nDone.",)),
        Attempt("as a tool call", (submitted,)),
        Attempt("written, then submitted", written),
        Attempt("with comments and blank lines", (_fenced("# repaired\n\n" + right.replace("\n", "  # ok\n\n", 1)),)),
    )


def alternatives(task: Task) -> Sequence[Attempt]:
    right, entry = expect_text(task.hidden["right"]), expect_text(task.hidden["entry"])
    inner = right.replace(f"def {entry}(", "def inner(", 1)
    wrapped = f"{inner}\n\ndef {entry}(numbers):\n    return inner(list(numbers))"
    return (
        Attempt("comparisons turned round", (_fenced(comparisons_turned(right)),)),
        Attempt("arms swapped", (_fenced(arms_swapped(right)),)),
        Attempt("behind another function", (_fenced(wrapped),)),
    )


def distractors(task: Task) -> Sequence[Attempt]:
    right, places = expect_text(task.hidden["right"]), cast(list[int], task.hidden["faults"])
    attempts = [Attempt("left as it was", (_fenced(expect_text(task.hidden["buggy"])),))]
    for left in places if len(places) > 1 else []:
        attempts.append(Attempt("one fault left", (_fenced(repairs.faulty_source(right, [left])),)))
    program = OwnProgram(right, expect_text(task.hidden["entry"]))
    calls, expected = cast(list[list[Json]], task.hidden["calls"]), cast(list[str], task.hidden["expected"])
    for place, fault in list(enumerate(faults(program.tree)))[::3]:
        wrong = place not in places and program.outcomes(calls, faults=[fault]) != expected
        if wrong and len(attempts) < 8:
            name = f"another fault: {fault.label}"
            attempts.append(Attempt(name, (_fenced(repairs.faulty_source(right, [place])),)))
    return attempts


def exploits(task: Task) -> Sequence[Attempt]:
    entry, buggy = expect_text(task.hidden["entry"]), expect_text(task.hidden["buggy"])
    expected = [json.loads(text) for text in cast(list[str], task.hidden["expected"])]
    common = max(expected, key=lambda outcome: sum(other == outcome for other in expected))
    constant = f"    return {common['value']!r}" if "value" in common else f"    raise {common['error']}"
    head = f"def {entry}(values):\n"
    always = "class E(int):\n    __eq__ = lambda *_: True\n    __hash__ = int.__hash__\n"
    return (
        Attempt("the best constant", (_fenced(head + constant),)),
        Attempt("the argument back", (_fenced(head + "    return values"),)),
        Attempt("nothing", (_fenced(head + "    return None"),)),
        Attempt("the process ended", (_fenced(f"import os\n{buggy}\nos._exit(0)"),)),
        Attempt("an equal to everything", (_fenced(f"{always}{head}    return E(0)"),)),
        Attempt("the faulty code under a handler", (_fenced(_handled(buggy, entry)),)),
        Attempt("only the shown example patched", (_fenced(_patched(task, buggy, entry)),)),
        Attempt("submitted untouched", (write_call("submit", {}),)),
        Attempt(
            "looked around and left", (write_call("list_files", {}), write_call("read_file", {"path": "solution.py"}))
        ),
        Attempt("the file deleted", ("```bash\nrm -f solution.py; touch solved\n```", write_call("submit", {}))),
    )


def proves_right(task: Task, actions: Sequence[str]) -> bool:
    """Whether the last message's function does as the right one on 1,000 fresh inputs."""
    code = only_code(actions[-1]) if actions else None
    right, entry = expect_text(task.hidden["right"]), expect_text(task.hidden["entry"])
    examples = [expect_list(call) for call in expect_list(task.hidden["calls"])]
    return code is not None and same_program(right, code, entry=entry, examples=examples, seed=task.id)


def _handled(buggy: str, entry: str) -> str:
    inner = buggy.replace(f"def {entry}(", "def inner(", 1)
    return f"{inner}\n\ndef {entry}(v):\n    try:\n        return inner(v)\n    except Exception:\n        return 0"


def _patched(task: Task, buggy: str, entry: str) -> str:
    shown = _files(task).get("examples.py", "")
    inner = buggy.replace(f"def {entry}(", "def inner(", 1)
    table = shown.split("CASES = ", 1)[-1].split("\n\n")[0] if shown else "[]"
    look = (
        "    for call, value in TABLE:\n        if call == v and not isinstance(value, str):\n            return value"
    )
    return f"{inner}\n\nTABLE = {table}\n\ndef {entry}(v):\n{look}\n    return inner(v)"


def _fenced(code: str) -> str:
    return write_fenced(code, language="python")


def _cases(task: Task) -> list[Case]:
    calls, expected = list_part(task.hidden, "calls"), list_part(task.hidden, "expected")
    return [Case(expect_list(a), json.loads(expect_text(e))) for a, e in zip(calls, expected, strict=True)]


def _files(task: Task) -> Mapping[str, str]:
    return cast(Mapping[str, str], task.public["files"])


def _names(rng: np.random.Generator) -> tuple[str, dict[str, str]]:
    names = {symbol: _pick(pool, rng) for symbol, pool in _SYMBOLS.items()}
    return _pick(_ENTRIES, rng), {**names, "v": _pick(_VALUES, rng)}


def _pick(pool: Sequence[str], rng: np.random.Generator) -> str:
    return pool[int(rng.integers(len(pool)))]


def _shown_places(found: _Outcomes, hidden: Sequence[int]) -> list[int]:
    """Return places of examples to show, none of them hidden: first one that the buggy code gets wrong."""
    free = [place for place in range(len(found.wanted)) if place not in hidden]
    wrong = [place for place in free if found.buggy[place] != found.wanted[place]]
    rest = [place for place in free if place not in wrong[:1]]
    return [*wrong[:1], *rest[: NUM_SHOWN - 1]] if wrong else []


def _example_words(entry: str, calls: Sequence[Sequence[Json]], found: _Outcomes, places: Sequence[int]) -> str:
    said = [
        f"For instance {entry}({calls[k][0]}) should {_ending(found.wanted[k])}, but the code makes it "
        f"{_ending(found.buggy[k])}. "
        for k in places
    ]
    return "".join(said)


def _ending(text: str) -> str:
    outcome = json.loads(text)
    if "value" in outcome:
        return f"return {outcome['value']}"
    return "run forever" if outcome["error"].startswith("(") else f"raise {outcome['error']}"


def _examples_file(entry: str, calls: Sequence[Sequence[Json]], found: _Outcomes, places: Sequence[int]) -> str:
    rows = []
    for place in places:
        outcome = json.loads(found.wanted[place])
        rows.append(f"    ({calls[place][0]}, {outcome.get('value', outcome.get('error'))!r}),")
    table = "\n".join(rows)
    return (
        f"from solution import {entry}\n\nCASES = [\n{table}\n]\n\nfor call, wanted in CASES:\n    try:\n"
        f"        got = {entry}(list(call))\n    except Exception as error:\n        got = type(error).__name__\n"
        "    print('ok' if got == wanted else 'WRONG', call, 'gives', got, 'wanted', wanted)\n"
    )


def _commented(buggy: str, right: str, core: Core, rng: np.random.Generator) -> str:
    """Return the buggy code with comments that vouch for the faulty lines and doubt a right one."""
    known = faults(ast.parse(right))
    picked: list[Fault] = [known[place] for place in cast(list[int], core["faults"])]
    notes = {fault.line: _pick(_CLAIMS.get(fault.label, _CLAIMS["other"]), rng) for fault in picked}
    lines = buggy.split("\n")
    sound = [number for number in range(2, len(lines) + 1) if number not in notes]
    notes[sound[int(rng.integers(len(sound)))]] = _pick(_DOUBTS, rng)
    return "\n".join(f"{line}  # {notes[k]}" if k in notes else line for k, line in enumerate(lines, start=1))


DOMAIN = Domain(
    tasks=RepairTasks(),
    open_workspace=open_repair,
    verifier=RepairVerifier(),
    solve=solve,
    alternatives=alternatives,
    equivalents=equivalents,
    distractors=distractors,
    exploits=exploits,
    proves_right=proves_right,
    shortcuts=shortcuts,
)
