"""Answers known to be wrong without asking the verifier, for generators whose tasks have many right answers.

There, a number that differs from the example's says nothing. Each entry names its reason: a rule of the task that the
answer breaks whatever else is right about it.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping

from polyathlon.canonical import Json, expect_list, expect_map

Wrong = Callable[[str, Mapping[str, Json]], str | None]
"""From an example of a right answer and the item's metadata (as `wire` writes it) to a wrong answer, or None."""

_MAKE_24 = ("6 * 4 * 1 * 1", "3 * 8 * 1 * 1", "2 + 9 + 6 + 7", "10 + 10 + 2 + 2", "5 * 5 - 1 * 1", "9 + 9 + 3 + 3")


def _other_numbers(_: str, metadata: Mapping[str, Json]) -> str | None:
    given = Counter(str(number) for number in _list(metadata.get("numbers")))
    return next((text for text in _MAKE_24 if Counter(re.findall(r"\d+", text)) != given), None)


def _the_target_itself(_: str, metadata: Mapping[str, Json]) -> str | None:
    return str(metadata["target"]) if len(_list(metadata.get("numbers"))) > 1 else None


def _plus_the_variable(gold: str, metadata: Mapping[str, Json]) -> str | None:
    return f"{gold} + {metadata['variable']}"


def _all_one_colour(gold: str, metadata: Mapping[str, Json]) -> str | None:
    edges = _list(expect_map(metadata["puzzle"]).get("edges"))
    return json.dumps(dict.fromkeys(json.loads(gold), 1)) if edges else None


def _first_cell_flipped(gold: str, _: Mapping[str, Json]) -> str | None:
    found = re.search(r"[01]", gold)
    return None if found is None else gold[: found.start()] + str(1 - int(found[0])) + gold[found.end() :]


def _one_queen_less(gold: str, _: Mapping[str, Json]) -> str | None:
    return gold[: gold.rindex("Q")] + "_" + gold[gold.rindex("Q") + 1 :] if gold.count("Q") else None


def _without_a_word(gold: str, _: Mapping[str, Json]) -> str | None:
    words = gold.split(",")
    for place in range(1, len(words) - 1):
        before, after = words[place - 1], words[place + 1]
        if sum(a != b for a, b in zip(before, after, strict=False)) != 1:
            return ",".join(words[:place] + words[place + 1 :])
    return None


def _all_letters_one(gold: str, _: Mapping[str, Json]) -> str | None:
    letters = re.findall(r"([A-Z])\s*=", gold)
    return ",".join(f"{letter}=1" for letter in letters) if len(letters) > 1 else None


def _last_move_left_out(gold: str, _: Mapping[str, Json]) -> str | None:
    lines = gold.strip().splitlines()
    return "\n".join(lines[:-1]) if len(lines) > 1 else None


def _last_step_left_out(gold: str, _: Mapping[str, Json]) -> str | None:
    steps = gold.split()
    return " ".join(steps[:-1]) if len(steps) > 1 else None


def _a_letter_more(gold: str, _: Mapping[str, Json]) -> str | None:
    middle = len(gold) // 2
    return f"{gold[:middle]}{gold[middle]}{gold[middle:]}" if gold else None


def _nothing_moved(gold: str, _: Mapping[str, Json]) -> str | None:
    return "[]" if gold.strip() not in ("[]", "") else None


def _no_order(_: str, __: Mapping[str, Json]) -> str | None:
    return "{}"


def _plus_one(gold: str, _: Mapping[str, Json]) -> str | None:
    return f"{gold} + 1"


def _opposite_if_possible(gold: str, _: Mapping[str, Json]) -> str | None:
    return "No" if gold.strip().lower() != "no" else "[]"


WRONG: Mapping[str, Mapping[str, Wrong]] = {
    "boxnet": {"no box moved": _no_order},
    "codeio": {"no fields": lambda gold, _: "{}" if gold.strip() not in ("{}", "") else None},
    "countdown": {"the target itself, though all numbers must be used": _the_target_itself},
    "cryptarithm": {"one digit for all letters": _all_letters_one},
    "graph_color": {"one colour for all": _all_one_colour},
    "intermediate_integration": {"plus the variable: another derivative": _plus_the_variable},
    "jugs": {"no jug filled": _nothing_moved},
    "kakurasu": {"a cell flipped: another sum": _first_cell_flipped},
    "knight_swap": {"the opposite of whether it can be done": _opposite_if_possible},
    "n_queens": {"a queen missing": _one_queen_less},
    "palindrome_generation": {"a letter more than there are": _a_letter_more},
    "polynomial_multiplication": {"plus one": _plus_one},
    "propositional_logic": {},
    "puzzle24": {"24 from other numbers": _other_numbers},
    "quantum_lock": {"the shortest less its last step": lambda gold, _: _last_step_left_out(gold.replace("→", " "), _)},
    "rubiks_cube": {},
    "rush_hour": {},
    "shortest_path": {"the shortest less its last step": _last_step_left_out},
    "simple_integration": {"plus the variable: another derivative": _plus_the_variable},
    "sokoban": {"not moved": lambda gold, _: "." if gold.strip() else None},
    "tower_of_hanoi": {"the shortest less its last move": _last_move_left_out},
    "word_ladder": {"a word left out of the chain": _without_a_word},
}
"""Every generator whose tasks have many right answers; those without an entry get only answers that are no answer."""


def _list(value: Json) -> list[Json]:
    """Return a list, whichever kind of sequence `wire` wrote down."""
    if isinstance(value, dict):
        kind_and_inside = expect_list(value.get("~", ["list", []]))
        return list(expect_list(kind_and_inside[1]))
    return list(expect_list(value or []))
