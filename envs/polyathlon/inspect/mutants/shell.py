"""Shell commands made wrong: stages, flags and redirections dropped, other paths and modes, a constant printed.

Nothing is run here. A small reader finds words and operators, quotes and substitutions kept whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from polyathlon.inspect.mutants.numbers import number_mutants
from polyathlon.inspect.mutants.picking import Picker

_OPERATORS = ("&&", "||", ">>", "<(", ">(", "|", ";", "&", "<", ">", "(", ")", "\n", "{", "}")
_ENDS = ("&&", "||", "|", ";", "&", "\n", ")", "}")
_OTHER_FLAGS = {
    **{"-o": "-a", "-a": "-o", "-name": "-iname", "-maxdepth": "-mindepth", "-newermt": "-newerat", "f": "d", "d": "f"},
    **{"-n": "-r", "-u": "-f", "-zu": "-z", "-w": "-x", "-l": "-m", "-c": "-m", "-1": "-2", "-qw": "-q", "-e": "-f"},
    **{"head": "tail", "tail": "head", "sort": "cat", "-print0": "-print", "-perm": "-path", "cat": "tac"},
}
_MODE = re.compile(r"0?[0-7]{3,4}|0[0-7]{4}")
_SIGNED = re.compile(r"([+-])(\d+\w?|u=x|g=w|o=r)")
_PATH = re.compile(r"(?:\.{0,2}/)?[A-Za-z0-9_.-]+(?:/[A-Za-z0-9_.*-]+)+|\.|[a-z]{3,}")
_DAY_OR_NUMBER = re.compile(r"(?<![\w.])\d+(?:-\d\d-\d\d)?(?![\w])")


@dataclass(frozen=True, slots=True)
class Token:
    """A word or operator of a command, and where it stands."""

    text: str
    start: int
    end: int
    is_word: bool


def shell_mutants(command: str, pick: Picker) -> Iterator[tuple[str, str]]:
    """Yield (operator, command): one mutant for each operator, at a place that `pick` draws."""
    tokens = tokens_of(command)
    sites: dict[str, list[str]] = {}
    for operator, mutant in (
        *_stages(command, tokens),
        *_words(command, tokens),
        *_redirections(command, tokens),
        *_lines(command),
    ):
        if mutant.strip() and mutant != command:
            sites.setdefault(operator, []).append(mutant)
    for operator, mutants in sites.items():
        yield from ((operator, mutant) for mutant in pick.one(operator, mutants))
    yield "constant output", "echo 1"
    yield "nothing done", "true"


def tokens_of(command: str) -> list[Token]:
    """Return the words and operators of `command` in order. Quotes and substitutions are part of their word."""
    tokens: list[Token] = []
    place = 0
    while place < len(command):
        if command[place] in " \t":
            place += 1
            continue
        operator = next((each for each in _OPERATORS if command.startswith(each, place)), None)
        if operator is not None and not command.startswith("{}", place):
            end = place + len(operator)
        else:
            operator, end = None, _word_end(command, place)
        tokens.append(Token(command[place:end], place, end, operator is None))
        place = end
    return tokens


def _word_end(command: str, start: int) -> int:
    place, depth, quote = start, 0, ""
    while place < len(command):
        letter = command[place]
        if quote:
            quote = "" if letter == quote else quote
        elif letter == "\\":
            place += 1
        elif letter in "'\"":
            quote = letter
        elif letter == "$" and command[place + 1 : place + 2] in ("(", "{"):
            depth, place = depth + 1, place + 1
        elif depth and letter in "({":
            depth += 1
        elif depth and letter in ")}":
            depth -= 1
        elif not depth and command.startswith("{}", place):
            place += 1
        elif not depth and (letter in " \t" or any(command.startswith(each, place) for each in _OPERATORS)):
            return place
        place += 1
    return len(command)


def _stages(command: str, tokens: Sequence[Token]) -> Iterator[tuple[str, str]]:
    """Yield what happens to stages of pipelines and to commands joined by && and ;."""
    for k, token in enumerate(tokens):
        if token.is_word or token.text not in ("|", "&&", ";"):
            continue
        following = next((other for other in tokens[k + 1 :] if not other.is_word and other.text in _ENDS), None)
        end = following.start if following is not None else len(command)
        yield f"stage after {token.text} dropped", command[: token.start] + command[end:]
        if token.text == "&&":
            yield "|| for &&", f"{command[: token.start]}||{command[token.end :]}"


def _words(command: str, tokens: Sequence[Token]) -> Iterator[tuple[str, str]]:
    for k, token in enumerate(tokens):
        if not token.is_word:
            continue
        around = command[: token.start], command[token.end :]
        before = tokens[k - 1].text if k else "\n"
        if token.text == "!":
            yield "negation dropped", around[0] + around[1].lstrip()
        elif token.text in _OTHER_FLAGS:
            yield "flag swapped", around[0] + _OTHER_FLAGS[token.text] + around[1]
        if token.text.startswith("-") and len(token.text) > 1:
            yield "flag dropped", around[0] + around[1].lstrip(" ")
            value = tokens[k + 1] if k + 1 < len(tokens) else None
            if value is not None and value.is_word and not value.text.startswith(("-", "\\", "!")):
                yield "flag and value dropped", around[0] + command[value.end :].lstrip(" ")
        if before in ("chmod",) or _MODE.fullmatch(token.text):
            yield from (("other mode", around[0] + mode + around[1]) for mode in _modes(token.text))
        elif match := _SIGNED.fullmatch(token.text):
            yield "sign turned", around[0] + {"+": "-", "-": "+"}[match[1]] + match[2] + around[1]
        elif _PATH.fullmatch(token.text) and before not in ("\n", "|", ";", "&&", "||", "(", "<(", "{", "-exec", "do"):
            yield "other path", around[0] + _elsewhere(token.text) + around[1]
        yield from ((f"number {operator}", around[0] + mutant + around[1]) for operator, mutant in _numbers(token.text))


def _redirections(command: str, tokens: Sequence[Token]) -> Iterator[tuple[str, str]]:
    for k, token in enumerate(tokens):
        target = tokens[k + 1] if k + 1 < len(tokens) else None
        if token.text in (">", ">>", "<") and target is not None and target.is_word:
            yield "redirection dropped", command[: token.start] + command[target.end :]
            if token.text == ">":
                yield "appended", f"{command[: token.start]}>>{command[token.end :]}"


def _lines(command: str) -> Iterator[tuple[str, str]]:
    lines = command.split("\n")
    for k in range(len(lines) if len(lines) > 1 else 0):
        yield "line dropped", "\n".join([*lines[:k], *lines[k + 1 :]])
        if k and lines[k] != lines[k - 1]:
            yield "lines swapped", "\n".join([*lines[: k - 1], lines[k], lines[k - 1], *lines[k + 1 :]])
    if len(lines) > 2:
        yield "only the first half", "\n".join(lines[: len(lines) // 2])


def _modes(mode: str) -> Iterator[str]:
    """Yield other modes: one bit of the others', one of the group's, the special bits gone."""
    if not _MODE.fullmatch(mode):
        return
    bits = int(mode, 8)
    for other in (bits ^ 0o001, bits ^ 0o020, bits & 0o777, bits | 0o111):
        if other != bits:
            yield f"{other:0{len(mode)}o}"


def _elsewhere(path: str) -> str:
    if path == ".":
        return ".."
    head, slash, _ = path.rpartition("/")
    return head if slash and head not in ("", ".", "..") else f"{path}s"


def _numbers(word: str) -> Iterator[tuple[str, str]]:
    for match in _DAY_OR_NUMBER.finditer(word):
        digits = match[0]
        ways = number_mutants(digits[-2:]) if digits.count("-") else number_mutants(digits)
        for operator, mutant in ways:
            if operator in ("last digit +1", "last digit -1", "x10"):
                head = digits[:-2] if digits.count("-") else ""
                yield operator, word[: match.start()] + head + mutant + word[match.end() :]
