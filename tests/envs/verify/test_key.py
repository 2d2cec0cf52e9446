from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from polyathlon import Json
from polyathlon.errors import VerifierError
from polyathlon.verify import key

KEY: dict[str, Json] = {
    "text": "a b",
    "kind": "points",
    "list": [1, 2],
    "map": {"x": 0},
    "whole": 0,
    "share": 0.25,
    "flag": False,
    "calls": [],
    "num_calls": 0,
}


def kind_part(hidden: Mapping[str, Json], name: str) -> str:
    return key.one_of_part(hidden, name, ("share", "points"))


def calls_part(hidden: Mapping[str, Json], name: str) -> Json:
    return key.counted_part(hidden, name, "num_calls")


READERS: Mapping[str, Callable[[Mapping[str, Json], str], Json]] = {
    "text": key.text_part,
    "kind": kind_part,
    "list": key.list_part,
    "map": key.map_part,
    "whole": key.whole_part,
    "share": key.share_part,
    "flag": key.flag_part,
    "calls": calls_part,
}


@pytest.mark.parametrize("name", READERS)
def test_a_part_that_is_there_is_given_back(name: str) -> None:
    assert READERS[name](KEY, name) == KEY[name]


@pytest.mark.parametrize("name", READERS)
def test_a_missing_part_is_no_key(name: str) -> None:
    rest = {other: value for other, value in KEY.items() if other != name}
    with pytest.raises(VerifierError, match=f"hidden\\['{name}'\\] is missing"):
        READERS[name](rest, name)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("text", ["a b"]),
        ("text", None),
        ("kind", "degrees"),
        ("kind", ""),
        ("list", "12"),
        ("list", {"1": 2}),
        ("map", [["x", 0]]),
        ("whole", 1.0),
        ("whole", True),
        ("share", "0.25"),
        ("share", True),
        ("share", 1.5),
        ("share", float("nan")),
        ("flag", 0),
        ("flag", None),
        ("calls", None),
    ],
)
def test_a_part_of_another_type_is_no_key(name: str, value: Json) -> None:
    with pytest.raises(VerifierError, match=name):
        READERS[name]({**KEY, name: value}, name)


@pytest.mark.parametrize(("name", "value"), [("text", ""), ("text", " \n"), ("list", []), ("list", ()), ("map", {})])
def test_an_empty_part_is_no_key(name: str, value: Json) -> None:
    with pytest.raises(VerifierError, match="is empty"):
        READERS[name]({**KEY, name: value}, name)


def test_a_list_that_may_be_empty_is_noticed_by_its_count() -> None:
    with pytest.raises(VerifierError, match="has 0 items; hidden\\['num_calls'\\] says 2"):
        calls_part({**KEY, "num_calls": 2}, "calls")
    with pytest.raises(VerifierError, match="'num_calls'"):
        calls_part({"calls": []}, "calls")
