"""Items survive the way through JSON as they are, and what is called near a right answer is that."""

import datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any, cast

import numpy as np
import pytest

from polyathlon.canonical import canonical_json, check_json
from polyathlon_domains.bridges.reasoning_gym import near
from polyathlon_domains.bridges.reasoning_gym.wire import Uncarried, packed, unpacked


@pytest.mark.parametrize(
    "value",
    [
        {"a": [1, 2.5, None, True, "x"]},
        (1, (2, [3])),
        {1: "one", (2, 3): "two"},
        {"~": "a key of ours"},
        {"set": {3, 1, 2}, "frozen": frozenset("ab")},
        float("inf"),
        1 - 2j,
        [Fraction(1, 3), Decimal("0.10")],
        [datetime.date(2024, 2, 29), datetime.time(1, 2), datetime.timedelta(days=1, seconds=5)],
        range(3, 9, 2),
        b"\x00\xff",
    ],
)
def test_a_value_comes_back_equal_and_of_its_type(value: object) -> None:
    wired = packed(value)
    check_json(wired, where="wired")
    back = unpacked(wired)
    assert back == value
    assert type(back) is type(value)


def test_numpy_values_come_back_with_their_dtype() -> None:
    values = [np.array([[1, 0], [0, 1]], dtype=np.int8), np.str_("Zoey"), np.float32(0.5)]
    grid, name, number = cast(list[Any], unpacked(packed(values)))
    assert grid.dtype == np.int8
    assert grid.tolist() == [[1, 0], [0, 1]]
    assert type(name) is np.str_
    assert type(number) is np.float32


def test_a_set_is_written_in_one_order() -> None:
    assert canonical_json(packed({"b", "a", "c"})) == '{"~":["set",["a","b","c"]]}'


def test_what_cannot_be_carried_is_named_with_its_place() -> None:
    with pytest.raises(Uncarried, match=r"\.puzzle\[1\] is a function"):
        packed({"puzzle": [1, lambda: 0]})


def test_an_unknown_type_is_refused() -> None:
    with pytest.raises(ValueError, match="'Expr'"):
        unpacked({"~": ["Expr", "x"]})


@pytest.mark.parametrize(
    ("left", "right", "wanted"),
    [
        ("5", "5.0", True),
        ("1/2", "0.5", True),
        ("1,200", "1200", True),
        ("Yes.", "yes", True),
        ("a  b", "a b", True),
        ("5", "-5", False),
        ("1/0", "0", False),
        ("5", "five", False),
    ],
)
def test_two_texts_say_the_same_when_number_or_words_do(left: str, right: str, wanted: bool) -> None:
    assert near.same(left, right) is wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("12", "13"),
        ("-12", "-13"),
        ("['1.5', '88.49']", "['1.5', '89.49']"),
        ("x1 and y", None),
        ("2, 3 days", "2, 4 days"),
    ],
)
def test_the_last_number_is_raised_by_one(text: str, wanted: str | None) -> None:
    assert near.last_number_plus_one(text) == wanted


def test_the_last_digit_moves_by_five_where_a_float_keeps_it() -> None:
    assert near.last_digit_plus_five("3.97") == "3.92"
    assert near.last_digit_plus_five("1234567890.1234567") is None


def test_signs_tens_and_words_turn_round() -> None:
    assert near.sign_flipped("12") == "-12"
    assert near.sign_flipped("-0.5") == "0.5"
    assert near.sign_flipped("0") is None
    assert near.tenfold("12") == "120"
    assert near.tenfold("1.5") is None
    assert near.word_flipped("Zoe is a knight, and Al is a knave") == "Zoe is a knave, and Al is a knave"
    assert near.word_flipped("TRUE") == "FALSE"
    assert near.shortened("undetermined") == "undetermine"
    assert near.shortened("0 days") is None
