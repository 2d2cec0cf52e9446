"""Rows of the log of faults: formulas. Each with its right value."""

from __future__ import annotations

import time

import pytest

from polyathlon.errors import VerifierError
from polyathlon.verify.formula_parse import FormulaForm
from polyathlon.verify.symbolic import Comparison, compare_formulas, same_formula

PLAIN = FormulaForm()
SEQUENCE = FormulaForm(shape="sequence")
INTERVAL = FormulaForm(shape="interval", subject="x")


def test_l17_factorials_of_other_numbers_differ() -> None:
    assert not same_formula("1/2006!", "1/2004!", PLAIN)
    assert same_formula("\\frac{1}{2004!}", "1/2004!", PLAIN)


def test_l19_sequences_with_dots_are_compared_by_their_terms() -> None:
    assert not same_formula("1, 3, 5, \\ldots, 2n-1", "1, 2, \\ldots, n", SEQUENCE)
    assert not same_formula("1, 3, \\ldots, 2n-1", "1, 2, \\ldots, n", SEQUENCE)
    assert same_formula("1, 2, ..., n", "1, 2, \\ldots, n", SEQUENCE)


def test_l20_brackets_of_a_root_are_read() -> None:
    pytest.importorskip("sympy")
    assert not same_formula("4\\sqrt(2)", "4", PLAIN)
    assert same_formula("4\\sqrt{2}", "\\sqrt{32}", PLAIN)


def test_l29_an_inequality_is_its_interval_both_ways() -> None:
    assert same_formula("x>3", "(3,\\infty)", INTERVAL)
    assert same_formula("(3,\\infty)", "x>3", INTERVAL)
    assert not same_formula("x\\ge 3", "(3,\\infty)", INTERVAL)


def test_l32_a_tower_of_powers_is_refused_at_once() -> None:
    began = time.perf_counter()
    assert compare_formulas("9^{9^{9^{9}}}", "5", PLAIN) == "unread"
    assert time.perf_counter() - began < 1.0


def test_l58_which_constants_may_be_renamed_is_declared() -> None:
    declared = Comparison(arbitrary=("A", "B"))
    assert same_formula("C x + D", "A x + B", PLAIN, declared)
    assert not same_formula("C x + D", "A x + B", PLAIN)
    assert not same_formula("C x + C", "A x + B", PLAIN, declared)


def test_l59_a_gold_that_cannot_be_read_is_invalid() -> None:
    with pytest.raises(VerifierError, match="gold"):
        compare_formulas("anything", "six", PLAIN)
    assert same_formula("6", "6", PLAIN)  # no LaTeX is needed
