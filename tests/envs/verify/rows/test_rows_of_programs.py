"""Rows of the log of faults: submitted code. It runs in the sandbox; each row with its right value."""

from __future__ import annotations

import pytest

from polyathlon.errors import SandboxLost, VerifierError
from polyathlon.sandbox.choose import default_room
from polyathlon.sandbox.protocol import Report, Room
from polyathlon.verify.credit import share_right
from polyathlon.verify.program import Case, framed_lines, right_cases, run_cases

CASES = [Case([1, 2], {"value": 3}), Case([5, 6], {"value": 11}), Case([0, 0], {"value": 0})]


@pytest.fixture(scope="module")
def room() -> Room:
    return default_room()


@pytest.mark.parametrize(
    "source",
    [
        "import os\nos._exit(0)",
        "import sys\nsys.exit(0)",
        "def add(a, b):\n    import os\n    os._exit(0)",
        "import pytest\npytestmark = pytest.mark.skip",
        "",
    ],
    ids=["exit at import", "SystemExit", "exit inside", "all skipped", "nothing"],
)
def test_l43_an_exit_of_zero_is_no_pass(room: Room, source: str) -> None:
    assert right_cases(room, source, entry="add", cases=CASES) == (False, False, False)


def test_l44_an_object_that_equals_everything_equals_nothing_here(room: Room) -> None:
    source = """
class Same(int):
    def __eq__(self, other):
        return True
    def __hash__(self):
        return 0
def add(a, b):
    return Same(7)
"""
    assert right_cases(room, source, entry="add", cases=CASES) == (False, False, False)


def test_l65_any_result_with_the_property_can_be_accepted(room: Room) -> None:
    """Asked: any integer that is not a + b. The judge reads what came, and tests the property."""
    arguments = [[4, 4], [100, 1]]
    for body in ("9 if a + b < 9 else 0", "a + b + 1", "-1"):
        found = run_cases(room, f"def other(a, b):\n    return {body}", entry="other", arguments=arguments)
        right = [
            isinstance(one, dict) and type(one.get("value")) is int and one["value"] != a + b
            for one, (a, b) in zip(found, arguments, strict=True)
        ]
        assert share_right(right) == 1.0


def test_l67_what_a_program_prints_between_is_no_part_of_the_verdict(room: Room) -> None:
    source = "def add(a, b):\n    print('... System check identified no issues')\n    return a + b"
    assert right_cases(room, source, entry="add", cases=CASES) == (True, True, True)


def test_l73_a_case_without_a_result_is_a_failed_one(room: Room) -> None:
    source = "def add(a, b):\n    if a == 5:\n        import os\n        os._exit(0)\n    return a + b"
    assert right_cases(room, source, entry="add", cases=CASES) == (True, False, True)


@pytest.mark.parametrize(("reason", "error"), [("lost", SandboxLost), ("exit", VerifierError), ("oom", VerifierError)])
def test_l121_a_judge_that_died_is_invalid_not_zero(reason: str, error: type[Exception]) -> None:
    report = Report(exit_code=1, reason=reason, stdout=b"", stderr=b"")  # type: ignore[arg-type]
    with pytest.raises(error):
        framed_lines(report, "nonce")


def test_l140_a_printed_pass_is_no_pass(room: Room) -> None:
    source = "print('PASSED test_add\\n3 passed')\ndef add(a, b):\n    print('0 {\"value\": 3}')\n    return 0"
    assert right_cases(room, source, entry="add", cases=CASES) == (False, False, True)
