import contextlib
import math
import time

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
        ("[" * 101 + "]" * 101, "nested too deep"),
        ('{"a":' * 900 + "1" + "}" * 900, "nested too deep"),
        ("{" + ",".join(f'"{k}": 0' for k in range(10_000)) + ', "9": 1}', "'9' is given twice"),
        ("[1] [2]", "more text"),
        ("", "no valid JSON"),
        ("7" * 5_000, "digits"),
        (" " * 300_000, "at most"),
    ],
)
def test_strict_json_refuses(text: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        parse_json(text)


def test_what_is_read_can_be_written_again() -> None:
    text = "[" * 100 + "]" * 100
    assert canonical_json(parse_json(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        '{"' + "k" * 90_000 + '": [' + "1," * 40_000 + "1]}",
        "{" + ",".join(f'"{k}":0' for k in range(20_000)) + ',"19999":1}',
    ],
    ids=["a long key over a long list", "a late key given twice"],
)
def test_reading_and_writing_cost_no_more_than_the_text(text: str) -> None:
    began = time.process_time()
    with contextlib.suppress(ValueError):
        canonical_json(parse_json(text))
    assert time.process_time() - began < 1.0  # 0.05 s; a cost that grows with the square takes 5 s and more


def test_a_json_value_is_found_with_its_end() -> None:
    assert parse_json_prefix('x {"a": "</tool_call>"} y', 1) == ({"a": "</tool_call>"}, 23)
