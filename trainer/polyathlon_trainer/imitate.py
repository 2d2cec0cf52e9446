"""The imitation stage: steps of SFT on reference episodes, until its steps or its seconds are over."""

from __future__ import annotations

import time
from dataclasses import replace

from polyathlon_trainer.config.schema import TINY_SHORT_FIRST, RunConfig
from polyathlon_trainer.learning.models import TINY
from polyathlon_trainer.learning.protocol import Update
from polyathlon_trainer.observe.records import Stage, StepRecord
from polyathlon_trainer.running import Running
from polyathlon_trainer.sft import NothingToImitate, ReferenceRules, ReferenceStream
from polyathlon_trainer.stages import Length, next_stage


def imitate(run: Running, stage: Stage, length: Length) -> None:
    """Run the stage to its end.

    Raises:
        Interrupted: someone asked to stop; the run is saved.

    """
    config = run.config
    rules = ReferenceRules(
        seed=config.seed,
        stage=stage,
        max_prompt_tokens=config.rl.max_prompt_tokens,
        max_new_tokens=config.rl.max_new_tokens,
        max_context_tokens=config.rl.max_context_tokens,
        sandbox_tasks=config.sft.sandbox_tasks,
        short_first=_short_first(config) if stage == "sft" else 0.0,
    )
    stream = ReferenceStream(run.cards, run.crew, run.policy.chat, rules, run.state.sft)
    try:
        while not length.is_over(step=run.state.step, elapsed_s=run.stage_s):
            _step(run, stage, stream, length)
            if run.state.step % config.checkpoint.every_steps == 0:
                run.save(f"{stage}-{run.state.step:06d}")
            run.stop_if_asked(f"{stage}-{run.state.step:06d}", tuple)
    except NothingToImitate as error:
        run.note(str(error))
    stream.close()
    _report_left_out(run, stream)
    run.end_stage(next_stage(config, stage))


def _short_first(config: RunConfig) -> float:
    if config.sft.short_first is not None:
        return config.sft.short_first
    return TINY_SHORT_FIRST if config.model == TINY else 0.0


def _step(run: Running, stage: Stage, stream: ReferenceStream, length: Length) -> None:
    progress = length.progress(step=run.state.step, elapsed_s=run.stage_s)
    start = time.monotonic()
    examples = stream.batch(run.config.sft.examples_per_step, progress=progress)
    fetched = time.monotonic()
    update: Update = run.policy.learner.sft_step(examples, progress=progress)
    record = StepRecord(
        stage=stage,
        step=run.state.step + 1,
        time_s=run.run_s,
        loss=update.loss,
        grad_norm=update.grad_norm,
        learn_s=time.monotonic() - fetched,
        wait_s=fetched - start,
        learning_rate=update.learning_rate,
        entropy=update.entropy,
    )
    run.state = replace(run.state, step=run.state.step + 1, sft=stream.state)
    run.recorder.write(record)
    run.progress.step(record)


def _report_left_out(run: Running, stream: ReferenceStream) -> None:
    for domain_id in stream.shut:
        run.note(
            f"{domain_id}: none of its levels is imitated: prompt or answer is longer than rl.max_prompt_tokens, "
            f"rl.max_new_tokens or rl.max_context_tokens allow, or its reference did not pass "
            f"({stream.left_out.get(domain_id, 0)} tried).",
            domain_id=domain_id,
        )
