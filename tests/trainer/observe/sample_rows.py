"""One step and one group, each with something in every field, and readers of what was written."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from polyathlon.drawing import TaskKey
from polyathlon_trainer.episode import Episode, Failure, Group, Turn
from polyathlon_trainer.observe.episodes import read_episodes
from polyathlon_trainer.observe.records import DomainStep, StepRecord


def step(number: int, *, loss: float | None = 0.5) -> StepRecord:
    domain = DomainStep(
        declared_share=1.0,
        judged=4,
        trained=3,
        tokens=120,
        engine_s=0.5,
        judge_s=0.25,
        mean_reward=number / 100,
        scale=0.4,
        mean_level=1.5,
        learnability=0.2,
        failures={"deadline": 1},
    )
    return StepRecord(
        stage="rl",
        step=number,
        time_s=float(number),
        loss=loss,
        grad_norm=1.0,
        learn_s=0.1,
        wait_s=0.2,
        learning_rate=1e-4,
        domains={"polyathlon/a.b-v1": domain},
    )


def group(uid: str, *, prompt: str = "What is 2 + 2?", text: str = "4") -> Group:
    key = TaskKey("polyathlon/a.b-v1", 2, 2**62, "train")
    turn = Turn(token_ids=(5, 6), logprobs=(-0.5, -0.25), versions=(3, 4), observation_ids=(7,))
    episode = Episode(
        key=key,
        prompt_ids=(1, 2, 3),
        turns=(turn, Turn((8,), (-1.0,), (4,))),
        reward=0.5,
        passed=False,
        reason="close",
        parts={"length": 1.0},
        prompt=prompt,
        texts=(text, "again", "5"),
        wall_s=0.75,
        sandbox='{"backend": "bubblewrap"}',
    )
    return Group(uid=uid, key=key, episodes=(episode, episode), failures=(Failure(key, "deadline", "slow"),))


def rows(folder: Path) -> Iterator[dict[str, object]]:
    for batch in read_episodes(folder):
        yield from batch.to_pylist()


def uids(folder: Path) -> list[object]:
    return [row["uid"] for row in rows(folder)]
