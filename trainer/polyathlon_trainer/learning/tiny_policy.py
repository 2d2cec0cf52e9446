"""The tiny policy put together."""

from __future__ import annotations

import torch

from polyathlon_trainer.learning.bytechat import ByteChat
from polyathlon_trainer.learning.learner import TorchLearner
from polyathlon_trainer.learning.protocol import Policy
from polyathlon_trainer.learning.recipe import Recipe, TrustRules
from polyathlon_trainer.learning.rows import copy_weights
from polyathlon_trainer.learning.tiny import TinyLM
from polyathlon_trainer.sampling.protocol import Engine
from polyathlon_trainer.sampling.torch_engine import TorchEngine


def tiny_policy(
    *, seed: int, device: torch.device, max_prompt_tokens: int, recipe: Recipe, rules: TrustRules
) -> Policy:
    """Return the tiny policy, from scratch: `seed` decides its first weights."""
    model = TinyLM(seed=seed).to(device)
    learner = TorchLearner(model, recipe, rules)

    def new_engine() -> Engine:
        twin = TinyLM(seed=seed).to(device)
        copy_weights(twin, learner.weights())
        return TorchEngine(twin, device=device)

    return Policy("tiny", ByteChat(max_prompt_tokens), new_engine(), learner, new_engine)
