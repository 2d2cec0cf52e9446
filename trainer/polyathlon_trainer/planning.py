"""Which groups come next: domains by debt, levels by doubt, seeds by number. Pure, but for the ledger's promises."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from polyathlon.drawing import TaskKey
from polyathlon.seeding import child, child_seed
from polyathlon_trainer.curriculum.within import draw_level
from polyathlon_trainer.plans import GroupPlan
from polyathlon_trainer.scheduler import plan_domains, plan_promised
from polyathlon_trainer.state import RlState


@dataclass(frozen=True, slots=True)
class PlanRules:
    """What every plan of a stage shares. `seed` is the run's; `stage` keeps the stages' tasks apart."""

    seed: int
    stage: str
    groups_per_step: int
    group_size: int
    temperature: float


def plan_batch(
    state: RlState, rules: PlanRules, promised: Sequence[TaskKey] | None = None
) -> tuple[RlState, tuple[GroupPlan, ...]]:
    """Return the next batch, and the state that counts it as pending.

    A batch that the ledger has `promised` before is planned just so, unless one of its domains has left the mixture.
    """
    weights = state.curriculum.weights
    if promised is not None and all(key.domain_id in weights for key in promised):
        scheduler = plan_promised(state.scheduler, weights, [key.domain_id for key in promised])
        keys = tuple(promised)
    else:
        scheduler, domains = plan_domains(state.scheduler, weights, num_groups=rules.groups_per_step)
        keys = tuple(
            _task(state, rules, domain_id, state.groups_planned + place) for place, domain_id in enumerate(domains)
        )
    plans = tuple(_plan(rules, key, state.groups_planned + place) for place, key in enumerate(keys))
    return (
        replace(
            state,
            scheduler=scheduler,
            batches_planned=state.batches_planned + 1,
            groups_planned=state.groups_planned + len(plans),
            pending=(*state.pending, plans),
        ),
        plans,
    )


def _task(state: RlState, rules: PlanRules, domain_id: str, number: int) -> TaskKey:
    level = draw_level(state.curriculum.progress[domain_id].levels, child(rules.seed, rules.stage, "level", number))
    return TaskKey(domain_id, level, child_seed(rules.seed, rules.stage, "task", number))


def _plan(rules: PlanRules, key: TaskKey, number: int) -> GroupPlan:
    return GroupPlan(
        number=number,
        uid=f"{rules.stage}-{number:07d}",
        key=key,
        num_samples=rules.group_size,
        temperature=rules.temperature,
        seed=child_seed(rules.seed, rules.stage, "sample", number),
    )
