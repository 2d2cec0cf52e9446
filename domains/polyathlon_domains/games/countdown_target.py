"""Combine given numbers into a target, each number at most once (at higher levels exactly once), by one expression."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from polyathlon import Attempt, Brief, Core, Domain, Evidence, Json, Script, Task, Verdict, answering
from polyathlon.canonical import expect_int, expect_list, expect_map, expect_text
from polyathlon.sandbox.protocol import Room
from polyathlon.verify.numbers import read_number, write_number
from polyathlon.workspaces.game import GameWorkspace, Played
from polyathlon_domains.games._countdown_inspection import proves_right, shortcuts
from polyathlon_domains.games._expression import (
    Expr,
    Unreadable,
    apply,
    fill_pattern,
    find_expression,
    numbers_in,
    read_expression,
    signs_in,
    value_of,
    write_expression,
)

PROMPTS = (
    "Make {target} from {numbers} with {signs}. {rule}. Answer: an expression.",
    "Numbers: {numbers}. Target: {target}. Use {signs}; {rule_lower}. Give an expression.",
    "Reach {target} with {signs} over {numbers}. {rule}. Reply with one expression.",
)
AT_MOST = "Each number at most once"
ALL = "Use every number exactly once"
MAX_FILLS = 200
RULES = "A move is one expression of the given numbers, + - * / and brackets, such as (3+4)*5, with no = sign."


@dataclass(frozen=True, slots=True)
class Level:
    """`num_given` numbers up to `largest`, of which the target needs `num_used` (all of them: each must be used).

    `targets` are the lowest and the highest; nothing effortless comes within `margin` of one, so that closeness shows
    work.
    """

    num_given: int
    num_used: int
    largest: int
    signs: str
    targets: tuple[int, int]
    margin: int
    fraction: bool = False

    @property
    def use_all(self) -> bool:
        return self.num_used == self.num_given


LEVELS = (
    Level(9, 2, 99, "+-", (2, 198), 2),
    Level(4, 3, 60, "+-*", (10, 250), 5),
    Level(5, 4, 30, "+-*", (100, 999), 10),
    Level(5, 5, 25, "+-*/", (10, 999), 10),
    Level(5, 5, 20, "+-*/", (1, 99), 2, fraction=True),
)


@dataclass(frozen=True, slots=True)
class CountdownTasks:
    """The target is the value of a sampled expression; the expression itself is thrown away.

    Its pattern over the ranks of the numbers is fixed before them, and filled until it fits: where numbers and
    pattern are drawn together, one pattern (the sum of the second and third largest) fits far more often than others.
    """

    def draw(self, rng: np.random.Generator, level: int) -> Core:
        shape = LEVELS[level]
        while True:
            ranks = [int(k) for k in rng.permutation(shape.num_given)[: shape.num_used]]
            pattern = _sample(rng, ranks, shape.signs)
            for _ in range(MAX_FILLS):
                numbers = sorted(int(k) for k in rng.integers(1, shape.largest + 1, size=shape.num_given))
                target = value_of(fill_pattern(pattern, numbers))
                if target is not None and _fits(shape, numbers, target):
                    core: dict[str, Json] = {"numbers": numbers, "target": write_number(target)}
                    return {**core, "signs": shape.signs, "all": shape.use_all}

    def render(self, core: Core, rng: np.random.Generator) -> Brief:
        numbers = [expect_int(k) for k in expect_list(core["numbers"])]
        order = rng.permutation(len(numbers))
        rule = ALL if core["all"] else AT_MOST
        prompt = PROMPTS[int(rng.integers(len(PROMPTS)))].format(
            target=core["target"],
            numbers=" ".join(str(numbers[int(k)]) for k in order),
            signs=" ".join(expect_text(core["signs"])),
            rule=rule,
            rule_lower=rule[0].lower() + rule[1:],
        )
        return Brief(prompt, public=core)


@dataclass(frozen=True, slots=True)
class CountdownGame:
    """One move: a legal expression ends the game, won when it gives the target exactly."""

    numbers: tuple[int, ...]
    target: Fraction
    signs: str
    use_all: bool
    rules: str = RULES

    def start(self) -> Json:
        return {"value": None}

    def play(self, position: Json, move: str) -> Played:
        try:
            expr = read_expression(move)
        except Unreadable as error:
            return Played(position, f"{error}.", legal=False)
        complaint = self._complaint(expr)
        if complaint is not None:
            return Played(position, complaint, legal=False)
        value = value_of(expr)
        if value is None:
            return Played(position, "it divides by zero.", legal=False)
        won = value == self.target
        text = f"{write_expression(expr)} = {write_number(value)}: {'the target' if won else 'not the target'}."
        return Played({"value": write_number(value)}, text, over=True, won=won)

    def _complaint(self, expr: Expr) -> str | None:
        used, given = Counter(numbers_in(expr)), Counter(self.numbers)
        over = sorted((used - given).elements())
        if over:
            return f"{over[0]} is not among the numbers, or is used too often."
        if self.use_all and used != given:
            return f"{min((given - used).elements())} is not used; every number must be."
        strange = sorted(signs_in(expr) - set(self.signs))
        return f"{strange[0]} is not allowed here; use {' '.join(self.signs)}." if strange else None


@dataclass(frozen=True, slots=True)
class CountdownVerifier:
    """Passed: the engine's win. Else the log closeness beyond the best effortless or careless expression."""

    def judge(self, task: Task, evidence: Evidence, room: Room) -> Verdict:
        standing = expect_map(evidence.state)
        if standing["won"] is True:
            return Verdict.passing()
        value = _fraction(expect_map(standing["position"])["value"])
        if value is None:
            return Verdict.failing("no legal expression")
        game = _game(task)
        gap = _log_gap(value, game.target)
        zero = min(_log_gap(value, game.target) for value in (*_effortless(game), *_careless(game)))
        progress = (zero - gap) / zero if gap < zero else 0.0
        return Verdict.failing("another value", progress=progress, parts={"closeness": progress})


def solve(task: Task) -> Script:
    """An expression found by exact search, the shortest first."""
    return answering(write_expression(_solution(task)))


def alternatives(task: Task) -> Sequence[Attempt]:
    return (
        Attempt("sides of + and * swapped", (write_expression(_mirrored(_solution(task))),)),
        Attempt("brackets everywhere", (_bracketed(_solution(task)),)),
    )


def equivalents(task: Task) -> Sequence[Attempt]:
    text = write_expression(_solution(task))
    spaced = text
    for sign in "+-*/":
        spaced = spaced.replace(sign, f" {sign} ")
    pretty = text.replace("*", "\u00d7").replace("/", "\u00f7").replace("-", "\u2212")
    return (
        Attempt("spaces", (f" {spaced}\n",)),
        Attempt("typographic signs", (pretty,)),
        Attempt("outer brackets", (f"({text})",)),
        Attempt("in answer tags after reasoning", (f"I try sums first. <answer>{text}</answer>",)),
    )


def distractors(task: Task) -> Sequence[Attempt]:
    game, expr = _game(task), _solution(task)
    tries = {"operator changed": _changed(expr), "sides swapped": _swapped(expr)}
    ordered = sorted(game.numbers)
    tries["two largest added"] = ("+", ordered[-1], ordered[-2])
    tries["largest alone"] = ordered[-1]
    kept = {name: other for name, other in tries.items() if value_of(other) != game.target}
    return tuple(Attempt(name, (write_expression(other),)) for name, other in kept.items())


def exploits(task: Task) -> Sequence[Attempt]:
    game, text = _game(task), write_expression(_solution(task))
    target, first = write_number(game.target), game.numbers[0]
    unknown = next(k for k in range(1, 99) if k not in game.numbers)
    return (
        Attempt("the target itself", (target,)),
        Attempt("a number used again", (f"{text}+{first}-{first}",)),
        Attempt("a number not given", (f"{text}+{unknown}-{unknown}",)),
        Attempt("tower of powers", ("9**9**9",)),
        Attempt("an equation that claims it", (f"{first}={target}",)),
        Attempt("two answers", (f"<answer>{text}</answer><answer>{first}</answer>",)),
        Attempt("code", (f"__import__('os').getpid() or {target}",)),
        Attempt("every pair listed", (", ".join(f"{a}+{b}" for a in game.numbers for b in game.numbers),)),
        Attempt("sum of all", ("+".join(map(str, game.numbers)),)),
    )


def _game(task: Task) -> CountdownGame:
    numbers = tuple(expect_int(k) for k in expect_list(task.public["numbers"]))
    target = Fraction(expect_text(task.public["target"]))
    return CountdownGame(numbers, target, expect_text(task.public["signs"]), task.public["all"] is True)


def _solution(task: Task) -> Expr:
    game = _game(task)
    found = find_expression(game.numbers, game.target, signs=game.signs, use_all=game.use_all)
    assert found is not None, "the target came from an expression over these numbers"
    return found


def _fraction(value: Json) -> Fraction | None:
    return read_number(value, "integer", "fraction") if isinstance(value, str) else None


def _log_gap(value: Fraction, target: Fraction) -> float:
    gap = abs(value - target)
    return math.log1p(gap.numerator / gap.denominator)


def _effortless(game: CountdownGame) -> list[Fraction]:
    """Return what needs no calculating: single numbers, the sum, the largest pair; the numbers next to the target

    with one of the two smallest added or taken away, where not all numbers must be used.
    """
    ordered = sorted(game.numbers)
    pair = [apply(sign, Fraction(ordered[-1]), Fraction(ordered[-2])) for sign in game.signs if sign in ("+", "*")]
    easy = [*map(Fraction, ordered), Fraction(sum(ordered)), *(value for value in pair if value is not None)]
    if game.use_all:
        return easy
    places = [place for place, number in enumerate(ordered) if number < game.target][-1:]
    places += [place for place, number in enumerate(ordered) if number >= game.target][:1]
    beside = [(ordered[place], ordered[small]) for place in places for small in (0, 1) if small != place]
    return [*easy, *(Fraction(near + sign * small) for near, small in beside for sign in (1, -1))]


def _careless(game: CountdownGame) -> list[Fraction]:
    """Return what the largest number and any other one give short of the target: such a pair is near by luck alone.

    Where all numbers must be used, no pair is legal.
    """
    *others, largest = sorted(game.numbers)
    pairs = [Fraction(largest + sign * other) for other in others for sign in (1, -1)]
    return [] if game.use_all else [value for value in pairs if value != game.target]


def _fits(shape: Level, numbers: Sequence[int], target: Fraction) -> bool:
    lowest, highest = shape.targets
    if not lowest <= target <= highest:
        return False
    game = CountdownGame(tuple(numbers), target, shape.signs, shape.use_all)
    if any(abs(target - value) < shape.margin for value in _effortless(game)):
        return False
    if shape.fraction != (target.denominator > 1) or target.denominator > 20:
        return False
    if shape.num_used == 2:
        return True
    values = [Fraction(k) for k in numbers]  # no pair may do, or the level would be that of two numbers
    pairs = ((a, b) for i, a in enumerate(values) for j, b in enumerate(values) if i != j)
    return target not in {apply(sign, a, b) for a, b in pairs for sign in shape.signs}


def _sample(rng: np.random.Generator, numbers: Sequence[int], signs: str) -> Expr:
    if len(numbers) == 1:
        return numbers[0]
    cut = int(rng.integers(1, len(numbers)))
    sign = signs[int(rng.integers(len(signs)))]
    return (sign, _sample(rng, numbers[:cut], signs), _sample(rng, numbers[cut:], signs))


def _mirrored(expr: Expr) -> Expr:
    if isinstance(expr, int):
        return expr
    sign, left, right = expr[0], _mirrored(expr[1]), _mirrored(expr[2])
    return (sign, right, left) if sign in ("+", "*") else (sign, left, right)


def _swapped(expr: Expr) -> Expr:
    return expr if isinstance(expr, int) else (expr[0], expr[2], expr[1])


def _changed(expr: Expr) -> Expr:
    return expr if isinstance(expr, int) else ("-" if expr[0] == "+" else "+", expr[1], expr[2])


def _bracketed(expr: Expr) -> str:
    return str(expr) if isinstance(expr, int) else f"({_bracketed(expr[1])}{expr[0]}{_bracketed(expr[2])})"


DOMAIN = Domain(
    tasks=CountdownTasks(),
    open_workspace=lambda task, _room: GameWorkspace(_game(task)),
    verifier=CountdownVerifier(),
    solve=solve,
    alternatives=alternatives,
    equivalents=equivalents,
    distractors=distractors,
    exploits=exploits,
    shortcuts=shortcuts,
    proves_right=proves_right,
)
