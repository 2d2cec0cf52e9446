"""The main scalars of a run in TensorBoard: aggregates, and reward and share per domain. One folder a stage."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from tensorboard.compat.proto.event_pb2 import Event, SessionLog
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.event_file_writer import EventFileWriter

from polyathlon_trainer.observe.lines import RecordError
from polyathlon_trainer.observe.records import EvalRecord, Record, StepRecord
from polyathlon_trainer.observe.statistics import mean_interval

TENSORBOARD = "tensorboard"


class Mirror:
    """Writes scalars beside the records. `last_steps` is the last step kept of each stage: what follows is purged."""

    def __init__(self, folder: Path, *, last_steps: Mapping[str, int]) -> None:
        self._folder = folder / TENSORBOARD
        self._last_steps = dict(last_steps)
        self._writers: dict[str, EventFileWriter] = {}

    def write(self, record: Record) -> None:
        """Mirror a step or an evaluation; other records have no scalars.

        Raises:
            RecordError: the disk refused it, now or in an earlier call (a thread writes).

        """
        try:
            match record:
                case StepRecord():
                    self._add(record.stage, step_scalars(record), step=record.step)
                case EvalRecord():
                    self._add(record.stage, eval_scalars(record), step=record.step)
                case _:
                    pass
        except OSError as error:
            raise RecordError(
                f"{TENSORBOARD}: not written: {error}. Free space, then resume from the last checkpoint."
            ) from error

    def flush(self) -> None:
        for writer in self._writers.values():
            writer.flush()

    def close(self) -> None:
        """Close every file. May be called twice."""
        for writer in self._writers.values():
            writer.close()
        self._writers.clear()

    def _add(self, stage: str, scalars: Mapping[str, float], *, step: int) -> None:
        values = [Summary.Value(tag=tag, simple_value=value) for tag, value in scalars.items()]
        self._writer(stage).add_event(Event(wall_time=time.time(), step=step, summary=Summary(value=values)))

    def _writer(self, stage: str) -> EventFileWriter:
        if stage not in self._writers:
            place = self._folder / stage
            earlier = place.exists()
            writer = self._writers[stage] = EventFileWriter(str(place))
            if earlier:
                # TensorBoard drops what was logged at or after the step of a START event: no curve doubles back.
                start = SessionLog(status=SessionLog.SessionStatus.START)
                first = self._last_steps.get(stage, -1) + 1
                writer.add_event(Event(wall_time=time.time(), step=first, session_log=start))
        return self._writers[stage]


def step_scalars(record: StepRecord) -> dict[str, float]:
    """Return {tag: value} of one step: at most twenty aggregates, and two numbers a domain."""
    scalars: dict[str, float] = {
        "learner/seconds": record.learn_s,
        "learner/wait_seconds": record.wait_s,
        "learner/learning_rate": record.learning_rate,
        "policy/age_mean": record.age_mean,
        "policy/age_max": record.age_max,
        "policy/truncated_share": record.truncated_share,
        "policy/masked_share": record.masked_share,
        "policy/mismatch": record.mismatch,
        "policy/kl": record.kl,
        "policy/entropy": record.entropy,
    }
    if record.loss is not None:
        scalars["learner/loss"] = record.loss
    if record.grad_norm is not None:
        scalars["learner/grad_norm"] = record.grad_norm
    if record.domains:
        scalars |= _domain_scalars(record)
    return scalars


def _domain_scalars(record: StepRecord) -> dict[str, float]:
    steps = record.domains.values()
    trained, judged = sum(step.trained for step in steps), sum(step.judged for step in steps)
    scalars: dict[str, float] = {
        "groups/trained": trained,
        "groups/judged": judged,
        "groups/lost_episodes": sum(sum(step.failures.values()) for step in steps),
        "groups/tokens": sum(step.tokens for step in steps),
    }
    rewards = [step.mean_reward for step in steps if step.mean_reward is not None]
    scalars |= _spread("reward", rewards)
    for domain_id, step in record.domains.items():
        if step.mean_reward is not None:
            scalars[f"domain_reward/{domain_id}"] = step.mean_reward
        if trained:
            scalars[f"domain_trained_share/{domain_id}"] = step.trained / trained
    return scalars


def eval_scalars(record: EvalRecord) -> dict[str, float]:
    """Return {tag: value} of one evaluation: the mean over domains, its spread, and each domain's mean."""
    name = f"held_out/t{record.temperature:g}"
    means = {domain_id: mean_interval(rows).mean for domain_id, rows in record.rewards.items()}
    present = {domain_id: mean for domain_id, mean in means.items() if mean is not None}
    return _spread(name, list(present.values())) | {f"{name}_domain/{key}": mean for key, mean in present.items()}


def _spread(name: str, values: Sequence[float]) -> dict[str, float]:
    if not values:
        return {}
    return {
        f"{name}/mean": float(np.mean(values)),
        f"{name}/min": float(np.min(values)),
        f"{name}/median": float(np.median(values)),
        f"{name}/max": float(np.max(values)),
    }
