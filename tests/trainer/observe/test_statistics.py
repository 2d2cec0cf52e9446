"""Intervals, paired gains and false discovery against values worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from polyathlon_trainer.observe.statistics import (
    NO_GAIN,
    benjamini_hochberg,
    mean_interval,
    paired_differences,
    paired_gain,
    pooled_gain,
    sign_flip_p,
    touchable,
)


def test_samples_of_one_prompt_count_as_one_observation() -> None:
    # Prompt means 0.2, 0.4, 0.6: sd 0.2, standard error 0.2 / sqrt(3), Student's t(2) 4.302653 -> half 0.496827.
    interval = mean_interval([(0.0, 0.4), (0.4, 0.4), (0.5, 0.7)])
    assert interval.mean == pytest.approx(0.4)
    assert interval.low == 0.0  # 0.4 - 0.4968 cut at zero
    assert interval.high == pytest.approx(0.896827, abs=1e-5)
    assert (interval.num_prompts, interval.num_samples) == (3, 6)


def test_interval_ignores_how_often_a_prompt_was_sampled() -> None:
    once = mean_interval([(0.0,), (1.0,), (0.5,)])
    often = mean_interval([(0.0,) * 9, (1.0,) * 9, (0.5,) * 9])
    assert (once.low, once.high) == (often.low, often.high)


def test_all_zero_rewards_still_leave_room_above() -> None:
    # Clopper and Pearson for 0 of 128: upper 1 - 0.025^(1/128) = 0.028408.
    interval = mean_interval([(0.0, 0.0)] * 128)
    assert (interval.mean, interval.low) == (0.0, 0.0)
    assert interval.high == pytest.approx(0.028408, abs=1e-5)


def test_all_solved_leaves_room_below() -> None:
    interval = mean_interval([(1.0,)] * 128)
    assert interval.low == pytest.approx(1 - 0.028408, abs=1e-5)
    assert interval.high == 1.0


def test_one_prompt_says_almost_nothing() -> None:
    interval = mean_interval([(0.5, 0.5)])
    assert interval.mean == 0.5
    assert interval.low == pytest.approx(0.0125)
    assert interval.high == pytest.approx(0.9875)


@pytest.mark.parametrize("rows", [[], [()], [(), ()]])
def test_nothing_to_average_gives_no_number(rows: list[tuple[float, ...]]) -> None:
    interval = mean_interval(rows)
    assert (interval.mean, interval.low, interval.high, interval.num_prompts) == (None, None, None, 0)
    assert paired_gain(rows, rows) == NO_GAIN


def test_pairs_are_prompts_that_both_have() -> None:
    before = [(0.0, 0.5), (), (1.0,), (0.25,)]
    after = [(0.75, 0.75), (1.0,), (0.5, 1.0)]
    assert paired_differences(before, after).tolist() == [0.5, -0.25]


def test_sign_flip_is_exact_for_few_pairs() -> None:
    # All four positive: only +++ + and ---- reach the sum: 2 of 16.
    assert sign_flip_p(np.array([0.1, 0.2, 0.3, 0.4])) == 2 / 16
    # 0.5 and -0.25 sum to 0.25: every one of the four sign choices (0.75, 0.25, -0.25, -0.75) is as far from zero.
    assert sign_flip_p(np.array([0.5, -0.25])) == 1.0
    # Zeros carry no sign.
    assert sign_flip_p(np.array([0.0, 0.1, 0.2, 0.0, 0.3, 0.4])) == 2 / 16
    assert sign_flip_p(np.zeros(5)) == 1.0


def test_drawn_sign_flips_are_never_zero_and_agree_with_the_exact_ones() -> None:
    assert sign_flip_p(np.full(40, 0.5)) == pytest.approx(1 / 10_001)
    # Sixteen equal steps, 12 up and 4 down: P(|S| >= 8) of a binomial(16, 1/2) = 2 x 2517 / 65536 = 0.0768.
    steps = np.array([0.1] * 12 + [-0.1] * 4)
    assert sign_flip_p(steps) == pytest.approx(0.0768, abs=0.01)


def test_paired_gain_of_a_clear_rise_excludes_zero() -> None:
    # 64 differences of 0 and 64 of 0.5: mean 0.25, standard error 0.25 / sqrt(127) = 0.02218 -> about +-0.0435.
    gain = paired_gain([(0.0,)] * 128, [(0.0,)] * 64 + [(0.5,)] * 64)
    assert gain.mean == 0.25
    assert gain.low == pytest.approx(0.25 - 0.0435, abs=0.003)
    assert gain.high == pytest.approx(0.25 + 0.0435, abs=0.003)
    assert gain.p_value < 0.001
    assert not gain.includes_zero


def test_two_pairs_are_widened_by_the_square_root_of_two() -> None:
    # Resampled means of 0 and 1 are 0, 0.5 and 1; their ends lie 0.5 off the centre, widened 0.5 x sqrt(2).
    gain = paired_gain([(0.0,), (0.0,)], [(0.0,), (1.0,)])
    assert gain.mean == 0.5
    assert gain.low == pytest.approx(0.5 - 0.5 * math.sqrt(2))
    assert gain.high == 1.0


def test_no_change_is_no_gain_with_room_on_both_sides() -> None:
    gain = paired_gain([(0.0,)] * 128, [(0.0,)] * 128)
    assert (gain.mean, gain.p_value) == (0.0, 1.0)
    assert gain.low == pytest.approx(-0.028408, abs=1e-5)
    assert gain.high == pytest.approx(0.028408, abs=1e-5)
    assert gain.includes_zero


def test_one_pair_cannot_exclude_zero() -> None:
    gain = paired_gain([(0.0,)], [(0.5,)])
    assert gain.mean == 0.5
    assert gain.p_value == 1.0
    assert gain.includes_zero


def test_the_same_rewards_give_the_same_numbers() -> None:
    before, after = [(0.0, 1.0), (0.5,), (1.0,)] * 20, [(1.0, 1.0), (0.5,), (0.0,)] * 20
    assert paired_gain(before, after) == paired_gain(before, after)


def test_interval_covers_the_true_mean_about_as_often_as_it_says() -> None:
    rng = np.random.default_rng(11)
    covered = 0
    for _ in range(200):
        after = [(float(value),) for value in rng.random(30) < 0.4]
        gain = paired_gain([(0.0,)] * 30, after)
        assert gain.low is not None
        assert gain.high is not None
        covered += gain.low <= 0.4 <= gain.high
    assert covered / 200 >= 0.90


def test_pooling_counts_each_domain_the_same_whatever_its_prompts() -> None:
    gain = pooled_gain({"a": np.array([0.5, 0.3, 0.4, 0.4]), "b": np.array([0.0] * 50 + [0.0] * 50)})
    assert gain.mean == pytest.approx(0.2)  # (0.4 + 0.0) / 2, not 1.6 / 104
    assert gain.num_prompts == 104
    assert not gain.includes_zero


def test_pooled_spread_is_smaller_than_one_domain_s() -> None:
    differences = np.array([0.5, -0.3] * 32)
    one = paired_gain([(0.5,)] * 64, [(float(0.5 + value),) for value in differences])
    pooled = pooled_gain({str(place): differences for place in range(16)})
    assert None not in (one.low, one.high, pooled.low, pooled.high)
    width = (one.high or 0) - (one.low or 0)
    # Sixteen domains, independently resampled: a quarter of the width.
    assert (pooled.high or 0) - (pooled.low or 0) == pytest.approx(width / 4, rel=0.15)


def test_pooling_nothing_gives_nothing_and_one_domain_gives_its_own() -> None:
    assert pooled_gain({}) == NO_GAIN
    assert pooled_gain({"a": np.array([])}) == NO_GAIN
    values = np.array([0.25, 0.5, 0.0, -0.25])
    assert pooled_gain({"a": values}).mean == pytest.approx(0.125)


def test_benjamini_hochberg_by_hand() -> None:
    # Sorted .005 .01 .03 .04 times 4/1 4/2 4/3 4/4 = .02 .02 .04 .04, minimum from the right.
    assert benjamini_hochberg([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.02, 0.04, 0.04, 0.02])
    assert benjamini_hochberg([]) == []
    assert benjamini_hochberg([1.0, 1.0]) == [1.0, 1.0]


def test_false_discoveries_are_held_where_nothing_changed() -> None:
    rng = np.random.default_rng(5)
    found = 0
    for _ in range(20):
        p_values = [sign_flip_p(rng.choice([-0.25, 0.0, 0.25], size=32)) for _ in range(20)]
        found += any(value <= 0.05 for value in benjamini_hochberg(p_values))
    assert found <= 3  # expected one run in twenty


def test_touchable_domains_lie_between_five_and_ninety_five_percent() -> None:
    after_sft = {
        "never": [(0.0, 0.0)] * 4,
        "edge": [(0.05, 0.05)] * 4,
        "half": [(1.0, 0.0)] * 4,
        "always": [(1.0, 1.0)] * 4,
        "unseen": [],
    }
    assert touchable(after_sft) == ["edge", "half"]


def test_no_number_is_ever_nan() -> None:
    shapes: list[list[tuple[float, ...]]] = [[], [()], [(0.0,)], [(1.0,)], [(0.3, 0.3)], [(0.0,), (1.0,)]]
    for before in shapes:
        for after in shapes:
            gain = paired_gain(before, after)
            for number in (gain.mean, gain.low, gain.high, gain.p_value):
                assert number is None or math.isfinite(number)
