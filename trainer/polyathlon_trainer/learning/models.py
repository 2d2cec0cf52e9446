"""Policies by name: a model, its chat, the engine that writes with it and the learner that trains it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import torch

from polyathlon.errors import RegistryError
from polyathlon_trainer.learning.bytechat import ByteChat
from polyathlon_trainer.learning.learner import TorchLearner
from polyathlon_trainer.learning.loss import TrustRules
from polyathlon_trainer.learning.optimise import Recipe
from polyathlon_trainer.learning.protocol import Policy
from polyathlon_trainer.learning.tiny import TinyLM
from polyathlon_trainer.sampling.protocol import Engine
from polyathlon_trainer.sampling.torch_engine import TorchEngine

HF_RECIPE = Recipe(
    sft_rate=2e-4, sft_matrix_rate=None, sft_clip_norm=1.0, rl_rate=1e-5, completions_per_group=8, row_tokens=2_048
)
"""For pretrained models: AdamW alone, at rates that keep what they know."""


@dataclass(frozen=True, slots=True)
class PolicySettings:
    """How to build a policy. `device` is "auto" (a GPU when there is one) or a torch device.

    `max_prompt_tokens` bounds a prompt or an observation. `recipe` None means the model's own.
    """

    device: str = "auto"
    max_prompt_tokens: int = 256
    recipe: Recipe | None = None
    rules: TrustRules = field(default_factory=TrustRules)


def build_policy(name: str, *, seed: int, settings: PolicySettings | None = None) -> Policy:
    """Return the policy `name`: "tiny", "smollm2-135m", or the path of a local Hugging Face folder.

    `seed` decides the first weights of a model made from scratch. All weights are float32.

    Raises:
        RegistryError: no model has this name, an extra is missing, or the folder holds no causal model.

    """
    settings = settings or PolicySettings()
    device = pick_device(settings.device)
    if name == "tiny":
        return _tiny(seed, device, settings)
    if name == "smollm2-135m" or Path(name).expanduser().is_dir():
        raise NotImplementedError
    raise RegistryError(
        f"No model is called {name!r}, and no folder either. Use tiny, smollm2-135m, or the path of a folder with a "
        "Hugging Face causal language model."
    )


def pick_device(name: str) -> torch.device:
    """Return the torch device `name`; "auto" is the first GPU, or the CPU where there is none."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    return torch.device(name)


def _tiny(seed: int, device: torch.device, settings: PolicySettings) -> Policy:
    model = TinyLM(seed=seed).to(device)
    learner = TorchLearner(model, settings.recipe or Recipe(), settings.rules)

    def new_engine() -> Engine:
        twin = TinyLM(seed=seed)
        twin.load_state_dict(learner.weights())
        return TorchEngine(twin, device=device)

    chat = ByteChat(settings.max_prompt_tokens)
    return Policy("tiny", chat, new_engine(), learner, new_engine)
