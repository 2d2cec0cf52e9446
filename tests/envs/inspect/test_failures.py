"""C04: which parts of an answer key it takes away, which it need not, and where there is nothing to take away."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import pytest

from polyathlon import Evidence, Json, Task, Verdict, load_domain, registry
from polyathlon.errors import VerifierError
from polyathlon.inspect.finding import CheckResult
from polyathlon.inspect.grade import Grade
from polyathlon.inspect.play import Stage, Subject
from polyathlon.inspect.promises.failures import NotedKey, check_failures
from polyathlon.sandbox.choose import default_room
from polyathlon.sandbox.protocol import Room
from polyathlon.verify.key import text_part

SUMS, COUNTDOWN = "polyathlon/math.arithmetic-expression-v1", "polyathlon/games.countdown-target-v1"
KEY: Mapping[str, Json] = {"value": "7", "lines": ["3+4=7"]}
LOOKS: Mapping[str, Callable[[Mapping[str, Json]], object]] = {
    "by name": lambda hidden: hidden["value"],
    "with a default": lambda hidden: hidden.get("value", ""),
    "asking first": lambda hidden: "value" in hidden,
}
COPIES: Mapping[str, Callable[[Mapping[str, Json]], object]] = {
    "dict": dict,
    "length": len,
    "truth": bool,
    "items": lambda hidden: list(hidden.items()),
    "copy": copy.copy,
    "deep copy": copy.deepcopy,
    "pickle": pickle.dumps,
}


@dataclass(frozen=True)
class LastLine:
    """Passed: the last line is what `gold` makes of the key. Keeps the keys that it was given."""

    gold: Callable[[Mapping[str, Json]], Json]
    keys: list[set[str]] = field(default_factory=list)

    def judge(self, task: Task, evidence: Evidence, room: Room) -> Verdict:
        self.keys.append(set(task.hidden.keys()) if not isinstance(task.hidden, NotedKey) else {"noted"})
        lines = (evidence.answer or "").splitlines()
        passed = bool(lines) and lines[-1] == self.gold(task.hidden)
        return Verdict.passing() if passed else Verdict.failing("another value")


def checked(domain_id: str, gold: Callable[[Mapping[str, Json]], Json]) -> tuple[CheckResult, list[set[str]]]:
    """Return what C04 says of the domain judged by `gold`, at one task a level, and the keys that were judged by."""
    verifier = LastLine(gold)
    domain = replace(load_domain(domain_id), verifier=verifier)
    with Stage(Subject(registry().entry(domain_id), domain, default_room(), 1)) as stage:
        return check_failures(stage), verifier.keys


@pytest.mark.parametrize("look", LOOKS.values(), ids=LOOKS)
def test_a_part_that_is_looked_at_is_noted(look: Callable[[Mapping[str, Json]], object]) -> None:
    noted = NotedKey(KEY)
    look(noted)
    assert noted.seen == {"value"}


@pytest.mark.parametrize("look", COPIES.values(), ids=COPIES)
def test_who_copies_a_key_has_looked_at_all_of_it(look: Callable[[Mapping[str, Json]], object]) -> None:
    noted = NotedKey(KEY)
    look(noted)
    assert noted.seen == {"value", "lines"}


def test_copies_of_a_noted_key_are_plain_dicts() -> None:
    assert copy.deepcopy(NotedKey(KEY)) == dict(KEY)
    assert isinstance(copy.deepcopy(NotedKey(KEY)), dict)


def test_a_verifier_that_raises_without_its_key_is_sound_and_not_asked_again_for_what_it_never_reads() -> None:
    result, keys = checked(SUMS, lambda hidden: text_part(hidden, "value"))
    assert (result.grade, result.faults) == (Grade.GOLD, ())
    assert result.num_cases == 5 * 3 * 5  # whole, "value" and "lines" missing and empty, in three episodes a level
    assert {"value"} not in keys
    assert {"lines"} in keys


@pytest.mark.parametrize(
    "gold",
    [
        lambda hidden: hidden.get("value", ""),
        lambda hidden: dict(hidden).get("value"),
        lambda hidden: {**hidden}.get("value"),
    ],
)
def test_a_default_for_a_missing_part_is_found(gold: Callable[[Mapping[str, Json]], Json]) -> None:
    result, _ = checked(SUMS, gold)
    assert result.grade is Grade.QUARANTINE
    assert any("hidden['value'] is missing, and the reference earns 0.0" in fault.message for fault in result.faults)


def test_a_verifier_that_reads_its_key_only_when_it_is_a_dict_is_judged_without_each_part() -> None:
    result, keys = checked(SUMS, lambda hidden: hidden.get("value") if isinstance(hidden, dict) else "none")
    assert {"value"} in keys
    assert result.grade is Grade.QUARANTINE


def test_a_game_with_nothing_hidden_and_no_sandbox_has_nothing_to_take_away() -> None:
    with Stage(Subject(registry().entry(COUNTDOWN), load_domain(COUNTDOWN), default_room(), 1)) as stage:
        assert "nothing to take away" in check_failures(stage).not_applicable


def test_a_game_that_cannot_be_judged_at_all_is_no_such_case() -> None:
    def broken(_: Mapping[str, Json]) -> Json:
        raise VerifierError("no judgement")

    result, _ = checked(COUNTDOWN, broken)
    assert (result.not_applicable, result.grade) == ("", Grade.QUARANTINE)
