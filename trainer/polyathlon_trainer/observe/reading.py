"""A run's records, sorted by what they are, for tables, reports and benchmarks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from polyathlon_trainer.observe.lines import read_records
from polyathlon_trainer.observe.records import (
    EndRecord,
    EvalRecord,
    NoteRecord,
    Record,
    RunRecord,
    StepRecord,
)

BEFORE = "sft"
AFTER = "rl"
CONTROLS = ("sft-continued", "rl-shuffled")
SAMPLING = 1.0
"""The temperature that the policy trains at; the primary figure is read there."""


@dataclass(frozen=True, slots=True)
class RunLog:
    """What a run wrote, each kind in the order written. `run` and `end` are None where it began or ended otherwise."""

    run: RunRecord | None
    steps: tuple[StepRecord, ...]
    evals: tuple[EvalRecord, ...]
    notes: tuple[NoteRecord, ...]
    end: EndRecord | None

    @property
    def domains(self) -> tuple[str, ...]:
        """Every domain of the run: in the order planned, then as seen."""
        seen = dict.fromkeys(self.run.domains if self.run else ())
        for step in self.steps:
            seen |= dict.fromkeys(step.domains)
        for record in self.evals:
            seen |= dict.fromkeys(record.rewards)
        return tuple(seen)

    def of_stage(self, stage: str) -> tuple[StepRecord, ...]:
        """Return the steps of `stage`."""
        return tuple(step for step in self.steps if step.stage == stage)

    def evals_of(self, stage: str, *, temperature: float) -> tuple[EvalRecord, ...]:
        """Return the evaluations of `stage` at `temperature`, by step."""
        found = [record for record in self.evals if record.stage == stage and record.temperature == temperature]
        return tuple(sorted(found, key=lambda record: record.step))

    def last_eval(self, stage: str, *, temperature: float) -> EvalRecord | None:
        """Return the last evaluation of `stage` at `temperature`, or None."""
        return next(reversed(self.evals_of(stage, temperature=temperature)), None)


def read_run(folder: Path) -> RunLog:
    """Return the log of the run in `folder`, also of one that was killed or still runs.

    Raises:
        RecordError: there is no run, or a line is broken.

    """
    return sort_records(read_records(folder))


def sort_records(records: Iterable[Record]) -> RunLog:
    """Return `records` as a log. Of two steps or evaluations of the same place the later one counts."""
    run, end = None, None
    steps: dict[tuple[str, int], StepRecord] = {}
    evals: dict[tuple[str, int, float], EvalRecord] = {}
    notes: list[NoteRecord] = []
    for record in records:
        match record:
            case RunRecord():
                run = record
            case StepRecord():
                steps[record.stage, record.step] = record
            case EvalRecord():
                evals[record.stage, record.step, record.temperature] = record
            case NoteRecord():
                notes.append(record)
            case EndRecord():
                end = record
        if not isinstance(record, EndRecord | RunRecord):
            end = None  # the run went on after it
    return RunLog(run=run, steps=tuple(steps.values()), evals=tuple(evals.values()), notes=tuple(notes), end=end)
