"""The ledger of a stage: which groups were promised, before any is sampled, and what became of each, after it was used.

Two files of JSON lines. `dispatch.jsonl` is written ahead and never cut: after a kill the same groups are collected,
whatever a resumed curriculum would choose. `updates.jsonl` is cut back to the checkpoint that a run resumes from.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from polyathlon.canonical import Json, canonical_json
from polyathlon.drawing import TaskKey
from polyathlon.errors import PolyathlonError


class LedgerError(PolyathlonError):
    """The ledger's files cannot be read or written."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one group: "trained" on, "flat" (nothing to learn from) or "lost" (fewer than two episodes)."""

    uid: str
    fate: str
    rewards: tuple[float, ...] = ()
    advantages: tuple[float, ...] = ()


class _Promise(msgspec.Struct, frozen=True):
    batch: int
    keys: tuple[TaskKey, ...]


class _Update(msgspec.Struct, frozen=True):
    step: int
    trained: tuple[str, ...]
    flat: tuple[str, ...]
    lost: tuple[str, ...]
    chain: str


class Ledger:
    """The ledger in `folder`, continued at `step` updates."""

    def __init__(self, folder: Path, *, step: int) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._dispatch = folder / "dispatch.jsonl"
        self._updates = folder / "updates.jsonl"
        self._promises: dict[int, tuple[TaskKey, ...]] = {
            promise.batch: promise.keys for promise in _read(self._dispatch, _Promise)
        }
        kept = [update for update in _read(self._updates, _Update) if update.step < step]
        _rewrite(self._updates, kept)

    def promised(self, batch: int) -> tuple[TaskKey, ...] | None:
        """Return the tasks that were promised as `batch` before, or None."""
        return self._promises.get(batch)

    def promise(self, batch: int, keys: Sequence[TaskKey]) -> None:
        """Write down that `batch` will be `keys`; when this returns it is on the disk."""
        if self._promises.get(batch) != tuple(keys):
            self._promises[batch] = tuple(keys)
            _append(self._dispatch, _Promise(batch, tuple(keys)))

    def record(self, step: int, outcomes: Sequence[Outcome], chain: str) -> None:
        """Write down what became of the groups of one step."""

        def uids(fate: str) -> tuple[str, ...]:
            return tuple(outcome.uid for outcome in outcomes if outcome.fate == fate)

        _append(self._updates, _Update(step, uids("trained"), uids("flat"), uids("lost"), chain))


def link_chain(chain: str, *, step: int, outcomes: Sequence[Outcome], update: Mapping[str, Json]) -> str:
    """Return the next link of the run's hash chain: equal chains, equal streams of tasks, rewards and updates."""
    rows: list[Json] = [
        [outcome.uid, outcome.fate, list(outcome.rewards), list(outcome.advantages)] for outcome in outcomes
    ]
    text = canonical_json([chain, step, rows, dict(update)])
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def _read(path: Path, kind: type[msgspec.Struct]) -> list:  # type: ignore[type-arg]  # of `kind`
    """Return the whole lines of `path`; a torn last one is cut off."""
    if not path.exists():
        return []
    data = path.read_bytes()
    whole = data.rfind(b"\n") + 1
    if whole < len(data):
        os.truncate(path, whole)
    try:
        return [msgspec.json.decode(line, type=kind) for line in data[:whole].splitlines()]
    except msgspec.DecodeError as error:
        raise LedgerError(f"{path} is damaged: {error}. Restore it, or start a new run in another folder.") from error


def _append(path: Path, row: msgspec.Struct) -> None:
    try:
        with path.open("ab") as file:
            file.write(msgspec.json.encode(row) + b"\n")
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise LedgerError(f"{path} cannot be written: {error}. Free space, then resume from the checkpoint.") from error


def _rewrite(path: Path, rows: Sequence[msgspec.Struct]) -> None:
    aside = path.with_suffix(".tmp")
    aside.write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in rows))
    os.replace(aside, path)
