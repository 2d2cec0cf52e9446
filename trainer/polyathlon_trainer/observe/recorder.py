"""Writes what a run leaves: metrics.jsonl, episodes in Parquet, and a mirror in TensorBoard."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from polyathlon_trainer.episode import Group
from polyathlon_trainer.observe.episodes import EpisodeWriter
from polyathlon_trainer.observe.lines import METRICS, RecordError, encode, mend, read_records
from polyathlon_trainer.observe.mirror import Mirror
from polyathlon_trainer.observe.records import EvalRecord, Record, StepRecord


@dataclass(frozen=True, slots=True)
class Mark:
    """How far a run had been recorded: bytes of metrics.jsonl and parts of episodes. Two integers, for a checkpoint."""

    metrics_bytes: int = 0
    episode_parts: int = 0


class Recorder:
    """Appends records to the run in `folder`. Not thread-safe; one process at a time.

    Without `mark` an earlier run in the folder is kept and added to, after a torn last line was cut off. With the
    `mark` of a checkpoint everything recorded after that checkpoint is dropped first, so that a resumed run holds each
    row once. Every row is flushed to the operating system as it is written: kill -9 loses none but the one in writing.
    """

    def __init__(self, folder: Path, *, mark: Mark | None = None) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / METRICS
        if mark is not None:
            _cut(self._path, mark.metrics_bytes)
        mend(self._path)
        kept = read_records(folder) if self._path.exists() else []
        self._file = self._path.open("ab", buffering=0)
        self._episodes = EpisodeWriter(folder, first_part=None if mark is None else mark.episode_parts)
        self._mirror = Mirror(folder, last_steps=_last_steps(kept))

    def write(self, record: Record) -> None:
        """Append `record` as one line, and mirror its scalars.

        Raises:
            RecordError: the disk refused it; nothing of the line stays.

        """
        line = encode(record)
        end = os.fstat(self._file.fileno()).st_size
        try:
            written = self._file.write(line)
            if written != len(line):
                raise OSError(f"{written} of {len(line)} bytes were written")
        except OSError as error:
            self._file.truncate(end)
            raise RecordError(
                f"{METRICS}: not written: {error}. Free space, then resume from the last checkpoint."
            ) from error
        self._mirror.write(record)

    def write_group(self, group: Group, *, stage: str, step: int) -> None:
        """Keep the episodes of `group`, collected for `step` of `stage`."""
        self._episodes.write(group, stage=stage, step=step)

    def mark(self) -> Mark:
        """Return the mark to store in the checkpoint that is about to be written; all before it is then on disk."""
        parts = self._episodes.flush()
        os.fsync(self._file.fileno())
        self._mirror.flush()
        return Mark(metrics_bytes=os.fstat(self._file.fileno()).st_size, episode_parts=parts)

    def close(self) -> None:
        """Write the open part and close all files. May be called twice."""
        if not self._file.closed:
            self._episodes.flush()
            self._file.close()
            self._mirror.close()

    def __enter__(self) -> Recorder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _cut(path: Path, size: int) -> None:
    present = path.stat().st_size if path.exists() else 0
    if present < size:
        raise RecordError(
            f"{METRICS} has {present} bytes, and the checkpoint was written at {size}: rows are missing. Put the file "
            "back, or resume from an older checkpoint."
        )
    if present > size:
        os.truncate(path, size)


def _last_steps(records: list[Record]) -> dict[str, int]:
    """Return {stage: last step recorded}."""
    last: dict[str, int] = {}
    for record in records:
        if isinstance(record, StepRecord | EvalRecord):
            last[record.stage] = max(record.step, last.get(record.stage, -1))
    return last
