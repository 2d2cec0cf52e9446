"""The held-out examination: the same tasks every time, levels in equal parts, seeds fixed by domain and place."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from polyathlon.drawing import TaskKey
from polyathlon.seeding import child_seed
from polyathlon_trainer.mixture import DomainCard
from polyathlon_trainer.plans import Collected, GroupPlan

Rows = tuple[tuple[float, ...], ...]
Collect = Callable[[Sequence[GroupPlan]], Sequence[Collected]]
"""Collects groups with the engine under examination; returns them in the order of the plans."""

PROBE_SLACK = 0.005
"""How far above its floor a domain must earn in the probe to be asked all prompts."""


@dataclass(frozen=True, slots=True)
class Exam:
    """Results by domain: one row a prompt, one entry a sample; a prompt whose samples were all lost has no entry."""

    rewards: Mapping[str, Rows]
    passed: Mapping[str, tuple[tuple[int, ...], ...]]
    groups: tuple[Collected, ...] = ()

    def means(self) -> dict[str, float]:
        """Return {domain id: mean reward over prompts}, of the domains that have any."""
        rows = {domain_id: [row for row in rows if row] for domain_id, rows in self.rewards.items()}
        return {
            domain_id: sum(sum(row) / len(row) for row in found) / len(found)
            for domain_id, found in rows.items()
            if found
        }


def exam_key(card: DomainCard, place: int) -> TaskKey:
    """Return the held-out task at `place` of the domain's examination: the same in every run."""
    return TaskKey(card.id, place % card.levels, child_seed("examination", card.id, place), "test")


def examine(
    cards: Sequence[DomainCard],
    num_prompts: Mapping[str, int],
    *,
    num_samples: int,
    temperature: float,
    collect: Collect,
) -> Exam:
    """Ask each domain its first `num_prompts` held-out tasks, `num_samples` times each."""
    return _ask(
        {card.id: [exam_key(card, place) for place in range(num_prompts[card.id])] for card in cards},
        num_samples=num_samples,
        temperature=temperature,
        collect=collect,
    )


def probe(
    cards: Sequence[DomainCard], *, num_prompts: int, num_samples: int, probe_prompts: int, collect: Collect
) -> dict[str, int]:
    """Return how many prompts each domain shall be asked in this run: all, or only those of the probe.

    A domain is asked no more when the probe's samples at temperature 1 earn on average no more than its floor and
    0.005: what the policy cannot touch would take most of an examination's time to show nothing.
    """
    if probe_prompts >= num_prompts:
        return {card.id: num_prompts for card in cards}
    asked = {card.id: probe_prompts for card in cards}
    exam = examine(cards, asked, num_samples=num_samples, temperature=1.0, collect=collect)
    return {
        card.id: num_prompts if _mean(exam.rewards[card.id]) > card.floor + PROBE_SLACK else probe_prompts
        for card in cards
    }


def _mean(rows: Sequence[Sequence[float]]) -> float:
    """Return the mean of all samples; 0 when all were lost."""
    samples = [reward for row in rows for reward in row]
    return sum(samples) / len(samples) if samples else 0.0


def _ask(keys: Mapping[str, Sequence[TaskKey]], *, num_samples: int, temperature: float, collect: Collect) -> Exam:
    rounds = max((len(tasks) for tasks in keys.values()), default=0)
    asked = [tasks[place] for place in range(rounds) for tasks in keys.values() if place < len(tasks)]
    plans = [
        GroupPlan(
            number=number,
            uid=f"exam-{number:07d}",
            key=key,
            num_samples=num_samples,
            temperature=temperature,
            seed=child_seed("examination sample", key.domain_id, key.seed),
        )
        for number, key in enumerate(asked)
    ]
    found = tuple(collect(plans))
    by_key = {collected.plan.key: collected for collected in found}
    rows = {domain_id: [by_key[key].group for key in tasks] for domain_id, tasks in keys.items()}
    return Exam(
        rewards={domain_id: tuple(group.rewards for group in groups) for domain_id, groups in rows.items()},
        passed={
            domain_id: tuple(tuple(int(episode.passed) for episode in group.episodes) for group in groups)
            for domain_id, groups in rows.items()
        },
        groups=found,
    )
