from __future__ import annotations

import pytest

from polyathlon_trainer.config.load import load_config
from polyathlon_trainer.config.schema import DEFAULT_RL_MINUTES
from polyathlon_trainer.stages import (
    USUAL_MINUTES,
    Length,
    length_of,
    next_stage,
    rest_of_budget,
    stage_order,
    within_budget,
)

STEPS, SECONDS = {"sft": 9, "rl": 40}, {"sft": 10.0, "rl": 80.0}


def test_each_training_stage_is_followed_by_its_examination() -> None:
    assert stage_order(load_config(None)) == ("sft", "sft-exam", "rl", "rl-exam", "end")


def test_controls_come_after_the_run_itself() -> None:
    order = stage_order(load_config(None, ["controls=true"]))
    assert order[4:] == ("sft-continued", "sft-continued-exam", "rl-shuffled", "rl-shuffled-exam", "end")


def test_next_stage_follows_the_order() -> None:
    assert next_stage(load_config(None), "rl-exam") == "end"


def test_a_stage_of_steps_is_over_after_them_whatever_the_clock_says() -> None:
    length = Length(steps=4)
    assert length.progress(step=1, elapsed_s=1e9) == 0.25
    assert not length.is_over(step=3, elapsed_s=1e9)
    assert length.is_over(step=4, elapsed_s=0.0)


def test_a_stage_of_seconds_is_over_after_them() -> None:
    length = Length(seconds=60.0)
    assert length.progress(step=1_000, elapsed_s=15.0) == 0.25
    assert length.is_over(step=0, elapsed_s=60.0)


def test_no_steps_means_over_at_once() -> None:
    assert Length(steps=0).is_over(step=0, elapsed_s=0.0)


def test_shuffled_rl_gets_the_steps_of_rl_and_continued_sft_its_seconds() -> None:
    config = load_config(None, ["controls=true"])
    assert length_of(config, "rl-shuffled", steps_done=STEPS, seconds_done=SECONDS) == Length(steps=40)
    assert length_of(config, "sft-continued", steps_done=STEPS, seconds_done=SECONDS) == Length(seconds=80.0)


def test_in_an_ordered_run_even_the_controls_count_steps() -> None:
    config = load_config(None, ["controls=true", "rl.ordered=true", "rl.steps=40", "sft.steps=9"])
    assert length_of(config, "sft-continued", steps_done=STEPS, seconds_done=SECONDS) == Length(steps=9)


def test_a_budget_shortens_stages_and_examinations_in_proportion() -> None:
    config = within_budget(load_config(None, ["budget_minutes=4.8", "sft.minutes=2"]))
    assert config.sft.minutes == pytest.approx(1.0)
    assert config.rl.minutes == pytest.approx(DEFAULT_RL_MINUTES * 4.8 / USUAL_MINUTES)
    assert (config.eval.prompts, config.eval.guard_prompts) == (64, 32)


def test_a_generous_budget_changes_nothing() -> None:
    config = load_config(None, ["budget_minutes=60"])
    shortened = within_budget(config)
    assert (shortened.rl.minutes, shortened.eval.prompts) == (DEFAULT_RL_MINUTES, 128)


def test_a_budget_leaves_counted_steps_alone() -> None:
    assert within_budget(load_config(None, ["budget_minutes=1", "rl.steps=7"])).rl.steps == 7


def test_a_run_with_nothing_set_has_a_budget_and_one_with_a_length_has_none() -> None:
    assert within_budget(load_config(None)).budget_minutes == 9.7
    assert within_budget(load_config(None, ["rl.minutes=60"])).budget_minutes is None


def test_rl_leaves_room_for_the_last_examination() -> None:
    config = load_config(None, ["budget_minutes=5"])
    planned = Length(seconds=200.0)
    # 300 s in all, 150 gone, the examination took 40: 300 - 150 - 46
    cut = rest_of_budget(config, planned, elapsed_s=150.0, seconds_done={"sft-exam": 40.0})
    assert cut.seconds == pytest.approx(104.0)
    assert rest_of_budget(config, planned, elapsed_s=10.0, seconds_done={"sft-exam": 40.0}) == planned
    assert rest_of_budget(config, planned, elapsed_s=290.0, seconds_done={}).seconds == 20.0
    assert rest_of_budget(config, Length(steps=9), elapsed_s=290.0, seconds_done={}) == Length(steps=9)
