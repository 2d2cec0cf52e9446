"""What every learner does, and what one step gives back. No torch here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from polyathlon.errors import PolyathlonError
from polyathlon_trainer.learning.batch import RlBatch, SftExample
from polyathlon_trainer.sampling.protocol import Chat, Engine

if TYPE_CHECKING:
    import torch


class LearnerError(PolyathlonError):
    """The learner cannot go on: a gradient that is no number, or a state that does not fit the model."""


@dataclass(frozen=True, slots=True)
class Update:
    """One step of the optimiser. `loss` and `grad_norm` are None when there was nothing to learn from: nothing moved.

    `tokens` and `sequences` count what entered the loss. `truncated_share` is the share of tokens whose importance
    weight was cut, `outside_share` of tokens left out because their probability had already moved too far,
    `masked_share` of sequences left out as too far off policy. `mismatch` is the mean |log p_learner - log p_engine|.
    `kl` is to the frozen reference, 0 without one; `entropy` is in nats; both are means over the tokens in the loss.
    """

    loss: float | None
    grad_norm: float | None
    learning_rate: float
    tokens: int = 0
    sequences: int = 0
    kl: float = 0.0
    entropy: float = 0.0
    truncated_share: float = 0.0
    outside_share: float = 0.0
    masked_share: float = 0.0
    mismatch: float = 0.0


class Learner(Protocol):
    """Owns the policy's weights and changes them."""

    def sft_step(self, examples: Sequence[SftExample], *, progress: float) -> Update:
        """Learn to write what the examples wrote. `progress` in [0, 1] is how much of the stage is over."""
        ...

    def rl_step(self, batch: RlBatch, *, progress: float) -> Update:
        """Take one policy-gradient step. `progress` as in `sft_step`."""
        ...

    def weights(self) -> Mapping[str, torch.Tensor]:
        """Return a copy of the weights, for `Engine.load_weights`."""
        ...

    def averaged_weights(self) -> Mapping[str, torch.Tensor]:
        """Return a copy of the moving average of the weights, for evaluation."""
        ...

    def state_dict(self) -> dict[str, Any]:
        """Return all that a resumed run needs; `torch.save` keeps it and `weights_only=True` reads it."""
        ...

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from `state`.

        Raises:
            LearnerError: the state is of another model.

        """
        ...


@dataclass(frozen=True, slots=True)
class Policy:
    """One model to train. `new_engine()` makes another engine, on the learner's weights of then, at version 0.

    Evaluate with an engine of its own: the versions of `engine` then count training steps only.
    """

    name: str
    chat: Chat
    engine: Engine
    learner: Learner
    new_engine: Callable[[], Engine]
