"""All mutants of a right script: each message's content by its family, and the script as a whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from polyathlon.canonical import Json, canonical_json
from polyathlon.inspect.mutants.calls import calls_mutants, plan_mutants
from polyathlon.inspect.mutants.csg import block_mutants, mesh_mutants, part_mutants
from polyathlon.inspect.mutants.frames import Family, Frame, frames_of
from polyathlon.inspect.mutants.makefile import makefile_mutants
from polyathlon.inspect.mutants.moves import move_mutants
from polyathlon.inspect.mutants.picking import Picker
from polyathlon.inspect.mutants.python_code import python_mutants, same_python
from polyathlon.inspect.mutants.records import record_mutants
from polyathlon.inspect.mutants.shell import shell_mutants
from polyathlon.inspect.mutants.short_text import text_mutants
from polyathlon.inspect.mutants.sql import sql_mutants, tokens_of
from polyathlon.verify.text import plain


@dataclass(frozen=True, slots=True)
class Mutant:
    """A script that differs from a right one by one operator: "family: operator", and the messages."""

    operator: str
    family: str
    actions: tuple[str, ...]


def script_mutants(
    actions: Sequence[str], kind: str, pick: Picker, *, others: Sequence[Sequence[str]] = ()
) -> Iterator[Mutant]:
    """Yield the mutants of `actions`, a right script in a workspace of `kind`, one for each operator of each message.

    `others` are right scripts of other tasks, the last message of each another task's answer. What only looks
    different (white space, layout, key order, letter case of SQL) is left out.
    """
    script = tuple(actions)
    for place, message in enumerate(script):
        for number, frame in enumerate(frames_of(message, kind)):
            part = pick.within(place, number)
            for operator, value in frame_mutants(frame, part, others=_same_frames(others, frame, kind)):
                if not same_meaning(frame.family, frame.value, value):
                    mutant = (*script[:place], frame.write(value), *script[place + 1 :])
                    yield Mutant(f"{frame.family}: {operator}", frame.family, mutant)
    for operator, plan in plan_mutants(script, pick):
        yield Mutant(f"plan: {operator}", "plan", plan)


def frame_mutants(frame: Frame, pick: Picker, *, others: Sequence[Json] = ()) -> Iterator[tuple[str, Json]]:
    """Yield (operator, value) for one frame, by its family."""
    value, family = frame.value, frame.family
    if family in ("text", "move", "python", "shell", "makefile", "sql"):
        texts = [other for other in others if isinstance(other, str)]
        yield from _of_text(family, str(value), pick, texts)
    elif family in ("record", "arguments"):
        yield from record_mutants(value, pick)
        yield from _others(value, others, pick)
    elif family == "calls":
        yield from calls_mutants(value, pick, others=others)
        yield from _others(value, others, pick)
    elif family == "part":
        yield from part_mutants(value, pick)
    else:
        yield from mesh_mutants(value, pick)


def same_meaning(family: Family, left: Json, right: Json) -> bool:
    """Return whether two contents of a family are the same but for their layout: nothing that could be told apart."""
    if not isinstance(left, str) or not isinstance(right, str):
        return canonical_json(left) == canonical_json(right)
    if family == "python":
        return same_python(left, right)
    if family == "sql":
        return [token.word for token in tokens_of(left)] == [token.word for token in tokens_of(right)]
    return plain(left) == plain(right)


def _of_text(family: Family, text: str, pick: Picker, others: Sequence[str]) -> Iterator[tuple[str, Json]]:
    if family == "python":
        yield from python_mutants(text, pick)
    elif family == "shell":
        yield from shell_mutants(text, pick)
    elif family == "makefile":
        yield from makefile_mutants(text, pick)
    elif family == "sql":
        yield from sql_mutants(text, pick)
    elif family == "move":
        yield from move_mutants(text, pick)
        yield from _others(text, others, pick)
    else:
        blocks = list(block_mutants(text, pick))
        yield from blocks
        yield from text_mutants(text, pick, others=others)


def _others(value: Json, others: Sequence[Json], pick: Picker) -> Iterator[tuple[str, Json]]:
    different = [other for other in others if canonical_json(other) != canonical_json(value)]
    for other in pick.one("another task's answer", different):
        yield "another task's answer", other


def _same_frames(others: Sequence[Sequence[str]], frame: Frame, kind: str) -> list[Json]:
    """Return the contents of the others' last messages that are of the same family, in the same argument."""
    found = [each for actions in others if actions for each in frames_of(actions[-1], kind)]
    return [each.value for each in found if each.family == frame.family and each.where == frame.where]
