from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest
from tests.trainer.making import CARDS, collected

from polyathlon_trainer.mixture import shares
from polyathlon_trainer.planning import PlanRules, plan_batch
from polyathlon_trainer.state import RlState, RunState, fresh_rl, merged_rl
from polyathlon_trainer.step import RewardRules, account, domain_rows

RULES = RewardRules("domain", temperature=1.0)
PLANS = PlanRules(seed=0, stage="rl", groups_per_step=4, group_size=4, temperature=1.0)
DECLARED = shares(CARDS)


def planned() -> RlState:
    return plan_batch(fresh_rl(CARDS, version=1), PLANS)[0]


def test_flat_and_lost_groups_reach_neither_the_learner_nor_the_scales() -> None:
    items = [
        collected(0, [1.0, 0.0], "a"),
        collected(1, [0.5, 0.5], "a"),
        collected(2, [1.0], "b", num_lost=3),
        collected(3, [0.0, 0.0], "b"),
    ]
    found = account(planned(), items, DECLARED, RULES)
    assert [outcome.fate for outcome in found.outcomes] == ["trained", "flat", "lost", "flat"]
    assert [member.group.uid for member in found.batch.groups] == ["rl-0000000"]
    assert found.state.fates == "tflf"
    assert set(found.state.scales.domains) == {"a"}


def test_a_group_is_scaled_by_what_was_known_before_it() -> None:
    items = [collected(0, [1.0, 0.0], "a"), collected(1, [1.0, 0.0], "a")]
    first, second = account(planned(), items, DECLARED, RULES).batch.groups
    assert first.advantages == pytest.approx((0.5 / 0.35, -0.5 / 0.35))
    after_one = ((0.25 + 8 * 0.1225) / 9) ** 0.5
    assert second.advantages == pytest.approx((0.5 / after_one, -0.5 / after_one))


def test_one_lost_member_keeps_its_siblings_training() -> None:
    found = account(planned(), [collected(0, [1.0, 0.0, 0.0], "a", num_lost=1)], DECLARED, RULES)
    assert [len(member.advantages) for member in found.batch.groups] == [3]


def test_a_domain_weighs_in_the_loss_by_its_trained_groups() -> None:
    items = [collected(0, [1.0, 0.0], "a"), collected(1, [1.0, 0.0], "b"), collected(2, [0.0, 1.0], "b")]
    assert account(planned(), items, DECLARED, RULES).batch.domain_weights == {"a": 1.0, "b": 2.0}


def test_shuffled_rewards_keep_the_group_and_move_its_rewards() -> None:
    rewards = [1.0, 0.5, 0.25, 0.0]
    items = [collected(number, rewards, "a") for number in range(8)]
    shuffled = account(planned(), items, DECLARED, replace(RULES, shuffle_seed=5))
    plain = account(planned(), items, DECLARED, RULES)
    assert all(sorted(outcome.rewards) == sorted(rewards) for outcome in shuffled.outcomes)
    assert any(outcome.rewards != tuple(rewards) for outcome in shuffled.outcomes)
    assert shuffled.state == plain.state  # curriculum, scales and shares see the same as without shuffling


def test_the_curriculum_sees_flat_groups_too() -> None:
    found = account(planned(), [collected(0, [1.0, 1.0], "a", level=1)], DECLARED, RULES)
    assert found.state.curriculum.progress["a"].groups == 1
    assert found.state.curriculum.progress["a"].levels[1].won == 2.0


def test_batches_without_any_judged_group_are_counted() -> None:
    state = planned()
    for _ in range(2):
        state = account(state, [collected(0, [], "a", num_lost=4)], DECLARED, RULES).state
    assert state.empty_batches == 2
    assert account(state, [collected(0, [0.0, 0.0], "a")], DECLARED, RULES).state.empty_batches == 0


def test_rows_tell_every_domain_of_the_mixture_even_the_absent() -> None:
    state = planned()
    items = [collected(0, [1.0, 0.0], "a", level=1, num_lost=2)]
    found = account(state, items, DECLARED, RULES)
    rows = domain_rows(state, items, found.outcomes)
    assert set(rows) == {"a", "b"}
    assert (rows["a"].judged, rows["a"].trained, rows["a"].tokens) == (1, 1, 2)
    assert (rows["a"].mean_reward, rows["a"].mean_level, rows["a"].failures) == (0.5, 1.0, {"sandbox": 2})
    assert (rows["a"].declared_share, rows["a"].engine_s, rows["a"].judge_s) == (0.25, 0.5, 0.25)
    assert (rows["b"].judged, rows["b"].mean_reward) == (0, None)


def test_plans_are_numbered_seeded_and_never_the_same_task() -> None:
    state, first = plan_batch(fresh_rl(CARDS, version=1), PLANS)
    state, second = plan_batch(state, PLANS)
    assert [plan.number for plan in (*first, *second)] == list(range(8))
    assert len({plan.key for plan in (*first, *second)}) == 8
    assert len({plan.seed for plan in (*first, *second)}) == 8
    assert state.pending == (first, second)


def test_stages_do_not_share_their_tasks() -> None:
    _, rl = plan_batch(fresh_rl(CARDS, version=1), PLANS)
    _, control = plan_batch(fresh_rl(CARDS, version=1), replace(PLANS, stage="rl-shuffled"))
    assert not {plan.key.seed for plan in rl} & {plan.key.seed for plan in control}


def test_a_promised_batch_is_planned_as_promised() -> None:
    _, (first, *_) = plan_batch(fresh_rl(CARDS, version=1), PLANS)
    keys = [first.key] * 4
    state, plans = plan_batch(fresh_rl(CARDS, version=1), PLANS, keys)
    assert [plan.key for plan in plans] == keys
    assert state.scheduler.of(first.key.domain_id).in_flight == 4


def test_a_promise_of_a_domain_that_left_is_planned_anew() -> None:
    _, plans = plan_batch(fresh_rl(CARDS, version=1), PLANS)
    only_b = CARDS[1:]
    _, again = plan_batch(fresh_rl(only_b, version=1), PLANS, [plan.key for plan in plans])
    assert {plan.key.domain_id for plan in again} == {"b"}


def test_groups_of_a_domain_that_left_are_lost_and_harm_nothing() -> None:
    state = merged_rl(planned(), CARDS[1:])
    found = account(state, [collected(0, [1.0, 0.0], "a")], shares(CARDS[1:]), RULES)
    assert [outcome.fate for outcome in found.outcomes] == ["lost"]


def test_an_unchanged_mixture_is_left_alone_on_resume() -> None:
    state = planned()
    assert merged_rl(state, CARDS) is state


def test_the_whole_state_survives_json() -> None:
    state = RunState("rl", step=1, rl=account(planned(), [collected(0, [1.0, 0.0])], DECLARED, RULES).state)
    assert msgspec.json.decode(msgspec.json.encode(state), type=RunState) == state
