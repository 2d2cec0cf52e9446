"""Short answers made wrong: a token or field left out, twice or moved, a character lost, two answers instead of one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from polyathlon.inspect.mutants.dates import DATE, date_mutants
from polyathlon.inspect.mutants.numbers import NUMBER, digits_mutants, number_mutants
from polyathlon.inspect.mutants.picking import Picker

OPPOSITES = {
    **{"yes": "no", "true": "false", "on": "off", "left": "right", "up": "down", "buy": "sell", "D": "C"},
    **{"invoice": "credit note", "credit": "debit"},
}
_FLIPS = {**OPPOSITES, **{value: key for key, value in OPPOSITES.items()}}
_ATOM = re.compile(r"\d{4}-\d{2}-\d{2}|\w+(?:\.\d+)?(?:['-]\w+)*|[^\w\s]")
_FIELDS = ("\n", ";", ",", " ")


@dataclass(frozen=True, slots=True)
class Atom:
    """A stretch of a text that says one thing: a date, a number, a word."""

    start: int
    end: int
    text: str

    def put(self, whole: str, other: str) -> str:
        """Return `whole` with `other` in this place."""
        return whole[: self.start] + other + whole[self.end :]


def text_mutants(text: str, pick: Picker, *, others: Sequence[str] = ()) -> Iterator[tuple[str, str]]:
    """Yield (operator, text): what is inside made wrong, fields left out or moved, and `others`' answers in its place.

    `others` are the answers of other tasks of the same kind.
    """
    yield from _inside(text, pick)
    yield from _fields(text, pick)
    if len(text) > 1:
        yield "last character cut off", text[:-1]
        yield "first character cut off", text[1:]
    for other in pick.one("another task's answer", [other for other in others if other != text]):
        yield "another task's answer", other
        yield "two answers", f"{text} or {other}"
        yield "two lines of answers", f"{text}\n{other}"


def atoms_of(text: str) -> list[Atom]:
    """Return the dates, numbers and words of `text` in order; a minus belongs to its number where nothing precedes."""
    found: list[Atom] = []
    end = 0
    while match := _next_atom(text, end):
        found.append(Atom(match.start(), match.end(), match[0]))
        end = match.end()
    return [atom for atom in found if atom.text[-1].isalnum()]


def atom_mutants(atom: str) -> Iterator[tuple[str, str]]:
    """Yield (operator, text) for one date, number, code or word."""
    if DATE.fullmatch(atom):
        yield from date_mutants(atom)
    elif NUMBER.fullmatch(atom):
        yield from number_mutants(atom)
    else:
        yield from _word(atom)


def _next_atom(text: str, start: int) -> re.Match[str] | None:
    match = _ATOM.search(text, start)
    if match is None:
        return None
    at = match.start()
    number = NUMBER.match(text, at)
    free = at == 0 or not (text[at - 1].isalnum() or text[at - 1] in ")_.")
    if number is not None and free and not text[number.end() : number.end() + 1].isalpha() and not DATE.match(text, at):
        return number
    return match


def _word(word: str) -> Iterator[tuple[str, str]]:
    for spelt in (word, word.lower(), word.upper()):
        if spelt in _FLIPS:
            yield "flipped", _FLIPS[spelt]
            return
    runs = [match for match in re.finditer(r"\d+", word)]
    for run in runs[-1:]:
        for operator, digits in digits_mutants(run[0]):
            yield f"code: {operator}", word[: run.start()] + digits + word[run.end() :]
    if len(word) > 2:
        yield "word: character lost", word[:-1]
    if len(word) > 3:
        yield "word: letters swapped", word[0] + word[2] + word[1] + word[3:] if word[1] != word[2] else word[:-2]


def _inside(text: str, pick: Picker) -> Iterator[tuple[str, str]]:
    """Yield one mutant of one atom for each operator."""
    sites: dict[str, list[str]] = {}
    for atom in atoms_of(text):
        for operator, mutant in atom_mutants(atom.text):
            sites.setdefault(operator, []).append(atom.put(text, mutant))
    for operator, mutants in sites.items():
        for mutant in pick.one(operator, mutants):
            yield operator, mutant


def _fields(text: str, pick: Picker) -> Iterator[tuple[str, str]]:
    """Yield what happens to whole fields, at each separator that there is."""
    for mark in _FIELDS:
        fields = text.split(mark)
        if len(fields) < 2 or not all(field.strip() for field in fields):
            continue
        name = {"\n": "line", " ": "token"}.get(mark, "field")
        places = range(len(fields))
        for k in pick.one(f"{name} dropped {mark}", places):
            yield f"{name} dropped", mark.join([*fields[:k], *fields[k + 1 :]])
        for k in pick.one(f"{name} twice {mark}", places):
            yield f"{name} twice", mark.join([*fields[: k + 1], *fields[k:]])
        if fields[0].strip() != fields[-1].strip():
            yield f"end {name}s swapped", mark.join([fields[-1], *fields[1:-1], fields[0]])
        near = [k for k in places[:-1] if fields[k].strip() != fields[k + 1].strip()]
        for k in pick.one(f"neighbouring {name}s swapped {mark}", near if len(fields) > 2 else []):
            yield (
                f"neighbouring {name}s swapped",
                mark.join([*fields[:k], fields[k + 1], fields[k], *fields[k + 2 :]]),
            )
