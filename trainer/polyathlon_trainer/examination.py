"""The examination after a training stage: every temperature, every domain, written down; the guard's first measure."""

from __future__ import annotations

from dataclasses import replace

from polyathlon_trainer.evaluate import Collect, Exam, examine, probe
from polyathlon_trainer.guard import prompt_means, watch
from polyathlon_trainer.observe.records import EvalRecord
from polyathlon_trainer.producer import Producer
from polyathlon_trainer.running import Interrupted, Running
from polyathlon_trainer.stages import exam_of, next_stage
from polyathlon_trainer.state import GuardState


def examine_stage(run: Running, trained: str) -> None:
    """Examine the weights that stage `trained` ended with, at every temperature.

    Raises:
        Interrupted: someone asked to stop; the examination is taken again on resume.

    """

    def watch_interrupts() -> None:
        if run.interrupts.asked:
            raise Interrupted(f"Stopped. Go on with: polyathlon train --resume {run.folder}")

    producer = Producer(run.policy.engine, run.policy.chat, run.crew, run.sample_rules(), watch=watch_interrupts)
    collect = run.exam_collect(producer.sampler)
    config = run.config.eval
    if not run.state.probed:
        probed = probe(
            run.cards,
            num_prompts=config.prompts,
            num_samples=config.samples,
            probe_prompts=config.probe_prompts,
            collect=collect,
        )
        run.state = replace(run.state, probed=probed)
    probed = {card.id: run.state.probed.get(card.id, config.prompts) for card in run.cards}
    step = run.state.steps_done.get(trained, 0)
    guard = run.state.guard
    for temperature in config.temperatures:
        primary = temperature == 1.0
        asked = probed if primary else {name: min(num, config.other_prompts) for name, num in probed.items()}
        num_samples = config.samples if primary else config.other_samples
        exam = examine(run.cards, asked, num_samples=num_samples, temperature=temperature, collect=collect)
        record_exam(run, exam, stage=trained, step=step, temperature=temperature)
        if temperature == 1.0 and trained == "sft":
            guard = watch(GuardState(), prompt_means(exam.rewards, num_prompts=config.guard_prompts), step=0).state
    run.end_stage(next_stage(run.config, exam_of(trained)), guard=guard)


def examine_on_the_way(run: Running, collect: Collect, *, stage: str) -> Exam:
    """Return a short examination at temperature 1, written down as the stage's at its step."""
    config = run.config.eval
    asked = {card.id: min(run.state.probed.get(card.id, config.prompts), config.guard_prompts) for card in run.cards}
    exam = examine(run.cards, asked, num_samples=config.samples, temperature=1.0, collect=collect)
    record_exam(run, exam, stage=stage, step=run.state.step, temperature=1.0)
    return exam


def record_exam(run: Running, exam: Exam, *, stage: str, step: int, temperature: float) -> None:
    """Write an examination down, and say its mean over domains."""
    run.recorder.write(
        EvalRecord(
            stage=stage,
            step=step,
            time_s=run.run_s,
            temperature=temperature,
            rewards=exam.rewards,
            passed=exam.passed,
        )
    )
    means = exam.means().values()
    if means:
        how = f"T={temperature:g}" if temperature else "greedy"
        run.progress.say(f"held out after {stage} step {step}, {how}: mean reward {sum(means) / len(means):.3f}")
