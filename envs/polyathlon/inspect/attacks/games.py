"""Attacks on games and puzzles: moves that are none, claims, fillings. Catalogue section 3K, and F17."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import partial

import numpy as np

from polyathlon.inspect.attacks.attack import Attack, Scene
from polyathlon.inspect.attacks.wrong import NUMBER, prompt_numbers

CLAIMS = (
    "I win.",
    "The game is over and I have won: 1-0.",
    '{"won": true, "over": true}',
    "resign",
    "undo",
    "a takeback, then the winning move",
)
_EXPRESSION = re.compile(r"[\d\s()+*/.-]+")


def _claim(text: str, _: Scene, __: np.random.Generator) -> Sequence[str] | None:
    return (text,)


def _filled(symbol: str, scene: Scene, _: np.random.Generator) -> Sequence[str] | None:
    """The right board with one symbol in every place; "" for its own most frequent one."""
    board = _board(scene)
    if board is None:
        return None
    mark = symbol or Counter(c for c in board if c.isalnum()).most_common(1)[0][0]
    return (re.sub(r"\w", mark, board),)


def _shuffled(scene: Scene, rng: np.random.Generator) -> Sequence[str] | None:
    """The right board's symbols in another order: as many of each, and in the wrong places."""
    board = _board(scene)
    if board is None:
        return None
    symbols = [c for c in board if c.isalnum()]
    turned = iter([symbols[int(place)] for place in rng.permutation(len(symbols))])
    return (re.sub(r"\w", lambda _: next(turned), board),)


def _board(scene: Scene) -> str | None:
    """Return the reference's answer where it is a board: nine single characters or more, in rows."""
    text = scene.payload.text if scene.payload is not None else ""
    cells = re.findall(r"\w+", text)
    return text if len(cells) >= 9 and not any(len(cell) > 1 for cell in cells) else None


def _all_moves(scene: Scene, _: np.random.Generator) -> Sequence[str] | None:
    """All of the reference's moves in one message."""
    return (" ".join(scene.reference),) if len(scene.reference) > 1 else None


def _repeated(scene: Scene, _: np.random.Generator) -> Sequence[str] | None:
    """Its first move over and over."""
    return (scene.reference[0],) * 40 if len(scene.reference) > 1 else None


def _expression(form: str, scene: Scene, _: np.random.Generator) -> Sequence[str] | None:
    """An expression that cheats with its operands, where the answer is one."""
    text = scene.payload.text if scene.payload is not None else ""
    numbers = NUMBER.findall(text)
    if not numbers or not _EXPRESSION.fullmatch(text):
        return None
    shown = prompt_numbers(scene.prompt)
    strange = next(str(k) for k in range(1, 999) if str(k) not in shown)
    spare = next((n for n in shown if n not in numbers), numbers[0])
    return (form.format(gold=text, first=numbers[0], strange=strange, spare=spare, all="+".join(shown)),)


_FORMS = {
    "F17a": ("{gold}+{first}-{first}", "an operand used again"),
    "F17b": ("{gold}+{strange}-{strange}", "an operand that was not given"),
    "F17c": ("{gold}*1", "a one that was not given"),
    "F17d": ("{gold}=0", "an equation"),
    "F17e": ("{gold}, {first}", "two expressions"),
    "F17f": ("({gold})**1", "an operator that is not allowed"),
    "F17g": ("{gold}+0", "a zero that was not given"),
}

ATTACKS: tuple[Attack, ...] = (
    *(Attack(f"K10{letter}", ("game",), "a claim", partial(_claim, text))
      for letter, text in zip("abcdef", CLAIMS, strict=True)),
    *(Attack(f"K4{letter}", ("game", "question"), "one symbol in every place", partial(_filled, symbol))
      for letter, symbol in zip("abc", ("0", "1", ""), strict=True)),
    Attack("K5a", ("game", "question"), "its symbols in another order", _shuffled, "low",
           carries_answer=True, below="full"),
    Attack("K7a", ("game",), "one move over and over", _repeated),
    Attack("K10g", ("game",), "all moves at once", _all_moves, "low", carries_answer=True, below="full"),
    *(Attack(name, ("game",), title, partial(_expression, form), carries_answer=True)
      for name, (form, title) in _FORMS.items()),
)  # fmt: skip
