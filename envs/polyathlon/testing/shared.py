"""One inspection a domain for all processes of a test run, however its tests are dealt out to them."""

from __future__ import annotations

import fcntl
import pickle
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from polyathlon.inspect.finding import Inspection
from polyathlon.inspect.rule import Tier
from polyathlon.testing.soundness import inspect

LOOK_EVERY_S = 0.2


class InspectionLost(Exception):
    """The inspection of a domain was broken off in this process, so nothing is known of it."""


class SharedInspections:
    """Inspections of `domain_ids`, each made once and kept in `folder`, which belongs to this run alone.

    A process that needs an inspection which another one is making makes one that nobody has begun meanwhile.
    """

    def __init__(self, domain_ids: Sequence[str], folder: Path, *, seeds: int, tier: Tier) -> None:
        self._ids = tuple(domain_ids)
        self._folder = folder
        self._seeds = seeds
        self._tier: Tier = tier
        self._known: dict[str, Inspection] = {}
        self._lost: dict[str, str] = {}

    def of(self, domain_id: str) -> Inspection:
        """Return the inspection of `domain_id`: waits for it, or makes it.

        Raises:
            InspectionLost: an attempt in this process was broken off, by a time limit for instance.

        """
        while domain_id not in self._known:
            if domain_id in self._lost:
                raise InspectionLost(self._lost[domain_id])
            if not any(self._advanced(one) for one in (domain_id, *self._ids)):
                time.sleep(LOOK_EVERY_S)
        return self._known[domain_id]

    def _advanced(self, domain_id: str) -> bool:
        """Learn or make the inspection of `domain_id`; False where it is known, lost or in other hands."""
        if domain_id in self._known or domain_id in self._lost:
            return False
        path = self._folder / f"{self._ids.index(domain_id)}.inspection"
        with _held(path.with_suffix(".lock")) as ours:
            if not ours:
                return False
            if not path.exists():
                aside = path.with_suffix(".tmp")
                aside.write_bytes(pickle.dumps(self._made(domain_id)))
                aside.rename(path)
            self._known[domain_id] = pickle.loads(path.read_bytes())  # from a folder of this run alone
        return True

    def _made(self, domain_id: str) -> Inspection:
        try:
            return inspect(domain_id, seeds=self._seeds, tier=self._tier)
        except BaseException as error:  # a time limit of a test interrupts with whatever it likes
            self._lost[domain_id] = f"the inspection of {domain_id} was broken off: {type(error).__name__}: {error}"
            raise


@contextmanager
def _held(path: Path) -> Iterator[bool]:
    """Hold the lock at `path` for the block; False at once where another process has it. A killed holder lets go."""
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        yield True  # closing the file lets go
