"""The experience buffer: what was planned, what of it is finished, and when the next batch may be learned from.

Batches are fixed when they are planned and taken in that order, so a slow domain's groups are never overtaken or
dropped. Since batch k is planned no earlier than batch k - 1 - max_staleness was taken, what is held is bounded, and so
is its age when it is taken: at most max_staleness weight versions.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence

from polyathlon_trainer.plans import Collected, GroupPlan


class Buffer:
    """Batches of groups, filled by one thread and taken by another (or by the same one)."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._batches: deque[tuple[GroupPlan, ...]] = deque()
        self._finished: dict[str, Collected] = {}
        self._error: BaseException | None = None

    def promise(self, plans: Sequence[GroupPlan], finished: Sequence[Collected] = ()) -> None:
        """Append a batch; `finished` are those of its groups that are there already, after a resume."""
        with self._changed:
            self._batches.append(tuple(plans))
            self._finished.update({collected.plan.uid: collected for collected in finished})
            self._changed.notify_all()

    def add(self, collected: Collected) -> None:
        """Put a finished group in.

        Raises:
            ValueError: it was not promised, or is there already.

        """
        with self._changed:
            uid = collected.plan.uid
            if uid in self._finished or not any(plan.uid == uid for batch in self._batches for plan in batch):
                raise ValueError(f"Group {uid} was not promised, or came twice.")
            self._finished[uid] = collected
            self._changed.notify_all()

    def ready(self) -> bool:
        """Say whether every group of the oldest batch is finished."""
        with self._changed:
            return self._ready()

    def take(self, *, limit_s: float) -> tuple[Collected, ...] | None:
        """Return the groups of the oldest batch in their planned order; None when they are not ready within `limit_s`.

        Raises:
            Exception: what ended the collecting thread, if it ended.

        """
        with self._changed:
            self._changed.wait_for(lambda: self._ready() or self._error is not None, timeout=limit_s)
            if not self._ready():
                if self._error is not None:
                    raise self._error
                return None
            return tuple(self._finished.pop(plan.uid) for plan in self._batches.popleft())

    def fail(self, error: BaseException) -> None:
        """Let the taker know that nothing more will come, and why."""
        with self._changed:
            self._error = error
            self._changed.notify_all()

    def missing(self) -> tuple[GroupPlan, ...]:
        """Return what is promised and not finished, in order."""
        with self._changed:
            return tuple(plan for batch in self._batches for plan in batch if plan.uid not in self._finished)

    def held(self) -> tuple[Collected, ...]:
        """Return the finished groups that were not taken, in order."""
        with self._changed:
            plans = [plan for batch in self._batches for plan in batch]
            return tuple(self._finished[plan.uid] for plan in plans if plan.uid in self._finished)

    def _ready(self) -> bool:
        return bool(self._batches) and all(plan.uid in self._finished for plan in self._batches[0])
