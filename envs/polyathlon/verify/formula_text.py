"""Formulas in plain text or LaTeX, cut into tokens of a closed list; a text that holds anything else is no formula."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from polyathlon.verify.answers import undressed

Kind = Literal["number", "name", "function", "constant", "sign", "end"]

MAX_CHARS = 1_000
MAX_TOKENS = 300

# fmt: off
FUNCTIONS = frozenset({
    "sin", "cos", "tan", "cot", "sec", "csc", "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh", "ln", "log", "lg",
    "exp", "sqrt", "abs", "binom",
})
GREEK = frozenset({
    "alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa", "lambda", "mu", "nu", "xi",
    "rho", "sigma", "tau", "upsilon", "phi", "chi", "psi", "omega",
})
# fmt: on
_ALIASES: Mapping[str, str] = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "infty": "oo", "infinity": "oo"}
_SIGNS = {
    **{
        unicodedata.lookup(f"GREEK SMALL LETTER {'LAMDA' if name == 'lambda' else name}"): f" {name} " for name in GREEK
    },
    **dict.fromkeys("\u2212\u2013", "-"),
    **dict.fromkeys("\u00d7\u00b7\u22c5\u2217", "*"),
    **dict.fromkeys("\u2264\u2a7d", "<="),
    **dict.fromkeys("\u2265\u2a7e", ">="),
    "\u00f7": "/",
    "\u2260": "!=",
    "\u221e": " oo ",
    "\u03c0": " pi ",
    "\u221a": " sqrt ",
    "\u222a": " U ",
    "\u2208": " in ",
    "\u2205": " emptyset ",
    "\u2026": "...",
    "\u00b2": "^2",
    "\u00b3": "^3",
    "**": "^",
}
_COMMANDS: Mapping[str, str] = {
    **dict.fromkeys(
        ("left", "right", "displaystyle", "quad", "qquad", "bigl", "bigr", "big", "Big", ",", ";", "!", ":", " "), " "
    ),
    **dict.fromkeys(("cdot", "times", "ast"), "*"),
    **dict.fromkeys(("le", "leq", "leqslant"), "<="),
    **dict.fromkeys(("ge", "geq", "geqslant"), ">="),
    **dict.fromkeys(("ne", "neq"), "!="),
    **dict.fromkeys(("dots", "ldots", "cdots"), "..."),
    **dict.fromkeys(("emptyset", "varnothing"), " emptyset "),
    **dict.fromkeys(("dfrac", "tfrac", "cfrac", "frac"), " frac "),
    **dict.fromkeys(("lvert", "rvert", "vert"), "|"),
    **{"div": "/", "lt": "<", "gt": ">", "cup": " U ", "in": " in ", "infty": " oo ", "{": " \x01 ", "}": " \x02 "},
}
_TOKEN = re.compile(
    r"\s*(?:(?P<number>[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,3}(?![0-9A-Za-z]))?|\.[0-9]+)"
    r"|(?P<word>[A-Za-z]+)|(?P<sign>\.\.\.|<=|>=|!=|[-+*/^!|,;:=<>()\[\]{}_\x01\x02]))"
)


@dataclass(frozen=True, slots=True)
class Token:
    """A word of a formula: a sign, a number as digits, or a name; braces of a set are \\x01 and \\x02."""

    kind: Kind
    text: str


END = Token("end", "")


def tokens(text: str, *, letters: frozenset[str] | None, constants: frozenset[str]) -> tuple[Token, ...] | None:
    """Return the tokens of a formula, the last of them END; None where something is of no known kind. Never raises.

    A run of letters is a function, a constant or a Greek letter by its name, else a product of single letters: of the
    declared `letters`, or where they are None, of two letters at most. Longer runs are words, and no formula has words.
    """
    body = _plain(text) if len(text) <= MAX_CHARS else None
    if body is None:
        return None
    found: list[Token] = []
    at = 0
    while at < len(body):
        match = _TOKEN.match(body, at)
        if match is None or len(found) > MAX_TOKENS:
            return None
        at = match.end()
        words = _named(match["word"], letters, constants) if match["word"] else _unnamed(match)
        if words is None:
            return None
        found += words
    return (*found, END) if len(found) <= MAX_TOKENS else None


def _unnamed(match: re.Match[str]) -> list[Token]:
    return [Token("number", match["number"]) if match["number"] else Token("sign", match["sign"])]


def _named(word: str, letters: frozenset[str] | None, constants: frozenset[str]) -> list[Token] | None:
    word = _ALIASES.get(word.lower(), word)
    if word in FUNCTIONS:  # sound: a table of names
        return [Token("function", word)]
    if word in ("oo", "U", "in", "emptyset", "or", "and", "frac"):
        return [Token("sign", word)]
    if word in constants:  # sound: a set of names
        return [Token("constant", word)]
    if word in GREEK or (letters is not None and word in letters):  # sound: sets of names
        return [Token("name", word)]
    if (len(word) > 2 and letters is None) or (letters is not None and {*word} - letters - constants):
        return None
    return [Token("constant" if letter in constants else "name", letter) for letter in word]  # sound: a set of names


def _plain(text: str) -> str | None:
    """Return `text` without LaTeX commands, its braces kept; None for a command that is not known."""
    body = undressed(text, "math", "bold")
    for sign, plain in _SIGNS.items():
        body = body.replace(sign, plain)
    body = re.sub(r"\\(?:text|mathrm|operatorname|mathbf|mbox)\s*\{\s*([A-Za-z0-9. ]*?)\s*\}", r" \1 ", body)
    body = re.sub(r"\\mathbb\s*\{\s*R\s*\}|\\R(?![A-Za-z])|\u211d", "(-oo,oo)", body)
    # \frac12 and \sqrt2 take one digit each
    body = re.sub(r"\\([dtc]?frac)\s*([0-9])", r"\\\1{\2}", body)
    body = re.sub(r"\\([dtc]?frac)\s*(\{[^{}]*\})\s*([0-9])", r"\\\1\2{\3}", body)
    body = re.sub(r"\\sqrt\s*([0-9])", r"\\sqrt{\1}", body)
    unknown = False

    def meant(match: re.Match[str]) -> str:
        nonlocal unknown
        name = match[1]
        if name in _COMMANDS:  # sound: a table of names
            return _COMMANDS[name]
        unknown = unknown or not (name in FUNCTIONS or name in GREEK or name == "pi")  # sound: sets of names
        return f" {name} "

    body = re.sub(r"\\([A-Za-z]+|.)", meant, body, flags=re.DOTALL)
    return None if unknown else body.strip()
