"""Which domain the next group comes from: shares are kept as debts, in groups, and never drawn by dice.

A domain whose groups give a gradient often enough (a yield of 0.3 or more) is *compensated*: its share holds on trained
groups, against the other compensated domains. Below that its share holds on judged groups: compensating it further
would let a domain that the policy cannot touch eat the run. One that has just fallen below has more judged groups than
its share, from the time when it was compensated; it gives them back at half its rate, and is never left without groups.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

LEAST_YIELD = 0.3
PRIOR_YIELD = 0.5
PRIOR_GROUPS = 6.0
MOST_WAITED = 2.0
"""A domain that is not compensated gets a group at the latest when its weight has promised it so many."""
MEMORY_GROUPS_PER_DOMAIN = 2_000.0
"""Accounts fade with this much memory, so that a domain's distant past does not decide its class."""


@dataclass(frozen=True, slots=True)
class Account:
    """One domain's account, in groups, all fading together.

    `owed` is what its weight has promised of all planned groups, `judged` and `trained` what came of it, `in_flight`
    what is planned and not settled yet. A lost group counts as judged: it used its
    place. `waited` is what has been promised since its last group was planned.
    """

    owed: float = 0.0
    judged: float = 0.0
    trained: float = 0.0
    in_flight: int = 0
    waited: float = 0.0

    @property
    def gradient_yield(self) -> float:
        """The share of judged groups that gave a gradient, shrunk toward one half by six groups."""
        return (self.trained + PRIOR_YIELD * PRIOR_GROUPS) / (self.judged + PRIOR_GROUPS)


@dataclass(frozen=True, slots=True)
class SchedulerState:
    """The accounts of all domains by id, those that left the mixture included."""

    accounts: Mapping[str, Account] = field(default_factory=dict)

    def of(self, domain_id: str) -> Account:
        """Return the account of `domain_id`, an empty one when it is new."""
        return self.accounts.get(domain_id, Account())


def plan_domains(
    state: SchedulerState, weights: Mapping[str, float], *, num_groups: int
) -> tuple[SchedulerState, tuple[str, ...]]:
    """Return the domains of the next `num_groups` groups, in order, and the state that counts them as in flight.

    `weights` sum to one. What is in flight counts by its expected yield. One domain gets at most
    ceil(weight x num_groups / 0.3) of these groups while others want them, so that a late starter cannot crowd a batch.
    """
    desk = _Desk.of(state, weights, num_groups=num_groups)
    chosen = [desk.take() for _ in range(num_groups)]
    return desk.state(state), tuple(desk.ids[place] for place in chosen)


def plan_promised(state: SchedulerState, weights: Mapping[str, float], domain_ids: Sequence[str]) -> SchedulerState:
    """Return the state that counts groups of `domain_ids` as in flight, as if `plan_domains` had chosen them."""
    desk = _Desk.of(state, weights, num_groups=len(domain_ids))
    for domain_id in domain_ids:
        desk.promise()
        desk.give(desk.ids.index(domain_id))
    return desk.state(state)


def settle(state: SchedulerState, domain_id: str, *, trained: bool) -> SchedulerState:
    """Return `state` after one planned group of `domain_id` was judged (or lost), and `trained` on or not."""
    old = state.of(domain_id)
    new = replace(
        old, judged=old.judged + 1.0, trained=old.trained + float(trained), in_flight=max(0, old.in_flight - 1)
    )
    return replace(state, accounts={**state.accounts, domain_id: new})


def fade(state: SchedulerState) -> SchedulerState:
    """Return `state` with its accounts shrunk to the memory that they are allowed; call it once a batch."""
    total = sum(account.judged for account in state.accounts.values())
    limit = MEMORY_GROUPS_PER_DOMAIN * max(1, len(state.accounts))
    if total <= limit:
        return state
    keep = limit / total
    accounts = {
        domain_id: replace(a, owed=a.owed * keep, judged=a.judged * keep, trained=a.trained * keep)
        for domain_id, a in state.accounts.items()
    }
    return replace(state, accounts=accounts)


def merge_accounts(state: SchedulerState, domain_ids: Sequence[str]) -> SchedulerState:
    """Return `state` for a mixture that changed: a newcomer is owed nothing of what was planned before it came.

    Nobody else is either: past debts among domains that stay are kept.
    """
    accounts = {**state.accounts, **{name: Account() for name in domain_ids if name not in state.accounts}}
    return replace(state, accounts=accounts)


@dataclass(slots=True)
class _Desk:
    """The accounts as arrays while one batch is planned. Every array is (D,), in the order of `ids`."""

    ids: tuple[str, ...]
    weights: NDArray[np.float64]
    owed: NDArray[np.float64]
    judged: NDArray[np.float64]
    trained: NDArray[np.float64]
    in_flight: NDArray[np.float64]
    waited: NDArray[np.float64]
    gradient_yield: NDArray[np.float64]
    room: NDArray[np.float64]

    @classmethod
    def of(cls, state: SchedulerState, weights: Mapping[str, float], *, num_groups: int) -> _Desk:
        ids = tuple(sorted(weights))
        accounts = [state.of(domain_id) for domain_id in ids]
        share = np.array([weights[domain_id] for domain_id in ids])
        return cls(
            ids=ids,
            weights=share,
            owed=np.array([account.owed for account in accounts]),
            judged=np.array([account.judged for account in accounts]),
            trained=np.array([account.trained for account in accounts]),
            in_flight=np.array([float(account.in_flight) for account in accounts]),
            waited=np.array([account.waited for account in accounts]),
            gradient_yield=np.array([account.gradient_yield for account in accounts]),
            room=np.array([float(math.ceil(weight * num_groups / LEAST_YIELD)) for weight in share]),
        )

    def take(self) -> int:
        """Return the place of the domain that is furthest behind, and count one group of it as in flight."""
        self.promise()
        place = self._furthest_behind()
        self.give(place)
        return place

    def promise(self) -> None:
        """Owe every domain its part of one more group."""
        self.owed += self.weights
        self.waited += self.weights

    def give(self, place: int) -> None:
        """Count one group of the domain at `place` as in flight."""
        self.in_flight[place] += 1.0
        self.waited[place] = 0.0
        self.room[place] -= 1.0

    def _furthest_behind(self) -> int:
        compensated = self.gradient_yield >= LEAST_YIELD
        open_room = (self.room > 0) & (self.weights > 0)
        judged_lag = self.owed - self.judged - self.in_flight
        due = ~compensated & ((judged_lag >= 0.5) | (self.waited >= MOST_WAITED))
        if due.any():
            return int(np.argmax(np.where(due, judged_lag, -np.inf)))
        candidates = compensated & open_room
        if candidates.any():
            return int(np.argmax(np.where(candidates, self._trained_lag(compensated), -np.inf)))
        return int(np.argmax(np.where(self.weights > 0, judged_lag, -np.inf)))

    def _trained_lag(self, compensated: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return how far each compensated domain is behind its share of trained groups, in judged groups. (D,)"""
        expected = self.trained + self.gradient_yield * self.in_flight
        share = self.owed / self.owed[compensated].sum()
        target = share * (expected[compensated].sum() + 1.0)
        lag: NDArray[np.float64] = (target - expected) / np.maximum(self.gradient_yield, LEAST_YIELD)
        return lag

    def state(self, old: SchedulerState) -> SchedulerState:
        accounts = {
            domain_id: Account(
                owed=float(self.owed[place]),
                judged=float(self.judged[place]),
                trained=float(self.trained[place]),
                in_flight=int(self.in_flight[place]),
                waited=float(self.waited[place]),
            )
            for place, domain_id in enumerate(self.ids)
        }
        return replace(old, accounts={**old.accounts, **accounts})
