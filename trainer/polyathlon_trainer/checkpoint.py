"""Checkpoints: everything a run is, written aside, forced to disk, sealed with digests and renamed; read back checked.

A checkpoint is a folder `NAME` with `state.json`, `groups.msgpack` (finished groups, token by token), `learner.pt` or
`learner.json`, and the seal `COMPLETE`, written last. A folder without its seal was never a checkpoint.
"""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from polyathlon.canonical import check_json
from polyathlon.errors import PolyathlonError
from polyathlon_trainer.plans import Collected
from polyathlon_trainer.state import RunState

SEAL = "COMPLETE"
STATE = "state.json"
GROUPS = "groups.msgpack"
_TENSORS = "learner.pt"
_PLAIN = "learner.json"
_ASIDE = ".writing-"
MIN_FREE_BYTES = 1 << 20


class CheckpointError(PolyathlonError):
    """A checkpoint cannot be written or read."""


class _Seal(msgspec.Struct, frozen=True):
    """What makes a folder a checkpoint: its place in the order of writing, and the SHA-256 of every file."""

    order: int
    files: dict[str, str]


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What was saved. `learner` is what its `state_dict` gave; `groups` are finished and were not learned from."""

    name: str
    state: RunState
    learner: Mapping[str, Any]
    groups: tuple[Collected, ...] = ()


class Checkpoints:
    """The checkpoints in `folder`. The last `keep` are kept, and all whose name ends in "-last" (ends of stages)."""

    def __init__(self, folder: Path, *, keep: int) -> None:
        self._folder = folder
        self._keep = keep

    def save(self, checkpoint: Checkpoint) -> Path:
        """Write `checkpoint` and return its folder; when this returns it is on the disk.

        Raises:
            CheckpointError: the disk is full or refuses; the earlier checkpoints are untouched.

        """
        aside = self._folder / f"{_ASIDE}{checkpoint.name}"
        final = self._folder / checkpoint.name
        try:
            shutil.rmtree(aside, ignore_errors=True)
            aside.mkdir(parents=True)
            _write(aside / STATE, msgspec.json.encode(checkpoint.state))
            _write(aside / GROUPS, msgspec.msgpack.encode(checkpoint.groups))
            _save_learner(aside, checkpoint.learner)
            seal = _Seal(self._next_order(), {path.name: _digest(path) for path in sorted(aside.iterdir())})
            _write(aside / SEAL, msgspec.json.encode(seal))
            _sync_folder(aside)
            shutil.rmtree(final, ignore_errors=True)
            os.rename(aside, final)
            _sync_folder(self._folder)
        except OSError as error:
            shutil.rmtree(aside, ignore_errors=True)
            raise CheckpointError(self._complaint(final, error)) from error
        self._prune()
        return final

    def names(self) -> list[str]:
        """Return the names of all sealed checkpoints, oldest first."""
        sealed = [(self._seal(path), path.name) for path in self._folders()]
        return [name for seal, name in sorted(sealed, key=lambda pair: pair[0].order if pair[0] else -1) if seal]

    def newest(self) -> Checkpoint | None:
        """Return the newest checkpoint, or None when there is none.

        Raises:
            CheckpointError: it is damaged; names the file, and the last good checkpoint.

        """
        names = self.names()
        return self.load(names[-1]) if names else None

    def load(self, name: str) -> Checkpoint:
        """Return the checkpoint `name`.

        Raises:
            CheckpointError: there is none of this name, or it is damaged; names the file, and the last good checkpoint.

        """
        path = self._folder / name
        seal = self._seal(path)
        if seal is None:
            raise CheckpointError(
                f"{path} is no complete checkpoint. Complete ones: {', '.join(self.names()) or 'none'}."
            )
        for file, digest in seal.files.items():
            if _digest(path / file) != digest:
                raise CheckpointError(f"{path / file} is damaged. {self._advice(name)}")
        try:
            return Checkpoint(
                name=name,
                state=msgspec.json.decode((path / STATE).read_bytes(), type=RunState),
                learner=_load_learner(path),
                groups=msgspec.msgpack.decode((path / GROUPS).read_bytes(), type=tuple[Collected, ...]),
            )
        except (OSError, ValueError, msgspec.MsgspecError) as error:
            raise CheckpointError(f"{path} cannot be read ({error}). {self._advice(name)}") from error

    def _advice(self, bad: str) -> str:
        good = [name for name in self.names() if name != bad and self._is_good(name)]
        if not good:
            return "No other checkpoint is good: begin a new run in another folder."
        return f"The last good one is {self._folder / good[-1]}: delete {self._folder / bad} to resume from it."

    def _is_good(self, name: str) -> bool:
        seal = self._seal(self._folder / name)
        return seal is not None and all(_digest(self._folder / name / f) == d for f, d in seal.files.items())

    def _seal(self, path: Path) -> _Seal | None:
        try:
            return msgspec.json.decode((path / SEAL).read_bytes(), type=_Seal)
        except (OSError, msgspec.MsgspecError):
            return None

    def _folders(self) -> list[Path]:
        if not self._folder.is_dir():
            return []
        return [path for path in sorted(self._folder.iterdir()) if path.is_dir() and not path.name.startswith(_ASIDE)]

    def _next_order(self) -> int:
        return max((seal.order for path in self._folders() if (seal := self._seal(path))), default=-1) + 1

    def _prune(self) -> None:
        passing = [name for name in self.names() if not name.endswith("-last")]
        for name in passing[: max(0, len(passing) - self._keep)]:
            shutil.rmtree(self._folder / name, ignore_errors=True)

    def _complaint(self, final: Path, error: OSError) -> str:
        names = self.names()
        last = (
            f"The last good checkpoint is {self._folder / names[-1]}." if names else "There is no earlier checkpoint."
        )
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            return f"{final}: no space left for the checkpoint. Free some, then resume. {last}"
        return f"{final}: the checkpoint cannot be written: {error}. {last}"


def _save_learner(folder: Path, learner: Mapping[str, Any]) -> None:
    try:
        check_json(learner, where="learner")
    except (TypeError, ValueError):
        import torch  # only a learner with tensors needs it

        with (folder / _TENSORS).open("wb") as file:
            try:
                torch.save(dict(learner), file)
            except RuntimeError as error:  # torch's writer hides the system's error
                full = shutil.disk_usage(folder).free < MIN_FREE_BYTES
                raise OSError(errno.ENOSPC if full else errno.EIO, str(error)) from error
            file.flush()
            os.fsync(file.fileno())
    else:
        _write(folder / _PLAIN, msgspec.json.encode(learner))


def _load_learner(folder: Path) -> Mapping[str, Any]:
    if (folder / _PLAIN).exists():
        plain: Mapping[str, Any] = msgspec.json.decode((folder / _PLAIN).read_bytes())
        return plain
    import torch  # only a learner with tensors needs it

    tensors: Mapping[str, Any] = torch.load(folder / _TENSORS, map_location="cpu", weights_only=True)
    return tensors


def _write(path: Path, data: bytes) -> None:
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _sync_folder(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _digest(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""
