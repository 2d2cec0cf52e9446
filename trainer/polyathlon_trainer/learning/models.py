"""Policies by name: a model, its chat, the engine that writes with it and the learner that trains it.

Torch and transformers are imported when a policy that needs them is built.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from polyathlon.errors import RegistryError
from polyathlon_trainer.learning.protocol import Policy
from polyathlon_trainer.learning.recipe import Recipe, TrustRules

if TYPE_CHECKING:
    import torch

TINY = "tiny"
SMOLLM2 = "smollm2-135m"

_EXTRAS = {"torch": "train", "transformers": "smollm2", "gguf": "smollm2", "accelerate": "smollm2"}


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
        RegistryError: no model has this name, an extra is missing, the device is not there, the weights cannot be
            fetched, or the folder holds no causal model.

    """
    folder = Path(name).expanduser()
    if name not in (TINY, SMOLLM2) and not folder.is_dir():
        raise RegistryError(
            f"No model is called {name!r}, and no folder either. Use {TINY}, {SMOLLM2}, or the path of a folder that "
            "holds a Hugging Face causal language model."
        )
    try:
        return _build(name, folder, seed, settings or PolicySettings())
    except ModuleNotFoundError as error:
        extra = _EXTRAS.get((error.name or "").partition(".")[0])
        if extra is None:
            raise
        raise RegistryError(f"The model {name} needs {error.name}: pip install 'polyathlon[{extra}]'") from error


def _build(name: str, folder: Path, seed: int, settings: PolicySettings) -> Policy:
    device = _pick_device(settings.device)
    if name == TINY:
        from polyathlon_trainer.learning.tiny_policy import tiny_policy

        return tiny_policy(
            seed=seed,
            device=device,
            max_prompt_tokens=settings.max_prompt_tokens,
            recipe=settings.recipe or Recipe(),
            rules=settings.rules,
        )
    from polyathlon_trainer.learning.hf import load_policy
    from polyathlon_trainer.learning.smollm2 import GGUF_FILE, find_smollm2

    return load_policy(
        find_smollm2() if name == SMOLLM2 else folder,
        name=name,
        gguf_file=GGUF_FILE if name == SMOLLM2 else None,
        max_prompt_tokens=settings.max_prompt_tokens,
        device=device,
        learning=(settings.recipe, settings.rules),
    )


def _pick_device(name: str) -> torch.device:
    import torch

    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        return torch.empty(0, device=name).device
    except (RuntimeError, AssertionError) as error:  # torch asserts when it was built without a backend
        raise RegistryError(f"There is no device {name!r} here: {error}. Use device: auto, or cpu.") from error
