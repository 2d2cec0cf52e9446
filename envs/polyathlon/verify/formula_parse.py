"""Expressions read into trees by a grammar with declared choices; what is ambiguous under them is no formula."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

from polyathlon.verify.formula import Term
from polyathlon.verify.formula_text import END, Token

MAX_DEPTH = 20
ONE = Term("number", value=Fraction(1))
Shape = Literal["expression", "equation", "interval", "set", "tuple", "sequence"]


@dataclass(frozen=True, slots=True)
class FormulaForm:
    """What a formula is and how it is read; the defaults refuse what has two readings.

    `shape`: "expression"; "equation" a = b; "interval" [a, b), a union of them with U, or inequalities of one symbol;
    "set" {a, b}, braces or none; "tuple" (a, b); "sequence" a, b, ..., z. `letters`: the symbols there are, None for
    any single letters. `constants`: names that are numbers ("pi", "e", "i"). `subject`: the symbol that may stand
    before "=" of an expression, and that an inequality must be about; "" for none, and any. `log`: what "log" without a
    base is. `slash`: whether 1/2x is (1/2)x ("left") or refused. `mixed`: whether 2\\frac{1}{2} is 5/2 or refused.
    """

    shape: Shape = "expression"
    letters: tuple[str, ...] | None = None
    constants: tuple[str, ...] = ("pi", "e")
    subject: str = ""
    log: Literal["refused", "natural", "decimal"] = "refused"
    slash: Literal["refused", "left"] = "refused"
    mixed: Literal["refused", "sum"] = "refused"


class NoFormula(ValueError):
    """The text is no formula of the declared form."""


@dataclass(slots=True)
class Reader:
    """Reads tokens from the left. `bars` says that a | ends what is being read."""

    rest: tuple[Token, ...]
    form: FormulaForm
    at: int = 0
    depth: int = 0
    bars: list[bool] = field(default_factory=lambda: [False])

    @property
    def next(self) -> Token:
        return self.rest[self.at]

    def sees(self, *texts: str) -> bool:
        return self.next.kind == "sign" and self.next.text in texts  # sound: a tuple of signs

    def take(self, *texts: str) -> str:
        """Return the next sign, one of `texts`, and go on. Raises NoFormula."""
        if not self.sees(*texts):
            raise NoFormula(f"{self.next.text!r} where {texts} must be")
        self.at += 1
        return self.rest[self.at - 1].text

    def end(self) -> None:
        """Raise NoFormula where something is left."""
        if self.next != END:
            raise NoFormula(f"{self.next.text!r} is left")

    def expression(self) -> Term:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise NoFormula("nested too deep")
        parts = [self.term()]
        while self.sees("+", "-"):
            minus = self.take("+", "-") == "-"
            part = self.term()
            parts.append(Term("neg", (part,)) if minus else part)
        self.depth -= 1
        return parts[0] if len(parts) == 1 else Term("add", tuple(parts))

    def term(self) -> Term:
        if not self.sees("-", "+"):
            return self.product()
        minus = self.take("-", "+") == "-"
        part = self.product()
        return Term("neg", (part,)) if minus else part

    def product(self) -> Term:
        factors = [self.power()]
        divided = False
        while True:
            if self.sees("*", "/"):
                divided = self.take("*", "/") == "/"
                factor = self.power()
                factors.append(Term("div", (ONE, factor)) if divided else factor)
            elif self.begins_factor():
                factors[-1:] = self.implied(factors[-1], divided=divided)
            else:
                return factors[0] if len(factors) == 1 else Term("mul", tuple(factors))

    def begins_factor(self) -> bool:
        if self.next.kind in ("name", "constant", "function"):
            return True
        return self.sees("(", "{", "frac") or (self.sees("|") and not self.bars[-1])

    def implied(self, before: Term, *, divided: bool) -> list[Term]:
        """Return `before` and the factor that follows it without a sign, as factors. Raises NoFormula where unclear."""
        if divided and self.form.slash == "refused":
            raise NoFormula("1/2x has two readings")
        fraction = self.sees("frac")
        factor = self.power()
        if fraction and {before.op, *(part.op for part in factor.parts)} <= {"number"}:
            if self.form.mixed == "refused":
                raise NoFormula("a number before a fraction has two readings")
            return [Term("add", (before, factor))]
        return [before, factor]

    def power(self) -> Term:
        base = self.postfixed(self.primary())
        if not self.sees("^"):
            return base
        self.take("^")
        return Term("pow", (base, self.exponent()))

    def exponent(self) -> Term:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise NoFormula("nested too deep")
        if self.sees("-", "+"):
            minus = self.take("-", "+") == "-"
            found = self.power()
            found = Term("neg", (found,)) if minus else found
        else:
            found = self.power()
        self.depth -= 1
        return found

    def postfixed(self, base: Term) -> Term:
        if self.sees("!"):
            self.take("!")
            base = Term("factorial", (base,))
            if self.sees("!"):
                raise NoFormula("!! has two readings")
        return base

    def primary(self) -> Term:
        token = self.next
        if token.kind == "number":
            self.at += 1
            return Term("number", value=Fraction(token.text))
        if token.kind == "constant":
            self.at += 1
            return Term("constant", name=token.text)
        if token.kind == "name":
            self.at += 1
            return Term("symbol", name=token.text + self.subscript())
        if token.kind == "function":
            self.at += 1
            return self.call(token.text)
        if self.sees("oo"):
            self.take("oo")
            return Term("constant", name="oo")
        if self.sees("frac"):
            self.take("frac")
            return Term("div", (self.braced(), self.braced()))
        if self.sees("|"):
            return self.absolute()
        return self.bracketed("(", "{")

    def absolute(self) -> Term:
        self.take("|")
        self.bars.append(True)
        inner = self.expression()
        self.bars.pop()
        self.take("|")
        return Term("abs", (inner,))

    def bracketed(self, *opens: str) -> Term:
        close = {"(": ")", "{": "}", "[": "]"}[self.take(*opens)]
        self.bars.append(False)
        inner = self.expression()
        self.bars.pop()
        self.take(close)
        return inner

    def braced(self) -> Term:
        return self.bracketed("{")

    def subscript(self) -> str:
        if not self.sees("_"):
            return ""
        self.take("_")
        braced = self.sees("{")
        if braced:
            self.take("{")
        if self.next.kind not in ("number", "name"):
            raise NoFormula("a subscript is one number or letter")
        self.at += 1
        text = self.rest[self.at - 1].text
        if braced:
            self.take("}")
        return f"_{text}"

    def call(self, name: str) -> Term:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise NoFormula("nested too deep")
        found = self.called(name)
        self.depth -= 1
        return found

    def called(self, name: str) -> Term:
        if name == "sqrt":
            degree = self.bracketed("[") if self.sees("[") else Term("number", value=Fraction(2))
            return Term("pow", (self.bracketed("(", "{"), Term("div", (ONE, degree))))
        if name == "binom":
            return self.binomial()
        base = self.log_base(name) if name in ("log", "lg") else None
        times = self.exponent_of_function()
        argument = self.argument()
        found = Term("abs", (argument,)) if name == "abs" else Term("call", (argument,), name="ln" if base else name)
        if base:
            found = Term("div", (found, Term("call", (base,), name="ln")))
        return found if times is None else Term("pow", (found, times))

    def binomial(self) -> Term:
        above, below = self.braced(), self.braced()
        gap = Term("add", (above, Term("neg", (below,))))
        bottom = Term("mul", (Term("factorial", (below,)), Term("factorial", (gap,))))
        return Term("div", (Term("factorial", (above,)), bottom))

    def log_base(self, name: str) -> Term:
        """Return the base of a logarithm: written, or declared. Raises NoFormula where it is neither."""
        if self.sees("_"):
            self.take("_")
            return self.bracketed("{") if self.sees("{") else self.primary()
        if name == "lg" or self.form.log == "decimal":
            return Term("number", value=Fraction(10))
        if self.form.log == "natural":
            return Term("constant", name="e")
        raise NoFormula("log without a base has two readings")

    def exponent_of_function(self) -> Term | None:
        """Return n of sin^n x, a whole number above 0: sin^{-1} x has two readings."""
        if not self.sees("^"):
            return None
        self.take("^")
        found = self.bracketed("{") if self.sees("{") else self.primary()
        if found.op != "number" or found.value < 1:
            raise NoFormula("a power of a function's name is a whole number")
        return found

    def argument(self) -> Term:
        """Return what a function is of: brackets, or a number, a symbol, or both: sin 2x. No more without brackets."""
        if self.sees("(", "{"):
            return self.bracketed("(", "{")
        if self.sees("|", "frac") or self.next.kind == "function":
            return self.power()
        found = self.primary()
        if found.op == "number" and self.next.kind in ("name", "constant"):
            found = Term("mul", (found, self.power()))
        elif self.sees("^"):
            self.take("^")
            found = Term("pow", (found, self.exponent()))
        if self.next.kind in ("name", "constant") or self.sees("(", "/"):
            raise NoFormula("what the function is of has two readings")
        return found
