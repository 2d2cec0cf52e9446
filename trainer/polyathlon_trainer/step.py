"""One RL step: what a batch of judged groups means for the books, and what the learner gets to see of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from polyathlon.seeding import child
from polyathlon_trainer.curriculum.across import observe_group, reweigh
from polyathlon_trainer.episode import Group
from polyathlon_trainer.learning.batch import RlBatch, TrainGroup
from polyathlon_trainer.ledger import Outcome
from polyathlon_trainer.observe.records import DomainStep
from polyathlon_trainer.plans import Collected
from polyathlon_trainer.rewards.advantage import Scheme, advantages, batch_rms, is_flat
from polyathlon_trainer.rewards.scale import fold_group
from polyathlon_trainer.scheduler import fade, settle
from polyathlon_trainer.state import RlState

MIN_EPISODES = 2
_LETTERS = {"trained": "t", "flat": "f", "lost": "l"}


@dataclass(frozen=True, slots=True)
class RewardRules:
    """How rewards become advantages. `shuffle_seed` other than None permutes them within each group: the control."""

    scheme: Scheme
    temperature: float
    shuffle_seed: int | None = None


@dataclass(frozen=True, slots=True)
class Accounted:
    """The state after a batch, what to learn from it, and what became of each group, in order."""

    state: RlState
    batch: RlBatch
    outcomes: tuple[Outcome, ...]


def account(
    state: RlState, collected: Sequence[Collected], declared: Mapping[str, float], rules: RewardRules
) -> Accounted:
    """Settle the oldest pending batch, whose groups are `collected` in their planned order.

    Every group is scaled by statistics from before it. A group with fewer than two episodes is lost, one whose rewards
    are all the same is flat: neither reaches the learner. A domain counts in the loss by its trained groups, which is
    what shares hold on, and within a domain every token counts the same.
    """
    before = state
    whole_rms = batch_rms(
        [c.group.rewards for c in collected if len(c.group.episodes) >= MIN_EPISODES and not is_flat(c.group.rewards)]
    )
    outcomes: list[Outcome] = []
    learned: list[TrainGroup] = []
    for item in collected:
        state, outcome = _account_group(state, item.group, rules, whole_rms)
        outcomes.append(outcome)
        if outcome.fate == "trained":
            learned.append(TrainGroup(item.group, outcome.advantages))
    state = replace(
        state,
        curriculum=reweigh(state.curriculum, declared),
        scheduler=fade(state.scheduler),
        pending=before.pending[1:],
        fates=before.fates + "".join(_LETTERS[outcome.fate] for outcome in outcomes),
        empty_batches=0 if any(outcome.fate != "lost" for outcome in outcomes) else before.empty_batches + 1,
    )
    counts = Counter(member.group.key.domain_id for member in learned)
    weights = {domain_id: float(count) for domain_id, count in counts.items()}
    return Accounted(state, RlBatch(tuple(learned), weights, rules.temperature), tuple(outcomes))


def domain_rows(state: RlState, collected: Sequence[Collected], outcomes: Sequence[Outcome]) -> dict[str, DomainStep]:
    """Return one row a domain of the mixture, for the metrics; `state` is the one that planned the batch."""
    return {
        domain_id: _domain_row(
            state,
            domain_id,
            [(c, o) for c, o in zip(collected, outcomes, strict=True) if c.group.key.domain_id == domain_id],
        )
        for domain_id in state.curriculum.weights
    }


def _account_group(state: RlState, group: Group, rules: RewardRules, whole_rms: float) -> tuple[RlState, Outcome]:
    domain_id = group.key.domain_id
    if domain_id not in state.curriculum.progress or len(group.episodes) < MIN_EPISODES:
        return replace(state, scheduler=settle(state.scheduler, domain_id, trained=False)), Outcome(group.uid, "lost")
    curriculum = observe_group(state.curriculum, domain_id, level=group.key.level, rewards=group.rewards)
    trained = not is_flat(group.rewards)
    state = replace(state, curriculum=curriculum, scheduler=settle(state.scheduler, domain_id, trained=trained))
    if not trained:
        return state, Outcome(group.uid, "flat", group.rewards)
    rewards = _shuffled(group, rules.shuffle_seed)
    rms = state.scales.of(domain_id).rms
    found = advantages(rewards, scheme=rules.scheme, domain_rms=rms, batch_rms=whole_rms)
    state = replace(state, scales=fold_group(state.scales, domain_id, group.rewards))
    return state, Outcome(group.uid, "trained", rewards, found)


def _shuffled(group: Group, seed: int | None) -> tuple[float, ...]:
    if seed is None:
        return group.rewards
    order = child(seed, "shuffle", group.uid).permutation(len(group.rewards))
    return tuple(group.rewards[int(place)] for place in order)


def _domain_row(state: RlState, domain_id: str, items: Sequence[tuple[Collected, Outcome]]) -> DomainStep:
    judged = [collected for collected, outcome in items if outcome.fate != "lost"]
    rewards = [reward for collected in judged for reward in collected.group.rewards]
    levels = [collected.group.key.level for collected in judged]
    failures = Counter(failure.kind for collected, _ in items for failure in collected.group.failures)
    progress = state.curriculum.progress[domain_id]
    return DomainStep(
        declared_share=state.curriculum.weights[domain_id],
        judged=len(judged),
        trained=sum(outcome.fate == "trained" for _, outcome in items),
        tokens=sum(episode.num_tokens for collected in judged for episode in collected.group.episodes),
        engine_s=sum(collected.engine_s for collected, _ in items),
        judge_s=sum(collected.judge_s for collected, _ in items),
        mean_reward=sum(rewards) / len(rewards) if rewards else None,
        scale=state.scales.of(domain_id).rms,
        mean_level=sum(levels) / len(levels) if levels else None,
        learnability=progress.learnability,
        failures=dict(sorted(failures.items())),
    )
