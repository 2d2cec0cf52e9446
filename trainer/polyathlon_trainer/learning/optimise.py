"""Optimisers, and rates that follow progress: a share of the stage that is over, whether it counts steps or seconds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn

_NEWTON_SCHULZ = (3.4445, -4.7750, 2.0315)
_NUM_ITERATIONS = 5
_MOMENTUM = 0.95


def sft_share(progress: float) -> float:
    """Return the share of the SFT rate at `progress` in [0, 1]: 1, then linearly to 0 over the second half."""
    return min(1.0, 2.0 * (1.0 - _inside(progress)))


def rl_share(progress: float, *, step: int, warmup_steps: int) -> float:
    """Return the share of the RL rate at `progress` in [0, 1] and `step` (from 0).

    The rate climbs over the first `warmup_steps` steps and falls linearly to 0 over the last 40% of the stage.
    """
    warm = min(1.0, (step + 1) / warmup_steps) if warmup_steps else 1.0
    return warm * min(1.0, (1.0 - _inside(progress)) / 0.4)


class Muon(torch.optim.Optimizer):
    """Momentum whose step is made orthogonal (Jordan and others, 2024), on parameters (..., rows, columns).

    Leading dimensions are a stack of matrices. The step of each is scaled by sqrt(max(1, rows / columns)).
    """

    def __init__(self, parameters: Iterable[nn.Parameter], *, rate: float) -> None:
        super().__init__(parameters, {"lr": rate})

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        """Move every parameter that has a gradient."""
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    self._move(parameter, group["lr"])

    def _move(self, parameter: nn.Parameter, rate: float) -> None:
        assert parameter.grad is not None
        state: dict[str, Any] = self.state[parameter]
        momentum = state.setdefault("momentum", torch.zeros_like(parameter))
        momentum.lerp_(parameter.grad, 1 - _MOMENTUM)
        ahead = parameter.grad.lerp(momentum, _MOMENTUM)
        rows, columns = parameter.shape[-2:]
        parameter.add_(orthogonal(ahead), alpha=-rate * max(1.0, rows / columns) ** 0.5)


def orthogonal(matrices: Tensor) -> Tensor:
    """Return about the nearest orthogonal matrix of each (..., rows, columns): singular values come to lie near 1.

    Five quintic Newton-Schulz iterations; a zero matrix stays zero.
    """
    a, b, c = _NEWTON_SCHULZ
    tall = matrices.shape[-2] > matrices.shape[-1]
    x: Tensor = matrices.mT if tall else matrices
    x = x / x.norm(dim=(-2, -1), keepdim=True).clamp(min=1e-7)
    for _ in range(_NUM_ITERATIONS):
        gram = x @ x.mT
        x = a * x + (b * gram + c * gram @ gram) @ x
    return x.mT if tall else x


def _inside(progress: float) -> float:
    if not 0.0 <= progress <= 1.0:
        raise ValueError(f"progress is {progress}; it must lie in [0, 1].")
    return progress
