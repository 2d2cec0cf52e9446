"""SQL queries made wrong, token by token: joins, conditions, groups, aggregates, order, bounds. Nothing is run here."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from polyathlon.inspect.mutants.picking import Picker

_TOKEN = re.compile(r"'(?:[^']|'')*'|\"[^\"]*\"|[A-Za-z_][A-Za-z_0-9]*|\d+(?:\.\d+)?|<=|>=|<>|!=|\|\||--[^\n]*|[^\s]")
_CLAUSES = ("WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "UNION", "INTERSECT", "EXCEPT", "WINDOW")
_BOUNDARIES = {">": ">=", ">=": ">", "<": "<=", "<=": "<", "=": "<>", "<>": "=", "!=": "="}
_TURNED = {">": "<", "<": ">", ">=": "<=", "<=": ">="}
_AGGREGATES = {"AVG": ("SUM", "COUNT"), "SUM": ("COUNT", "MAX"), "MAX": ("MIN",), "MIN": ("MAX",), "TOTAL": ("COUNT",)}
_FUNCTIONS = ("COUNT", "COALESCE", *_AGGREGATES)
_WORDS = {
    **{"RANK": "ROW_NUMBER", "DENSE_RANK": "RANK", "ROW_NUMBER": "RANK", "LAG": "LEAD", "LEAD": "LAG"},
    **{"ASC": "DESC", "EXCEPT": "UNION", "INTERSECT": "UNION"},
}


@dataclass(frozen=True, slots=True)
class Token:
    """A token of a query: its text, where it stands, and how many brackets are open there."""

    text: str
    start: int
    end: int
    depth: int

    @property
    def word(self) -> str:
        return self.text.upper() if self.text[0].isalpha() else self.text


def sql_mutants(query: str, pick: Picker) -> Iterator[tuple[str, str]]:
    """Yield (operator, query): one mutant for each operator, at a place that `pick` draws."""
    tokens = tokens_of(query)
    sites: dict[str, list[str]] = {}
    for k, token in enumerate(tokens):
        for operator, start, end, new in (
            *_clauses(tokens, k, len(query)),
            *_words(tokens, k),
            *_conditions(tokens, k, len(query)),
        ):
            sites.setdefault(operator, []).append(f"{query[:start]}{new}{query[end:]}")
        if token.word == "SELECT" and _may_repeat(tokens, k):
            sites.setdefault("DISTINCT added", []).append(f"{query[: token.end]} DISTINCT{query[token.end :]}")
    for operator, mutants in sites.items():
        yield from ((operator, mutant) for mutant in pick.one(operator, mutants))
    yield "constant query", "SELECT 4"


def tokens_of(query: str) -> list[Token]:
    """Return the tokens of `query`, without comments."""
    tokens: list[Token] = []
    depth = 0
    for match in _TOKEN.finditer(query):
        if match[0].startswith("--"):
            continue
        depth -= match[0] == ")"
        tokens.append(Token(match[0], match.start(), match.end(), depth))
        depth += match[0] == "("
    return tokens


Change = tuple[str, int, int, str]
"""(operator, from, to, what stands there instead)."""


def _clauses(tokens: Sequence[Token], k: int, length: int) -> Iterator[Change]:
    """Yield what happens to whole clauses that begin at token `k`."""
    token = tokens[k]
    after = tokens[k + 1] if k + 1 < len(tokens) else None
    if token.word in ("WHERE", "HAVING"):
        yield f"{token.word} dropped", token.start, _end_of(tokens, k, length), ""
    elif token.word == "ORDER" and after is not None and after.word == "BY":
        inside_window = any(other.word == "OVER" for other in tokens[max(0, k - 8) : k])
        end = _end_of(tokens, k, length)
        yield "window ORDER BY dropped" if inside_window else "ORDER BY dropped", token.start, end, ""
        if not any(other.word in ("ASC", "DESC") for other in tokens[k:] if other.start < end):
            yield "ORDER direction", end, end, " DESC"
    elif token.word == "GROUP" and after is not None and after.word == "BY":
        end = _end_of(tokens, k, length)
        comma = next((t for t in tokens[k:] if t.text == "," and t.depth == token.depth and t.start < end), None)
        if comma is not None:
            yield "GROUP key dropped", comma.start, end, ""
        else:
            yield "GROUP BY dropped", token.start, end, ""
    elif token.word == "PARTITION":
        stop = next((t for t in tokens[k:] if t.word == "ORDER" or (t.text == ")" and t.depth < token.depth)), None)
        if stop is not None:
            yield "PARTITION dropped", token.start, stop.start, ""
    elif token.word == "LIMIT" and after is not None and after.text.isdecimal():
        yield "LIMIT +1", after.start, after.end, str(int(after.text) + 1)
        yield "LIMIT -1", after.start, after.end, str(int(after.text) - 1)


def _words(tokens: Sequence[Token], k: int) -> Iterator[Change]:
    """Yield what another word in the place of token `k` does."""
    token = tokens[k]
    before, after = tokens[k - 1].word if k else "", tokens[k + 1].word if k + 1 < len(tokens) else ""
    if token.word == "JOIN":
        if before == "LEFT":
            yield "JOIN for LEFT JOIN", tokens[k - 1].start, token.end, "JOIN"
        else:
            yield "LEFT JOIN for JOIN", token.start, token.end, "LEFT JOIN"
    elif token.word == "DISTINCT":
        yield "DISTINCT dropped", token.start, token.end, ""
    elif token.word == "DESC":
        yield "ORDER direction", token.start, token.end, "ASC"
    elif token.word in _FUNCTIONS and after == "(":
        yield from _functions(tokens, k)
    elif token.word in _WORDS:
        yield f"{_WORDS[token.word]} for {token.word}", token.start, token.end, _WORDS[token.word]
    elif token.word == "UNION" and after == "ALL":
        yield "UNION for UNION ALL", token.end, tokens[k + 1].end, ""
    elif token.word == "UNION":
        yield "UNION ALL for UNION", token.end, token.end, " ALL"
    else:
        yield from _literals(token, before)


def _literals(token: Token, before: str) -> Iterator[Change]:
    if token.text.isdecimal() and before not in ("LIMIT", "BY"):
        yield "number +1", token.start, token.end, str(int(token.text) + 1)
        yield "number -1", token.start, token.end, str(int(token.text) - 1)
    elif token.text.startswith("'") and len(token.text) > 2:
        yield "other text", token.start, token.end, f"{token.text[:-2]}'"


def _functions(tokens: Sequence[Token], k: int) -> Iterator[Change]:
    token = tokens[k]
    if token.word == "COUNT":
        yield from _counts(tokens, k)
    elif token.word == "COALESCE":
        comma = next((t for t in tokens[k:] if t.text == "," and t.depth == token.depth + 1), None)
        close = next((t for t in tokens[k:] if t.text == ")" and t.depth == token.depth), None)
        if comma is not None and close is not None:
            yield "NULL handling dropped", comma.start, close.start, ""
    else:
        for other in _AGGREGATES[token.word]:
            yield f"{other} for {token.word}", token.start, token.end, other


def _counts(tokens: Sequence[Token], k: int) -> Iterator[Change]:
    inside = tokens[k + 2] if k + 2 < len(tokens) else None
    if inside is None:
        return
    if inside.text == "*":
        alias = _aliased(tokens)
        yield "COUNT(DISTINCT) for COUNT(*)", inside.start, inside.end, f"DISTINCT {alias}"
        yield "COUNT(column) for COUNT(*)", inside.start, inside.end, alias
    elif inside.word == "DISTINCT":
        yield "DISTINCT dropped", inside.start, inside.end, ""
    else:
        close = next((t for t in tokens[k:] if t.text == ")" and t.depth == tokens[k].depth), None)
        if close is not None:
            yield "COUNT(*) for COUNT(column)", inside.start, close.start, "*"


def _conditions(tokens: Sequence[Token], k: int, length: int) -> Iterator[Change]:
    token = tokens[k]
    after = tokens[k + 1].word if k + 1 < len(tokens) else ""
    if token.text in _BOUNDARIES:
        yield "relation: boundary", token.start, token.end, _BOUNDARIES[token.text]
        if token.text in _TURNED:
            yield "relation: turned round", token.start, token.end, _TURNED[token.text]
    elif token.word in ("AND", "OR") and not _is_between(tokens, k):
        yield "AND for OR" if token.word == "OR" else "OR for AND", *_other_word(token)
        yield "last part of a condition dropped", token.start, _condition_end(tokens, k, length), ""
    elif token.word == "IS":
        if after == "NOT":
            two = tokens[k + 2].word if k + 2 < len(tokens) else ""
            yield "NULL handling: IS for IS NOT", token.start, tokens[k + 1].end, "IS"
            if two != "NULL":
                yield "NULL handling: <> for IS NOT", token.start, tokens[k + 1].end, "<>"
        elif after == "NULL":
            yield "NULL handling: IS NOT for IS", token.start, token.end, "IS NOT"
    elif token.word == "NOT" and (k == 0 or tokens[k - 1].word != "IS") and after in ("EXISTS", "IN", "("):
        yield "NOT dropped", token.start, token.end, ""


def _may_repeat(tokens: Sequence[Token], k: int) -> bool:
    """Return whether the rows of the SELECT at token `k` may repeat: nothing in it groups them or makes them one."""
    depth = tokens[k].depth
    mine = itertools.takewhile(lambda token: token.depth >= depth, tokens[k + 1 :])
    words = {token.word for token in mine if token.depth <= depth + 1}
    return not words & {"GROUP", "COUNT", "DISTINCT", "EXISTS", *_AGGREGATES} and k + 1 < len(tokens)


def _other_word(token: Token) -> tuple[int, int, str]:
    return token.start, token.end, "AND" if token.word == "OR" else "OR"


def _is_between(tokens: Sequence[Token], k: int) -> bool:
    return any(other.word == "BETWEEN" for other in tokens[max(0, k - 3) : k])


def _end_of(tokens: Sequence[Token], k: int, length: int) -> int:
    """Return where the clause that begins at token `k` ends: at the next clause, or where its brackets close."""
    depth = tokens[k].depth
    for token in tokens[k + 1 :]:
        if token.depth < depth or (token.depth == depth and token.word in _CLAUSES):
            return token.start
    return length


def _condition_end(tokens: Sequence[Token], k: int, length: int) -> int:
    depth = tokens[k].depth
    for token in tokens[k + 1 :]:
        if token.depth < depth or (token.depth == depth and token.word in (*_CLAUSES, "AND", "OR", "THEN")):
            return token.start
    return length


def _aliased(tokens: Sequence[Token]) -> str:
    """Return the first column that the query names with its table, else its first word after SELECT."""
    for one, dot, other in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if dot.text == "." and one.text[0].isalpha() and other.text[0].isalpha():
            return f"{one.text}.{other.text}"
    return next((token.text for token in tokens[1:] if token.text[0].isalpha()), "1")
