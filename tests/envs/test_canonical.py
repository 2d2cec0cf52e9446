import math

import pytest

from polyathlon.canonical import canonical_json, content_hash, parse_json, parse_json_prefix


def test_key_order_and_spacing_do_not_matter() -> None:
    assert canonical_json({"b": [1, 2.5], "a": None}) == '{"a":null,"b":[1,2.5]}'
    assert content_hash({"b": 1, "a": 2}) == content_hash({"a": 2, "b": 1})


def test_true_is_not_one_and_one_is_not_one_point_zero() -> None:
    assert len({canonical_json(True), canonical_json(1), canonical_json(1.0)}) == 3


def test_a_lone_surrogate_has_a_canonical_text() -> None:
    assert canonical_json("\ud800") == '"\\ud800"'


@pytest.mark.parametrize("value", [math.nan, math.inf, {"a": [-math.inf]}])
def test_numbers_that_json_lacks_are_refused_with_their_place(value: object) -> None:
    with pytest.raises(ValueError, match="JSON has no such number"):
        canonical_json(value)  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [{1: 2}, {"a": {3}}, b"x", object()])
def test_what_is_no_json_is_refused(value: object) -> None:
    with pytest.raises(TypeError):
        canonical_json(value)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("NaN", "NaN"),
        ("[1e999]", "finite"),
        ('{"a": 1, "a": 2}', "'a' is given twice"),
        ("[" * 100_000, "nested too deep"),
        ("[1] [2]", "more text"),
        ("", "no valid JSON"),
        ("7" * 5_000, "digits"),
        (" " * 300_000, "at most"),
    ],
)
def test_strict_json_refuses(text: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        parse_json(text)


def test_a_json_value_is_found_with_its_end() -> None:
    assert parse_json_prefix('x {"a": "</tool_call>"} y', 1) == ({"a": "</tool_call>"}, 23)
