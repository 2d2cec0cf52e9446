"""Text as bytes for the tiny model: ids 0 to 255 are bytes, a few beyond them mark who speaks. No torch here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

END = 256
ANSWER = 257
OBSERVATION = 258
CUT = 259
PAD = 260
NUM_INPUT_IDS = 261
NUM_OUTPUT_IDS = 257
"""The policy writes bytes and END; the other marks are read only, so it can never speak for its environment."""


@dataclass(frozen=True, slots=True)
class ByteChat:
    """The `Chat` of the tiny model.

    A first context is `prompt ANSWER`, a reply `OBSERVATION text ANSWER`. Either is at most `max_prompt_tokens` ids
    (at least 8): of a longer text the head and the tail are kept, with CUT between them. Instructions are not read:
    the model learns the form of its actions from examples, and has no room for them.
    """

    max_prompt_tokens: int = 256

    def __post_init__(self) -> None:
        if self.max_prompt_tokens < 8:
            raise ValueError(f"max_prompt_tokens is {self.max_prompt_tokens}; use 8 or more.")

    @property
    def end_id(self) -> int:
        return END

    def open(self, prompt: str, *, instructions: str) -> tuple[int, ...]:
        return (*clip_ids(_encode(prompt), max_ids=self.max_prompt_tokens - 1, mark=(CUT,)), ANSWER)

    def reply(self, observation: str) -> tuple[int, ...]:
        return (OBSERVATION, *clip_ids(_encode(observation), max_ids=self.max_prompt_tokens - 2, mark=(CUT,)), ANSWER)

    def decode(self, token_ids: Sequence[int]) -> str:
        return bytes(token for token in token_ids if token < END).decode("utf-8", errors="replace")

    def encode_turn(self, text: str) -> tuple[int, ...]:
        return (*_encode(text), END)


def clip_ids(ids: Sequence[int], *, max_ids: int, mark: Sequence[int]) -> tuple[int, ...]:
    """Return `ids`, or its head and tail around `mark` when there are more than `max_ids` (at least as `mark` has)."""
    if len(ids) <= max_ids:
        return tuple(ids)
    kept = max(max_ids - len(mark), 0)
    return (*ids[: kept - kept // 2], *mark, *ids[len(ids) - kept // 2 :])


def _encode(text: str) -> bytes:
    return text.encode("utf-8", errors="replace")
