"""Tolerances at their ends, at zero and at scale; shares and gates that refuse what is odd."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyathlon.errors import VerifierError
from polyathlon.verify.credit import best_of, clamped, every, expect_finite, expect_share, finite, share_right
from polyathlon.verify.tolerance import EXACT, Absolute, Digits, Places, Relative, Tolerance, Ulps

ONE_PERCENT = Relative(Fraction(1, 100))


@pytest.mark.parametrize(
    ("tolerance", "value", "gold", "admitted"),
    [
        (EXACT, "0.5", "0.5", True),
        (EXACT, "0.5000000001", "0.5", False),
        (Absolute(Fraction("0.01")), "1.01", "1", True),
        (Absolute(Fraction("0.01")), "1.0100001", "1", False),
        (ONE_PERCENT, "202", "200", True),
        (ONE_PERCENT, "198", "200", True),
        (ONE_PERCENT, "202.0001", "200", False),
        (ONE_PERCENT, "-200", "200", False),
        (ONE_PERCENT, "1/1000000000", "0", False),  # nothing is near zero
        (ONE_PERCENT, "0", "0", True),
        (Relative(Fraction(1, 100), scale=Fraction(10)), "0.1", "0", True),  # but where a scale says what is
        (Relative(Fraction(1, 100), scale=Fraction(10)), "0.11", "0", False),
        (ONE_PERCENT, "2/1000000000", "1/1000000000", False),  # twice a tiny gold
        (Places(2), "0.335", "1/3", False),
        (Places(2), "0.333", "1/3", True),
        (Places(2), "0.13", "0.125", True),
        (Places(2), "0.12", "0.125", False),
        (Places(2, halves="either"), "0.12", "0.125", True),
        (Places(2, halves="even"), "0.13", "0.125", False),
        (Places(-2), "1249", "1210", True),
        (Digits(2), "0.0012", "0.00123", True),
        (Digits(2), "0.0013", "0.00123", False),
        (Digits(2), "-0.0012", "0.00123", False),
        (Digits(1), "10", "9.6", True),
        (Digits(3), "0.0001", "0", False),
    ],
)
def test_tolerances(tolerance: Tolerance, value: str, gold: str, *, admitted: bool) -> None:
    assert tolerance.admits(Fraction(value), Fraction(gold)) is admitted


def test_steps_of_double_precision_are_counted() -> None:
    sum_of_tenths = Fraction(0.1 + 0.2)
    assert not EXACT.admits(sum_of_tenths, Fraction(0.3))
    assert Ulps(1).admits(sum_of_tenths, Fraction(0.3))
    assert not Ulps(1).admits(Fraction(math.nextafter(0.3, 1.0)) + sum_of_tenths - Fraction(0.3), Fraction(0.3))
    assert not Ulps(4).admits(Fraction(10) ** 400 + 1, Fraction(10) ** 400)


@pytest.mark.parametrize("size", [Fraction(-1), 0.01, math.nan])
def test_a_tolerance_is_an_exact_size(size: Fraction) -> None:
    with pytest.raises(ValueError, match="Fraction"):
        Absolute(size)


def test_only_finite_json_numbers_are_numbers() -> None:
    assert [finite(value) for value in (3, 0.1, -2.5)] == [3, Fraction(1, 10), Fraction(-5, 2)]
    assert [finite(value) for value in (True, "3", None, math.nan, math.inf, [3])] == [None] * 6


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_is_the_verifiers_fault(value: float) -> None:
    with pytest.raises(VerifierError):
        expect_finite(value, "x")
    with pytest.raises(VerifierError):
        expect_share(value, "x")
    with pytest.raises(VerifierError):
        clamped(value, low=0.0, high=1.0)


def test_a_share_is_not_cut_to_size() -> None:
    assert expect_share(1.0 + 1e-12, "x") == 1.0
    assert expect_share(-1e-12, "x") == 0.0
    with pytest.raises(VerifierError, match="overlap is"):
        expect_share(1.5, "overlap")


def test_clamping_keeps_its_ends() -> None:
    assert [clamped(value, low=0.0, high=1.0) for value in (-2.0, 0.25, 7.0)] == [0.0, 0.25, 1.0]
    with pytest.raises(VerifierError, match="Nothing lies"):
        clamped(0.5, low=1.0, high=0.0)


def test_gates() -> None:
    assert every([True, True])
    assert not every([True, False])
    assert share_right([True, False, False, True]) == 0.5
    assert best_of([0.25, 0.5], "x") == 0.5
    with pytest.raises(VerifierError):
        every([1, 1])  # type: ignore[list-item]
    with pytest.raises(VerifierError):
        best_of([0.5, math.nan], "x")


@given(
    st.fractions(),
    st.fractions(),
    st.sampled_from([EXACT, ONE_PERCENT, Absolute(Fraction(1)), Places(2), Digits(3), Ulps(2)]),
)
def test_gold_is_always_near_itself_and_nothing_raises(value: Fraction, gold: Fraction, tolerance: Tolerance) -> None:
    assert tolerance.admits(gold, gold)
    assert tolerance.admits(value, gold) in (True, False)


@given(st.fractions(min_value=-1000, max_value=1000), st.fractions(min_value=-1000, max_value=1000))
def test_absolute_nearness_and_rounding_have_no_direction(left: Fraction, right: Fraction) -> None:
    for tolerance in (EXACT, Absolute(Fraction(1, 7)), Places(1)):
        assert tolerance.admits(left, right) == tolerance.admits(right, left)
