"""What collecting makes and learning reads: turns, episodes, failures and groups, in token ids."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from polyathlon.drawing import TaskKey

FailureKind = Literal["policy", "task", "verifier", "sandbox", "engine", "registry", "worker", "deadline"]


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of the policy, and the ids that the environment added after it.

    `token_ids`, `logprobs` and `versions` have one entry a sampled token (the end-of-turn id too, when it was sampled).
    `logprobs` are natural logarithms under the sampling policy, after temperature; `versions` are the weight versions.
    `observation_ids` are the next prompt's suffix, turn glue included; empty after the last turn.
    """

    token_ids: tuple[int, ...]
    logprobs: tuple[float, ...]
    versions: tuple[int, ...]
    observation_ids: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Episode:
    """One judged episode. `reward` in [0, 1]. `texts` alternate action, observation, action ... for reading only.

    `sandbox` is the record of the sandbox it was played in, as JSON; "" when there was none.
    """

    key: TaskKey
    prompt_ids: tuple[int, ...]
    turns: tuple[Turn, ...]
    reward: float
    passed: bool
    truncated: bool = False
    reason: str = ""
    parts: Mapping[str, float] = field(default_factory=dict)
    prompt: str = ""
    texts: tuple[str, ...] = ()
    wall_s: float = 0.0
    sandbox: str = ""

    @property
    def num_tokens(self) -> int:
        """Sampled tokens, over all turns."""
        return sum(len(turn.token_ids) for turn in self.turns)

    @property
    def oldest_version(self) -> int:
        return min((version for turn in self.turns for version in turn.versions), default=0)


@dataclass(frozen=True, slots=True)
class Failure:
    """An episode that could not be judged. Never a reward of zero; counted by kind, and retried elsewhere."""

    key: TaskKey
    kind: FailureKind
    message: str
    attempt: int = 0


@dataclass(frozen=True, slots=True)
class Group:
    """The episodes of one task by one policy. `uid` is unique in a run and is what the ledger keeps.

    `failures` are the members that were lost for good; a group with fewer than two episodes is not trained.
    """

    uid: str
    key: TaskKey
    episodes: tuple[Episode, ...]
    failures: tuple[Failure, ...] = ()

    @property
    def rewards(self) -> tuple[float, ...]:
        return tuple(episode.reward for episode in self.episodes)
