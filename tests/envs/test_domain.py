import math
from dataclasses import fields

import pytest

from polyathlon.domain import Verdict
from polyathlon.errors import DomainError
from polyathlon.tree import Entry, Tree


def test_a_failing_verdict_pays_half_its_progress() -> None:
    assert Verdict.failing("half way", progress=0.5).reward == 0.25
    assert Verdict.failing("nearly", progress=1.0).reward == 0.5
    assert Verdict.passing().reward == 1.0


@pytest.mark.parametrize("progress", [math.nan, math.inf, -0.01, 1.01])
def test_a_progress_that_is_no_share_is_refused(progress: float) -> None:
    with pytest.raises(DomainError):
        Verdict.failing("broken", progress=progress)


@pytest.mark.parametrize(
    ("reward", "passed", "valid"),
    [(0.6, False, True), (0.9, True, True), (math.nan, False, True), (None, False, True), (0.0, False, False)],
)
def test_a_verdict_that_contradicts_itself_is_refused(reward: float | None, passed: bool, valid: bool) -> None:
    with pytest.raises(DomainError):
        Verdict(reward=reward, passed=passed, valid=valid)


def test_an_invalid_verdict_has_no_reward() -> None:
    assert Verdict.invalid("the judge died").reward is None


def test_a_verdict_as_a_dict_holds_every_field_and_shares_nothing() -> None:
    verdict = Verdict.failing("half way", progress=0.5, parts={"steps": 0.5})
    row = verdict.as_dict()
    assert row == {"reward": 0.25, "passed": False, "valid": True, "reason": "half way", "parts": {"steps": 0.5}}
    assert set(row) == {field.name for field in fields(Verdict)}
    assert row["parts"] is not verdict.parts


def test_trees_of_equal_content_have_equal_digests_whatever_their_times() -> None:
    left = Tree.of({"a": "1", "b": Entry(data=b"2", mtime_s=5)})
    right = Tree.of({"b": Entry(data=b"2", mtime_s=9), "a": "1"})
    assert left.digest() == right.digest()
    assert left.digest() != Tree.of({"a": "1", "b": Entry(data=b"2", mode=0o600)}).digest()


@pytest.mark.parametrize("path", ["/etc/passwd", "../x", "a//b", "a/./b", "", "a/..", "a\0b"])
def test_a_path_outside_the_tree_is_refused(path: str) -> None:
    with pytest.raises(ValueError, match="no path inside"):
        Tree.of({path: "x"})


def test_removing_a_folder_removes_what_lies_below() -> None:
    tree = Tree.of({"a/b": "1", "a/c": "2", "ab": "3"})
    assert list(tree.without("a")) == ["ab"]
