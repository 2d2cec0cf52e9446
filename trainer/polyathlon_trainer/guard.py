"""The regression guard: a domain that falls below its best gets a higher floor; repeated falls end the run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from polyathlon_trainer.observe.statistics import benjamini_hochberg, paired_gain
from polyathlon_trainer.state import GuardState

FALSE_DISCOVERY = 0.05

PromptMeans = Mapping[str, tuple[float | None, ...]]


@dataclass(frozen=True, slots=True)
class Finding:
    """The guard's state after an examination, and the domains that fell, each with the size of its fall."""

    state: GuardState
    fallen: Mapping[str, float]


def prompt_means(rewards: Mapping[str, Sequence[Sequence[float]]], *, num_prompts: int) -> PromptMeans:
    """Return the mean reward of each domain's first `num_prompts` prompts; None for one whose samples were all lost."""
    return {
        domain_id: tuple(sum(row) / len(row) if row else None for row in rows[:num_prompts])
        for domain_id, rows in rewards.items()
    }


def watch(state: GuardState, means: PromptMeans, *, step: int) -> Finding:
    """Compare an examination with the best one so far, prompt by prompt; false discovery is held at 5% over domains.

    An examination with the highest mean over domains, in which nothing fell, becomes the best. Falls in a row are
    counted; one examination without a fall starts the count again.
    """
    ids = sorted(set(state.rewards) & set(means))
    gains = {domain_id: paired_gain(_rows(state.rewards[domain_id]), _rows(means[domain_id])) for domain_id in ids}
    adjusted = benjamini_hochberg([gains[domain_id].p_value for domain_id in ids])
    fallen = {
        domain_id: -gain.mean
        for domain_id, q_value in zip(ids, adjusted, strict=True)
        if (gain := gains[domain_id]).mean is not None and gain.mean < 0 and q_value <= FALSE_DISCOVERY
    }
    mean = _overall(means)
    if fallen:
        return Finding(GuardState(state.step, state.mean, state.rewards, state.falls + 1), fallen)
    if mean > state.mean:
        return Finding(GuardState(step, mean, means), fallen)
    return Finding(GuardState(state.step, state.mean, state.rewards), fallen)


def _rows(means: Sequence[float | None]) -> list[tuple[float, ...]]:
    return [() if mean is None else (mean,) for mean in means]


def _overall(means: PromptMeans) -> float:
    """Return the mean over domains of the mean over prompts; 0 when there is nothing."""
    found = [[mean for mean in row if mean is not None] for row in means.values()]
    per_domain = [sum(row) / len(row) for row in found if row]
    return sum(per_domain) / len(per_domain) if per_domain else 0.0
