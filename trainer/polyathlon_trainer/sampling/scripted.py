"""A policy without a model, for tests and dry runs: scripted replies, made-up log-probabilities, real versions."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from polyathlon.canonical import canonical_json
from polyathlon.errors import EngineError
from polyathlon_trainer.learning.batch import RlBatch, SftExample
from polyathlon_trainer.learning.bytechat import ByteChat
from polyathlon_trainer.learning.protocol import LearnerError, Policy, Update
from polyathlon_trainer.sampling.points import uniforms
from polyathlon_trainer.sampling.protocol import Chat, Completion, Engine, Request

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, slots=True)
class Cue:
    """What a script knows when it writes: the context as text, and which reply is wanted.

    `point` in [0, 1) depends on (seed, sample) only: compare it with a chance to be right some of the time.
    """

    context: str
    seed: int
    sample: int
    version: int
    temperature: float
    point: float


SCRIPTED_PROMPT_TOKENS = 65_536
"""Scripts read words, so contexts are hardly ever cut."""

Script: TypeAlias = Callable[[Cue], str]
"""Text of the policy's next turn."""


def replying(rules: Mapping[str, str], *, default: str = "") -> Script:
    """Return the script that gives the reply of the first rule whose key occurs in the context, else `default`."""

    def write(cue: Cue) -> str:
        return next((reply for key, reply in rules.items() if key in cue.context), default)

    return write


def sometimes(chance: Callable[[int], float], script: Script, *, otherwise: str = "?") -> Script:
    """Return the script that follows `script` with probability `chance`(weight version), and else says `otherwise`."""

    def write(cue: Cue) -> str:
        return script(cue) if cue.point < chance(cue.version) else otherwise

    return write


def scripted_policy(script: Script) -> Policy:
    """Return the policy that writes by `script` and learns nothing: the whole loop, without torch."""
    chat = ByteChat(SCRIPTED_PROMPT_TOKENS)

    def new_engine() -> Engine:
        return ScriptedEngine(script, chat)

    return Policy("scripted", chat, new_engine(), ScriptedLearner(), new_engine)


class ScriptedEngine:
    """An `Engine` that writes what its script says. Needs no torch; weights are taken and not looked at."""

    def __init__(self, script: Script, chat: Chat | None = None, *, version: int = 0) -> None:
        self._script: Script | None = script
        self._chat: Chat = chat or ByteChat(SCRIPTED_PROMPT_TOKENS)
        self._version = version

    @property
    def version(self) -> int:
        return self._version

    def generate(self, requests: Sequence[Request]) -> list[tuple[Completion, ...]]:
        if self._script is None:
            raise EngineError("The engine is closed. Build another.")
        return [
            tuple(self._write(self._script, request, sample) for sample in range(request.num_samples))
            for request in requests
        ]

    def load_weights(self, weights: Mapping[str, torch.Tensor], *, version: int) -> None:
        if version <= self._version:
            raise EngineError(f"Weights of version {version} came after {self._version}. Versions only grow.")
        self._version = version

    def close(self) -> None:
        self._script = None

    def _write(self, script: Script, request: Request, sample: int) -> Completion:
        seed, greedy = request.seed, request.temperature == 0
        point = float(uniforms([seed], [0 if greedy else sample], start=0, count=1)[0, 0])
        cue = Cue(self._chat.decode(request.prompt_ids), seed, sample, self._version, request.temperature, point)
        ids = self._chat.encode_turn(script(cue))[: request.max_new_tokens]
        scores = uniforms([seed], [sample], start=1, count=len(ids))[0]
        return Completion(
            token_ids=ids,
            logprobs=tuple(-0.01 - float(score) for score in scores),
            versions=(self._version,) * len(ids),
            stop="end" if ids[-1:] == (self._chat.end_id,) else "length",
        )


class ScriptedLearner:
    """A `Learner` that learns nothing, and keeps a digest of all it was given: equal digests, equal runs."""

    def __init__(self) -> None:
        self._digest = ""
        self._steps = 0

    @property
    def digest(self) -> str:
        """The SHA-256 of everything learned from so far, in order."""
        return self._digest

    def sft_step(self, examples: Sequence[SftExample], *, progress: float) -> Update:
        tokens = sum(len(written) for example in examples for written, _ in example.turns)
        return self._take([asdict(example) for example in examples], tokens, len(examples))

    def rl_step(self, batch: RlBatch, *, progress: float) -> Update:
        episodes = [
            (asdict(member.group.key), episode.prompt_ids, [asdict(turn) for turn in episode.turns], advantage)
            for member in batch.groups
            for episode, advantage in zip(member.group.episodes, member.advantages, strict=True)
        ]
        weights = [batch.domain_weights, [member.weight for member in batch.groups], batch.temperature]
        tokens = sum(episode.num_tokens for member in batch.groups for episode in member.group.episodes)
        return self._take([episodes, weights], tokens, len(episodes))

    def weights(self) -> dict[str, torch.Tensor]:
        return {}

    def averaged_weights(self) -> dict[str, torch.Tensor]:
        return {}

    def state_dict(self) -> dict[str, Any]:
        return {"digest": self._digest, "steps": self._steps}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        try:
            self._digest, self._steps = str(state["digest"]), int(state["steps"])
        except (KeyError, TypeError, ValueError) as error:
            raise LearnerError(f"This is no state of a scripted learner: {error}.") from error

    def _take(self, given: Any, tokens: int, sequences: int) -> Update:
        if not sequences:
            return Update(loss=None, grad_norm=None, learning_rate=0.0)
        self._digest = hashlib.sha256((self._digest + canonical_json(given)).encode("ascii")).hexdigest()
        self._steps += 1
        return Update(loss=0.0, grad_norm=0.0, learning_rate=0.0, tokens=tokens, sequences=sequences)
