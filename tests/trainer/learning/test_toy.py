"""The tiny policy learns a mapping of letters: first by imitation, then from rewards."""

from __future__ import annotations

import pytest
import torch

from polyathlon.drawing import TaskKey
from polyathlon_trainer.episode import Episode, Group, Turn
from polyathlon_trainer.learning.batch import RlBatch, SftExample, TrainGroup
from polyathlon_trainer.learning.models import PolicySettings, build_policy
from polyathlon_trainer.learning.protocol import Policy
from polyathlon_trainer.learning.recipe import Recipe
from polyathlon_trainer.sampling.protocol import Completion, Request

DOMAIN = "acme/toy.next-letters-v1"
WORDS = [a + b for a in "abcdefgh" for b in "abcdefgh"]


def answer(word: str) -> str:
    return "".join(chr(ord(letter) + 1) for letter in word)


def ask(policy: Policy, words: list[str], *, seed: int) -> list[tuple[Completion, ...]]:
    return policy.engine.generate(
        [Request(policy.chat.open(word, instructions=""), 8, 6, 1.0, seed + place) for place, word in enumerate(words)]
    )


def reward(policy: Policy, word: str, done: Completion) -> float:
    return float(policy.chat.decode(done.token_ids) == answer(word) and done.stop == "end")


def mean_reward(policy: Policy, *, seed: int) -> float:
    found = [
        reward(policy, word, done)
        for word, group in zip(WORDS, ask(policy, WORDS, seed=seed), strict=True)
        for done in group
    ]
    return sum(found) / len(found)


def groups(policy: Policy, *, seed: int) -> list[TrainGroup]:
    made = []
    for place, (word, group) in enumerate(zip(WORDS, ask(policy, WORDS, seed=seed), strict=True)):
        key = TaskKey(DOMAIN, 0, place)
        rewards = [reward(policy, word, done) for done in group]
        episodes = tuple(
            Episode(
                key,
                policy.chat.open(word, instructions=""),
                (Turn(done.token_ids, done.logprobs, done.versions),),
                paid,
                passed=bool(paid),
            )
            for done, paid in zip(group, rewards, strict=True)
        )
        mean = sum(rewards) / len(rewards)
        made.append(TrainGroup(Group(str(place), key, episodes), tuple((paid - mean) / 0.35 for paid in rewards)))
    return made


@pytest.mark.slow
def test_imitation_then_reward_teach_a_mapping() -> None:
    """Seed 0, one thread."""
    torch.set_num_threads(1)
    policy = build_policy("tiny", seed=0, settings=PolicySettings(device="cpu", recipe=Recipe(rl_rate=5e-4)))
    chat, learner = policy.chat, policy.learner
    assert mean_reward(policy, seed=0) < 0.01
    examples = [SftExample(chat.open(w, instructions=""), ((chat.encode_turn(answer(w)), ()),), DOMAIN) for w in WORDS]
    for step in range(6):
        learner.sft_step([examples[(36 * step + place) % 64] for place in range(36)], progress=step / 6)
    policy.engine.load_weights(learner.weights(), version=1)
    taught = mean_reward(policy, seed=10_000)
    assert 0.2 < taught < 0.8  # it knows the form, and not yet the mapping
    for step in range(20):
        learner.rl_step(RlBatch(tuple(groups(policy, seed=1_000 * step)), {DOMAIN: 1.0}), progress=step / 20)
        policy.engine.load_weights(learner.weights(), version=2 + step)
    assert mean_reward(policy, seed=10_000) > taught + 0.1
