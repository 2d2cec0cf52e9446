from __future__ import annotations

import re

import pytest

from polyathlon import Evidence, Json, Task, TaskKey, Verdict, draw_task
from polyathlon_domains.finance._transactions import KINDS, quantities
from polyathlon_domains.finance.journal_posting import DOMAIN, read_entry

ID = "polyathlon/finance.journal-posting-v1"


def taxed_sale(answer: str) -> Verdict:
    """The verdict on `answer` where the entry is 118 D 240.00; 402 C 200.00; 233 C 40.00."""
    lines: Json = [[118, "D", 24_000], [402, "C", 20_000], [233, "C", 4_000]]
    task = Task("t", 2, 0, "train", "?", {}, {"lines": lines, "decoys": [511]}, "0" * 64)
    return DOMAIN.verifier.judge(task, Evidence(answer), room=None)  # type: ignore[arg-type]  # it opens no sandbox


@pytest.mark.parametrize(
    "answer",
    [
        "118 D 240.00; 402 C 200.00; 233 C 40.00",
        "233 c 40\n402 c 200\n118 d 240\n",
        "118 D 100; 118 D 140; 402 C 200; 233 C 40",
    ],
)
def test_the_same_entry_in_other_words_passes(answer: str) -> None:
    assert taxed_sale(answer).passed


@pytest.mark.parametrize(
    ("answer", "reward"),
    [
        ("118 D 240; 402 C 200; 511 C 40", 0.5 * 4 / 9),  # balanced, two lines of three right: (2/3 - 2/5) / (3/5)
        ("118 D 240; 402 C 240", 0.0),  # balanced, one of two given and three wanted: 2/5, what takes no reading
        ("118 D 240; 402 C 200", 0.5 * 0.25 * 2 / 3),  # does not balance: a quarter of its F1
        ("118 D 240", 0.5 * 0.25 * 1 / 6),
        ("118 C 240; 402 D 200; 233 D 40", 0.0),
        ("118 D 240.01; 402 C 200.01; 233 C 40", 0.0),  # a cent off is off; only the tax line is right
        ("118 D 300; 118 C 60; 402 C 200; 233 C 40", 0.5 * 0.25 * 2 / 7),  # both sides of an account is a hedge
        ("118 D 240; 402 C 200; 233 C nan", 0.5 * 0.25 * 4 / 9),
        ("118 D; 402 C; 233 C", 0.0),
        ("", 0.0),
    ],
)
def test_partial_credit_is_line_f1_beyond_one_guessed_line_and_a_quarter_of_it_unbalanced(
    answer: str, reward: float
) -> None:
    assert taxed_sale(answer).reward == pytest.approx(reward)


def test_cheapest_way_to_half_needs_all_but_one_line_right() -> None:
    lines: Json = [[1, "D", 500], [2, "D", 100], [3, "C", 200], [4, "C", 400]]
    task = Task("t", 3, 0, "train", "?", {}, {"lines": lines, "decoys": [9]}, "0" * 64)
    nearly = Evidence("1 D 5; 2 D 1; 3 C 2; 9 C 4")
    verdict = DOMAIN.verifier.judge(task, nearly, room=None)  # type: ignore[arg-type]  # it opens no sandbox
    assert verdict.reward == pytest.approx(0.5 * 5 / 8)  # (3/4 - 1/3) / (2/3)


def test_split_lines_are_netted_and_pieces_that_are_no_line_are_counted() -> None:
    assert read_entry("100 D 1.50; 100 D 0.50; cash 3; 7 C 0") == {"100 D 200": 1, "?": 2}


def test_ten_thousand_lines_are_refused_whole() -> None:
    assert read_entry("1 D 1;" * 1_000) == {"?": 1_000}


@pytest.mark.parametrize(
    ("kind", "numbers", "booked"),
    [
        ("taxed stock", {"net": 20_000, "rate": 15}, {"net": 20_000, "tax": 3_000, "gross": 23_000}),
        ("part-paid sale", {"net": 30_000, "rate": 10, "paid": 10_000}, {"paid": 10_000, "rest": 23_000}),
        ("prepaid rent", {"whole": 120_000, "parts": 12, "taken": 5}, {"share": 50_000}),
        ("debtor gain", {"units": 400, "part": 300, "booked": 120, "now": 125}, {"at_now": 37_500, "rise": 1_500}),
        ("sale abroad", {"units": 100, "rate": 20, "now": 150, "part": 40}, {"gross": 18_000, "rest": 12_000}),
    ],
)
def test_quantities_follow_by_hand(kind: str, numbers: dict[str, int], booked: dict[str, int]) -> None:
    found = quantities(KINDS[kind], numbers)
    assert {name: found[name] for name in booked} == booked


def test_no_account_of_the_chart_rivals_one_of_the_entry() -> None:
    for level in range(5):
        for seed in range(40):
            task = draw_task(DOMAIN.tasks, TaskKey(ID, level, seed))
            booked = {code for code, *_ in task.hidden["lines"]}  # type: ignore
            named = {name: int(code) for code, name in re.findall(r"(\d{3}) ([A-Z][A-Za-z. ]*[a-z])", task.prompt)}
            assert (
                "Creditors" not in named
                or "Accrued" not in named
                or not booked
                & {
                    named["Creditors"],
                    named["Accrued"],
                }
            )


@pytest.mark.parametrize("level", range(5))
def test_every_entry_balances_and_its_amounts_are_positive(level: int) -> None:
    for seed in range(50):
        lines = draw_task(DOMAIN.tasks, TaskKey(ID, level, seed)).hidden["lines"]
        assert sum(cents if side == "D" else -cents for _, side, cents in lines) == 0  # type: ignore
        assert all(cents > 0 for _, _, cents in lines)  # type: ignore


def test_level_0_books_each_account_on_both_sides_with_both_kinds_of_money() -> None:
    seen = set()
    for seed in range(400):
        task = draw_task(DOMAIN.tasks, TaskKey(ID, 0, seed))
        (debit, *_), (credit, *_) = task.hidden["lines"]  # type: ignore
        seen.add((debit, credit))
    others = (150, 220, 300, 400, 500, 510, 520, 530)
    assert seen == {pair for money in (100, 105) for other in others for pair in ((money, other), (other, money))}


def test_only_level_0_has_a_bank_account_and_its_story_names_the_money() -> None:
    for level in range(5):
        for seed in range(40):
            prompt = draw_task(DOMAIN.tasks, TaskKey(ID, level, seed)).prompt
            assert ("Bank" in prompt) == (level == 0)
            assert level > 0 or ("in cash" in prompt) != ("by bank" in prompt)
