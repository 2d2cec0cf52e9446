from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping

import msgspec
import numpy as np
import pytest

from polyathlon_trainer.scheduler import (
    Account,
    SchedulerState,
    fade,
    merge_accounts,
    plan_domains,
    settle,
)


def always(_: str) -> bool:
    return True


def run(
    weights: Mapping[str, float],
    gives_gradient: Callable[[str], bool],
    *,
    num_batches: int,
    num_groups: int = 64,
    state: SchedulerState | None = None,
) -> tuple[SchedulerState, Counter[str], Counter[str]]:
    state = state or SchedulerState()
    judged: Counter[str] = Counter()
    trained: Counter[str] = Counter()
    for _ in range(num_batches):
        state, domains = plan_domains(state, weights, num_groups=num_groups)
        for domain in domains:
            gradient = gives_gradient(domain)
            judged[domain] += 1
            trained[domain] += gradient
            state = settle(state, domain, trained=gradient)
    return state, judged, trained


def test_a_half_a_quarter_a_quarter() -> None:
    _, domains = plan_domains(SchedulerState(), {"a": 0.5, "b": 0.25, "c": 0.25}, num_groups=4)
    assert Counter(domains) == {"a": 2, "b": 1, "c": 1}


def test_the_same_state_plans_the_same_groups() -> None:
    weights = {"a": 0.3, "b": 0.7}
    assert plan_domains(SchedulerState(), weights, num_groups=9) == plan_domains(
        SchedulerState(), weights, num_groups=9
    )


def test_three_hundred_domains_each_get_their_share_to_the_group_seed_0() -> None:
    shares = np.random.default_rng(0).dirichlet(np.ones(300))
    weights = {f"d{place:03}": float(share) for place, share in enumerate(shares)}
    _, judged, _ = run(weights, always, num_batches=100, num_groups=128)
    worst = max(abs(judged[domain] - 12_800 * weight) for domain, weight in weights.items())
    assert worst < 1.5


def test_a_domain_smaller_than_a_group_a_batch_is_not_forgotten() -> None:
    _, judged, _ = run({"big": 0.999, "small": 0.001}, always, num_batches=100, num_groups=30)
    assert judged["small"] == 3


def test_shares_hold_on_trained_groups_when_yields_differ_seed_1() -> None:
    rng = np.random.default_rng(1)
    yields = {"a": 1.0, "b": 0.5, "c": 0.4}
    _, _, trained = run(dict.fromkeys(yields, 1 / 3), lambda name: bool(rng.random() < yields[name]), num_batches=100)
    total = sum(trained.values())
    assert {name: trained[name] / total for name in yields} == pytest.approx(dict.fromkeys(yields, 1 / 3), rel=0.03)


def test_a_domain_without_gradient_costs_no_other_its_share() -> None:
    weights = {"dead": 0.5, "a": 0.25, "b": 0.25}
    _, judged, trained = run(weights, lambda name: name != "dead", num_batches=50)
    assert judged["dead"] == pytest.approx(1_600, abs=10)
    assert trained["a"] == pytest.approx(800, abs=10)
    assert trained["b"] == pytest.approx(800, abs=10)


def test_below_the_least_yield_the_share_holds_on_judged_groups_seed_2() -> None:
    rng = np.random.default_rng(2)
    _, judged, trained = run(
        {"poor": 0.25, "rich": 0.75}, lambda name: name == "rich" or bool(rng.random() < 0.15), num_batches=100
    )
    assert judged["poor"] / 6_400 == pytest.approx(0.25, rel=0.02)
    assert trained["poor"] < 0.2 * judged["poor"]


def test_compensation_never_exceeds_the_inverse_of_the_least_yield() -> None:
    # 0.1 x 60 / 0.3 = 20 groups of a batch at most, however far the domain is behind
    state = SchedulerState({"late": Account(owed=500.0, judged=100.0, trained=31.0)})
    _, domains = plan_domains(state, {"late": 0.1, "other": 0.9}, num_groups=60)
    assert Counter(domains)["late"] == 20


def test_a_domain_that_falls_below_the_least_yield_gives_back_at_half_its_rate() -> None:
    # of 100 judged groups 25 gave a gradient, and 60 were its share: 40 too many, from when it was compensated
    fallen = Account(owed=60.0, judged=100.0, trained=25.0)
    state = SchedulerState({"fallen": fallen, "a": Account(owed=180.0, judged=140.0, trained=140.0)})
    counts = []
    for _ in range(10):
        state, domains = plan_domains(state, {"fallen": 0.25, "a": 0.75}, num_groups=16)
        counts.append(Counter(domains)["fallen"])
        for domain in domains:
            state = settle(state, domain, trained=domain == "a")
    assert counts == [2] * 10  # a quarter of 16 would be 4


def test_what_is_in_flight_counts() -> None:
    weights = {"a": 0.5, "b": 0.5}
    state, first = plan_domains(SchedulerState(), weights, num_groups=1)
    _, second = plan_domains(state, weights, num_groups=1)
    assert {*first, *second} == {"a", "b"}


def test_a_domain_whose_groups_are_lost_does_not_eat_the_run() -> None:
    _, judged, _ = run({"broken": 0.1, "a": 0.9}, lambda name: name == "a", num_batches=100, num_groups=50)
    assert judged["broken"] == pytest.approx(500, abs=10)


def test_declared_share_is_the_time_average_of_moving_weights() -> None:
    state, judged_first, _ = run({"a": 0.2, "b": 0.8}, always, num_batches=50, num_groups=10)
    _, judged_then, _ = run({"a": 0.6, "b": 0.4}, always, num_batches=50, num_groups=10, state=state)
    assert judged_first["a"] + judged_then["a"] == pytest.approx(400, abs=2)


def test_a_domain_that_wakes_up_catches_up_on_trained_groups() -> None:
    weights = {"late": 0.5, "a": 0.5}
    state, _, first = run(weights, lambda name: name == "a", num_batches=20, num_groups=20)
    _, _, then = run(weights, always, num_batches=200, num_groups=20, state=state)
    trained = first + then
    assert trained["late"] / sum(trained.values()) == pytest.approx(0.5, rel=0.05)


def test_a_domain_of_weight_zero_gets_nothing() -> None:
    _, judged, _ = run({"off": 0.0, "on": 1.0}, always, num_batches=3, num_groups=10)
    assert judged == {"on": 30}


def test_accounts_fade_to_their_memory_and_keep_their_ratios() -> None:
    state = fade(SchedulerState({"a": Account(owed=6_000.0, judged=6_000.0, trained=3_000.0)}))
    assert state.of("a") == Account(owed=2_000.0, judged=2_000.0, trained=1_000.0)


def test_a_newcomer_is_owed_nothing_of_the_past() -> None:
    old, _, _ = run({"a": 1.0}, always, num_batches=10, num_groups=10)
    state = merge_accounts(old, ["a", "new"])
    _, judged, _ = run({"a": 0.5, "new": 0.5}, always, num_batches=20, num_groups=20, state=state)
    assert judged["new"] == pytest.approx(200, abs=2)


def test_state_survives_json() -> None:
    state, _, _ = run({"a": 0.3, "b": 0.7}, always, num_batches=3, num_groups=7)
    assert msgspec.json.decode(msgspec.json.encode(state), type=SchedulerState) == state
