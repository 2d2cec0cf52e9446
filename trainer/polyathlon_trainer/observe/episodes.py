"""Episodes on disk: a folder of Parquet parts, each whole or absent, so that a kill loses at most the open one.

The columns of a row (`SCHEMA`); one row is one judged episode:

    uid, member        the group, and the place in it from 0
    stage, step        where in the run it was collected
    domain_id, level, seed, split    its task
    prompt, texts      for reading: what was asked, then action, observation, action ...
    reward, passed, truncated, reason, parts    its verdict; parts is a map of names to numbers
    prompt_ids         token ids of the first context
    token_ids, logprobs, versions    one list a turn, in it one entry a sampled token; natural logarithms
    observation_ids    one list a turn: what the environment added after it
    wall_s             seconds from first prompt to verdict
    sandbox            JSON: what its sandbox was and used (SandboxRecord); "" when there was none

Text is valid UTF-8: a lone surrogate is written as its escape.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from polyathlon_trainer.episode import Episode, Group
from polyathlon_trainer.observe.lines import RecordError, printable

EPISODES = "episodes"
MAX_PART_ROWS = 2_048
MAX_PART_CHARS = 32_000_000

SCHEMA = pa.schema(
    [
        ("uid", pa.string()),
        ("member", pa.int32()),
        ("stage", pa.string()),
        ("step", pa.int64()),
        ("domain_id", pa.string()),
        ("level", pa.int32()),
        ("seed", pa.int64()),
        ("split", pa.string()),
        ("prompt", pa.string()),
        ("texts", pa.list_(pa.string())),
        ("reward", pa.float64()),
        ("passed", pa.bool_()),
        ("truncated", pa.bool_()),
        ("reason", pa.string()),
        ("parts", pa.map_(pa.string(), pa.float64())),
        ("prompt_ids", pa.list_(pa.int32())),
        ("token_ids", pa.list_(pa.list_(pa.int32()))),
        ("logprobs", pa.list_(pa.list_(pa.float32()))),
        ("versions", pa.list_(pa.list_(pa.int64()))),
        ("observation_ids", pa.list_(pa.list_(pa.int32()))),
        ("wall_s", pa.float64()),
        ("sandbox", pa.string()),
    ]
)


class EpisodeWriter:
    """Collects rows and writes them as `episodes/part-000000.parquet` and so on. Not thread-safe.

    A part is written aside and renamed. On opening, parts from `first_part` on are removed: they are what an earlier
    process wrote after the checkpoint that is being resumed.
    """

    def __init__(self, folder: Path, *, first_part: int | None = None) -> None:
        self._folder = folder / EPISODES
        self._folder.mkdir(parents=True, exist_ok=True)
        for leftover in self._folder.glob("*.tmp"):
            leftover.unlink()
        present = [_number(path) for path in parts(folder)]
        self._next = max(present, default=-1) + 1 if first_part is None else first_part
        for number in present:
            if number >= self._next:
                self._path(number).unlink()
        self._rows: list[dict[str, Any]] = []  # a row is a column's name -> what pyarrow takes for it
        self._chars = 0

    def write(self, group: Group, *, stage: str, step: int) -> None:
        """Take every episode of `group`; lost members are not episodes and leave no row."""
        for member, episode in enumerate(group.episodes):
            row = _row(episode) | {"uid": group.uid, "member": member, "stage": stage, "step": step}
            self._rows.append(row)
            self._chars += len(row["prompt"]) + sum(len(text) for text in row["texts"])
        if len(self._rows) >= MAX_PART_ROWS or self._chars >= MAX_PART_CHARS:
            self.flush()

    def flush(self) -> int:
        """Write the open part, if it has rows, and return how many parts there are now.

        Raises:
            RecordError: the disk refused it; the rows are kept for the next flush.

        """
        if self._rows:
            path = self._path(self._next)
            aside = path.with_name(path.name + ".tmp")
            try:
                pq.write_table(pa.Table.from_pylist(self._rows, schema=SCHEMA), aside, compression="zstd")
                os.replace(aside, path)
            except OSError as error:
                raise RecordError(
                    f"{EPISODES}/{path.name}: not written: {error}. Free space, then resume from the last checkpoint."
                ) from error
            self._next += 1
            self._rows, self._chars = [], 0
        return self._next

    def _path(self, number: int) -> Path:
        return self._folder / f"part-{number:06d}.parquet"


def _row(episode: Episode) -> dict[str, Any]:
    return {
        "domain_id": episode.key.domain_id,
        "level": episode.key.level,
        "seed": episode.key.seed,
        "split": episode.key.split,
        "prompt": printable(episode.prompt),
        "texts": [printable(text) for text in episode.texts],
        "reward": episode.reward,
        "passed": episode.passed,
        "truncated": episode.truncated,
        "reason": printable(episode.reason),
        "parts": [(printable(name), float(value)) for name, value in episode.parts.items()],
        "prompt_ids": list(episode.prompt_ids),
        "token_ids": [list(turn.token_ids) for turn in episode.turns],
        "logprobs": [list(turn.logprobs) for turn in episode.turns],
        "versions": [list(turn.versions) for turn in episode.turns],
        "observation_ids": [list(turn.observation_ids) for turn in episode.turns],
        "wall_s": episode.wall_s,
        "sandbox": episode.sandbox,
    }


def parts(folder: Path) -> list[Path]:
    """Return the Parquet files of the run in `folder`, in the order written; none where there are none."""
    return sorted((folder / EPISODES).glob("part-*.parquet"))


def read_episodes(folder: Path, *, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
    """Yield the episodes of the run in `folder`, some rows at a time, so that a long run fits in memory.

    Raises:
        RecordError: a part is no Parquet file.

    """
    for path in parts(folder):
        try:
            with pq.ParquetFile(path) as file:
                yield from file.iter_batches(batch_size=512, columns=columns)
        except (pa.ArrowException, OSError) as error:
            raise RecordError(f"{EPISODES}/{path.name}: not a whole Parquet file: {error}. Delete it.") from error


def _number(path: Path) -> int:
    return int(path.stem.removeprefix("part-"))
