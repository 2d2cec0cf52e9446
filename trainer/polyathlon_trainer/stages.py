"""The stages of a run, in order, and how long each lasts. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

import msgspec

from polyathlon_trainer.config.schema import DEFAULT_RL_MINUTES, DEFAULT_SFT_MINUTES, RlConfig, RunConfig, SftConfig

Timed = TypeVar("Timed", SftConfig, RlConfig)

END = "end"
TRAINING = ("sft", "rl", "sft-continued", "rl-shuffled")
USUAL_MINUTES = 9.6
"""What a run with default stages and examinations takes in all; a budget is measured against it."""
DEFAULT_BUDGET_MINUTES = 9.7
EXAM_RESERVE = 1.15
"""How much longer than the first examination the last one may take."""
MIN_RL_S = 20.0
MIN_PROMPTS = 16


@dataclass(frozen=True, slots=True)
class Length:
    """How long a stage lasts: so many `steps`, or so many `seconds`. Exactly one is given."""

    steps: int | None = None
    seconds: float | None = None

    def progress(self, *, step: int, elapsed_s: float) -> float:
        """Return how much of the stage is over, in [0, 1]."""
        if self.steps is not None:
            return min(1.0, step / self.steps) if self.steps else 1.0
        assert self.seconds is not None
        return min(1.0, elapsed_s / self.seconds)

    def is_over(self, *, step: int, elapsed_s: float) -> bool:
        """Say whether the stage has ended."""
        return self.progress(step=step, elapsed_s=elapsed_s) >= 1.0


def stage_order(config: RunConfig) -> tuple[str, ...]:
    """Return the stages of a run, each training stage followed by its examination, and "end"."""
    training = TRAINING if config.controls else TRAINING[:2]
    return (*(name for stage in training for name in (stage, exam_of(stage))), END)


def exam_of(stage: str) -> str:
    """Return the name of the examination after a training stage."""
    return f"{stage}-exam"


def next_stage(config: RunConfig, stage: str) -> str:
    """Return the stage after `stage`."""
    order = stage_order(config)
    return order[order.index(stage) + 1]


def length_of(
    config: RunConfig, stage: str, *, steps_done: Mapping[str, int], seconds_done: Mapping[str, float]
) -> Length:
    """Return the length of a training stage. The controls get what RL took: its steps, or its seconds for imitation.

    When RL was counted in steps, SFT is continued for as many seconds as these took, unless the run is ordered: then
    for as many steps as SFT had.
    """
    if stage == "sft":
        return _length(config.sft, DEFAULT_SFT_MINUTES)
    if stage == "rl":
        return _length(config.rl, DEFAULT_RL_MINUTES)
    if stage == "rl-shuffled":
        return Length(steps=steps_done.get("rl", 0))
    if config.rl.ordered:
        return Length(steps=steps_done.get("sft", 0))
    return Length(seconds=seconds_done.get("rl", 0.0))


def rest_of_budget(
    config: RunConfig, planned: Length, *, elapsed_s: float, seconds_done: Mapping[str, float]
) -> Length:
    """Return the length of RL, cut so that the last examination still fits in the budget.

    `elapsed_s` is what the run took before this stage. Counted steps are left alone.
    """
    if planned.seconds is None or config.budget_minutes is None:
        return planned
    rest_s = 60.0 * config.budget_minutes - elapsed_s - EXAM_RESERVE * seconds_done.get(exam_of("sft"), 0.0)
    return Length(seconds=min(planned.seconds, max(MIN_RL_S, rest_s)))


def within_budget(config: RunConfig) -> RunConfig:
    """Return `config` with its timed stages and its examinations shortened to `budget_minutes`, if there is one.

    A run whose stages are all left at their defaults gets a budget too.
    """
    if config.budget_minutes is None:
        lengths = (config.sft.minutes, config.sft.steps, config.rl.minutes, config.rl.steps)
        if any(length is not None for length in lengths):
            return config
        config = msgspec.structs.replace(config, budget_minutes=DEFAULT_BUDGET_MINUTES)
    assert config.budget_minutes is not None
    scale = min(1.0, config.budget_minutes / USUAL_MINUTES)
    prompts = max(min(MIN_PROMPTS, config.eval.prompts), round(config.eval.prompts * scale))
    examination = msgspec.structs.replace(
        config.eval, prompts=prompts, guard_prompts=min(config.eval.guard_prompts, prompts)
    )
    return msgspec.structs.replace(
        config,
        sft=_shortened(config.sft, DEFAULT_SFT_MINUTES, scale),
        rl=_shortened(config.rl, DEFAULT_RL_MINUTES, scale),
        eval=examination,
    )


def _length(stage: SftConfig | RlConfig, default_minutes: float) -> Length:
    if stage.steps is not None:
        return Length(steps=stage.steps)
    return Length(seconds=60.0 * (stage.minutes or default_minutes))


def _shortened(stage: Timed, default_minutes: float, scale: float) -> Timed:
    if stage.steps is not None:
        return stage
    return msgspec.structs.replace(stage, minutes=(stage.minutes or default_minutes) * scale)
