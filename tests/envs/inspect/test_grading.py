"""Grades from measures: the least of them, level by level, and never more than was looked at."""

import math
from dataclasses import dataclass, replace

import pytest

import polyathlon
from polyathlon import Evidence, Task, Verdict
from polyathlon.drawing import TaskKey
from polyathlon.inspect.blindness import Earned, above_floor
from polyathlon.inspect.check import Check
from polyathlon.inspect.checks import CHECKS
from polyathlon.inspect.finding import WHOLE, CheckResult, Inspection, measured
from polyathlon.inspect.grade import Grade
from polyathlon.inspect.histogram import added, bin_of
from polyathlon.inspect.intervals import wilson
from polyathlon.inspect.play import Playthrough, Stage, Subject
from polyathlon.inspect.promises.parts import part_faults
from polyathlon.inspect.promises.verdicts import wrong_with
from polyathlon.inspect.protocol import RULES
from polyathlon.inspect.reasons import reasons_of
from polyathlon.sandbox.choose import default_room
from polyathlon.sandbox.protocol import Room

ID = "polyathlon/math.arithmetic-expression-v1"


def result(rule: str, *values: tuple[int, float]) -> CheckResult:
    """A result of 100 cases a level."""
    return CheckResult(rule, tuple(measured(RULES[rule], level, value, 100) for level, value in values))


def stage() -> Stage:
    return Stage(Subject(polyathlon.registry().entry(ID), polyathlon.load_domain(ID), default_room(), 2))


def test_a_grade_is_the_least_of_its_checks_level_by_level() -> None:
    unique = result("U01", (0, 1.0), (1, 0.96), (2, 0.85))
    rewrites = result("V06", (0, 0.96), (1, 1.0), (2, 1.0))
    inspection = Inspection("a", num_levels=3, results=(unique, rewrites))
    assert inspection.levels == (Grade.SILVER, Grade.SILVER, Grade.BRONZE)
    assert inspection.grade == Grade.BRONZE


def test_a_measure_of_the_whole_domain_counts_at_every_level() -> None:
    inspection = Inspection("a", num_levels=2, results=(result("S01", (0, 1.0), (1, 1.0)), result("C05", (WHOLE, 1))))
    assert inspection.levels == (Grade.BRONZE, Grade.BRONZE)


def test_a_check_that_looked_at_nothing_is_worth_no_more_than_quarantine() -> None:
    assert CheckResult("V06").grade == Grade.QUARANTINE
    assert CheckResult("S04", not_applicable="no other way to be right").grade == Grade.GOLD
    assert measured(RULES["V06"], 0, 1.0, 0).grade == Grade.QUARANTINE
    assert measured(RULES["V06"], 0, math.nan, 9).grade == Grade.BRONZE
    assert Inspection("a", results=()).grade == Grade.REJECT


def test_reasons_are_the_checks_below_gold_the_worst_first() -> None:
    inspection = Inspection(
        "a", num_levels=1, results=(result("U01", (0, 0.96)), result("X01", (0, 3)), CheckResult("V06"))
    )
    assert reasons_of(inspection) == (
        "quarantine: X01 exploits, level 0: attacks that earn more than the floor is 3 of 100 cases; gold <= 0, "
        "silver <= 0",
        "quarantine: V06 rewrites: there was nothing to look at",
        "silver: U01 unique tasks, level 0: share of 1,000 draws that differ is 0.96 of 100 cases; gold >= 0.98, "
        "silver >= 0.95",
    )
    assert reasons_of(Inspection("a", broken="no module")) == ("could not be inspected: no module",)


def test_wilsons_interval_is_that_of_the_tables() -> None:
    """64 of 64, 381 of 381 and 0 of 128: the sizes that the protocol argues with."""
    assert wilson(64, 64) == pytest.approx((0.943, 1.0), abs=5e-4)
    assert wilson(381, 381) == pytest.approx((0.990, 1.0), abs=5e-4)
    assert wilson(0, 128) == pytest.approx((0.0, 0.029), abs=5e-4)
    assert wilson(0, 0) == (0.0, 1.0)
    with pytest.raises(ValueError, match="no share"):
        wilson(3, 2)


def earned(*rewards: float) -> Earned:
    with stage() as open_stage:
        key = TaskKey(ID, 0, 0)
        played = Playthrough(key, open_stage.task(key), (), Verdict.failing("no"), None, 0.0, 0.0)
    return Earned("random", 0, rewards, played)


@pytest.mark.parametrize(
    ("rule", "rewards", "grade"),
    [
        ("N02", (1.0,) * 2 + (0.0,) * 98, Grade.GOLD),
        ("N02", (1.0,) * 3 + (0.0,) * 97, Grade.QUARANTINE),
        ("N02", (1.0,) * 5 + (0.0,) * 245, Grade.GOLD),
        ("N02", (0.0,) * 99 + (-1.0,), Grade.QUARANTINE),
        ("N01", (0.0,) * 4, Grade.GOLD),
        ("N01", (0.0,) * 63 + (0.01,), Grade.QUARANTINE),
    ],
)
def test_knowing_nothing_may_earn_chance_and_silence_nothing(
    rule: str, rewards: tuple[float, ...], grade: Grade
) -> None:
    """Above a floor of 0: a mean of 0.02 for what guesses, and 0 for silence; a lost episode is no zero."""
    assert above_floor(rule, earned(*rewards), 0.0).grade == grade


def test_a_mean_within_its_slack_is_refused_where_its_upper_bound_is_not() -> None:
    """Of 300 cases, at floors of 0 and 0.5; two standard deviations of a mean of 0.5 are 0.057."""
    rewards = (1.0,) * 6 + (0.0,) * 294
    assert above_floor("N02", earned(*rewards), 0.0).grade == Grade.GOLD
    chance, more = ((1.0,) * won + (0.0,) * (300 - won) for won in (156, 168))  # means of 0.52 and 0.56
    assert above_floor("N02", earned(*chance), 0.5).grade == Grade.GOLD
    assert above_floor("N02", earned(*more), 0.5).value < 0.02
    assert above_floor("N02", earned(*more), 0.5).high == pytest.approx(0.115, abs=1e-3)
    assert above_floor("N02", earned(*more), 0.5).grade == Grade.QUARANTINE


def test_rewards_fall_into_bins_of_a_twentieth() -> None:
    assert [bin_of(reward) for reward in (0.0, 0.0499, 0.05, 0.15, 0.35, 0.5, 0.999, 1.0)] == [
        0,
        0,
        1,
        3,
        7,
        10,
        19,
        20,
    ]
    one = (1, *(0,) * 21)
    assert added({"blind": one}, {"blind": one, "attack": one}) == {"attack": one, "blind": (2, *(0,) * 21)}


def test_an_episode_counts_once_under_the_source_of_the_check_at_work() -> None:
    key = TaskKey(ID, 0, 0)
    with stage() as open_stage:
        open_stage.play(key, ["1"])
        assert open_stage.take_rewards() == {}
        open_stage.source = "blind"
        for _ in range(2):
            open_stage.play(key, ["1"])
        open_stage.play(key, ["1"], source="attack")
        open_stage.solve(key)
        counts = {source: sum(bins) for source, bins in open_stage.take_rewards().items()}
        assert counts == {"attack": 1, "blind": 1}
        open_stage.source = "reference"
        open_stage.solve(key)
        assert open_stage.take_rewards() == {"reference": (*(0,) * 20, 1, 0)}


def test_a_check_answers_for_each_of_its_rules() -> None:
    silent = Check(("S01", "D02"), lambda stage: result("S01", (0, 1.0)))
    with stage() as open_stage:
        answers = silent.run(open_stage)
        assert [(answer.check, answer.grade) for answer in answers] == [
            ("S01", Grade.GOLD),
            ("D02", Grade.QUARANTINE),
        ]
        stranger = Check(("S01",), lambda stage: (result("S01", (0, 1.0)), result("X01", (0, 0))))
        with pytest.raises(ValueError, match="S01 answered X01"):
            stranger.run(open_stage)


def test_every_answer_is_a_rule_and_no_two_checks_share_a_name() -> None:
    assert {rule for check in CHECKS for rule in check.answers} <= set(RULES)
    assert len({check.id for check in CHECKS}) == len(CHECKS)


@dataclass(frozen=True)
class Sloppy(Verdict):
    """A verdict that nobody checked."""

    def __post_init__(self) -> None:
        pass


class Broken:
    """Judges by giving back what it is told to."""

    def __init__(self, verdict: object) -> None:
        self._verdict = verdict

    def judge(self, task: Task, evidence: Evidence, room: Room) -> Verdict:
        return self._verdict  # type: ignore[return-value]  # the fault under test


@pytest.mark.parametrize(
    ("verdict", "words"),
    [
        (True, "it is a bool"),
        (Sloppy(reward=math.nan, passed=False), "it is a Sloppy"),
        (Verdict(reward=0, passed=False), "the reward is a int"),
        (Verdict.failing("no", parts={"a": math.inf}), "part 'a' is inf"),
        (Verdict.failing("no" * 2_000), "the reason must be a text"),
        (Verdict.invalid("verifier: DomainError: The reward is nan"), "The reward is nan"),
        (Verdict.failing("no", progress=0.5), ""),
        (Verdict.invalid("lost"), ""),
    ],
)
def test_what_is_no_verdict_is_said_to_be_none(verdict: object, words: str) -> None:
    found = next(wrong_with(verdict), "")
    assert found.startswith(words)
    assert bool(found) == bool(words)


def test_a_domain_whose_parts_are_no_functions_is_outside_the_contract() -> None:
    domain = polyathlon.load_domain(ID)
    assert list(part_faults(domain)) == []
    wrong = replace(domain, exploits=[], verifier=object())  # type: ignore[arg-type]  # the fault under test
    assert [text.split(";")[0].split(".")[0] for text in part_faults(wrong)] == [
        "verifier has no method judge()",
        "exploits is a list",
    ]
