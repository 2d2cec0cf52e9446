"""A run while it runs: its open parts, its clock, and what every stage does with them: note, examine, save, stop."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from types import FrameType

from polyathlon.errors import PolyathlonError
from polyathlon_trainer.checkpoint import Checkpoint, Checkpoints
from polyathlon_trainer.collect import Sampler
from polyathlon_trainer.config.schema import RunConfig
from polyathlon_trainer.evaluate import Collect
from polyathlon_trainer.learning.protocol import Policy
from polyathlon_trainer.mixture import DomainCard
from polyathlon_trainer.observe.live import Progress
from polyathlon_trainer.observe.recorder import Recorder
from polyathlon_trainer.observe.records import NoteRecord
from polyathlon_trainer.plans import Collected, GroupPlan, SampleRules
from polyathlon_trainer.rollout.crew import Crew
from polyathlon_trainer.sampling.protocol import Engine
from polyathlon_trainer.state import RunState


class Interrupted(PolyathlonError):
    """Someone asked the run to stop; what it was is saved."""


class StoppedByGuard(PolyathlonError):
    """Domains kept falling: the run saved itself and gave up."""


@dataclass(slots=True)
class Interrupts:
    """Ctrl-C and termination become a wish that the run grants after its step; the second Ctrl-C ends it at once."""

    say: Callable[[str], None]
    asked: bool = False
    _before: dict[int, object] = field(default_factory=dict)

    def __enter__(self) -> Interrupts:
        for number in (signal.SIGINT, signal.SIGTERM):
            self._before[number] = signal.signal(number, self._ask)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]  # what signal.signal gave us

    def _ask(self, number: int, frame: FrameType | None) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True
        self.say("Stopping after this step, then saving. Once more to stop at once (the last checkpoint stays good).")


@dataclass(slots=True)
class Running:
    """The open parts of a run, and its state. `groups` are finished ones that came with the checkpoint."""

    config: RunConfig
    folder: Path
    cards: tuple[DomainCard, ...]
    policy: Policy
    crew: Crew
    recorder: Recorder
    progress: Progress
    checkpoints: Checkpoints
    interrupts: Interrupts
    state: RunState
    groups: tuple[Collected, ...] = ()
    _exam_engine: Engine | None = None
    _began_s: float = 0.0
    _stage_began_s: float = 0.0

    def start_clock(self) -> None:
        """Count seconds from here on, on top of those of the state."""
        self._began_s = time.monotonic() - self.state.run_s
        self._stage_began_s = time.monotonic() - self.state.stage_s

    @property
    def run_s(self) -> float:
        return time.monotonic() - self._began_s

    @property
    def stage_s(self) -> float:
        return time.monotonic() - self._stage_began_s

    def sample_rules(self) -> SampleRules:
        """Return where texts and episodes end in this run."""
        rl = self.config.rl
        return SampleRules(
            max_new_tokens=rl.max_new_tokens,
            max_context_tokens=rl.max_context_tokens,
            max_turns={card.id: min(card.max_turns, rl.max_turns) for card in self.cards},
            dear=frozenset(card.id for card in self.cards if card.needs_sandbox),
            lockstep=rl.ordered,
        )

    def exam_collect(self, sampler: Sampler) -> Collect:
        """Return the way to collect examinations: with an engine of their own, on the averaged weights of now."""
        if self._exam_engine is None:
            self._exam_engine = self.policy.new_engine()
        engine = self._exam_engine
        engine.load_weights(self.policy.learner.averaged_weights(), version=engine.version + 1)

        def collect(plans: Sequence[GroupPlan]) -> list[Collected]:
            found: dict[str, Collected] = {}

            def keep(collected: Collected) -> None:
                found[collected.plan.uid] = collected

            sampler.collect(plans, on_done=keep, engine=engine)
            return [found[plan.uid] for plan in plans]

        return collect

    def note(self, text: str, *, domain_id: str | None = None) -> None:
        """Write down what a reader of the run should know, and say it."""
        self.recorder.write(NoteRecord(text, time_s=self.run_s, step=self.state.step, domain_id=domain_id))
        self.progress.say(text)

    def save(self, name: str, groups: Sequence[Collected] = ()) -> Path:
        """Write a checkpoint of everything."""
        self.state = replace(self.state, run_s=self.run_s, stage_s=self.stage_s, mark=asdict(self.recorder.mark()))
        return self.checkpoints.save(Checkpoint(name, self.state, self.policy.learner.state_dict(), tuple(groups)))

    def end_stage(self, following: str, **changes: object) -> None:
        """Go over to the stage `following`, and keep a checkpoint of the end of this one for good."""
        stage = self.state.stage
        done = {**self.state.steps_done, stage: self.state.step}
        seconds = {**self.state.seconds_done, stage: self.stage_s}
        state = replace(self.state, stage=following, step=0, stage_s=0.0, steps_done=done, seconds_done=seconds)
        self.state = replace(state, **changes)  # type: ignore[arg-type]  # fields of the state, by name
        self._stage_began_s = time.monotonic()
        self.groups = ()
        self.save(f"{stage}-last")

    def stop_if_asked(self, name: str, groups: Callable[[], Sequence[Collected]]) -> None:
        """Save as `name` and end the run when someone asked for it.

        Raises:
            Interrupted: someone did.

        """
        if self.interrupts.asked:
            self.save(name, groups())
            raise Interrupted(f"Stopped and saved. Go on with: polyathlon train --resume {self.folder}")

    def close(self) -> None:
        """Close engines, workers and files. May be called twice."""
        for engine in (self._exam_engine, self.policy.engine):
            if engine is not None:
                engine.close()
        self.crew.close()
        self.recorder.close()
