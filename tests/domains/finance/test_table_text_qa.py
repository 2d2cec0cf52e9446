from __future__ import annotations

from fractions import Fraction

import pytest

from polyathlon import Evidence, Json, Task, TaskKey, Verdict, draw_task
from polyathlon.workspaces.calculator import evaluate
from polyathlon_domains.finance._table_questions import QUESTIONS
from polyathlon_domains.finance.table_text_qa import DOMAIN

ID = "polyathlon/finance.table-text-qa-v1"


def judged(answer: str, work: str, value: str, *, decimals: int = 0, unit: str = "plain", zero: float = 0.5) -> Verdict:
    hidden: dict[str, Json] = {"work": work, "value": value, "decimals": decimals, "unit": unit, "zero": zero}
    task = Task("t", 0, 0, "train", "?", {}, hidden, "0" * 64)
    return DOMAIN.verifier.judge(task, Evidence(answer), room=None)  # type: ignore[arg-type]  # it opens no sandbox


@pytest.mark.parametrize("answer", ["52-37=15", "15", " 52 - 37 = 15.0 ", "60-45=15"])
def test_the_value_passes_with_or_without_its_working(answer: str) -> None:
    assert judged(answer, "52-37", "15").passed


@pytest.mark.parametrize(
    ("answer", "reward"),
    [
        ("52-37=16", 0.15),  # the working is worth the answer, the sum is not
        ("37-52=-15", 0.0),  # two right operands are the row that is named, whatever is asked
        ("52-20=32", 0.0),  # one of two is what blind picking gets
        ("52-37", 0.0),  # nothing is answered
        ("52-37=15=16", 0.0),
        ("52-37+0=99", 0.15),
        ("15 or 16", 0.0),
        ("52=16", 0.0),
        ("It is not 52-37=15", 0.0),  # what stands before "=" is no working
        ("Rise=15", 0.0),
        ("9**9**9=16", 0.0),
        ("52-37=nan", 0.0),
        ("-15", 0.0),
        ("", 0.0),
    ],
)
def test_partial_credit_needs_a_shown_working(answer: str, reward: float) -> None:
    assert judged(answer, "52-37", "15").reward == pytest.approx(reward)


@pytest.mark.parametrize(
    ("answer", "right"),
    [
        ("31.3", True),
        ("31.25", True),
        ("31.2", True),
        ("31.3%", True),
        ("31.1", False),
        ("0.3125", False),
        ("31", False),
    ],
)
def test_percent_is_right_within_the_asked_rounding(answer: str, right: bool) -> None:
    # 15/48 = 31.25 %: half up and half even are both within 0.05
    assert judged(answer, "(63-48)/48*100", "125/4", decimals=1, unit="%").passed is right


def test_a_percent_sign_is_no_number_where_units_are_asked() -> None:
    assert judged("15%", "52-37", "15").reward == 0.0


@pytest.mark.parametrize(
    ("answer", "reward"),
    [
        ("52-37-5=1", 0.4),  # worth the answer, not worked out
        ("37-52-5=1", 0.3),  # three right operands, another operation
        ("52-37-9=1", 0.1),  # two of three: 1/3 above the half that blind picking gets
    ],
)
def test_a_working_of_more_than_two_numbers_earns_by_its_operands(answer: str, reward: float) -> None:
    assert judged(answer, "52-37-5", "10").reward == pytest.approx(reward)


def test_cheapest_way_to_half_stops_at_two_fifths() -> None:
    assert judged("52-37-5=0", "52-37-5", "10").reward == 0.4  # the right working left unevaluated


@pytest.mark.parametrize("level", range(5))
def test_no_printed_figure_is_the_answer(level: int) -> None:
    for seed in range(60):
        hidden = draw_task(DOMAIN.tasks, TaskKey(ID, level, seed)).hidden
        value = Fraction(str(hidden["value"]))
        assert all(abs(value - cell) >= 1 for cell in hidden["cells"])  # type: ignore


def test_every_question_has_the_working_it_says() -> None:
    values = {"a": 200, "b": 300, "c": 150, "d": 350, "z": 40}
    by_hand = {  # (working): its value for these figures
        "{b}-{a}": "100",
        "{a}-{b}": "-100",
        "{a}+{b}": "500",
        "{a}+{b}+{c}": "650",
        "({a}+{b}+{c})/3": "650/3",
        "{a}-{b}-{c}": "-250",
        "({a}+{b})/2": "250",
        "({b}-{a})/{a}*100": "50",
        "{a}/({a}+{b}+{c})*100": "400/13",
        "({c}+{d}-{a}-{b})/({a}+{b})*100": "0",
        "({b}+{z}-{a}+{z})/({a}-{z})*100": "225/2",  # 340 after 160
        "({b}-{a})*{z}": "4000",
        "{a}/({a}+{b}+{c}+{d}+{z})*100": "250/13",  # 200 of 1040
        "({b}-{a}-{z})/({a}+{z})*100": "25",  # 300 after 240
        "{a}/{z}*100": "500",
        "({b}-{z}-{a})/1000": "3/50",
        "{a}*1000/{z}": "5000",
    }
    assert {question.work for _, question in QUESTIONS} == set(by_hand)
    for work, value in by_hand.items():
        assert evaluate(work.format(**values)) == Fraction(value), work
