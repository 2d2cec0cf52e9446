"""The crew: a few env workers, orders spread over them, and what to do when one breaks, hangs or is killed.

An order is retried on another worker, at most `MAX_ATTEMPTS` times in all, and then reported as broken. Orders that
were only waiting behind the one that killed its worker are sent elsewhere and not held against them.
"""

from __future__ import annotations

import itertools
import selectors
import tempfile
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType

from polyathlon.drawing import TaskKey
from polyathlon.errors import PolyathlonError
from polyathlon_trainer.episode import FailureKind
from polyathlon_trainer.rollout.link import WorkerLink
from polyathlon_trainer.rollout.messages import Act, Broke, Judge, Order, Report

MAX_ATTEMPTS = 3
MAX_MOVES = 20
"""How often an order may lose its worker through no fault of its own before it is given up."""
MAX_EARLY_DEATHS = 3
STARTUP_LIMIT_S = 60.0
POLL_S = 0.25
GRACE_S = 1.0
BALANCE = 8
"""A task stays with the worker that has drawn it, unless that one has this many more orders than the idlest."""


class CrewError(PolyathlonError):
    """The env workers cannot be started, or something that should report did not."""


@dataclass(frozen=True, slots=True)
class CrewRules:
    """How many workers, and how long a step and all steps of an episode together may take."""

    num_workers: int
    step_limit_s: float = 60.0
    episode_limit_s: float = 300.0


@dataclass(frozen=True, slots=True)
class _Case:
    """An order on its way: how often it failed by itself, and how often it lost its worker."""

    order: Order
    attempts: int = 0
    moves: int = 0
    avoid: int = -1


@dataclass(slots=True)
class CrewCounts:
    """What happened to the workers so far: deaths by cause, and orders sent again."""

    crashed: int = 0
    hung: int = 0
    retried: int = 0


@dataclass(slots=True)
class _Books:
    """Who has what: cases by ticket, the home of tasks, and what an episode has spent."""

    cases: dict[int, _Case] = field(default_factory=dict)
    homes: dict[TaskKey, int] = field(default_factory=dict)
    episode_homes: dict[str, int] = field(default_factory=dict)
    spent_s: dict[str, float] = field(default_factory=dict)


class Crew:
    """Env workers behind `send` and `poll`. Not thread-safe. Orders get their numbers from `ticket`."""

    def __init__(self, rules: CrewRules, *, log_folder: Path | None = None) -> None:
        self._rules = rules
        self._logs = log_folder or Path(tempfile.mkdtemp(prefix="polyathlon-workers-"))
        self._logs.mkdir(parents=True, exist_ok=True)
        self._books = _Books()
        self._finished: deque[Report] = deque()
        self._early_deaths = 0
        self._tickets = itertools.count()
        self.counts = CrewCounts()
        self._links = [self._start(place) for place in range(rules.num_workers)]

    @property
    def pids(self) -> tuple[int, ...]:
        """The workers' process ids."""
        return tuple(link.pid for link in self._links)

    @property
    def num_outstanding(self) -> int:
        return len(self._books.cases) + len(self._finished)

    def ticket(self) -> int:
        """Return a number for an order that no other order has."""
        return next(self._tickets)

    def send(self, orders: Sequence[Order]) -> None:
        """Hand out `orders`; each will be reported by `poll`, whatever happens to the workers."""
        for order in orders:
            self._books.cases[order.ticket] = _Case(order)
        self._hand_out([self._books.cases[order.ticket] for order in orders])

    def poll(self, *, limit_s: float) -> list[Report]:
        """Return the reports that are there; wait up to `limit_s` for the first.

        Raises:
            CrewError: workers die as soon as they are started.

        """
        deadline = time.monotonic() + limit_s
        while True:
            self._look(0.0 if self._finished else max(0.0, min(POLL_S, deadline - time.monotonic())))
            if self._finished or time.monotonic() >= deadline or not self._books.cases:
                reports = list(self._finished)
                self._finished.clear()
                return reports

    def collect(self, orders: Sequence[Order]) -> dict[int, Report]:
        """Return {ticket: report} of `orders`, waiting for all of them; nothing else may be outstanding."""
        self.send(orders)
        done: dict[int, Report] = {}
        while len(done) < len(orders):
            for report in self.poll(limit_s=POLL_S):
                done[report.ticket] = report
        return done

    def drain(self) -> None:
        """Wait for everything outstanding and forget it: what was fetched ahead is not wanted any more."""
        while self.num_outstanding:
            self.poll(limit_s=POLL_S)

    def close(self) -> None:
        """Kill every worker. May be called twice."""
        for link in self._links:
            link.kill()

    def __enter__(self) -> Crew:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _start(self, place: int) -> WorkerLink:
        return WorkerLink(self._logs / f"worker-{place}.log", hard_limit_s=2.0 * self._rules.step_limit_s + 5.0)

    def _look(self, wait_s: float) -> None:
        """Read and write what is possible within `wait_s`, then deal with the dead and the late."""
        with selectors.DefaultSelector() as selector:
            for place, link in enumerate(self._links):
                events = selectors.EVENT_READ | (selectors.EVENT_WRITE if link.wants_to_write else 0)
                selector.register(link.fileno(), events, place)
            for key, mask in selector.select(wait_s):
                if mask & selectors.EVENT_WRITE:
                    self._links[key.data].flush()
                if mask & selectors.EVENT_READ:
                    self._read(key.data)
        for place, link in enumerate(self._links):
            if self._is_late(link):
                self._read(place)  # it may have reported while we were busy elsewhere
                if link is self._links[place] and self._is_late(link):
                    self.counts.hung += 1
                    self._replace(place, kind="deadline", cause="took longer than allowed")

    def _read(self, place: int) -> None:
        reports, gone = self._links[place].receive()
        for report in reports:
            self._early_deaths = 0
            self._settle(place, report)
        if gone:
            self.counts.crashed += 1
            self._replace(place, kind="worker", cause="died")

    def _is_late(self, link: WorkerLink) -> bool:
        silent_s = time.monotonic() - link.last_heard_s
        if not link.ready:
            return silent_s > STARTUP_LIMIT_S
        if not link.outstanding:
            return False
        return silent_s > self._limit_s(link.outstanding[0])

    def _limit_s(self, order: Order) -> float:
        spent_s = self._books.spent_s.get(_episode(order), 0.0)
        return min(self._rules.step_limit_s, max(0.0, self._rules.episode_limit_s - spent_s) + GRACE_S)

    def _settle(self, place: int, report: Report) -> None:
        """Pass a report on, or send its order again when it broke and has attempts left."""
        case = self._books.cases.get(report.ticket)
        if case is None:
            return
        episode = _episode(case.order)
        if episode:
            spent_s = self._books.spent_s[episode] = self._books.spent_s.get(episode, 0.0) + report.seconds
            if spent_s > self._rules.episode_limit_s:
                message = f"The episode took {spent_s:.0f} s, more than {self._rules.episode_limit_s:.0f} s."
                report = Broke(report.ticket, "deadline", message, report.seconds)
                self._finish(report.ticket, report)
                return
        if isinstance(report, Broke):
            self._books.episode_homes.pop(episode, None)
            case = replace(case, attempts=case.attempts + 1, avoid=place)
            if case.attempts < MAX_ATTEMPTS and not report.diverged and report.kind != "registry":
                self._again([case])
                return
        self._finish(case.order.ticket, report)

    def _finish(self, ticket: int, report: Report) -> None:
        case = self._books.cases.pop(ticket)
        episode = _episode(case.order)
        if episode and (isinstance(report, Broke) or getattr(report, "reward", None) is not None):
            self._books.episode_homes.pop(episode, None)
            self._books.spent_s.pop(episode, None)
        self._finished.append(report)

    def _replace(self, place: int, *, kind: FailureKind, cause: str) -> None:
        """Kill the worker at `place`, start another, and move its orders; the first of them is held responsible."""
        link = self._links[place]
        link.kill()
        if not link.ready:
            self._early_deaths += 1
            if self._early_deaths >= MAX_EARLY_DEATHS:
                raise CrewError(f"Env workers die as they start ({self._early_deaths} in a row): {link.last_words()}")
        self._links[place] = self._start(place)
        cases = [self._books.cases[order.ticket] for order in link.outstanding if order.ticket in self._books.cases]
        moved = []
        for position, case in enumerate(cases):
            guilty = position == 0 and link.ready
            case = replace(case, attempts=case.attempts + guilty, moves=case.moves + 1, avoid=place)
            if case.attempts >= MAX_ATTEMPTS or case.moves >= MAX_MOVES:
                message = f"An env worker {cause} {case.attempts} times at this: {link.last_words()[-500:]}"
                self._finish(case.order.ticket, Broke(case.order.ticket, kind, message))
            else:
                moved.append(case)
        self._again(moved)

    def _again(self, cases: Sequence[_Case]) -> None:
        self.counts.retried += len(cases)
        self._hand_out(cases)

    def _hand_out(self, cases: Sequence[_Case]) -> None:
        loads = [len(link.outstanding) for link in self._links]
        batches: list[list[Order]] = [[] for _ in self._links]
        for case in cases:
            self._books.cases[case.order.ticket] = case
            place = self._choose(case, loads)
            loads[place] += 1
            batches[place].append(case.order)
        for link, orders in zip(self._links, batches, strict=True):
            if orders:
                link.send(orders)

    def _choose(self, case: _Case, loads: Sequence[int]) -> int:
        """Return the worker that holds the episode, else one that has drawn the task, else the idlest."""
        order, books = case.order, self._books
        episode = _episode(order)
        free = [place for place in range(len(loads)) if place != case.avoid] or [0]
        home = books.episode_homes.get(episode, -1)
        if home not in free:
            home = books.homes.get(order.key, -1)
            idlest = min(free, key=lambda place: loads[place])
            if home not in free or loads[home] > loads[idlest] + BALANCE:
                home = idlest
        if episode:
            books.episode_homes[episode] = home
        books.homes[order.key] = home
        if len(books.homes) > 4_096:
            books.homes.pop(next(iter(books.homes)))
        return home


def _episode(order: Order) -> str:
    return order.episode if isinstance(order, Act | Judge) else ""
