"""The rows that a run writes to metrics.jsonl, one JSON object a line, each with its `kind`.

`time_s` is seconds of running since the run began, carried on over a resume. A number that is not finite is kept as it
is (written as the string "nan" or "inf"): a run that broke should show where.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Stage = Literal["sft", "rl", "sft-continued", "rl-shuffled"]


@dataclass(frozen=True, slots=True)
class RunRecord:
    """What the run set out to do; its first row. `planned_steps` is by stage; `domains` in the order to show them."""

    model: str
    seed: int
    domains: tuple[str, ...]
    planned_steps: Mapping[str, int] = field(default_factory=dict)
    device: str = "cpu"
    time_s: float = 0.0
    kind: Literal["run"] = "run"


@dataclass(frozen=True, slots=True)
class DomainStep:
    """One domain in one training step. Counts are of this step; nothing is cumulative.

    `declared_share` is the curriculum's share of the domain in this step. `judged` groups were sampled and judged,
    `trained` ones gave a gradient. `engine_s` and `judge_s` are seconds of generation and of stepping environments.
    `failures` counts lost episodes by kind.
    """

    declared_share: float
    judged: int
    trained: int
    tokens: int
    engine_s: float
    judge_s: float
    mean_reward: float | None
    scale: float
    mean_level: float | None
    learnability: float
    failures: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StepRecord:
    """One optimiser step of a stage. `loss` and `grad_norm` are None when the step had nothing to learn from.

    `wait_s` is how long the learner waited for groups, `learn_s` how long it learned. `age_max` is in weight versions.
    `truncated_share` is the share of tokens whose importance weight was cut, `masked_share` of sequences left out as
    too far off policy. `mismatch` is the mean |log p_learner - log p_engine| of sampled tokens.
    """

    stage: Stage
    step: int
    time_s: float
    loss: float | None
    grad_norm: float | None
    learn_s: float
    wait_s: float
    learning_rate: float
    version: int = 0
    age_mean: float = 0.0
    age_max: int = 0
    truncated_share: float = 0.0
    masked_share: float = 0.0
    mismatch: float = 0.0
    kl: float = 0.0
    entropy: float = 0.0
    domains: Mapping[str, DomainStep] = field(default_factory=dict)
    kind: Literal["step"] = "step"


@dataclass(frozen=True, slots=True)
class EvalRecord:
    """Held-out results of one policy at one temperature, domain by domain.

    `rewards[domain_id]` has one row a prompt and in it one reward a sample; rows follow the same tasks in every record
    of a run, so that two records can be compared prompt by prompt: a smaller record holds the first of them, and a
    prompt whose samples were all lost has an empty row. `passed` has the same form, 1 or 0. `temperature` 0 is greedy.

    `stage` and `step` say which weights were asked: ("sft", last step) is the policy before RL, ("rl", n) after n
    updates of RL, ("sft-continued", n) and ("rl-shuffled", n) the controls.
    """

    stage: str
    step: int
    time_s: float
    temperature: float
    rewards: Mapping[str, tuple[tuple[float, ...], ...]]
    passed: Mapping[str, tuple[tuple[int, ...], ...]]
    kind: Literal["eval"] = "eval"


@dataclass(frozen=True, slots=True)
class NoteRecord:
    """Something a reader of the run should know: a regression, a resume, a domain left out, and why."""

    text: str
    time_s: float
    step: int = 0
    domain_id: str | None = None
    kind: Literal["note"] = "note"


@dataclass(frozen=True, slots=True)
class EndRecord:
    """The last row of a run that ended by itself: finished as planned, or stopped with a reason (a regression)."""

    outcome: Literal["finished", "stopped"]
    time_s: float
    reason: str = ""
    kind: Literal["end"] = "end"


Record: TypeAlias = RunRecord | StepRecord | EvalRecord | NoteRecord | EndRecord
