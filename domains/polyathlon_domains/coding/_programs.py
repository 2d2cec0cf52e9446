"""Sampled programs, a form a function; upper-case letters stand for variable names, to be chosen later."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

Form = Callable[["Dice"], str]

WORDS = ("ant", "bee", "elk", "fox", "hen", "owl", "moth", "newt", "crab", "toad", "lynx", "mole", "heron", "otter")


class Dice:
    """Short names for what the forms ask of a generator."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng

    def number(self, low: int, high: int) -> int:
        """Return an integer in [low, high]."""
        return int(self._rng.integers(low, high + 1))

    def pick(self, options: Sequence[str]) -> str:
        """Return one of `options`."""
        return options[int(self._rng.integers(len(options)))]

    def numbers(self, count: int, low: int, high: int) -> list[int]:
        """Return `count` integers in [low, high]."""
        return [int(k) for k in self._rng.integers(low, high + 1, size=count)]

    def words(self, count: int) -> list[str]:
        """Return `count` different words."""
        return [WORDS[int(k)] for k in self._rng.permutation(len(WORDS))[:count]]


def _lines(*lines: str) -> str:
    return "\n".join(lines)


def _listed(values: Sequence[int]) -> str:
    return "[" + ",".join(map(str, values)) + "]"


def _counting(dice: Dice) -> str:
    step, first = dice.number(2, 19), dice.number(0, 4)
    update = dice.pick([f"X+={step}", f"X-={step}", f"X+=I+{step}", f"X+=I*{dice.number(2, 9)}", f"X={step}*I-X"])
    times = f"{first},{first + dice.number(3, 5)}" if first else str(dice.number(3, 5))
    return _lines(f"X={dice.number(2, 99)}", f"for I in range({times}):", f" {update}", " print(X)")


def _halving(dice: Dice) -> str:
    test = dice.pick(["X>{}", "X>={}"]).format(dice.number(3, 9))
    update = dice.pick(["X=X//2", "X=X//3+1", f"X-={dice.number(21, 39)}"])
    return _lines(f"X={dice.number(80, 999)}", f"while {test}:", f" {update}", " print(X)")


def _choosing(dice: Dice) -> str:
    test = dice.pick([f"V>{dice.number(4, 12)}", f"V%{dice.number(2, 3)}==0", f"V<S%{dice.number(5, 12)}"])
    yes, no = dice.pick(["S+=V", "S+=2*V", "S=V-S"]), dice.pick([f"S-={dice.number(2, 9)}", "S-=V", "S=S*2"])
    values = dice.numbers(4, 1, 19)
    return _lines(
        f"S={dice.number(3, 30)}", f"for V in {_listed(values)}:", f" if {test}: {yes}", f" else: {no}", " print(S)"
    )


def _gathering(dice: Dice) -> str:
    values = dice.numbers(4, 1, 15)
    item = dice.pick(
        [f"V*{dice.number(2, 7)}", f"V%{dice.number(3, 7)}+{dice.number(10, 30)}", f"V+A[0]+{dice.number(2, 20)}"]
    )
    shown = dice.pick(["B[::-1]", "sorted(B)", "B[1:],sum(B)", "max(B),B[:3]"])
    return _lines(f"A={_listed(values)}", "B=[]", "for V in A:", f" B.append({item})", f"print({shown})")


def _aliasing(dice: Dice) -> str:
    copies = [dice.pick(["B=A", "B=A[:]", "B=A"]), dice.pick(["C=B", "C=list(A)", "C=B[::-1]", "C=[A[1],B[0]]"])]
    changes = [_change(dice) for _ in range(3)]
    return _lines(f"A={_listed(dice.numbers(2, 2, 19))}", *copies, *changes, "print(A,B,C)")


def _nesting(dice: Dice) -> str:
    inner = _listed(dice.numbers(2, 2, 19))
    outer = dice.pick(["B=[A,A]", "B=[A,A[:]]", "B=[A[:],A]"])
    changes = [
        dice.pick(["B[0]", "B[1]", "A"])
        + dice.pick([f"[{dice.number(0, 1)}]+={dice.number(3, 40)}", f".append(len(B)+{dice.number(3, 30)})"])
        for _ in range(3)
    ]
    return _lines(f"A={inner}", outer, *changes, "print(B,sum(A))")


def _change(dice: Dice) -> str:
    name, other = dice.pick("ABC"), dice.pick("ABC")
    return dice.pick(
        [
            f"{name}[{dice.number(0, 1)}]+={dice.number(3, 40)}",
            f"{name}.append({other}[0]+{dice.number(2, 20)})",
            f"{name}[0]*={dice.number(2, 5)}",
            f"{name}+=[sum({other})]",
            f"{name}={name}+[len({other})*{dice.number(3, 9)}]",
            f"{name}.insert(0,{other}[1]-{dice.number(2, 30)})",
        ]
    )


def _two_calls(dice: Dice) -> str:
    base, left, right = dice.number(1, 30), dice.number(1, 4), dice.number(1, 4)
    stop, first = dice.number(2, 3), dice.number(3, 4)
    calls = ",".join(f"F({first + k})" for k in (0, 1, dice.number(2, 3)))
    start = dice.pick([f"N+{base}", f"{base}-N", f"{base}*N+{left}"])
    return _lines(
        "def F(N):",
        f" if N<{stop}: return {start}",
        f" return {left}*F(N-1){dice.pick('+-')}{right}*F(N-2)",
        f"print({calls})",
    )


def _digits(dice: Dice) -> str:
    base = dice.number(2, 9)
    body = dice.pick([f"N%{base}*{dice.number(2, 9)}+F(N//{base})", f"F(N//{base})*{dice.number(2, 4)}+N%{base}"])
    calls = ",".join(f"F({k})" for k in dice.numbers(3, 20, 199))
    return _lines("def F(N):", f" if N<{base}: return N+{dice.number(1, 20)}", f" return {body}", f"print({calls})")


def _folding(dice: Dice) -> str:
    body = dice.pick(["L[0]-F(L[1:])", "F(L[1:])-L[0]", f"F(L[1:])*{dice.number(2, 3)}+L[0]", "L[-1]-F(L[:-1])"])
    values = dice.numbers(4, 1, 19)
    shown = "F(A),F(A[1:]),F(A[:2])"
    return _lines(
        "def F(L):",
        f" if not L: return {dice.number(1, 30)}",
        f" return {body}",
        f"A={_listed(values)}",
        f"print({shown})",
    )


def _counting_words(dice: Dice) -> str:
    one, two = dice.words(2)
    words = ",".join(f"'{word}'" for word in ([one, two, one] if dice.number(0, 1) else [two, one, one]))
    spec, key = _spec(dice), dice.pick(["K.upper()", "K[::-1]", "K[1:]", "K.title()"])
    return _lines(
        "D={}",
        f"for W in [{words}]:",
        f" D[W]=D.get(W,{dice.number(2, 60)})*2+len(W)",
        "for K,V in D.items():",
        f" print(f'{{{key}:{dice.pick('<>^')}{dice.number(5, 7)}}}|{{V:{spec}}}|')",
    )


def _formatted_recursion(dice: Dice) -> str:
    base, step = dice.number(2, 4), dice.number(3, 30)
    mark = dice.pick(["#", "~", ".", "="])
    return _lines(
        "def F(N,P):",
        f" if N<{base}: return P",
        f" print(f'{mark}{{N:{_spec(dice)}}}{{P:>{dice.number(3, 5)}}}')",
        f" return F(N//{base},P+N%{dice.number(5, 9)})",
        f"print(F({dice.number(20, 120)},{step}))",
    )


def _table(dice: Dice) -> str:
    rows = [dice.numbers(2, 2, 30), dice.numbers(2, 2, 30)]
    change = dice.pick([f"*={dice.number(2, 9)}", f"+={dice.number(20, 99)}", "+=len(T)"])
    return _lines(
        f"T=[{_listed(rows[0])},{_listed(rows[1])}]",
        f"T.append(T[{dice.number(0, 1)}])",
        f"T[2][{dice.number(0, 1)}]{change}",
        "for R in T:",
        f" print(f'{{R[0]*len(T):{_spec(dice)}}}/{{sum(R):{_spec(dice)}}}')",
    )


def _spec(dice: Dice) -> str:
    return dice.pick(["03d", "04d", "+d", ".1f", ".2f", "x", "b", "5d", "<4d"])


FORMS: Mapping[int, tuple[Form, ...]] = {
    0: (_counting, _counting, _counting, _halving),
    1: (_choosing, _choosing, _gathering),
    2: (_aliasing, _aliasing, _nesting),
    3: (_two_calls, _digits, _folding),
    4: (_counting_words, _formatted_recursion, _table),
}
