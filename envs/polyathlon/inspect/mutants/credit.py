"""Chains of ever more wrong parts: each answer of a chain has all the faults of the one before, and one more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from polyathlon.canonical import Json
from polyathlon.inspect.mutants.frames import Frame, frames_of
from polyathlon.inspect.mutants.picking import Picker
from polyathlon.inspect.mutants.places import Path, leaves_of, put
from polyathlon.inspect.mutants.records import leaf_mutants
from polyathlon.inspect.mutants.short_text import Atom, atom_mutants, atoms_of

MAX_WRONG = 5
SLACK = 1e-9


@dataclass(frozen=True, slots=True)
class Chain:
    """Scripts with 0, 1, 2, ... wrong parts, the wrong ones nested."""

    scripts: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Inversion:
    """Two places of a chain of which the one with more wrong parts earns more."""

    fewer_wrong: int
    more_wrong: int


def chain_of(script: Sequence[str], kind: str, pick: Picker) -> Chain | None:
    """Return a chain over the parts of the answer in `script`, or None where it has not two parts.

    Parts are the fields of a record or of calls, the numbers, days and words of a text. A program has none: two faults
    of one may cancel each other.
    """
    frames = [(place, frame) for place, message in enumerate(script) for frame in frames_of(message, kind)]
    ways = [(place, frame, wrong) for place, frame in frames if len(wrong := _wrong_parts(frame, pick)) > 1]
    if not ways:
        return None
    place, frame, wrong = max(ways, key=lambda way: len(way[2]))
    values = [frame.value]
    for number in range(1, len(wrong) + 1):
        values.append(_with(frame, wrong[:number]))
    return Chain(tuple((*script[:place], frame.write(value), *script[place + 1 :]) for value in values))


def num_pairs(rewards: Sequence[float | None]) -> int:
    """Return how many pairs of a chain can be compared: those of which both were judged."""
    judged = sum(reward is not None for reward in rewards)
    return judged * (judged - 1) // 2


def inversions(rewards: Sequence[float | None]) -> list[Inversion]:
    """Return the pairs of a chain's rewards, from none wrong to most, where more wrong parts earn more."""
    return [
        Inversion(few, many)
        for few, less in enumerate(rewards)
        for many, more in enumerate(rewards)
        if few < many and less is not None and more is not None and more > less + SLACK
    ]


_Wrong = tuple["Atom | Path", Json]


def _wrong_parts(frame: Frame, pick: Picker) -> list[_Wrong]:
    """Return up to five parts of `frame`, each with what stands there instead."""
    found: list[_Wrong] = []
    if frame.family == "text":
        for number, atom in enumerate(atoms_of(str(frame.value))):
            mutants = [text for _, text in atom_mutants(atom.text)]
            found += [(atom, text) for text in pick.one(f"wrong atom {number}", mutants)]
    elif frame.family in ("record", "arguments", "calls"):
        for number, (path, leaf) in enumerate(leaves_of(frame.value)):
            if frame.family == "calls" and "arguments" not in path:
                continue
            leaves = [value for _, value in leaf_mutants(leaf)]
            found += [(path, value) for value in pick.one(f"wrong leaf {number}", leaves)]
    return pick.some("wrong parts", found, MAX_WRONG)


def _with(frame: Frame, wrong: Sequence[_Wrong]) -> Json:
    value = frame.value
    atoms = [(place, new) for place, new in wrong if isinstance(place, Atom)]
    for atom, new in sorted(atoms, key=lambda one: -one[0].start):  # from the end, so that places stay
        value = atom.put(str(value), str(new))
    for place, new in wrong:
        if not isinstance(place, Atom):
            value = put(value, place, new)
    return value
