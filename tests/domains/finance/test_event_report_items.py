from __future__ import annotations

import pytest

from polyathlon import Evidence, Json, Task, TaskKey, Verdict, draw_task
from polyathlon_domains.finance.event_report_items import DOMAIN

ID = "polyathlon/finance.event-report-items-v1"
LOAN: Json = ["2.02", "2031-04-17", "Norvik", 1_250_000]
EXIT: Json = ["5.02", "2031-05-02", "Ada Telmar", None]


def judged(answer: str, *events: Json) -> Verdict:
    hidden: dict[str, Json] = {"events": list(events), "decoys": [], "codes": ["1.01", "2.02", "5.02"]}
    task = Task("t", 3, 0, "train", "?", {}, hidden, "0" * 64)
    return DOMAIN.verifier.judge(task, Evidence(answer), room=None)  # type: ignore[arg-type]  # it opens no sandbox


@pytest.mark.parametrize("answer", ["2.02;2031-04-17;Norvik;1250000", " 2.02 ; 2031-04-17 ; NORVIK ; 1,250,000 \n"])
def test_the_event_in_other_spelling_passes(answer: str) -> None:
    assert judged(answer, LOAN).passed


@pytest.mark.parametrize(
    ("answer", "reward"),
    [
        ("2.02;2031-04-18;Norvik;1250000", 0.5 * 2 / 3),  # the next day is another day
        ("2.02;17 April 2031;Norvik;1250", 0.5 * 1 / 3),  # a day in another form, thousands for units
        ("2.02;2031-04-17;Norvik;1250001", 0.5 * 2 / 3),
        ("1.01;2031-04-17;Norvik;1250000", 0.0),  # the code decides
        ("2.02;x;x;x", 0.0),
        ("2.02;-;-;-", 0.0),
        ("2.02;2031-04-17;Norvik;1250000;", 0.0),  # five fields are no event
        ("2.02;2031-04-17;Norvik;1250000\n" * 2, 0.125),  # one line too many: 1/2, above the 1/3 of every code
        ("", 0.0),
        ("nan;nan;nan;nan", 0.0),
    ],
)
def test_an_event_is_worth_its_right_fields_once_its_code_is_right(answer: str, reward: float) -> None:
    assert judged(answer, LOAN).reward == pytest.approx(reward)


def test_no_amount_counts_only_beside_the_right_party() -> None:
    assert judged("5.02;x;Ada Telmar;-", EXIT).reward == pytest.approx(0.5 * 2 / 3)
    assert judged("5.02;x;Ada Telma;-", EXIT).reward == 0.0


def test_two_events_in_any_order_pass_and_one_of_them_earns_its_share() -> None:
    assert judged("5.02;2031-05-02;Ada Telmar;-\n2.02;2031-04-17;Norvik;1250000", LOAN, EXIT).passed
    assert judged("2.02;2031-04-17;Norvik;1250000", LOAN, EXIT).reward == 0.25


def test_a_line_for_every_code_earns_nothing_even_with_the_right_fields() -> None:
    listing = "\n".join(f"{code};2031-04-17;Norvik;1250000" for code in ("1.01", "2.02", "5.02"))
    assert judged(listing, LOAN).reward == 0.0
    assert judged(listing, LOAN, EXIT).reward == 0.0


@pytest.mark.parametrize("level", [0, 1])
def test_no_code_is_right_much_more_often_than_the_others(level: int) -> None:
    tasks = [draw_task(DOMAIN.tasks, TaskKey(ID, level, seed)) for seed in range(400)]
    codes = [task.hidden["events"][0][0] for task in tasks]  # type: ignore
    assert max(codes.count(code) for code in set(codes)) < 0.05 * len(codes)  # 64 codes, evenly
    assert all(len(task.hidden["codes"]) == 30 for task in tasks)  # type: ignore  # five things by six deeds


@pytest.mark.parametrize("level", [0, 1])
def test_the_words_of_the_chart_stand_in_the_easiest_reports_and_in_no_reworded_one(level: int) -> None:
    for seed in range(40):
        task = draw_task(DOMAIN.tasks, TaskKey(ID, level, seed))
        chart, report, _ = task.prompt.split("\n")
        shown = {entry.split()[-1] for entry in chart.replace(";", ",").split(", ")}
        told = shown & set(report.rstrip(".").replace(",", " ").split())
        assert len(told) == (2 if level == 0 else 0)


def test_an_amended_report_holds_the_final_day_and_sum_and_leaves_out_what_was_withdrawn() -> None:
    for seed in range(20):
        task = draw_task(DOMAIN.tasks, TaskKey(ID, 4, seed))
        events, (old, gone, plan) = task.hidden["events"], task.hidden["decoys"]  # type: ignore
        assert old not in events  # type: ignore
        codes = [event[0] for event in events]  # type: ignore
        assert old[0] in codes  # type: ignore
        assert gone[0] not in codes and plan[0] not in codes  # type: ignore  # noqa: PT018
