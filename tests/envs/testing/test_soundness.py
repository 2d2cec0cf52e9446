"""`polyathlon.testing` in an ordinary test."""

import pytest

from polyathlon.errors import UnknownDomain
from polyathlon.inspect.finding import CheckResult, Finding, Inspection, measured
from polyathlon.inspect.grade import Grade
from polyathlon.inspect.protocol import RULES
from polyathlon.testing import assert_sound, inspect

ID = "polyathlon/math.arithmetic-expression-v1"


def inspected(value: float) -> Inspection:
    fault = Finding(0, 7, "equivalent 'tags' is refused.", f"polyathlon play {ID} --level 0 --seed 7")
    return Inspection(ID, 1, results=(CheckResult("V06", (measured(RULES["V06"], 0, value, 100),), (fault,) * 5),))


def test_a_sound_inspection_passes() -> None:
    assert_sound(inspected(0.96))
    assert_sound(inspected(1.0), grade=Grade.GOLD)


def test_what_is_below_the_wanted_grade_is_named_with_faults_and_replays() -> None:
    with pytest.raises(AssertionError) as caught:
        assert_sound(inspected(0.96), grade=Grade.GOLD)
    text = str(caught.value)
    assert text.startswith(f"{ID} is silver; gold is wanted.")
    assert "V06 rewrites, level 0: " in text
    assert text.count("level 0, seed 7: equivalent 'tags' is refused.") == 3
    assert text.count("    polyathlon play") == 3
    assert "and 2 more" in text


def test_what_could_not_be_inspected_says_why() -> None:
    with pytest.raises(AssertionError, match="could not be inspected: no module"):
        assert_sound(Inspection(ID, broken="no module named x"))


def test_inspect_takes_an_id_with_or_without_the_namespace_and_refuses_others() -> None:
    inspection = inspect("math.arithmetic-expression-v1", seeds=2)
    assert inspection.domain_id == ID
    assert inspection.num_seeds == 2
    assert inspection.broken == ""
    with pytest.raises(UnknownDomain, match="Did you mean"):
        inspect("math.arithmetic-expresion-v1")
    with pytest.raises(ValueError, match="at least 2"):
        inspect(ID, seeds=1)
