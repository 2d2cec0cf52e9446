"""Every setting of a run, with its unit, its range and a default that works on a CPU. No run needs any of them set."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from polyathlon_trainer.rewards.advantage import Scheme

Count = Annotated[int, Meta(ge=1)]
Whole = Annotated[int, Meta(ge=0)]
Positive = Annotated[float, Meta(gt=0)]
NotNegative = Annotated[float, Meta(ge=0)]
Part = Annotated[float, Meta(ge=0, le=1)]

DEFAULT_SFT_MINUTES = 4.2
DEFAULT_RL_MINUTES = 4.7
TINY_LEVELS = 1
TINY_SHORT_FIRST = 0.25


class DomainChoice(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which domains, and how much of each. Patterns are ids with `*`; the namespace may be left out for built-ins.

    A pattern takes what is certified silver or gold, up to the first level that is not; a domain whose id is written
    out, in `include` or with a weight, takes part whatever its grade.

    `weights` override the registry's, by pattern; the last that fits counts, and 0 leaves a domain out. `levels` is how
    many levels each domain takes part with, from the easiest: by default all, and one for the model `tiny`, which
    learns no more than that in ten minutes.
    """

    include: tuple[str, ...] = ("*",)
    exclude: tuple[str, ...] = ()
    weights: dict[str, NotNegative] = {}
    levels: Count | None = None


class SftConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Imitation of the domains' own reference episodes. Give `minutes` or `steps`, not both; steps 0 skips it.

    `sandbox_tasks` is how many different tasks are played for a domain whose references need a sandbox: they are
    repeated after that, because playing them is dear. `learning_rate` null is the model's own (AdamW's). For the part
    `short_first` of the stage only the domains of one turn with the shortest references are imitated, a third of all:
    a model that begins with little learns the forms of answers there, in half the time. By default 0, and 0.25
    for the model `tiny`.
    """

    minutes: Positive | None = None
    steps: Whole | None = None
    learning_rate: Positive | None = None
    examples_per_step: Count = 12
    sandbox_tasks: Count = 48
    short_first: Part | None = None


class RlConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Reinforcement learning. Give `minutes` or `steps`, not both; steps 0 skips it.

    `max_staleness` is how many weight versions an episode may be old when it is learned from; 0 collects and learns by
    turns. `ordered` makes a run repeat exactly, given an engine that does: it wants steps, and staleness 0. `kl` weighs
    the pull to the policy after SFT. `scale` names how advantages are scaled. `max_turns` caps the registry's.
    `max_context_tokens` is where an episode of many turns is cut and judged as it stands. `learning_rate` and
    `completions_kept` (how many different completions of a group are learned from) are by default the model's own.
    """

    minutes: Positive | None = None
    steps: Whole | None = None
    learning_rate: Positive | None = None
    group_size: Annotated[int, Meta(ge=2)] = 8
    groups_per_step: Count = 63
    temperature: Positive = 1.0
    max_new_tokens: Count = 80
    max_prompt_tokens: Annotated[int, Meta(ge=8)] = 192
    max_context_tokens: Annotated[int, Meta(ge=16)] = 320
    max_turns: Count = 3
    max_staleness: Whole = 0
    ordered: bool = False
    kl: NotNegative = 0.0
    scale: Scheme = "domain"
    completions_kept: Count | None = None


class EvalConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The held-out examination: the same tasks every time, seeds fixed.

    `samples` a prompt are drawn at temperature 1, `other_samples` of the first `other_prompts` at any other.

    A domain that earns no more than its floor on its first `probe_prompts` is asked no more of them in this run.
    During RL the first `guard_prompts` are asked every `guard_every_steps` steps (0: never) to notice a domain that
    falls; after `guard_patience` such examinations with a fall the run stops.
    """

    prompts: Count = 128
    samples: Count = 4
    other_samples: Count = 1
    other_prompts: Count = 64
    temperatures: tuple[NotNegative, ...] = (1.0, 0.5, 0.0)
    probe_prompts: Count = 16
    guard_prompts: Count = 32
    guard_every_steps: Whole = 60
    guard_patience: Count = 3


class WorkerConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Env worker processes. `count` 0 means one a CPU core, two at least."""

    count: Whole = 0
    step_limit_s: Positive = 60.0
    episode_limit_s: Positive = 300.0


class CheckpointConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How often everything is saved, and how many are kept besides the last of each stage."""

    every_steps: Count = 25
    keep: Count = 2


class RunConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One run. `model` is tiny, smollm2-135m, or a local Hugging Face folder; `device` auto takes any GPU it finds.

    `out` is the run's folder, by default a new one under runs/. `budget_minutes` shortens both stages and the
    examinations in proportion, so that the run fits in it, controls aside; a run with no length set has 9.7 minutes.
    `controls` adds, at equal compute, SFT simply continued and RL on rewards shuffled within their groups; it doubles
    the time.
    """

    model: str = "tiny"
    device: str = "auto"
    seed: Whole = 0
    out: str = ""
    budget_minutes: Positive | None = None
    controls: bool = False
    domains: DomainChoice = msgspec.field(default_factory=DomainChoice)
    sft: SftConfig = msgspec.field(default_factory=SftConfig)
    rl: RlConfig = msgspec.field(default_factory=RlConfig)
    eval: EvalConfig = msgspec.field(default_factory=EvalConfig)
    workers: WorkerConfig = msgspec.field(default_factory=WorkerConfig)
    checkpoint: CheckpointConfig = msgspec.field(default_factory=CheckpointConfig)
