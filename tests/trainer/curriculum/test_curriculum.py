from __future__ import annotations

from dataclasses import replace

import msgspec
import numpy as np
import pytest

from polyathlon_trainer.curriculum.across import bound_weights, observe_group, reweigh, score, target_weights
from polyathlon_trainer.curriculum.state import (
    CurriculumState,
    DomainProgress,
    LevelBelief,
    merge_state,
    open_state,
    raise_floor,
)
from polyathlon_trainer.curriculum.within import doubt, draw_level, level_chances

SHARES = {"a": 0.5, "b": 0.3, "c": 0.2}
LEVELS = {"a": 3, "b": 5, "c": 1}


def flat(reward: float, **changes: object) -> DomainProgress:
    settled = DomainProgress(
        levels=(LevelBelief(),), fast=reward, slow=reward, best=reward, learnability=0.0, groups=100
    )
    return replace(settled, **changes)  # type: ignore[arg-type]  # test shorthand


def test_a_fresh_run_starts_from_the_registrys_shares() -> None:
    state = open_state(SHARES, LEVELS)
    assert state.weights == SHARES
    assert [len(state.progress[domain].levels) for domain in "abc"] == [3, 5, 1]


def test_equal_domains_keep_the_registrys_shares() -> None:
    progress = {domain: flat(0.4) for domain in SHARES}
    assert target_weights(progress, SHARES) == pytest.approx(SHARES)


def test_weights_sum_to_one_and_stay_between_half_and_twice_the_share() -> None:
    progress = {"a": flat(0.0), "b": flat(0.5, learnability=1.0, fast=0.9), "c": flat(0.5, learnability=1.0, fast=0.9)}
    weights = target_weights(progress, SHARES)
    # by hand: raw a .5, b .3 e^2.5, c .2 e^2.5; a is held at its floor .25, the rest splits .75 as 3 : 2
    assert weights == pytest.approx({"a": 0.25, "b": 0.45, "c": 0.30})


def test_no_domain_may_more_than_double() -> None:
    progress = {domain: flat(0.0) for domain in "abc"} | {"c": flat(0.5, learnability=1.0, fast=0.0)}
    shares = {"a": 0.495, "b": 0.495, "c": 0.01}
    assert target_weights(progress, shares)["c"] == pytest.approx(0.02)


def test_a_fallen_domain_is_held_at_its_registry_share() -> None:
    state = CurriculumState({"a": flat(0.0), "b": flat(0.5, learnability=1.0), "c": flat(0.0)}, SHARES)
    raised = raise_floor(state, "a")
    assert target_weights(raised.progress, SHARES)["a"] == pytest.approx(0.5)
    assert target_weights(state.progress, SHARES)["a"] < 0.5


def test_weights_move_a_quarter_of_the_way() -> None:
    state = CurriculumState({"a": flat(0.0), "b": flat(0.5, learnability=1.0, fast=0.9), "c": flat(0.0)}, SHARES)
    wanted = target_weights(state.progress, SHARES)
    moved = reweigh(state, SHARES).weights
    assert moved["b"] == pytest.approx(0.75 * 0.3 + 0.25 * wanted["b"])
    assert sum(moved.values()) == pytest.approx(1.0)


def test_what_can_be_learned_takes_twice_its_share_and_what_is_out_of_reach_half() -> None:
    shares = {f"d{place}": 0.1 for place in range(10)}
    progress = {name: flat(0.0) for name in shares} | {name: flat(0.3, learnability=0.8) for name in ("d0", "d1", "d2")}
    # by hand: seven at half of a tenth leave .65 for three, and twice a tenth is the most that one may have
    weights = target_weights(progress, shares)
    assert [weights[name] for name in ("d0", "d1", "d2")] == pytest.approx([0.2, 0.2, 0.2])
    assert weights["d3"] == pytest.approx(0.4 / 7)


def test_falling_counts_twice_and_rising_once() -> None:
    # 0.05 is half of the unit of 0.1; a fall moves and is forgotten, a rise only moves
    assert score(flat(0.5, fast=0.45)) == pytest.approx(0.5)
    assert score(flat(0.5, fast=0.55)) == pytest.approx(0.25)
    assert score(flat(0.5)) == 0.0


def test_learnability_is_the_share_of_groups_whose_rewards_differ_however_little() -> None:
    state = open_state(SHARES, LEVELS)
    half = observe_group(state, "a", level=0, rewards=[1, 0, 1, 0]).progress["a"]
    little = observe_group(state, "a", level=0, rewards=[0.02, 0.02, 0.05, 0.02]).progress["a"]
    solved = observe_group(state, "a", level=0, rewards=[1, 1, 1, 1]).progress["a"]
    assert half.learnability == little.learnability == 1.0
    assert solved.learnability == 0.0
    assert (half.fast, half.slow, half.best) == (0.5, 0.5, 0.5)


def test_the_first_groups_are_averaged_plainly() -> None:
    state = open_state(SHARES, LEVELS)
    for rewards in ([1.0, 1.0], [0.0, 0.0]):
        state = observe_group(state, "a", level=0, rewards=rewards)
    assert state.progress["a"].slow == 0.5
    assert state.progress["a"].best == 1.0


def test_observing_changes_only_the_level_seen() -> None:
    state = observe_group(open_state(SHARES, LEVELS), "a", level=1, rewards=[1.0, 0.0, 0.0, 0.0])
    assert state.progress["a"].levels == (LevelBelief(), LevelBelief(1.25, 1.75), LevelBelief())
    assert state.progress["b"].groups == 0


def test_beliefs_decay_toward_the_prior() -> None:
    belief = LevelBelief(11.0, 1.0)
    state = CurriculumState({"a": flat(0.5, levels=(belief,))}, {"a": 1.0})
    new = observe_group(state, "a", level=0, rewards=[0.0, 0.0]).progress["a"].levels[0]
    assert new.won == pytest.approx(10.8)
    assert new.missed == 2.0


def test_doubt_of_a_uniform_belief_is_a_sixth() -> None:
    assert doubt(LevelBelief(1.0, 1.0)) == pytest.approx(1 / 6)


def test_level_chances_are_half_uniform_and_half_by_doubt() -> None:
    sure, unsure = LevelBelief(1e9, 1e-9), LevelBelief(1.0, 1.0)
    assert level_chances([sure, unsure]) == pytest.approx((0.25, 0.75))


def test_draws_follow_the_chances_seed_0() -> None:
    rng = np.random.default_rng(0)
    levels = [LevelBelief(1e9, 1e-9), LevelBelief(1.0, 1.0)]
    draws = [draw_level(levels, rng) for _ in range(2_000)]
    assert sum(draws) / 2_000 == pytest.approx(0.75, abs=0.03)


def test_state_survives_json() -> None:
    state = observe_group(open_state(SHARES, LEVELS), "b", level=4, rewards=[0.1, 0.7])
    state = replace(state, archived={"gone": flat(0.3)})
    assert msgspec.json.decode(msgspec.json.encode(state), type=CurriculumState) == state


def test_merge_archives_what_left_and_gives_newcomers_the_prior() -> None:
    old = observe_group(open_state({"a": 0.5, "gone": 0.5}, {"a": 3, "gone": 2}), "gone", level=0, rewards=[1.0, 0.0])
    merged = merge_state(old, {"a": 0.4, "new": 0.6}, {"a": 3, "new": 5})
    assert merged.archived == {"gone": old.progress["gone"]}
    assert merged.progress["new"] == DomainProgress(levels=(LevelBelief(),) * 5)
    assert merged.weights == pytest.approx({"a": 0.4, "new": 0.6})


def test_a_domain_that_comes_back_finds_its_progress() -> None:
    old = observe_group(open_state(SHARES, LEVELS), "c", level=0, rewards=[1.0, 0.0])
    away = merge_state(old, {"a": 1.0}, {"a": 3})
    back = merge_state(away, SHARES, LEVELS)
    assert back.progress["c"] == old.progress["c"]
    assert back.archived == {}


def test_a_domain_that_gained_levels_keeps_the_old_beliefs() -> None:
    old = observe_group(open_state({"a": 1.0}, {"a": 1}), "a", level=0, rewards=[1.0, 1.0])
    merged = merge_state(old, {"a": 1.0}, {"a": 2})
    assert merged.progress["a"].levels == (LevelBelief(2.0, 1.0), LevelBelief())


def test_weights_come_back_within_bounds_when_the_registry_changed() -> None:
    state = CurriculumState({domain: flat(0.0) for domain in "ab"}, {"a": 0.9, "b": 0.1})
    assert bound_weights(state, {"a": 0.4, "b": 0.6}).weights == pytest.approx({"a": 0.7, "b": 0.3})
