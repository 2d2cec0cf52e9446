"""How fast a model learns, and how far from the policy that wrote it a token still teaches. No torch here."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Recipe:
    """How fast a model learns. The defaults are the tiny model's.

    `sft_matrix_rate` is Muon's, for the model's matrices; None gives them to AdamW at `sft_rate` too. SFT rates fall
    linearly to zero over the second half of the stage, RL rates over its last 40%, after `rl_warmup_steps` steps of
    linear warm-up. `averaging` is the decay a step of the weights' moving average. `completions_per_group` is how many
    different completions of a group are learned from. `row_tokens` bounds what goes through the model at once: rows
    are sorted by length, so that smaller batches hold less padding (at 4,096 it was a third of twenty domains' places).
    """

    sft_rate: float = 2e-3
    sft_matrix_rate: float | None = 0.014
    sft_clip_norm: float = math.inf
    rl_rate: float = 4e-4
    rl_warmup_steps: int = 8
    rl_clip_norm: float = 1.0
    averaging: float = 0.9
    completions_per_group: int = 8
    row_tokens: int = 1_600


@dataclass(frozen=True, slots=True)
class TrustRules:
    """How far a token may be from the policy that wrote it, and still teach.

    `cap` bounds the importance weight of a token. `max_move` leaves out tokens whose probability has already moved
    by more than this in the direction that the advantage pushes. `max_drift` leaves out whole sequences whose mean log
    importance weight lies beyond it, either way (log 2: the geometric mean of the weights is outside [1/2, 2]).
    `kl_coefficient` weighs the pull to the frozen reference; 0 means none.
    """

    cap: float = 2.0
    max_move: float = 0.2
    max_drift: float = math.log(2)
    kl_coefficient: float = 0.0


HF_RECIPE = Recipe(
    sft_rate=2e-4, sft_matrix_rate=None, sft_clip_norm=1.0, rl_rate=2e-5, completions_per_group=8, row_tokens=2_048
)
"""For pretrained models: AdamW alone, at rates that keep what they know."""
