"""Where a run is, while it runs: one live line on a terminal, and a plain line now and then in a pipe."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import TracebackType

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from polyathlon_trainer.observe.headline import short_name
from polyathlon_trainer.observe.records import StepRecord

PLAIN_EVERY_S = 30.0
RECENT_STEPS = 20
MEMORY = 0.8


@dataclass(frozen=True, slots=True)
class Status:
    """What is shown. `rate` is steps a second over the recent ones; rewards are smoothed; None where not known yet."""

    stage: str
    step: int
    planned: int | None
    rate: float | None
    left_s: float | None
    mean_reward: float | None
    worst: tuple[str, float] | None
    waiting: float | None


class Progress:
    """Shows the steps of a run as they end. Use it as a context; on no terminal it prints a line each 30 s at most.

    `planned_steps` and `planned_s` (seconds from here on, for a resumed stage too) are by stage; a stage may have
    either, both or none, and time left comes from the one that ends first. `clock` gives seconds and never runs back.
    """

    def __init__(
        self,
        console: Console,
        *,
        planned_steps: Mapping[str, int] | None = None,
        planned_s: Mapping[str, float] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._console = console
        self._planned = planned_steps or {}
        self._planned_s = planned_s or {}
        self._clock = clock
        self._live = Live(console=console, refresh_per_second=4, transient=True) if console.is_terminal else None
        self._last_line_s: float | None = None
        self._ended_s: deque[tuple[int, float]] = deque(maxlen=RECENT_STEPS + 1)  # (step, when it ended)
        self._stage = ""
        self._stage_start_s = clock()
        self._rewards: dict[str, float] = {}

    def __enter__(self) -> Progress:
        if self._live:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live:
            self._live.stop()

    def say(self, text: str) -> None:
        """Print one line for good: an evaluation, a resume, a warning. In a pipe too."""
        self._console.print(Text(text), soft_wrap=True)

    def step(self, record: StepRecord) -> None:
        """Show that the step of `record` has ended."""
        status = self._take(record)
        if self._live:
            self._live.update(drawn(status))
            return
        now = self._clock()
        last_of_stage = status.planned is not None and status.step >= status.planned
        if self._last_line_s is None or now - self._last_line_s >= PLAIN_EVERY_S or last_of_stage:
            self._last_line_s = now
            self.say(line(status))

    def _take(self, record: StepRecord) -> Status:
        if record.stage != self._stage:
            self._stage = record.stage
            self._stage_start_s = self._clock() - record.wait_s - record.learn_s
            self._ended_s.clear()
            self._rewards.clear()
        self._ended_s.append((record.step, self._clock()))
        for domain_id, domain in record.domains.items():
            if domain.mean_reward is not None and math.isfinite(domain.mean_reward):
                before = self._rewards.get(domain_id, domain.mean_reward)
                self._rewards[domain_id] = MEMORY * before + (1.0 - MEMORY) * domain.mean_reward
        whole = record.wait_s + record.learn_s
        return self._status(record.stage, record.step, waiting=record.wait_s / whole if whole > 0 else None)

    def _status(self, stage: str, step: int, *, waiting: float | None) -> Status:
        (first_step, first_s), (last_step, last_s) = self._ended_s[0], self._ended_s[-1]
        rate = (last_step - first_step) / (last_s - first_s) if last_s > first_s else None
        planned = self._planned.get(stage)
        worst = min(self._rewards.items(), key=lambda item: (item[1], item[0]), default=None)
        return Status(
            stage=stage,
            step=step,
            planned=planned,
            rate=rate,
            left_s=self._left_s(stage, step, rate),
            mean_reward=sum(self._rewards.values()) / len(self._rewards) if self._rewards else None,
            worst=(short_name(worst[0]), worst[1]) if worst else None,
            waiting=waiting,
        )

    def _left_s(self, stage: str, step: int, rate: float | None) -> float | None:
        ends: list[float] = []
        if rate and stage in self._planned:
            ends.append((self._planned[stage] - step) / rate)
        if stage in self._planned_s:
            ends.append(self._stage_start_s + self._planned_s[stage] - self._clock())
        return max(0.0, min(ends)) if ends else None


def line(status: Status) -> str:
    """Return the status as one plain line: stage, step, rate, time left, mean reward, worst domain."""
    place = f"{status.stage} step {status.step}" + (f"/{status.planned}" if status.planned is not None else "")
    return ", ".join([place, *_details(status)])


def drawn(status: Status) -> RenderableType:
    """Return the status as a bar and a line under it."""
    top = Table.grid(padding=(0, 1))
    of = f"/{status.planned}" if status.planned is not None else ""
    bar = ProgressBar(total=status.planned or None, completed=status.step, width=32, pulse=status.planned is None)
    top.add_row(Text(status.stage, style="bold"), bar, Text(f"{status.step}{of}"))
    return Group(top, Text(", ".join(_details(status)), style="dim"))


def _details(status: Status) -> list[str]:
    details = []
    if status.rate:
        slow = status.rate < 1
        details.append(f"{1 / status.rate:.1f} s/step" if slow else f"{status.rate:.1f} steps/s")
    if status.left_s is not None:
        details.append(f"{duration(status.left_s)} left")
    if status.mean_reward is not None:
        details.append(f"reward {status.mean_reward:.3f}")
    if status.worst is not None:
        details.append(f"worst {status.worst[0]} {status.worst[1]:.3f}")
    if status.waiting is not None:
        details.append(f"waiting {100 * status.waiting:.0f}%")
    return details


def duration(seconds: float) -> str:
    """Return seconds in words: "40 s", "3 min 20 s", "2 h 05 min"."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
