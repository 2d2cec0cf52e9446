from __future__ import annotations

import pytest

from polyathlon_trainer.rewards.advantage import Scheme, advantages, batch_rms, is_flat
from polyathlon_trainer.rewards.scale import DomainScale, ScaleState, fold_group


def test_domain_scheme_divides_the_centred_reward_by_the_domains_scale() -> None:
    # mean 0.25, centred (0.75, -0.25, -0.25, -0.25), scale 0.5
    values = advantages([1.0, 0.0, 0.0, 0.0], scheme="domain", domain_rms=0.5, batch_rms=9.0)
    assert values == pytest.approx((1.5, -0.5, -0.5, -0.5))


def test_a_tiny_domain_scale_is_floored_at_a_tenth() -> None:
    values = advantages([0.02, 0.0], scheme="domain", domain_rms=1e-9, batch_rms=9.0)
    assert values == pytest.approx((0.1, -0.1))


def test_advantages_are_clipped_at_five() -> None:
    values = advantages([1.0] + [0.0] * 9, scheme="domain", domain_rms=0.0, batch_rms=0.0)
    assert values[0] == 5.0
    assert values[1] == pytest.approx(-1.0)


@pytest.mark.parametrize(
    ("scheme", "expected"),
    [("none", (0.5, -0.5)), ("group", (1.0, -1.0)), ("batch", (2.0, -2.0)), ("rank", (1.0, -1.0))],
)
def test_each_other_scheme_on_one_success_of_two(scheme: Scheme, expected: tuple[float, float]) -> None:
    assert advantages([1.0, 0.0], scheme=scheme, domain_rms=9.0, batch_rms=0.25) == pytest.approx(expected)


def test_rank_shares_the_middle_rank_among_equals() -> None:
    # ranks 0, 1.5, 1.5, 3 less 1.5, over 1.5
    values = advantages([0.0, 0.3, 0.3, 1.0], scheme="rank", domain_rms=1.0, batch_rms=1.0)
    assert values == pytest.approx((-1.0, 0.0, 0.0, 1.0))


def test_group_scheme_does_not_blow_up_float_noise() -> None:
    values = advantages([0.5, 0.5 + 1e-5], scheme="group", domain_rms=1.0, batch_rms=1.0)
    assert max(abs(value) for value in values) < 1e-3


def test_equal_rewards_up_to_float_noise_are_flat() -> None:
    assert is_flat([0.1 + 0.2, 0.3, 0.3])
    assert not is_flat([0.3, 0.3, 0.31])


def test_a_lone_episode_has_no_advantage() -> None:
    with pytest.raises(ValueError, match="group of 1"):
        advantages([1.0], scheme="none", domain_rms=1.0, batch_rms=1.0)


def test_batch_rms_centres_each_group_by_its_own_mean() -> None:
    assert batch_rms([[1.0, 0.0], [0.5, 0.5]]) == pytest.approx((0.125) ** 0.5)
    assert batch_rms([]) == 0.0


def test_a_new_domain_has_the_priors_scale() -> None:
    assert ScaleState().of("x").rms == pytest.approx(0.35)


def test_scale_shrinks_toward_the_prior_by_eight_groups() -> None:
    state = fold_group(ScaleState(), "x", [1.0, 0.0])  # one group, mean square 0.25
    assert state.of("x") == DomainScale(groups=1.0, squares=0.25)
    assert state.of("x").rms == pytest.approx(((0.25 + 8 * 0.1225) / 9) ** 0.5)


def test_scale_of_few_groups_never_amplifies_more_than_a_third() -> None:
    state = ScaleState()
    for _ in range(2):
        state = fold_group(state, "x", [0.01, 0.0])
    assert 0.35 / state.of("x").rms < 1.3


def test_scale_forgets_old_groups() -> None:
    state = ScaleState({"x": DomainScale(groups=50.0, squares=50 * 0.25)})
    for _ in range(400):
        state = fold_group(state, "x", [0.2, 0.0])  # mean square 0.01
    # groups tend to 1 / (1 - 0.98) = 50: (50 x 0.01 + 8 x 0.1225) / 58
    assert state.of("x").rms == pytest.approx((1.48 / 58) ** 0.5, rel=0.01)
