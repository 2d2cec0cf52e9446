from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pytest
import torch

from polyathlon.drawing import TaskKey
from polyathlon_trainer.episode import Episode, Group, Turn
from polyathlon_trainer.learning.batch import TrainGroup

Turns = Sequence[tuple[Sequence[int], Sequence[int]]]
MakeGroup = Callable[..., TrainGroup]


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def make_group() -> MakeGroup:
    """Return a maker of groups: a prompt, one list of turns (written ids, observation ids) an episode, advantages."""

    def make(
        prompt: Sequence[int],
        episodes: Sequence[Turns],
        advantages: Sequence[float],
        *,
        domain: str = "acme/a.b-v1",
        logprob: float = -1.0,
        weight: float = 1.0,
    ) -> TrainGroup:
        key = TaskKey(domain, 0, 0)
        made = tuple(
            Episode(
                key,
                tuple(prompt),
                tuple(
                    Turn(tuple(ids), (logprob,) * len(ids), (0,) * len(ids), tuple(observed)) for ids, observed in turns
                ),
                0.0,
                passed=False,
            )
            for turns in episodes
        )
        return TrainGroup(Group("u", key, made), tuple(advantages), weight)

    return make
