"""A synthetic run, written by the real recorder: every record is what a trainer would have written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pytest

from polyathlon.drawing import TaskKey
from polyathlon_trainer.episode import Episode, Group, Turn
from polyathlon_trainer.observe.recorder import Recorder
from polyathlon_trainer.observe.records import (
    DomainStep,
    EndRecord,
    EvalRecord,
    NoteRecord,
    RunRecord,
    Stage,
    StepRecord,
)

FAMILIES = ("math", "logic", "cad", "finance", "coding", "terminal", "tools", "games")
HOSTILE = (
    "</script><script>alert(1)</script>",
    "lone \ud800 surrogate and \udfff another",
    "bell \x07 null \x00 escape \x1b[31mred\x1b[0m right-to-left \u202egnirts",
    "{{ 7 * 7 }} {% raw %} <img src=x onerror=alert(1)> ]]> --> &amp; </pre></details></html>",
)


@dataclass(frozen=True)
class Shape:
    """What the synthetic run is like. Domain i of n has an after-SFT mean of i / n and rises by `gain`."""

    num_domains: int = 6
    sft_steps: int = 8
    rl_steps: int = 30
    control_steps: int = 5
    eval_every: int = 10
    num_prompts: int = 24
    gain: float = 0.15
    seed: int = 1
    killed: bool = False
    hostile: bool = False


WriteRun: TypeAlias = Callable[[Path, Shape], Path]


@pytest.fixture(scope="session")
def write_run() -> WriteRun:
    return _write_run


@pytest.fixture(scope="session")
def finished_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _write_run(tmp_path_factory.mktemp("finished"), Shape())


def _write_run(folder: Path, shape: Shape) -> Path:
    ids = [f"polyathlon/{FAMILIES[i % len(FAMILIES)]}.task-{i:03d}-v1" for i in range(shape.num_domains)]
    start = {key: place / shape.num_domains for place, key in enumerate(ids)}
    with Recorder(folder) as recorder:
        planned = {"sft": shape.sft_steps, "rl": shape.rl_steps * (2 if shape.killed else 1)}
        recorder.write(RunRecord(model="tiny", seed=shape.seed, domains=tuple(ids), planned_steps=planned))
        for step in range(1, shape.sft_steps + 1):
            recorder.write(_plain_step("sft", step))
        _evals(recorder, "sft", shape.sft_steps, start, shape)
        _rl(recorder, start, shape)
        recorder.write(NoteRecord(text="Resumed from the checkpoint of step 12.", time_s=20.0, step=12))
        if not shape.killed:
            recorder.write(EndRecord(outcome="finished", time_s=99.0))
    return folder


def _rl(recorder: Recorder, start: dict[str, float], shape: Shape) -> None:
    rng = np.random.default_rng(shape.seed)
    for step in range(1, shape.rl_steps + 1):
        rise = shape.gain * step / shape.rl_steps
        means = {key: min(1.0, mean + rise * (mean > 0)) for key, mean in start.items()}
        recorder.write(_rl_step(step, means, rng))
        if step % 3 == 0:
            for place, key in enumerate(means):
                recorder.write_group(_group(key, step, place, means[key], rng, shape), stage="rl", step=step)
        if step % shape.eval_every == 0:
            _evals(recorder, "rl", step, means, shape)
    if shape.rl_steps and shape.control_steps and not shape.killed:
        for stage, gain in (("sft-continued", 0.03), ("rl-shuffled", 0.0)):
            _evals(recorder, stage, shape.control_steps, {key: mean + gain for key, mean in start.items()}, shape)


def _plain_step(stage: Stage, step: int) -> StepRecord:
    return StepRecord(
        stage=stage,
        step=step,
        time_s=float(step),
        loss=2.0 / step,
        grad_norm=1.0,
        learn_s=0.2,
        wait_s=0.0,
        learning_rate=1e-3,
    )


def _rl_step(step: int, means: dict[str, float], rng: np.random.Generator) -> StepRecord:
    domains = {}
    for key, mean in means.items():
        yields = 4 * mean * (1 - mean)
        judged = 4
        domains[key] = DomainStep(
            declared_share=1 / len(means),
            judged=judged,
            trained=int(rng.binomial(judged, yields)),
            tokens=int(rng.integers(200, 400)),
            engine_s=0.3,
            judge_s=float(rng.uniform(0.01, 0.1)),
            mean_reward=float(np.clip(mean + 0.1 * rng.standard_normal(), 0, 1)) if step % 7 else None,
            scale=0.35 + 0.1 * mean,
            mean_level=4 * mean * step / 30,
            learnability=yields / 4,
            failures={"deadline": 1} if rng.random() < 0.02 else {},
        )
    return replace(
        _plain_step("rl", step),
        time_s=10.0 + 2 * step,
        wait_s=float(rng.uniform(0.1, 0.5)),
        age_mean=1.2,
        age_max=int(rng.integers(1, 4)),
        entropy=1.5 - step / 60,
        kl=0.001 * step,
        mismatch=0.002,
        truncated_share=0.01,
        domains=domains,
    )


def _evals(recorder: Recorder, stage: str, step: int, means: dict[str, float], shape: Shape) -> None:
    for temperature in (1.0, 0.5, 0.0):
        rng = np.random.default_rng([shape.seed, 17])  # the same prompts are hard in every evaluation
        rewards, passed = {}, {}
        for key, mean in means.items():
            limits = rng.random((shape.num_prompts, 1 if temperature == 0.0 else 4))
            right = limits < mean
            passed[key] = tuple(tuple(int(value) for value in row) for row in right)
            rewards[key] = tuple(tuple(float(value) for value in row) for row in right)
        recorder.write(
            EvalRecord(
                stage=stage, step=step, time_s=10.0 + 2 * step, temperature=temperature, rewards=rewards, passed=passed
            )
        )


def _group(key: str, step: int, place: int, mean: float, rng: np.random.Generator, shape: Shape) -> Group:
    task = TaskKey(key, level=place % 5, seed=step, split="train")
    episodes = []
    for member in range(4):
        passed = bool(rng.random() < mean)
        text = HOSTILE[(step + member) % len(HOSTILE)] if shape.hostile else f"The answer is {rng.integers(100)}."
        episodes.append(
            Episode(
                key=task,
                prompt_ids=(1, 2, 3),
                turns=(Turn((4, 5), (-0.1, -0.2), (step, step), (6,)), Turn((7,), (-0.3,), (step,))),
                reward=1.0 if passed else round(0.5 * float(rng.random()), 3),
                passed=passed,
                reason="" if passed else (HOSTILE[0] if shape.hostile else "expected another number"),
                prompt=f"Task {step} of {key}: what is {step} + {place}?",
                texts=(text, "That is not it yet. Try once more.", text),
                wall_s=0.2,
            )
        )
    return Group(uid=f"{key}:{step}", key=task, episodes=tuple(episodes))
