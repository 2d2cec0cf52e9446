from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tests.trainer.making import CARDS, collected

from polyathlon_trainer.episode import Group
from polyathlon_trainer.evaluate import exam_key, examine, probe
from polyathlon_trainer.guard import prompt_means, watch
from polyathlon_trainer.plans import Collected, GroupPlan
from polyathlon_trainer.state import GuardState


class Proctor:
    """Answers plans with fixed rewards by domain, and keeps what was asked."""

    def __init__(self, rewards: dict[str, float]) -> None:
        self.asked: list[GroupPlan] = []
        self._rewards = rewards

    def __call__(self, plans: Sequence[GroupPlan]) -> list[Collected]:
        self.asked += plans
        return [self._answer(plan) for plan in plans]

    def _answer(self, plan: GroupPlan) -> Collected:
        made = collected(0, [self._rewards[plan.key.domain_id]] * plan.num_samples)
        return replace(made, plan=plan, group=replace(made.group, key=plan.key))


def test_the_examination_is_the_same_held_out_tasks_in_every_run() -> None:
    keys = [exam_key(CARDS[0], place) for place in range(5)]
    assert keys == [exam_key(CARDS[0], place) for place in range(5)]
    assert [key.level for key in keys] == [0, 1, 0, 1, 0]
    assert {key.split for key in keys} == {"test"}
    assert len({key.seed for key in keys}) == 5


def test_rows_follow_the_tasks() -> None:
    proctor = Proctor({"a": 0.5, "b": 1.0})
    sampled = examine(CARDS, {"a": 3, "b": 2}, num_samples=4, temperature=1.0, collect=proctor)
    assert sampled.rewards == {"a": ((0.5,) * 4,) * 3, "b": ((1.0,) * 4,) * 2}
    assert sampled.passed["b"] == ((1,) * 4,) * 2
    greedy = examine(CARDS, {"a": 3, "b": 2}, num_samples=1, temperature=0.0, collect=proctor)
    assert greedy.rewards["a"] == ((0.5,),) * 3
    assert greedy.means() == {"a": 0.5, "b": 1.0}


def test_a_prompt_whose_samples_were_all_lost_has_an_empty_row() -> None:
    def lose(plans: Sequence[GroupPlan]) -> list[Collected]:
        made = [collected(0, []) for _ in plans]
        return [replace(c, plan=p, group=Group(p.uid, p.key, ())) for c, p in zip(made, plans, strict=True)]

    exam = examine(CARDS, {"a": 2, "b": 0}, num_samples=4, temperature=1.0, collect=lose)
    assert exam.rewards == {"a": ((), ()), "b": ()}
    assert exam.means() == {}


def test_a_domain_that_earns_nothing_in_the_probe_is_asked_no_more() -> None:
    proctor = Proctor({"a": 0.0, "b": 0.1})
    asked = probe(CARDS, num_prompts=128, num_samples=4, probe_prompts=16, collect=proctor)
    assert asked == {"a": 16, "b": 128}
    assert len(proctor.asked) == 32


def test_earning_no_more_than_the_floor_is_earning_nothing() -> None:
    card = replace(CARDS[0], floor=0.1)
    for reward, prompts in ((0.1, 16), (0.104, 16), (0.11, 128)):
        asked = probe((card,), num_prompts=128, num_samples=4, probe_prompts=16, collect=Proctor({"a": reward}))
        assert asked == {"a": prompts}


def test_a_probe_as_large_as_the_examination_is_none() -> None:
    proctor = Proctor({})
    assert probe(CARDS, num_prompts=8, num_samples=4, probe_prompts=16, collect=proctor) == {"a": 8, "b": 8}
    assert not proctor.asked


def means(**rewards: float) -> dict[str, tuple[float | None, ...]]:
    return {domain_id: (reward,) * 32 for domain_id, reward in rewards.items()}


def test_the_first_examination_is_the_best_so_far() -> None:
    finding = watch(GuardState(), means(a=0.5, b=0.3), step=0)
    assert (finding.state.step, finding.state.mean, finding.fallen) == (0, 0.4, {})


def test_a_better_examination_becomes_the_one_to_compare_with() -> None:
    first = watch(GuardState(), means(a=0.5, b=0.3), step=0).state
    second = watch(first, means(a=0.5, b=0.5), step=60).state
    assert second.step == 60
    assert watch(second, means(a=0.5, b=0.49), step=120).state.step == 60


def test_a_domain_that_falls_is_found_even_when_the_mean_rises() -> None:
    first = watch(GuardState(), means(a=0.5, b=0.3), step=0).state
    finding = watch(first, means(a=0.2, b=0.9), step=60)
    assert set(finding.fallen) == {"a"}
    assert round(finding.fallen["a"], 9) == 0.3
    assert (finding.state.step, finding.state.falls) == (0, 1)


def test_noise_of_one_prompt_is_no_fall() -> None:
    before = {"a": (0.5,) * 32}
    after = {"a": (0.4,) + (0.5,) * 31}
    assert watch(watch(GuardState(), before, step=0).state, after, step=60).fallen == {}


def test_falls_in_a_row_are_counted_and_forgiven_by_one_without() -> None:
    state = watch(GuardState(), means(a=0.5), step=0).state
    state = watch(state, means(a=0.1), step=60).state
    state = watch(state, means(a=0.1), step=120).state
    assert state.falls == 2
    assert watch(state, means(a=0.5), step=180).state.falls == 0


def test_prompt_means_take_the_first_prompts_and_keep_lost_ones_apart() -> None:
    assert prompt_means({"a": [(1.0, 0.0), (), (1.0,)]}, num_prompts=2) == {"a": (0.5, None)}
