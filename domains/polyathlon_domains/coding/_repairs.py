"""Functions over a list of integers with faults put into them: drawn, written out, and told apart by inputs."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from polyathlon.canonical import canonical_json
from polyathlon.seeding import child
from polyathlon_domains.coding import _phrases as phrases
from polyathlon_domains.coding._mutants import Fault, faults, written
from polyathlon_domains.coding._own_code import OwnProgram, share_equal
from polyathlon_domains.coding._stages import GUARDS, RESULTS, TRANSFORMS

Core = dict[str, Any]
ENTRY = "solve"
NUM_TRIED = 28
MIN_TOLD = 3  # a fault that fewer of the inputs tell is a needle, or none at all
MAX_BUGGY_SHARE = 0.7
MIN_OUTCOMES = 8


@dataclass(frozen=True, slots=True)
class Setting:
    """What makes a level: how much code, how many faults, and how much the prompt helps or misleads."""

    num_guards: int
    num_steps: int
    num_faults: int
    interacting: bool
    misleading: bool
    example: bool


LEVELS = (
    Setting(0, 0, 1, interacting=False, misleading=False, example=True),
    Setting(0, 1, 1, interacting=False, misleading=False, example=True),
    Setting(1, 2, 2, interacting=False, misleading=False, example=True),
    Setting(1, 3, 2, interacting=True, misleading=True, example=True),
    Setting(2, 4, 3, interacting=True, misleading=True, example=False),
)
NAMES = {"v": "values", "x": "x", "y": "y", "i": "i", "j": "j", "o": "kept", "t": "total", "u": "count"}


@dataclass(frozen=True, slots=True)
class Written:
    """The right function, in the form that `ast.unparse` gives, and a sentence for each of its steps."""

    source: str
    sentences: tuple[str, ...]


def write_function(core: Mapping[str, Any], names: Mapping[str, str], *, entry: str = ENTRY) -> Written:
    """Return the right function of `core` in these names."""
    lines, sentences = [f"def {entry}({names['v']}):"], []
    for library, key in ((GUARDS, "guards"), (TRANSFORMS, "steps"), (RESULTS, "result")):
        for kind, *parameters in core[key]:
            stage = library[kind]
            lines += ["    " + line.format(**names) for line in stage.lines(*parameters)]
            sentences.append(stage.words(*parameters))
    return Written(ast.unparse(ast.parse("\n".join(lines))), tuple(sentences))


def draw_core(rng: np.random.Generator, level: int) -> Core:
    """Return a core of `level`: its stages, and the faults by their places in the list of all that fit."""
    while True:
        core = _draw_stages(rng, level)
        program = OwnProgram(write_function(core, NAMES).source, ENTRY)
        calls = first_calls(core)
        wanted = program.outcomes(calls)
        if len(set(wanted)) < MIN_OUTCOMES or sum('"error"' in text for text in wanted) > NUM_TRIED // 2:
            continue
        chosen = _draw_faults(rng, level, program, calls, wanted)
        if chosen is not None:
            return {**core, "faults": chosen}


def telling_of(core: Mapping[str, Any]) -> Setting:
    """Return the setting that a core of this length was drawn for."""
    size = (len(core["guards"]), len(core["steps"]))
    return next(setting for setting in LEVELS if (setting.num_guards, setting.num_steps) == size)


def first_calls(core: Mapping[str, Any]) -> list[list[list[int]]]:
    """Return the calls that a core's faults were chosen by: they depend on its stages alone."""
    stages = [core["guards"], core["steps"], core["result"]]
    return draw_calls(child("repair", canonical_json(stages)), core, num_calls=NUM_TRIED)


def draw_calls(rng: np.random.Generator, core: Mapping[str, Any], *, num_calls: int) -> list[list[list[int]]]:
    """Return `num_calls` lists of arguments (one list of 0 to 8 integers each), near where behaviour changes."""
    stages = [core["guards"], core["steps"], core["result"]]
    edges = [edge + shift for edge in phrases.numbers_in(stages) for shift in (-1, 0, 1) if edge < 70]
    lowest = [stage[1] for stage in core["guards"] if stage[0] == "low"]
    edges += [-least - shift for least in lowest for shift in (0, 1)]
    calls: list[list[list[int]]] = [[[]], [[int(rng.integers(1, 40))]]]
    while len(calls) < num_calls:
        values: list[int] = []
        for _ in range(int(rng.integers(2, 9))):
            roll = rng.random()
            if roll < 0.4 and edges:
                values.append(int(rng.choice(edges)))
            elif roll < 0.6 and values:
                values.append(values[-1] + int(rng.integers(-2, 3)))
            else:
                values.append(int(rng.integers(-2, 66)))
        calls.append([values])
    return calls


def faulty_source(source: str, places: Sequence[int]) -> str:
    """Return `source` with the faults at `places` in it."""
    tree = ast.parse(source)
    known = faults(tree)
    return written(tree, [known[place] for place in places])


def _draw_stages(rng: np.random.Generator, level: int) -> Core:
    num_guards, num_steps = LEVELS[level].num_guards, LEVELS[level].num_steps
    guards = sorted(str(kind) for kind in rng.choice(sorted(GUARDS), size=num_guards, replace=False))
    steps = [str(kind) for kind in rng.choice(sorted(TRANSFORMS), size=num_steps, replace=False)]
    result = str(rng.choice(sorted(RESULTS)))
    return {
        "guards": [[kind, *GUARDS[kind].draw(rng)] for kind in guards],
        "steps": [[kind, *TRANSFORMS[kind].draw(rng)] for kind in steps],
        "result": [[result, *RESULTS[result].draw(rng)]],
    }


def _draw_faults(
    rng: np.random.Generator, level: int, program: OwnProgram, calls: Sequence[Any], wanted: Sequence[str]
) -> list[int] | None:
    """Return places of faults that the calls tell apart, alone and together, or None when ten tries found none."""
    setting = LEVELS[level]
    known = faults(program.tree)
    for _ in range(10):
        places = sorted(int(place) for place in rng.choice(len(known), size=setting.num_faults, replace=False))
        picked = [known[place] for place in places]
        if len({fault.line for fault in picked}) == len(picked) and _are_told(program, picked, calls, wanted, setting):
            return places
    return None


def _are_told(
    program: OwnProgram, picked: list[Fault], calls: Sequence[Any], wanted: Sequence[str], setting: Setting
) -> bool:
    """Return whether the calls tell each fault alone, all together, and what is left when any one is mended."""
    together = program.outcomes(calls, faults=picked)
    if share_equal(together, wanted) > MAX_BUGGY_SHARE:
        return False
    if len(picked) == 1:
        return _num_told(together, wanted) >= MIN_TOLD
    alone = [program.outcomes(calls, faults=[fault]) for fault in picked]
    if any(_num_told(found, wanted) < MIN_TOLD for found in alone):
        return False
    mended = [program.outcomes(calls, faults=[f for f in picked if f is not fault]) for fault in picked]
    if any(found == together for found in mended):
        return False
    return not setting.interacting or _interact(alone, together, wanted)


def _num_told(found: Sequence[str], wanted: Sequence[str]) -> int:
    return sum(a != b for a, b in zip(found, wanted, strict=True))


def _interact(alone: Sequence[Sequence[str]], together: Sequence[str], wanted: Sequence[str]) -> bool:
    """Return whether on some call no one fault's removal helps: all are wrong there, and so is each of two alone."""
    wrong = [sum(found[k] != wanted[k] for found in alone) for k in range(len(wanted))]
    return any(count >= 2 and together[k] != wanted[k] for k, count in enumerate(wrong))
