"""What every engine does, and the values it takes and gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, slots=True)
class Request:
    """Ask for `num_samples` continuations of one context. The same request and weights give the same answer.

    `temperature` 0 means greedy. `seed` fixes the sampling, whatever else is in the batch.
    """

    prompt_ids: tuple[int, ...]
    num_samples: int
    max_new_tokens: int
    temperature: float
    seed: int


@dataclass(frozen=True, slots=True)
class Completion:
    """One continuation. `logprobs` are after temperature (of the raw logits when greedy); one a token.

    `versions` has the weight version of each token. `stop` is "end" when the end-of-turn id was sampled (it is then the
    last of `token_ids`), "length" when the budget ran out.
    """

    token_ids: tuple[int, ...]
    logprobs: tuple[float, ...]
    versions: tuple[int, ...]
    stop: Literal["end", "length"]


class Engine(Protocol):
    """Writes text for the policy. Not thread-safe unless it says so."""

    @property
    def version(self) -> int:
        """The version of the weights in use."""
        ...

    def generate(self, requests: Sequence[Request]) -> list[tuple[Completion, ...]]:
        """Return the completions of each request, in order.

        Raises:
            EngineError: the engine broke; nothing of this call counts.

        """
        ...

    def load_weights(self, weights: Mapping[str, torch.Tensor], *, version: int) -> None:
        """Take new weights. Versions only grow.

        Raises:
            EngineError: the weights do not fit, or the version is not newer.

        """
        ...

    def close(self) -> None:
        """Free everything. May be called twice."""
        ...


class Chat(Protocol):
    """Between text and ids, for one model. What the policy wrote is never encoded again."""

    @property
    def end_id(self) -> int:
        """The id that ends the policy's turn."""
        ...

    def open(self, prompt: str, *, instructions: str) -> tuple[int, ...]:
        """Return the first context: `prompt`, after `instructions` on how to act where the model has room for them."""
        ...

    def reply(self, observation: str) -> tuple[int, ...]:
        """Return the suffix that follows a sampled turn: the turn's glue and `observation`, up to the next turn.

        It follows `end_id`. A turn that stopped by "length" lacks that id: put it before the suffix, as an id that
        the policy did not write.
        """
        ...

    def decode(self, token_ids: Sequence[int]) -> str:
        """Return the text of sampled ids, without the end id. Never raises."""
        ...

    def encode_turn(self, text: str) -> tuple[int, ...]:
        """Return the ids of `text` as a turn of the policy, end id included: for reference episodes only."""
        ...
