"""Formulas as trees, and what can be decided of them exactly here: constants, and rational functions at secret points.

No text is ever evaluated: a tree comes from `verify.formula_parse`. Sizes are bounded before anything is computed.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from polyathlon.canonical import Json, canonical_json

# fmt: off
Op = Literal[
    "number", "symbol", "constant", "add", "neg", "mul", "div", "pow", "call", "factorial", "abs",
    "dots", "tuple", "set", "sequence", "equation", "interval", "union",
]
# fmt: on

MAX_BITS = 40_000
MAX_FACTORIAL = 3_000
MAX_DEGREE = 1_000
NUM_POINTS = 12
MIN_POINTS = 8
MAX_ROOT_BITS = 1_000
_PRIME_BITS = 127
_EXACT = ("add", "neg", "mul", "div", "pow", "factorial", "abs")


class TooLarge(ValueError):
    """A number in the formula is too large to be worked out. The message can be shown."""


@dataclass(frozen=True, slots=True)
class Term:
    """A node: its operation, its parts, and for a leaf its exact `value` or its `name`.

    "call" has the function's name; "interval" the two brackets, such as "[)", and its two ends as parts.
    """

    op: Op
    parts: tuple[Term, ...] = ()
    value: Fraction = Fraction(0)
    name: str = ""

    def json(self) -> list[Json]:
        """Return the tree as a flat list, each node after its parts: [op, name, numerator, denominator, num_parts]."""
        own: list[Json] = [self.op, self.name, str(self.value.numerator), str(self.value.denominator), len(self.parts)]
        return [*(node for part in self.parts for node in part.json()), own]


def walk(term: Term) -> Iterator[Term]:
    """Yield `term` and all beneath it."""
    yield term
    for part in term.parts:
        yield from walk(part)


def symbols(term: Term) -> frozenset[str]:
    """Return the names of the free symbols."""
    return frozenset(node.name for node in walk(term) if node.op == "symbol")


def renamed(term: Term, names: Mapping[str, str]) -> Term:
    """Return `term` with its symbols renamed by `names`, all at once."""
    parts = tuple(renamed(part, names) for part in term.parts)
    name = names.get(term.name, term.name) if term.op == "symbol" else term.name
    return Term(term.op, parts, term.value, name)


def check_size(term: Term) -> None:
    """Work out every constant that is rational, and bound the powers of the rest.

    Raises:
        TooLarge: a number of more than 40,000 bits, a factorial above 3,000, a power above 1,000 of what is no number.

    """
    _sized(term)


def exact_value(term: Term) -> Fraction | None:
    """Return the rational number that `term` is, None where it has symbols, is irrational or divides by zero.

    Raises:
        TooLarge: a step has more than 40,000 bits.

    """
    if term.op == "number":
        return term.value
    if term.op not in _EXACT:
        return None
    values = [exact_value(part) for part in term.parts]
    known = [value for value in values if value is not None]
    if len(known) != len(values):
        return None
    return _combined(term.op, known)


def is_rational(term: Term) -> bool:
    """Return whether `term` is a quotient of polynomials. Raises TooLarge as `exact_value`."""
    if term.op in ("number", "symbol"):
        return True
    if term.op in ("add", "neg", "mul", "div"):
        return not any(not is_rational(part) for part in term.parts)
    if term.op == "pow":
        exponent = exact_value(term.parts[1])
        return exponent is not None and exponent.denominator == 1 and is_rational(term.parts[0])
    return exact_value(term) is not None


def same_function(left: Term, right: Term) -> bool:
    """Return whether two quotients of polynomials are the same, x/x and 1 too.

    Decided at 12 points modulo two primes of 127 bits, all of which follow from a hash of both: nobody can aim at
    them. Two different ones of degree below 10**6 agree with a chance under 1e-30 (Schwartz and Zippel).
    """
    return _agree(left, right, lambda one, other, prime: (one - other) % prime == 0)


def proportional(left: Term, right: Term) -> bool:
    """Return whether one quotient of polynomials is a constant, not zero, times the other."""
    first: dict[int, tuple[int, int]] = {}

    def agrees(one: int, other: int, prime: int) -> bool:
        known_one, known_other = first.setdefault(prime, (one, other))
        return one != 0 and other != 0 and (one * known_other - other * known_one) % prime == 0

    return _agree(left, right, agrees)


def _agree(left: Term, right: Term, agrees: Callable[[int, int, int], bool]) -> bool:
    seed = canonical_json([left.json(), right.json()])
    names = sorted(symbols(left) | symbols(right))
    for turn in range(2):
        prime = _prime(f"{seed}{turn}")
        num_met = 0
        for number in range(NUM_POINTS):
            point = {name: _digest(f"{seed}{turn}{number}{name}") % prime for name in names}
            try:
                one, other = _modulo(left, point, prime), _modulo(right, point, prime)
            except ZeroDivisionError:
                continue
            num_met += 1
            if not agrees(one, other, prime):
                return False
        if num_met < MIN_POINTS:
            return False
    return True


def _sized(term: Term) -> Fraction | None:
    values = [_sized(part) for part in term.parts]
    exponent = values[1] if term.op == "pow" and values[0] is None else None
    if exponent is not None and (abs(exponent) > MAX_DEGREE or exponent.denominator > MAX_DEGREE):
        raise TooLarge(f"a power of more than {MAX_DEGREE}")
    if term.op == "number":
        return term.value
    known = [value for value in values if value is not None]
    return _combined(term.op, known) if term.op in _EXACT and len(known) == len(values) else None


def _combined(op: Op, values: list[Fraction]) -> Fraction | None:
    if op == "factorial":
        return _factorial(values[0])
    if op == "pow":
        return _power(values[0], values[1])
    if op == "neg":
        return -values[0]
    if op == "abs":
        return abs(values[0])
    result = values[0]
    for value in values[1:]:
        if op == "div" and value == 0:
            return None
        result = result + value if op == "add" else result * value if op == "mul" else result / value
        _check_bits(_bits(result))
    return result


def _factorial(value: Fraction) -> Fraction | None:
    if value.denominator != 1 or value < 0:
        return None
    if value > MAX_FACTORIAL:
        raise TooLarge(f"a factorial above {MAX_FACTORIAL}")
    return Fraction(math.factorial(value.numerator))


def _power(base: Fraction, exponent: Fraction) -> Fraction | None:
    if exponent.denominator != 1:
        return _root(base, exponent)
    if base == 0:
        return Fraction(0) if exponent > 0 else Fraction(1) if exponent == 0 else None
    _check_bits(0 if abs(base) == 1 else abs(exponent.numerator) * _bits(base))
    # an even power of -1 without working it out
    sign = -1 if base < 0 and exponent.numerator % 2 else 1
    return Fraction(sign) if abs(base) == 1 else base**exponent.numerator


def _root(base: Fraction, exponent: Fraction) -> Fraction | None:
    """Return a rational root of a number above zero, such as 4^(1/2); None for any other."""
    if base <= 0 or exponent.denominator > 64 or _bits(base) > MAX_ROOT_BITS:
        return None
    _check_bits(abs(exponent.numerator) * _bits(base))
    roots = [_whole_root(part, exponent.denominator) for part in (base.numerator, base.denominator)]
    if roots[0] is None or roots[1] is None:
        return None
    return Fraction(roots[0], roots[1]) ** exponent.numerator


def _whole_root(value: int, degree: int) -> int | None:
    low, high = 0, 1 << (value.bit_length() // degree + 1)
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if middle**degree < value else (low, middle)
    return low if low**degree == value else None


def _bits(value: Fraction) -> int:
    return value.numerator.bit_length() + value.denominator.bit_length()


def _check_bits(bits: int) -> None:
    if bits > MAX_BITS:
        raise TooLarge(f"a number of more than {MAX_BITS} bits")


def _modulo(term: Term, point: Mapping[str, int], prime: int) -> int:
    """Return the value of a quotient of polynomials at `point`. Raises ZeroDivisionError at a pole."""
    if term.op == "symbol":
        return point[term.name]
    if term.op == "pow":
        exponent = exact_value(term.parts[1])
        assert exponent is not None
        base = _modulo(term.parts[0], point, prime)
        return (
            _inverse(pow(base, -exponent.numerator, prime), prime)
            if exponent < 0
            else pow(base, exponent.numerator, prime)
        )
    if term.op not in ("add", "neg", "mul", "div"):
        constant = exact_value(term)
        if constant is None:  # it divides by zero
            raise ZeroDivisionError
        return constant.numerator * _inverse(constant.denominator, prime) % prime
    values = [_modulo(part, point, prime) for part in term.parts]
    if term.op == "neg":
        return -values[0] % prime
    result = values[0]
    for value in values[1:]:
        factor = _inverse(value, prime) if term.op == "div" else value
        result = (result + value if term.op == "add" else result * factor) % prime
    return result


def _inverse(value: int, prime: int) -> int:
    if value % prime == 0:
        raise ZeroDivisionError
    return pow(value, -1, prime)


def _digest(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest())


def _prime(seed: str) -> int:
    """Return a prime of 127 bits that follows from `seed`."""
    candidate = _digest(seed) % (1 << _PRIME_BITS) | (1 << (_PRIME_BITS - 1)) | 1
    while not _is_prime(candidate):
        candidate += 2
    return candidate


def _is_prime(number: int) -> bool:
    """Miller and Rabin's test to 24 bases; wrong for a number drawn at random with a chance under 4**-24."""
    odd, twos = number - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    for base in (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89):
        x = pow(base, odd, number)
        if x in (1, number - 1):
            continue
        if not any((x := x * x % number) == number - 1 for _ in range(twos - 1)):
            return False
    return True
