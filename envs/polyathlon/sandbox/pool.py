"""Sandboxes opened ahead of demand, one kind for each set of packages and limits; each is lent once.

Off until a kind is asked for again and again: one episode opens one sandbox, and no more.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeAlias, TypeVar

from polyathlon.errors import SandboxError
from polyathlon.sandbox.protocol import Limits

Kind: TypeAlias = tuple[tuple[str, ...], Limits]
_CLAIMS_A_SPARE = 4
_HORIZON_S = 10.0
_QUIET_S = 0.01
_TICK_S = 0.05


class Closable(Protocol):
    """What a pool holds."""

    def close(self) -> None: ...


Spare = TypeVar("Spare", bound=Closable)


@dataclass(slots=True)
class Demand:
    """When a kind was asked for of late: there is one spare for each four times within ten seconds."""

    claims_s: deque[float] = field(default_factory=deque)

    def claim(self, now_s: float) -> None:
        self.claims_s.append(now_s)

    def target(self, now_s: float, *, most: int) -> int:
        """Return how many spares there should be, `most` at most."""
        while self.claims_s and self.claims_s[0] < now_s - _HORIZON_S:
            self.claims_s.popleft()
        return min(most, len(self.claims_s) // _CLAIMS_A_SPARE)


class Pool(Generic[Spare]):
    """Spares of several kinds, made by a thread that lives only while there is demand. Thread-safe."""

    def __init__(self, make: Callable[[Kind], Spare], *, calm: Callable[[], bool], most: int) -> None:
        """`make` opens one; `calm` tells whether there is memory for spares: where not, all of them go."""
        self._make = make
        self._calm = calm
        self._most = most
        self._changed = threading.Condition()
        self._spares: dict[Kind, list[Spare]] = {}
        self._demands: dict[Kind, Demand] = {}
        self._claimed_s = 0.0
        self._thread: threading.Thread | None = None
        self._closed = False

    def claim(self, kind: Kind) -> Spare | None:
        """Return a spare, the caller's from now on, or None when there is none: then open one."""
        now_s = time.monotonic()
        with self._changed:
            self._claimed_s = now_s
            demand = self._demands.setdefault(kind, Demand())
            demand.claim(now_s)
            spares = self._spares.get(kind)
            found = spares.pop() if spares else None
            if self._thread is None and not self._closed and demand.target(now_s, most=self._most):
                self._thread = threading.Thread(target=self._work, name="polyathlon spares", daemon=True)
                self._thread.start()
            return found

    def num_spares(self) -> int:
        """Return how many stand ready."""
        with self._changed:
            return sum(map(len, self._spares.values()))

    def rest(self) -> None:
        """Close all spares and forget what was asked for: until a kind is asked for again and again."""
        with self._changed:
            self._demands.clear()
            thread = self._thread
            self._changed.notify_all()
        if thread is not None:
            thread.join()

    def close(self) -> None:
        """Close all spares; none is made any more. May be called twice."""
        with self._changed:
            self._closed = True
            thread = self._thread
            self._changed.notify_all()
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    def _work(self) -> None:
        """Keep the spares at their number until there is no demand for any."""
        try:
            while (kind := self._next()) is not None:
                spare = self._make(kind)
                with self._changed:
                    self._spares.setdefault(kind, []).append(spare)
        except SandboxError:
            pass  # whoever asks for one next is told why
        finally:
            with self._changed:
                self._thread = None
                surplus = self._take_surplus(float("inf"), 0)
            for each in surplus:
                each.close()

    def _next(self) -> Kind | None:
        """Return the kind to make one of, when it is quiet; close what is too much meanwhile. None: all is over."""
        while True:
            calm = self._calm()
            with self._changed:
                now_s = time.monotonic()
                surplus = self._take_surplus(now_s, self._most if calm else 0)
                targets = {kind: demand.target(now_s, most=self._most) for kind, demand in self._demands.items()}
                if self._closed or not any(targets.values()):
                    self._spares.setdefault(((), Limits()), []).extend(surplus)  # closed on the way out
                    return None
                wanted = [kind for kind, target in targets.items() if len(self._spares.get(kind, [])) < target]
                if wanted and calm and not surplus and now_s >= self._claimed_s + _QUIET_S:
                    return wanted[0]
                if not surplus:
                    self._changed.wait(_QUIET_S if wanted and calm else _TICK_S)
            for each in surplus:
                each.close()

    def _take_surplus(self, now_s: float, most: int) -> list[Spare]:
        surplus: list[Spare] = []
        for kind, spares in self._spares.items():
            demand = self._demands.get(kind)
            target = min(most, demand.target(now_s, most=self._most)) if demand and most else 0
            while len(spares) > target:
                surplus.append(spares.pop())
        return surplus
