"""A whole run: open the parts, walk through the stages, close, and say how it ended."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, cast

from rich.console import Console

from polyathlon import registry
from polyathlon.errors import PolyathlonError
from polyathlon_trainer.checkpoint import Checkpoint, CheckpointError, Checkpoints
from polyathlon_trainer.config.load import dump_config, load_config
from polyathlon_trainer.config.schema import RunConfig
from polyathlon_trainer.examination import examine_stage
from polyathlon_trainer.imitate import imitate
from polyathlon_trainer.learning import models
from polyathlon_trainer.learning.models import TINY, PolicySettings
from polyathlon_trainer.learning.protocol import Policy
from polyathlon_trainer.learning.recipe import HF_RECIPE, Recipe, TrustRules
from polyathlon_trainer.mixture import Mixture, choose_domains
from polyathlon_trainer.observe.live import Progress
from polyathlon_trainer.observe.recorder import Mark, Recorder
from polyathlon_trainer.observe.records import EndRecord, RunRecord, Stage
from polyathlon_trainer.prepare import Usable, usable_domains
from polyathlon_trainer.reinforce import reinforce
from polyathlon_trainer.rollout.crew import Crew, CrewRules
from polyathlon_trainer.running import Interrupted, Interrupts, Running, StoppedByGuard
from polyathlon_trainer.stages import END, Length, exam_of, length_of, rest_of_budget, stage_order
from polyathlon_trainer.state import RunState

SETTINGS = "run.yaml"
CHECKPOINTS = "checkpoints"
MIN_WORKERS = 2

BuildPolicy = Callable[[RunConfig], Policy]


class FolderError(PolyathlonError):
    """The run's folder is in use, or holds no run."""


@dataclass(frozen=True, slots=True)
class Ending:
    """How a run ended, in a sentence, and where it lies."""

    outcome: Literal["finished", "stopped", "interrupted"]
    folder: Path
    message: str = ""


def begin(config: RunConfig, folder: Path, *, console: Console, build: BuildPolicy | None = None) -> Ending:
    """Begin a run in `folder`, which must not hold one.

    Raises:
        FolderError: there is a run in it already.
        PolyathlonError: whatever else stands in the way, named after its boundary.

    """
    if (folder / SETTINGS).exists():
        raise FolderError(
            f"{folder} already holds a run. Go on with it by `polyathlon train --resume {folder}`, or choose another."
        )
    folder.mkdir(parents=True, exist_ok=True)
    (folder / SETTINGS).write_text(dump_config(config), encoding="utf-8")
    return _run(config, folder, None, console, build or build_policy)


def resume(folder: Path, *, console: Console, build: BuildPolicy | None = None) -> Ending:
    """Go on with the run in `folder` from its newest checkpoint; from the beginning when it has none yet.

    Raises:
        FolderError: no run lies there.
        CheckpointError: the newest checkpoint is damaged; the message names the last good one.

    """
    if not (folder / SETTINGS).exists():
        raise FolderError(f"{folder} holds no run ({SETTINGS} is missing). Give the folder that the run was begun in.")
    config = load_config(folder / SETTINGS)
    checkpoint = Checkpoints(folder / CHECKPOINTS, keep=config.checkpoint.keep).newest()
    return _run(config, folder, checkpoint, console, build or build_policy)


def build_policy(config: RunConfig) -> Policy:
    """Return the policy that `config` names.

    Raises:
        RegistryError: no model has this name, or an extra is missing.

    """
    own = Recipe() if config.model == TINY else HF_RECIPE
    recipe = replace(
        own,
        sft_rate=config.sft.learning_rate or own.sft_rate,
        rl_rate=config.rl.learning_rate or own.rl_rate,
        completions_per_group=config.rl.completions_kept or own.completions_per_group,
    )
    settings = PolicySettings(
        device=config.device,
        max_prompt_tokens=config.rl.max_prompt_tokens,
        recipe=recipe,
        rules=TrustRules(kl_coefficient=config.rl.kl),
    )
    return models.build_policy(config.model, seed=config.seed, settings=settings)


def _run(
    config: RunConfig, folder: Path, checkpoint: Checkpoint | None, console: Console, build: BuildPolicy
) -> Ending:
    state = checkpoint.state if checkpoint else RunState(stage=stage_order(config)[0])
    with ExitStack() as stack:
        lengths = {stage: _length(config, state, stage) for stage in stage_order(config)[::2] if stage != END}
        progress = stack.enter_context(
            Progress(
                console,
                planned_steps={stage: length.steps for stage, length in lengths.items() if length.steps is not None},
                planned_s={stage: length.seconds for stage, length in lengths.items() if length.seconds is not None},
            )
        )
        rules = CrewRules(_num_workers(config), config.workers.step_limit_s, config.workers.episode_limit_s)
        crew = stack.enter_context(Crew(rules, log_folder=folder / "workers"))
        mixture = choose_domains(config.domains, registry(), model=config.model)
        usable = usable_domains(mixture.cards, crew)
        policy = build(config)
        if checkpoint is not None:
            policy.learner.load_state_dict(checkpoint.learner)
        run = Running(
            config=config,
            folder=folder,
            cards=usable.cards,
            policy=policy,
            crew=crew,
            recorder=Recorder(folder, mark=Mark(**state.mark) if checkpoint else Mark()),
            progress=progress,
            checkpoints=Checkpoints(folder / CHECKPOINTS, keep=config.checkpoint.keep),
            interrupts=stack.enter_context(Interrupts(progress.say)),
            state=state,
            groups=checkpoint.groups if checkpoint else (),
        )
        stack.callback(run.close)
        run.start_clock()
        _announce(run, mixture, usable, resumed=checkpoint is not None, lengths=lengths)
        return _walk(run)


def _walk(run: Running) -> Ending:
    """Go through the stages from where the run stands."""
    try:
        while run.state.stage != END:
            _one_stage(run)
    except Interrupted as error:
        return Ending("interrupted", run.folder, str(error))
    except StoppedByGuard as error:
        run.recorder.write(EndRecord("stopped", time_s=run.run_s, reason=str(error)))
        return Ending("stopped", run.folder, str(error))
    run.recorder.write(EndRecord("finished", time_s=run.run_s))
    return Ending("finished", run.folder)


def _one_stage(run: Running) -> None:
    stage = run.state.stage
    order = stage_order(run.config)
    place = order.index(stage)
    if place % 2:
        examine_stage(run, order[place - 1])
        return
    if stage in ("sft-continued", "rl-shuffled") and run.state.step == 0:
        run.policy.learner.load_state_dict(run.checkpoints.load("sft-last").learner)
    length = _length(run.config, run.state, stage)
    if stage == "rl":
        before_s = run.run_s - run.stage_s
        length = rest_of_budget(run.config, length, elapsed_s=before_s, seconds_done=run.state.seconds_done)
    if stage.startswith("sft"):
        imitate(run, cast(Stage, stage), length)
    else:
        reinforce(run, cast(Stage, stage), length)
    assert run.state.stage in (exam_of(stage), END)


def _announce(run: Running, mixture: Mixture, usable: Usable, *, resumed: bool, lengths: dict[str, Length]) -> None:
    """Write the run's first row, or that it goes on; and say which domains are left out, or take part in part."""
    if resumed:
        run.note(f"Resumed at {run.state.stage}, step {run.state.step}.")
    else:
        steps = {stage: length.steps for stage, length in lengths.items() if length.steps is not None}
        ids = tuple(card.id for card in run.cards)
        run.recorder.write(RunRecord(run.policy.name, run.config.seed, ids, steps, run.config.device))
    for domain_id, note in mixture.notes.items():
        run.note(f"{domain_id} {note}.", domain_id=domain_id)
    for domain_id, problem in {**mixture.left_out, **usable.left_out}.items():
        run.note(f"{domain_id} is left out: {problem}", domain_id=domain_id)


def _length(config: RunConfig, state: RunState, stage: str) -> Length:
    return length_of(config, stage, steps_done=state.steps_done, seconds_done=state.seconds_done)


def _num_workers(config: RunConfig) -> int:
    return config.workers.count or max(MIN_WORKERS, os.cpu_count() or MIN_WORKERS)


__all__ = ["CheckpointError", "Ending", "FolderError", "begin", "build_policy", "resume"]
