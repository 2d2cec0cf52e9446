"""The RL stage: plan, collect, account, learn; with staleness 0 by turns, otherwise collecting beside learning."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace

from polyathlon.errors import PolyathlonError
from polyathlon_trainer.curriculum.state import raise_floor
from polyathlon_trainer.examination import examine_on_the_way
from polyathlon_trainer.guard import prompt_means, watch
from polyathlon_trainer.learning.batch import RlBatch
from polyathlon_trainer.learning.protocol import Update
from polyathlon_trainer.ledger import Ledger, link_chain
from polyathlon_trainer.mixture import shares
from polyathlon_trainer.observe.records import DomainStep, Stage, StepRecord
from polyathlon_trainer.planning import PlanRules, plan_batch
from polyathlon_trainer.plans import Collected, GroupPlan
from polyathlon_trainer.producer import Producer
from polyathlon_trainer.running import Running, StoppedByGuard
from polyathlon_trainer.stages import Length, next_stage
from polyathlon_trainer.state import RlState, fresh_rl, merged_rl
from polyathlon_trainer.step import RewardRules, account, domain_rows

TAKE_S = 1.0
MAX_EMPTY_BATCHES = 3


class NothingJudged(PolyathlonError):
    """Batch after batch, every group was lost."""


@dataclass(frozen=True, slots=True)
class _Timing:
    """Seconds of one step, and the ages of what it learned from in weight versions."""

    wait_s: float
    learn_s: float
    ages: tuple[int, ...]


def reinforce(run: Running, stage: Stage, length: Length) -> None:
    """Run the stage to its end.

    Raises:
        Interrupted: someone asked to stop; the run is saved.
        StoppedByGuard: domains kept falling; the run is saved.
        NothingJudged: nothing can be judged any more.

    """
    producer = Producer(run.policy.engine, run.policy.chat, run.crew, run.sample_rules())
    try:
        Reinforcement(run, stage, length, producer).run()
    finally:
        producer.close()
    run.crew.drain()
    run.end_stage(next_stage(run.config, stage))


class Reinforcement:
    """One RL stage under way. Plans, books and weights are touched by the learner's thread alone."""

    def __init__(self, run: Running, stage: Stage, length: Length, producer: Producer) -> None:
        self._run, self._stage, self._length, self._producer = run, stage, length, producer
        config = run.config
        self._declared = shares(run.cards)
        self._plan_rules = PlanRules(
            config.seed, stage, config.rl.groups_per_step, config.rl.group_size, config.rl.temperature
        )
        shuffle_seed = config.seed if stage == "rl-shuffled" else None
        self._reward_rules = RewardRules(config.rl.scale, config.rl.temperature, shuffle_seed)
        self._ledger = Ledger(run.folder / "ledger" / stage, step=run.state.step)

    def run(self) -> None:
        """Take steps until the stage is over."""
        self._open()
        run = self._run
        while not self._length.is_over(step=run.state.step, elapsed_s=run.stage_s):
            start = time.monotonic()
            collected = self._take()
            self._step(collected, wait_s=time.monotonic() - start)
            self._look_after()

    def _open(self) -> None:
        """Put the weights in the engine, promise what was pending, and plan as far ahead as staleness allows."""
        run, producer = self._run, self._producer
        state = run.state.rl if run.state.step else None
        engine = run.policy.engine
        state = merged_rl(state, run.cards) if state else fresh_rl(run.cards, version=engine.version + 1)
        producer.mailbox.publish(run.policy.learner.weights(), version=state.version)
        if run.config.rl.max_staleness > 0:
            producer.start_beside()
        here = {collected.plan.uid: collected for collected in run.groups}
        for plans in state.pending:
            self._submit(plans, here)
        self._save_rl(state)
        while len(self._rl.pending) <= run.config.rl.max_staleness:
            plans = self._plan_more()
            if not plans:
                break
            self._submit(plans, {})

    def _plan_more(self) -> tuple[GroupPlan, ...]:
        """Plan and promise one more batch; nothing when the stage needs no more."""
        state = self._rl
        if self._length.steps is not None and state.batches_planned >= self._length.steps:
            return ()
        batch = state.batches_planned
        state, plans = plan_batch(state, self._plan_rules, self._ledger.promised(batch))
        self._ledger.promise(batch, [plan.key for plan in plans])
        self._save_rl(state)
        return plans

    def _submit(self, plans: tuple[GroupPlan, ...], here: Mapping[str, Collected]) -> None:
        self._producer.buffer.promise(plans, [here[plan.uid] for plan in plans if plan.uid in here])
        self._producer.submit([plan for plan in plans if plan.uid not in here])

    def _take(self) -> tuple[Collected, ...]:
        self._producer.work_off()
        while True:
            taken = self._producer.buffer.take(limit_s=TAKE_S)
            if taken is not None:
                return taken
            self._run.stop_if_asked(self._name(), self._producer.buffer.held)

    def _step(self, collected: tuple[Collected, ...], *, wait_s: float) -> None:
        """Settle a batch, plan the next, learn, and write it all down."""
        run, before = self._run, self._rl
        ages = tuple(before.version - e.oldest_version for c in collected for e in c.group.episodes if e.num_tokens)
        accounted = account(before, collected, self._declared, self._reward_rules)
        self._save_rl(accounted.state)
        plans = self._plan_more()
        self._producer.pose_ahead(plans)
        start = time.monotonic()
        update = self._learn(accounted.batch)
        if plans:  # only now: collected before the update, it would be one version too old when its turn comes
            self._submit(plans, {})
        timing = _Timing(wait_s, time.monotonic() - start, ages)
        step = run.state.step
        facts = {"loss": update.loss, "grad_norm": update.grad_norm, "tokens": update.tokens}
        chain = link_chain(before.chain, step=step, outcomes=accounted.outcomes, update=facts)
        self._save_rl(replace(self._rl, chain=chain))
        self._ledger.record(step, accounted.outcomes, chain)
        record = self._record(update, timing, domain_rows(before, collected, accounted.outcomes))
        run.recorder.write(record)
        for item in collected:
            run.recorder.write_group(item.group, stage=self._stage, step=step + 1)
        run.progress.step(record)
        run.state = replace(run.state, step=step + 1)

    def _learn(self, batch: RlBatch) -> Update:
        run = self._run
        progress = self._length.progress(step=run.state.step, elapsed_s=run.stage_s)
        update = run.policy.learner.rl_step(batch, progress=progress)
        if update.loss is not None:
            version = self._rl.version + 1
            self._save_rl(replace(self._rl, version=version))
            self._producer.mailbox.publish(run.policy.learner.weights(), version=version)
        return update

    def _look_after(self) -> None:
        """Between two steps: examine, save, or stop."""
        run, config = self._run, self._run.config
        if self._rl.empty_batches >= MAX_EMPTY_BATCHES:
            run.save(self._name(), self._producer.buffer.held())
            raise NothingJudged(
                f"{MAX_EMPTY_BATCHES} batches in a row were lost whole: no group had two judged episodes. See "
                f"`failures` in {run.folder / 'metrics.jsonl'}, mend the cause, then resume."
            )
        every = config.eval.guard_every_steps
        if every and run.state.step % every == 0 and run.state.guard.rewards and self._stage == "rl":
            self._guard()
        if run.state.step % config.checkpoint.every_steps == 0:
            run.save(self._name(), self._producer.buffer.held())
        run.stop_if_asked(self._name(), self._producer.buffer.held)

    def _guard(self) -> None:
        """Examine on the way; raise the floors of domains that fell; give up after too many falls in a row."""
        run, config = self._run, self._run.config.eval
        collect = run.exam_collect(self._producer.sampler)
        exam = self._producer.ask(lambda: examine_on_the_way(run, collect, stage=self._stage))
        means = prompt_means(exam.rewards, num_prompts=config.guard_prompts)
        finding = watch(run.state.guard, means, step=run.state.step)
        run.state = replace(run.state, guard=finding.state)
        for domain_id, fall in finding.fallen.items():
            self._save_rl(replace(self._rl, curriculum=raise_floor(self._rl.curriculum, domain_id)))
            best = finding.state.step
            run.note(f"{domain_id} fell by {fall:.3f} since step {best}; its floor was raised.", domain_id=domain_id)
        if finding.state.falls >= config.guard_patience:
            run.save(self._name(), self._producer.buffer.held())
            raise StoppedByGuard(
                f"Stopped: domains fell in {finding.state.falls} examinations in a row ({', '.join(finding.fallen)}). "
                "Lower the learning rate or give them more weight, then resume or begin anew."
            )

    def _record(self, update: Update, timing: _Timing, domains: Mapping[str, DomainStep]) -> StepRecord:
        ages = timing.ages
        return StepRecord(
            stage=self._stage,
            step=self._run.state.step + 1,
            time_s=self._run.run_s,
            loss=update.loss,
            grad_norm=update.grad_norm,
            learn_s=timing.learn_s,
            wait_s=timing.wait_s,
            learning_rate=update.learning_rate,
            version=self._rl.version,
            age_mean=sum(ages) / len(ages) if ages else 0.0,
            age_max=max(ages, default=0),
            truncated_share=update.truncated_share,
            masked_share=update.masked_share,
            mismatch=update.mismatch,
            kl=update.kl,
            entropy=update.entropy,
            domains=domains,
        )

    @property
    def _rl(self) -> RlState:
        assert self._run.state.rl is not None
        return self._run.state.rl

    def _save_rl(self, state: RlState) -> None:
        self._run.state = replace(self._run.state, rl=state)

    def _name(self) -> str:
        return f"{self._stage}-{self._run.state.step:06d}"
