"""Values to test the trainer's books with."""

from __future__ import annotations

from collections.abc import Sequence

from polyathlon.drawing import TaskKey
from polyathlon_trainer.episode import Episode, Failure, Group, Turn
from polyathlon_trainer.mixture import DomainCard
from polyathlon_trainer.plans import Collected, GroupPlan

CARDS = (DomainCard("a", levels=2, max_turns=1), DomainCard("b", levels=1, max_turns=1, weight=3.0))


def plan(number: int, domain_id: str = "a", *, level: int = 0) -> GroupPlan:
    return GroupPlan(number, f"rl-{number:07d}", TaskKey(domain_id, level, number), 4, 1.0, number)


def collected(
    number: int, rewards: Sequence[float], domain_id: str = "a", *, level: int = 0, num_lost: int = 0, version: int = 1
) -> Collected:
    item = plan(number, domain_id, level=level)
    episodes = tuple(
        Episode(item.key, (1, 2), (Turn((place,), (-0.5,), (version,)),), reward, reward == 1.0)
        for place, reward in enumerate(rewards)
    )
    lost = tuple(Failure(item.key, "sandbox", "gone") for _ in range(num_lost))
    return Collected(item, Group(item.uid, item.key, episodes, lost), engine_s=0.5, judge_s=0.25)
