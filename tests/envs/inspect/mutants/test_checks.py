"""The checks by mutation find the planted faults meant for them, and none in sound domains."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace

import msgspec
import pytest
from tests.envs.inspect import planted_mutants as planted

import polyathlon
from polyathlon import Domain
from polyathlon.inspect.checks import check_of
from polyathlon.inspect.finding import CheckResult
from polyathlon.inspect.grade import Grade
from polyathlon.inspect.mutants.checks import check_solutions
from polyathlon.inspect.mutants.trials import trials_of
from polyathlon.inspect.play import Stage, Subject
from polyathlon.sandbox.choose import default_room

ID = "polyathlon/math.arithmetic-expression-v1"  # lends its place in the registry: a question of one message
NUM_SEEDS = 16
RULES_HERE = ("V01", "V02", "V03", "V06")


def inspected(domain: Domain, kind: str = "question", *, num_seeds: int = NUM_SEEDS) -> dict[str, CheckResult]:
    entry = polyathlon.registry().entry(ID)
    entry = replace(entry, row=msgspec.structs.replace(entry.row, kind=kind, levels=2))
    with Stage(Subject(entry, domain, default_room(), num_seeds)) as stage:
        return {rule: check_of(rule).run(stage)[0] for rule in RULES_HERE}


SOUND = [("FIELDS", "question"), ("RECORDS", "question"), ("PROVEN", "question"), ("PROGRAMS", "coding")]
FAULTS = [
    ("TOLERANT", "question", "V02"),
    ("AS_SETS", "question", "V02"),
    ("PROVES_ALL", "question", "V02"),
    ("FEW_POINTS", "coding", "V01"),
    ("INVERTED", "question", "V03"),
    ("AS_TEXT", "question", "V06"),
]


@pytest.mark.parametrize(("name", "kind"), SOUND)
def test_a_sound_domain_is_gold_at_each_level(name: str, kind: str) -> None:
    for result in inspected(getattr(planted, name), kind).values():
        assert result.faults == ()
        assert [result.grade_at(level) for level in range(2)] == [
            Grade.SILVER if result.check == "V01" and not result.not_applicable else Grade.GOLD
        ] * 2  # V01: under 200 mutants of two levels allow silver


@pytest.mark.parametrize(("name", "kind", "check"), FAULTS)
def test_a_planted_fault_is_found_by_its_check_alone(name: str, kind: str, check: str) -> None:
    results = inspected(getattr(planted, name), kind)
    assert results[check].faults
    assert results[check].grade <= (Grade.BRONZE if check in ("V03", "V06") else Grade.QUARANTINE)
    others = [found for found, result in results.items() if result.faults and found != check]
    assert others == []


@pytest.mark.parametrize("name", ["TOLERANT", "AS_SETS", "FEW_POINTS", "INVERTED", "AS_TEXT"])
def test_no_declared_attempt_would_have_told(name: str) -> None:
    domain = getattr(planted, name)
    entry = polyathlon.registry().entry(ID)
    with Stage(Subject(entry, domain, default_room(), 2)) as stage:
        for key in stage.subject.task_keys():
            task = stage.task(key)
            assert all(stage.play(key, a.actions).verdict.passed for a in domain.equivalents(task))
            assert not any(stage.play(key, a.actions).verdict.passed for a in domain.distractors(task))


def test_a_survivor_is_told_in_full_with_operator_and_a_command_that_plays_it() -> None:
    fault = inspected(planted.TOLERANT)["V02"].faults[0]
    assert "'text: last digit" in fault.message
    words = shlex.split(fault.replay)
    assert words[:3] == ["polyathlon", "play", ID]
    actions = json.loads(words[words.index("--actions") + 1])
    assert json.dumps(actions) in fault.message
    entry = polyathlon.registry().entry(ID)
    with Stage(Subject(entry, planted.TOLERANT, default_room(), NUM_SEEDS)) as stage:
        key = next(key for key in stage.subject.task_keys() if (key.level, key.seed) == (fault.level, fault.seed))
        assert stage.play(key, actions).verdict.passed


def test_what_is_proven_right_is_left_out_and_counted() -> None:
    result = inspected(planted.PROVEN)["V02"]
    assert result.numbers["proven"] > 0
    assert result.numbers["survived"] == 0
    assert result.numbers["excluded_share"] == pytest.approx(
        result.numbers["proven"] / sum(result.numbers[name] for name in ("proven", "killed", "declared", "unchanged"))
    )


def test_a_proof_of_everything_hides_nothing() -> None:
    result = inspected(planted.PROVES_ALL)["V02"]
    assert result.numbers["excluded_share"] > 0
    assert any("`proves_right` calls the wrong attempt" in fault.message for fault in result.faults)
    assert result.grade == Grade.QUARANTINE


def test_a_domain_of_answers_has_no_mutants_of_solutions_and_the_other_way_round() -> None:
    assert inspected(planted.FIELDS)["V01"].not_applicable
    assert inspected(planted.PROGRAMS, "coding")["V02"].not_applicable


def test_enough_killed_mutants_are_gold() -> None:
    entry = polyathlon.registry().entry(ID)
    entry = replace(entry, row=msgspec.structs.replace(entry.row, kind="coding"))  # five levels
    with Stage(Subject(entry, planted.PROGRAMS, default_room(), 16)) as stage:
        result = check_solutions(stage)
    assert result.num_cases >= 2 * 200  # by level, and over all
    assert result.grade == Grade.GOLD


def test_the_same_stage_tries_its_mutants_once() -> None:
    entry = polyathlon.registry().entry(ID)
    with Stage(Subject(entry, planted.FIELDS, default_room(), 4)) as stage:
        assert trials_of(stage) is trials_of(stage)
        assert trials_of(stage).of(0, solutions=False) is trials_of(stage).of(0, solutions=False)


def test_mutants_are_the_same_every_time() -> None:
    one, other = (inspected(planted.TOLERANT)["V02"] for _ in range(2))
    assert [fault.replay for fault in one.faults] == [fault.replay for fault in other.faults]
    assert one.numbers == other.numbers
