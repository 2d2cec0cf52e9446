"""Shares, tables and headline of small runs worked out by hand."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from polyathlon_trainer.observe.headline import headline
from polyathlon_trainer.observe.reading import RunLog, read_run, sort_records
from polyathlon_trainer.observe.records import DomainStep, EndRecord, EvalRecord, NoteRecord, Record, StepRecord
from polyathlon_trainer.observe.render import plain, sheets, show
from polyathlon_trainer.observe.shares import shares
from polyathlon_trainer.observe.tables import family_of, final_table, rows_as_json

A, B, C = "polyathlon/math.a-v1", "polyathlon/logic.b-v1", "acme/docs.c-v2"


def domain(declared: float, judged: int, trained: int, *, tokens: int = 10, lost: int = 0) -> DomainStep:
    return DomainStep(
        declared_share=declared,
        judged=judged,
        trained=trained,
        tokens=tokens,
        engine_s=0.5,
        judge_s=0.25,
        mean_reward=0.5,
        scale=0.4,
        mean_level=1.0,
        learnability=0.1,
        failures={"worker": lost} if lost else {},
    )


def step(number: int, domains: dict[str, DomainStep], stage: str = "rl") -> StepRecord:
    return StepRecord(stage, number, float(number), 0.1, 1.0, 0.1, 0.2, 1e-4, domains=domains)  # type: ignore[arg-type]  # a stage by name


def evaluation(
    stage: str, number: int, rewards: Mapping[str, Sequence[tuple[float, ...]]], *, temperature: float = 1.0
) -> EvalRecord:
    rows = {key: tuple(value) for key, value in rewards.items()}
    passed = {key: tuple(tuple(int(one == 1.0) for one in row) for row in value) for key, value in rewards.items()}
    return EvalRecord(stage, number, float(number), temperature, rows, passed)


def run_of(*records: Record) -> RunLog:
    return sort_records(records)


def test_shares_hold_on_trained_groups_where_yield_is_high_and_on_judged_groups_elsewhere() -> None:
    # A and B give gradients (yield 0.5 and 0.75), C never does.
    got = shares([step(1, {A: domain(0.25, 60, 30), B: domain(0.5, 80, 60), C: domain(0.25, 50, 0)})])
    assert (got[A].held_on, got[B].held_on, got[C].held_on) == ("trained", "trained", "judged")
    # Of A and B's 90 trained groups A should have 0.25 / 0.75 = 30 and has 30.
    assert got[A].ratio == pytest.approx(1.0)
    assert got[A].verdict == "holds"
    assert got[B].ratio == pytest.approx(1.0)
    assert got[B].verdict == "holds"
    # Of all 190 judged groups C should have 47.5 and has 50.
    assert got[C].ratio == pytest.approx(50 / 47.5)
    assert got[C].verdict == "holds"
    assert got[A].trained == pytest.approx(30 / 90)
    assert got[C].trained == 0.0
    assert got[C].judged == pytest.approx(50 / 190)


def test_a_share_more_than_a_tenth_off_is_off() -> None:
    # Expected 50 each; 55 and 45 are exactly a tenth off, 56 and 44 more.
    at_the_edge = shares([step(1, {A: domain(0.5, 55, 55), B: domain(0.5, 45, 45)})])
    beyond = shares([step(1, {A: domain(0.5, 56, 56), B: domain(0.5, 44, 44)})])
    assert [share.verdict for share in at_the_edge.values()] == ["holds", "holds"]
    assert [share.verdict for share in beyond.values()] == ["off", "off"]


def test_few_groups_or_a_domain_alone_say_nothing() -> None:
    few = shares([step(1, {A: domain(0.5, 6, 6), B: domain(0.5, 3, 3)})])
    assert [share.verdict for share in few.values()] == ["too few groups", "too few groups"]
    assert shares([step(1, {A: domain(1.0, 100, 90)})])[A].verdict == "alone"
    assert shares([step(1, {A: domain(1.0, 50, 40), B: domain(0.0, 0, 0)})])[B].verdict == "not run"
    assert shares([]) == {}


def test_declared_share_is_the_mean_over_steps_and_counts_are_sums() -> None:
    got = shares(
        [
            step(1, {A: domain(0.2, 10, 10, tokens=30, lost=1), B: domain(0.8, 10, 5, tokens=10)}),
            step(2, {A: domain(0.6, 10, 10, tokens=30, lost=2), B: domain(0.4, 10, 5, tokens=10)}),
        ]
    )
    assert got[A].declared == pytest.approx(0.4)
    assert (got[A].num_trained, got[A].num_judged, got[B].yield_share) == (20, 20, 0.5)
    assert got[A].tokens == pytest.approx(60 / 80)
    assert got[A].seconds == pytest.approx(0.5)
    assert got[A].failures == {"worker": 3}


RISE = [(0.0, 0.5)] * 20 + [(0.5, 0.5)] * 20
HIGHER = [(0.5, 1.0)] * 20 + [(0.5, 1.0)] * 20


def full_run(*more: Record) -> RunLog:
    return run_of(
        evaluation("sft", 5, {A: RISE, B: RISE, C: [(0.0, 0.0)] * 40}),
        step(1, {A: domain(0.4, 20, 15), B: domain(0.4, 20, 15), C: domain(0.2, 10, 0)}),
        evaluation("rl", 1, {A: HIGHER, B: RISE, C: [(0.0, 0.0)] * 40}),
        *more,
    )


def test_final_table_compares_the_same_prompts_before_and_after() -> None:
    table = final_table(full_run())
    rows = {row.domain_id: row for row in table.rows}
    gain = rows[A].rl["t1"].gain
    # Prompt means 0.25 -> 0.75 for half, 0.5 -> 0.75 for the other half: mean gain 0.375.
    assert gain.mean == pytest.approx(0.375)
    assert (rows[A].rl["t1"].change, rows[B].rl["t1"].change, rows[C].rl["t1"].change) == (
        "rose",
        "no clear change",
        "no clear change",
    )
    assert (rows[A].reach, rows[C].reach) == ("touchable", "out of reach")
    pooled = table.rl["t1"]
    assert (pooled.num_domains, pooled.num_rose, pooled.num_fell) == (2, 1, 0)
    assert pooled.gain.mean == pytest.approx(0.1875)
    assert pooled.before == pytest.approx(0.375)
    assert pooled.after == pytest.approx(0.5625)


def test_a_smaller_evaluation_is_paired_with_the_first_prompts() -> None:
    table = final_table(run_of(evaluation("sft", 1, {A: RISE}), evaluation("rl", 9, {A: HIGHER[:20]})))
    gain = table.rows[0].rl["t1"].gain
    assert (gain.mean, gain.num_prompts) == (0.5, 20)


def test_a_rise_among_many_domains_needs_more_than_chance() -> None:
    # Six prompts that all rise: p = 2 / 64 = 0.031. Alone that is a rise; among five domains q = 5 x 0.031 = 0.156.
    low, high = [(0.1,)] * 6, [(0.2,), (0.3,), (0.2,), (0.3,), (0.2,), (0.3,)]
    alone = final_table(run_of(evaluation("sft", 1, {A: low}), evaluation("rl", 1, {A: high})))
    assert alone.rows[0].rl["t1"].change == "rose"
    others = {f"x/still.{number}-v1": low for number in range(4)}
    among = final_table(run_of(evaluation("sft", 1, {A: low, **others}), evaluation("rl", 1, {A: high, **others})))
    assert among.rows[0].rl["t1"].q_value == pytest.approx(5 / 32)
    assert among.rows[0].rl["t1"].change == "no clear change"


def test_a_domain_that_falls_is_named_and_nothing_is_glossed_over() -> None:
    log = run_of(
        evaluation("sft", 5, {A: HIGHER, B: RISE}),
        step(1, {A: domain(0.5, 20, 15), B: domain(0.5, 20, 15)}),
        evaluation("rl", 1, {A: RISE, B: HIGHER}),
        EndRecord("finished", 9.0),
    )
    text = " ".join(headline(log, final_table(log)))
    assert "1 rose and 1 fell (math.a-v1) significantly" in text
    assert text.startswith("This run does not show that RL changed the mean reward: from 0.562 to 0.562")
    assert "The interval includes zero." in text


def test_headline_of_a_rise_gives_its_interval() -> None:
    log = full_run(EndRecord("finished", 9.0))
    first = headline(log, final_table(log))[0]
    assert first.startswith("RL raised the mean held-out reward from 0.375 to 0.562 over 2 domains: +0.188 [+0.1")


def test_headline_says_that_a_run_is_not_over_or_stopped_itself() -> None:
    unfinished, stopped = full_run(), full_run(EndRecord("stopped", 9.0, reason="math.a-v1 fell three times."))
    sentences = headline(unfinished, final_table(unfinished))
    assert sentences[0].startswith("RL has so far raised")
    assert sentences[-1] == "The run has not finished: its last record is step 1 of rl."
    assert headline(stopped, final_table(stopped))[-1] == "The run stopped itself: math.a-v1 fell three times."


def test_headline_without_rl_or_evaluations_reports_no_gain() -> None:
    only_sft = run_of(step(1, {}, "sft"), evaluation("sft", 1, {A: RISE}))
    assert headline(only_sft, final_table(only_sft))[0] == "This run has no RL steps: there is no gain to report."
    no_evals = run_of(step(1, {A: domain(1.0, 5, 5)}))
    assert "was not evaluated at T=1 before RL" in headline(no_evals, final_table(no_evals))[0]
    empty = run_of()
    assert headline(empty, final_table(empty))[-1] == "The run has not finished; it has no steps yet."


def test_controls_stand_beside_rl_with_the_distance_between_them() -> None:
    log = full_run(evaluation("sft-continued", 1, {A: RISE, B: RISE, C: [(0.0, 0.0)] * 40}), EndRecord("finished", 9.0))
    table = final_table(log)
    assert table.controls["sft-continued"].gain.mean == 0.0
    assert table.over_controls["sft-continued"].mean == pytest.approx(0.1875)
    text = " ".join(headline(log, table))
    assert "Control, SFT simply continued: +0.000" in text
    assert ", which includes zero. RL over it: +0.188" in text
    titles = [sheet.title for sheet in sheets(table)]
    assert "Gain at T=1 beside the controls of equal compute" in titles


def test_later_rows_of_one_place_count_once_and_a_run_that_went_on_has_no_end() -> None:
    log = run_of(step(1, {}), EndRecord("stopped", 1.0), NoteRecord("resumed", 2.0), step(1, {A: domain(1.0, 1, 1)}))
    assert log.end is None
    assert [set(one.domains) for one in log.steps] == [{A}]


def test_json_has_an_object_a_domain_with_the_registry_s_keys(finished_run: Path) -> None:
    rows = json.loads(json.dumps(rows_as_json(final_table(read_run(finished_run))), allow_nan=False))
    assert [row["id"] for row in rows][:2] == ["polyathlon/math.task-000-v1", "polyathlon/logic.task-001-v1"]
    assert {row["family"] for row in rows} == {"math", "logic", "cad", "finance", "coding", "terminal"}
    assert set(rows[0]["rl"]) == {"t1", "t0.5", "greedy"}
    assert set(rows[0]["controls"]) == {"sft-continued", "rl-shuffled"}
    assert rows[0]["share"]["verdict"] in ("holds", "off", "too few groups")


def test_family_is_what_stands_before_the_dot() -> None:
    assert family_of("polyathlon/cad.text-to-csg-v1") == "cad"
    assert family_of("claims-v1") == "claims-v1"


def test_in_a_pipe_the_columns_are_aligned_and_nothing_is_coloured(finished_run: Path) -> None:
    log, out = read_run(finished_run), StringIO()
    table = final_table(log)
    show(log, table, Console(file=out, width=60))
    text = out.getvalue()
    assert "\x1b" not in text
    for sheet in sheets(table):
        assert plain(sheet) in text
        ends = {line.rstrip()[-1] for line in plain(sheet).splitlines()[2:3]}
        assert len(ends) == 1
    lines = plain(sheets(table)[0]).splitlines()
    assert lines[1].startswith("domain")
    assert lines[1].index("after RL") + len("after RL") == lines[2].index("]", lines[2].index("]") + 1) + 1


def test_on_a_terminal_tables_are_drawn(finished_run: Path) -> None:
    log, out = read_run(finished_run), StringIO()
    show(log, final_table(log), Console(file=out, force_terminal=True, width=140, color_system="standard"))
    assert "┃" in out.getvalue()
