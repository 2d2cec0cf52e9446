"""Records made wrong: values off, in the wrong field, absent or invented; rows dropped, twice, invented."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping

from polyathlon.canonical import Json, canonical_json
from polyathlon.inspect.mutants.numbers import number_mutants
from polyathlon.inspect.mutants.picking import Picker
from polyathlon.inspect.mutants.places import Path, at, boxes_of, leaves_of, put, without
from polyathlon.inspect.mutants.short_text import atom_mutants, atoms_of

MAX_TEXT_CHARS = 2_000


def record_mutants(value: Json, pick: Picker) -> Iterator[tuple[str, Json]]:
    """Yield (operator, value): one mutant for each operator, at a place that `pick` draws."""
    sites: dict[str, list[tuple[Path, Json]]] = {}
    for path, leaf in leaves_of(value):
        for operator, mutant in leaf_mutants(leaf):
            sites.setdefault(operator, []).append((path, mutant))
    for operator, found in sites.items():
        for path, mutant in pick.one(operator, found):
            yield operator, put(value, path, mutant)
    yield from _fields(value, pick)
    yield from _rows(value, pick)


def leaf_mutants(leaf: Json) -> Iterator[tuple[str, Json]]:
    """Yield (operator, leaf) for one value that is no object or list: another of its type, or null."""
    if isinstance(leaf, bool):
        yield "flipped", not leaf
    elif isinstance(leaf, int | float):
        for operator, text in number_mutants(repr(leaf)):
            yield operator, float(text) if isinstance(leaf, float) else int(text)
        yield "number as text", repr(leaf)
    elif isinstance(leaf, str) and len(leaf) <= MAX_TEXT_CHARS:
        yield from _text(leaf)
    elif leaf is None:
        yield "value instead of null", "1"


def _text(leaf: str) -> Iterator[tuple[str, Json]]:
    atoms = atoms_of(leaf)
    for atom in atoms[:1] if len(atoms) == 1 else [*atoms[:1], *atoms[-1:]]:
        for operator, mutant in atom_mutants(atom.text):
            yield operator, atom.put(leaf, mutant)
    words = leaf.split()
    if len(words) > 1:
        yield "token dropped", " ".join(words[:-1])
    if leaf:
        yield "null instead of value", None


def _fields(value: Json, pick: Picker) -> Iterator[tuple[str, Json]]:
    """Yield what happens to fields of objects: two exchanged, one moved, dropped or invented."""
    swaps: list[tuple[Path, str, str]] = []
    named: list[tuple[Path, str]] = []
    objects: list[Path] = []
    for path, box in boxes_of(value):
        if not isinstance(box, Mapping):
            continue
        objects.append(path)
        keys = list(box)
        named.extend((path, key) for key in keys if box[key] is not None)  # absent is often the same as null
        swaps += [
            (path, one, other)
            for place, one in enumerate(keys)
            for other in keys[place + 1 :]
            if type(box[one]) is type(box[other]) and not _alike(box[one], box[other]) and _is_leaf(box[one])
        ]
    for path, one, other in pick.one("two fields swapped", swaps):
        first, second = at(value, (*path, one)), at(value, (*path, other))
        yield "two fields swapped", put(put(value, (*path, one), second), (*path, other), first)
    for path, one, other in pick.one("right value in the wrong field", swaps):
        yield (
            "right value in the wrong field",
            put(put(value, (*path, other), at(value, (*path, one))), (*path, one), None),
        )
    for path, key in pick.one("field dropped", named):
        yield "field dropped", without(value, (*path, key))
    for path in pick.one("field invented", objects):
        box = at(value, path)
        assert isinstance(box, Mapping), "chosen for that"
        yield "field invented", put(value, path, {**box, "remark": "ok"})


def _rows(value: Json, pick: Picker) -> Iterator[tuple[str, Json]]:
    """Yield what happens to rows of lists."""
    lists = [(path, list(box)) for path, box in boxes_of(value) if isinstance(box, list | tuple)]
    filled = [(path, rows) for path, rows in lists if rows]
    for path, rows in pick.one("row dropped", filled):
        for k in pick.one("which row is dropped", range(len(rows))):
            yield "row dropped", put(value, path, [*rows[:k], *rows[k + 1 :]])
    for path, rows in pick.one("row twice", filled):
        for k in pick.one("which row is there twice", range(len(rows))):
            yield "row twice", put(value, path, [*rows[: k + 1], *rows[k:]])
    for path, rows in pick.one("row invented", lists):
        yield "row invented", put(value, path, [*rows, _invented(rows)])
    tall = [(path, rows) for path, rows in filled if len(rows) > 1 and isinstance(rows[0], Mapping)]
    for path, rows in pick.one("cells of two rows swapped", tall):
        crossed = _crossed(rows, pick)
        if crossed is not None:
            yield "cells of two rows swapped", put(value, path, crossed)


def _invented(rows: list[Json]) -> Json:
    """Return a row like those of `rows`, but with something else in it."""
    if not rows:
        return {}
    for path, leaf in leaves_of(rows[-1]):
        for _, mutant in leaf_mutants(leaf):
            return put(rows[-1], path, mutant)
    return rows[-1]


def _crossed(rows: list[Json], pick: Picker) -> list[Json] | None:
    """Return `rows` with one field exchanged between two of them that differ in it and in another one."""
    sites = []
    for k, (one, other) in enumerate(itertools.pairwise(rows)):
        if not isinstance(one, Mapping) or not isinstance(other, Mapping):
            continue
        differing = [key for key in one if key in other and not _alike(one[key], other[key])]
        if len(differing) > 1:  # else the rows would only change places
            sites += [(k, key) for key in differing]
    for k, key in pick.one("which cells are swapped", sites):
        one, other = rows[k], rows[k + 1]
        assert isinstance(one, Mapping), "chosen for that"
        assert isinstance(other, Mapping), "chosen for that"
        return [*rows[:k], {**one, key: other[key]}, {**other, key: one[key]}, *rows[k + 2 :]]
    return None


def _is_leaf(value: Json) -> bool:
    return not isinstance(value, Mapping | list | tuple)


def _alike(left: Json, right: Json) -> bool:
    return canonical_json(left) == canonical_json(right)
