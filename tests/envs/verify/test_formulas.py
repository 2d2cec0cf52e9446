"""Formulas: read by a grammar that refuses two readings, compared exactly, symmetrically, and within a budget."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyathlon.errors import VerifierError
from polyathlon.verify import symbolic
from polyathlon.verify.formula import proportional, same_function, symbols
from polyathlon.verify.formula_parse import FormulaForm
from polyathlon.verify.formula_shapes import read_formula
from polyathlon.verify.symbolic import Comparison, compare_formulas, same_formula
from polyathlon.verify.tolerance import Absolute, Places

PLAIN = FormulaForm()
INTERVAL = FormulaForm(shape="interval")
SET = FormulaForm(shape="set")
EQUATION = FormulaForm(shape="equation")
WRITTEN = st.text() | st.text(alphabet="xyn0123456789+-*/^!|(){}[],.=<>_ \\fracsqrtpieU")


@pytest.mark.parametrize(
    ("text", "same_as"),
    [
        ("2x+1", "1 + 2*x"),
        ("\\frac12 x", "x/2"),
        ("\\dfrac{x+1}{2}", "(x+1)/2"),
        ("x^{2}", "x*x"),
        ("x**2", "x\u00b2"),
        ("-x^2", "-(x^2)"),
        ("2^{-3}", "1/8"),
        ("2(x+1)(x-1)", "2x^2-2"),
        ("3\\cdot x\\times y", "3*x*y"),
        ("5!", "120"),
        ("\\binom{5}{2}", "10"),
        ("1e6", "1000000"),
        ("$x+1$", "x+1"),
        ("\\left(x+1\\right)", "x+1"),
        ("x_1+x_{1}", "2x_1"),
        ("\\alpha+\u03b1", "2\\alpha"),
        ("\\text{13}", "13"),
        ("4^{1/2}", "2"),
        ("\\sqrt{9}", "3"),
        ("x/x", "1 + 0*x"),
        ("a/b/c", "a/(b*c)"),
    ],
)
def test_one_formula_has_many_spellings(text: str, same_as: str) -> None:
    assert compare_formulas(text, same_as, PLAIN) == "same"


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "I have 1 idea",
            "six",
            "1/2x",
            "2\\frac{1}{2}",
            "log x",
            "\\sin^{-1} x",
            "sin x y",
            "5!!",
            "25%",
            "\\pm 3",
        ),
        *(
            "1 2",
            "(2)3",
            "x 3",
            "2..5",
            "1,234",
            "(x",
            "x)",
            "||",
            "x=",
            "=5",
            "f'",
            "\\unknown{x}",
            "__import__",
            "x;y",
        ),
        *("9^9^9^9", "(9^9^9)!", "3001!", "x^{1001}", "(" * 60 + "1" + ")" * 60, "2^" * 60 + "2", "x+" * 500 + "x"),
        *("[x]", "{1,2}", "nan", "lambda: 1", "().__class__", "\x00", "\ud800"),
    ],
)
def test_what_has_two_readings_or_none_is_no_formula(text: str) -> None:
    assert read_formula(text, PLAIN) is None


def test_choices_are_declared() -> None:
    assert same_formula("1/2x", "x/2", FormulaForm(slash="left"))
    assert same_formula("2\\frac{1}{2}", "5/2", FormulaForm(mixed="sum"))
    assert same_formula("x=5", "5", FormulaForm(subject="x"))
    assert compare_formulas("y=5", "5", FormulaForm(subject="x")) == "unread"
    assert same_formula("abc", "c*b*a", FormulaForm(letters=("a", "b", "c")))
    assert compare_formulas("x", "x*1", FormulaForm(letters=("x",))) == "same"
    assert read_formula("y", FormulaForm(letters=("x",))) is None


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("x+1", "x+2"),
        ("x^2", "x^3"),
        ("x", "y"),
        ("x-x+5", "5"),  # other free symbols
        ("1/0", "1"),
        ("x + 10^{30}", "x"),
        ("(x+1)^{100}", "x^{100}+1"),
        ("170141183460469231731687303715884105727 x", "x"),
        ("(x-1)(x-2)(x-3)(x-4)(x-5) + y", "y + 0*x"),
    ],
)
def test_other_functions_differ_both_ways(left: str, right: str) -> None:
    assert compare_formulas(left, right, PLAIN) == "different"
    assert compare_formulas(right, left, PLAIN) == "different"


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        ("x>3", "(3,oo)", True),
        ("3<x", "(3,oo)", True),
        ("x>=3", "[3,oo)", True),
        ("x>=3", "(3,oo)", False),
        ("1<x\\le 5", "(1,5]", True),
        ("5\\ge x>1", "(1,5]", True),
        ("x>3 and x<5", "(3,5)", True),
        ("x<1 or x>2", "(2,oo)\\cup(-oo,1)", True),
        ("x\\ne 2", "(-oo,2)U(2,oo)", True),
        ("x\\in(3,\\infty)", "x>3", True),
        ("x>3", "y>3", False),
        ("(3,4)", "(3,5)", False),
        ("x>6/2", "(3,oo)", True),
        ("\\mathbb{R}", "(-oo,oo)", True),
        ("x=3", "[3,3]", True),
    ],
)
def test_intervals_and_inequalities(left: str, right: str, *, same: bool) -> None:
    assert same_formula(left, right, INTERVAL) is same
    assert same_formula(right, left, INTERVAL) is same


@pytest.mark.parametrize("text", ["[3,oo]", "x>5 and x<3", "3>x<5", "x", "(1,2,3)", "x+1>3", "x>oo", "x>1 or y>2"])
def test_what_is_no_interval_is_unread(text: str) -> None:
    assert compare_formulas(text, "(3,oo)", INTERVAL) == "unread"


@pytest.mark.parametrize(
    ("left", "right", "form", "same"),
    [
        ("{1, 2}", "\\{2, 4/4\\}", SET, True),
        ("1, 2", "{2, 1}", SET, True),
        ("1 and 2", "{2, 1}", SET, True),
        ("{1, 1, 2}", "{1, 2}", SET, False),
        ("{1}", "{1, 2}", SET, False),
        ("{}", "\\emptyset", SET, True),
        ("{}", "{1}", SET, False),
        ("(1, 2)", "(1, 4/2)", FormulaForm(shape="tuple"), True),
        ("(2, 1)", "(1, 2)", FormulaForm(shape="tuple"), False),
        ("y=2x+1", "2x - y + 1 = 0", EQUATION, True),
        ("2y=4x+2", "y=2x+1", EQUATION, True),
        ("y=2x+2", "y=2x+1", EQUATION, False),
        ("0=0", "y=2x+1", EQUATION, False),
        ("x*(y-2x-1)=0", "y=2x+1", EQUATION, False),
    ],
)
def test_sets_tuples_and_equations(left: str, right: str, form: FormulaForm, *, same: bool) -> None:
    assert same_formula(left, right, form) is same
    assert same_formula(right, left, form) is same


class TestWithSymPy:
    @pytest.fixture(autouse=True)
    def _needs_sympy(self) -> None:
        pytest.importorskip("sympy")

    @pytest.mark.parametrize(
        ("left", "right", "numbers", "same"),
        [
            ("sin^2 x + cos^2 x + x", "1 + x", "complex", "same"),
            ("\\sqrt{2}\\sqrt{3}", "\\sqrt{6}", "real", "same"),
            ("\\frac{1}{\\sqrt{2}}", "\\frac{\\sqrt{2}}{2}", "real", "same"),
            ("e^{2x}", "(e^x)^2", "real", "same"),
            ("\\ln(x^2)", "2\\ln x", "positive", "same"),
            ("\\ln(x^2)", "2\\ln x", "real", "different"),
            ("\\sqrt{x^2}", "|x|", "real", "same"),
            ("\\sqrt{x^2}", "x", "real", "different"),
            ("\\sqrt{x^2}", "x", "positive", "same"),
            ("\\log_2 8", "3", "real", "same"),
            ("2\\pi", "\\pi", "real", "different"),
            ("4\\sqrt(2)", "4", "real", "different"),
            ("\\pi", "3.14159265358979", "real", "different"),
            ("\\sqrt{3+2\\sqrt{2}}", "1+\\sqrt{2}", "real", "same"),
            ("\\sin(x)\\sin(2x)\\sin(3x)", "0*x", "real", "different"),
        ],
    )
    def test_functions_and_roots(self, left: str, right: str, numbers: Any, same: str) -> None:
        comparison = Comparison(numbers=numbers)
        assert compare_formulas(left, right, PLAIN, comparison) == same
        assert compare_formulas(right, left, PLAIN, comparison) == same

    def test_what_agrees_everywhere_tried_and_is_not_the_same_is_not_paid(self) -> None:
        assert not same_formula("\\sin x + 10^{-45}", "\\sin x", PLAIN)

    def test_a_rounding_is_declared(self) -> None:
        assert not same_formula("0.333", "1/3", PLAIN)
        assert same_formula("0.333", "1/3", PLAIN, Comparison(tolerance=Places(3)))
        assert same_formula("3.14", "\\pi", PLAIN, Comparison(tolerance=Places(2)))
        assert not same_formula("3.15", "\\pi", PLAIN, Comparison(tolerance=Places(2)))
        assert not same_formula("2\\pi", "\\pi", PLAIN, Comparison(tolerance=Absolute(1)))  # type: ignore[arg-type]

    def test_what_takes_too_long_is_unproven_and_the_next_is_answered(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(symbolic, "WALL_S", 0.5)
        began = time.perf_counter()
        assert compare_formulas("e^{e^{e^{e^{e^{x}}}}} + x", "x + \\sin x", PLAIN) in ("unproven", "different")
        assert time.perf_counter() - began < 20.0
        monkeypatch.undo()
        assert same_formula("\\cos(-x)", "\\cos x", PLAIN)

    @pytest.mark.parametrize(
        "hostile", ["e^{9^{9^9}}", "\\sin(9^{9^{9^9}})", "(3000!)^{3000!}", "\\sqrt[0]{2}", "\\ln 0", "0^{-1}"]
    )
    def test_hostile_formulas_are_no_match(self, hostile: str) -> None:
        began = time.perf_counter()
        assert not same_formula(hostile, "\\sqrt{2}", PLAIN)
        assert time.perf_counter() - began < 30.0


@given(WRITTEN)
def test_no_text_raises(text: str) -> None:
    for form in (PLAIN, INTERVAL, SET, EQUATION, FormulaForm(shape="sequence"), FormulaForm(shape="tuple")):
        term = read_formula(text, form)
        assert term is None or isinstance(symbols(term), frozenset)


POLYNOMIALS = st.lists(st.integers(-9, 9), min_size=1, max_size=5)


def written(coefficients: list[int]) -> str:
    return "+".join(f"({c})*x^{k}" for k, c in enumerate(coefficients))


@settings(max_examples=60)
@given(POLYNOMIALS, POLYNOMIALS)
def test_polynomials_are_the_same_when_their_coefficients_are(left: list[int], right: list[int]) -> None:
    length = max(len(left), len(right))
    padded = [[*each, *[0] * (length - len(each))] for each in (left, right)]
    one, other = (read_formula(written(each), PLAIN) for each in (left, right))
    assert one is not None
    assert other is not None
    assert same_function(one, other) is (padded[0] == padded[1])
    assert same_function(one, other) is same_function(other, one)
    if any(left):
        tripled = read_formula(f"3*({written(left)})", PLAIN)
        assert tripled is not None
        assert proportional(tripled, one)


def test_a_gold_that_is_too_large_is_the_verifiers_fault() -> None:
    with pytest.raises(VerifierError, match="gold"):
        compare_formulas("5", "9^9^9^9", PLAIN)
