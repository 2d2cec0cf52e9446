"""Who collects, and in which thread: beside the learner when episodes may be stale, by turns with it when not."""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, TypeVar

from polyathlon_trainer.buffer import Buffer
from polyathlon_trainer.collect import Sampler
from polyathlon_trainer.plans import GroupPlan, SampleRules
from polyathlon_trainer.rollout.crew import Crew
from polyathlon_trainer.sampling.protocol import Chat, Engine

if TYPE_CHECKING:
    import torch

T = TypeVar("T")
JOIN_LIMIT_S = 120.0


def _nothing() -> None:
    return None


class _Stopped(BaseException):
    """Ends the collecting thread wherever it waits."""


class Mailbox:
    """The newest weights, on their way from the learner's thread to the engine's."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._lock = threading.Lock()
        self._letter: tuple[Mapping[str, torch.Tensor], int] | None = None

    def publish(self, weights: Mapping[str, torch.Tensor], *, version: int) -> None:
        """Leave `weights` for the engine; older ones that it has not taken are forgotten."""
        with self._lock:
            self._letter = (weights, version)

    def deliver(self) -> None:
        """Load what is there into the engine. Call it in the thread that owns the engine."""
        with self._lock:
            letter, self._letter = self._letter, None
        if letter is not None and letter[1] > self._engine.version:
            self._engine.load_weights(letter[0], version=letter[1])


class Producer:
    """Collects submitted plans into `buffer`, in order. `beside`: in a thread of its own.

    With or without the thread, everything that touches the engine or the crew goes through this object.
    """

    def __init__(
        self, engine: Engine, chat: Chat, crew: Crew, rules: SampleRules, *, watch: Callable[[], None] = _nothing
    ) -> None:
        """`watch` is called between any two waits while collecting; it may raise to stop."""
        self._watch = watch
        self.buffer = Buffer()
        self.mailbox = Mailbox(engine)
        self.sampler = Sampler(engine, chat, crew, rules, pulse=self._pulse)
        self._jobs: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def start_beside(self) -> None:
        """From now on collect in a thread of its own."""
        self._thread = threading.Thread(target=self._work, name="collector", daemon=True)
        self._thread.start()

    def pose_ahead(self, plans: Sequence[GroupPlan]) -> None:
        """Without a thread: have the tasks of `plans` drawn while the learner learns. With one there is no need."""
        if self._thread is None:
            self.sampler.pose_ahead(plans)

    def submit(self, plans: Sequence[GroupPlan]) -> None:
        """Have `plans` collected. They must have been promised to the buffer."""
        self._jobs.put(lambda: self.sampler.collect(plans, on_done=self.buffer.add))

    def ask(self, job: Callable[[], T]) -> T:
        """Return what `job` returns, run in the thread that owns engine and crew, after what was submitted before."""
        if self._thread is None:
            self.work_off()
            return job()
        answer: Future[T] = Future()

        def run() -> None:
            try:
                answer.set_result(job())
            except BaseException as error:
                answer.set_exception(error)
                raise

        self._jobs.put(run)
        return answer.result()

    def work_off(self) -> None:
        """Without a thread: do here and now what was submitted. With one: nothing to do."""
        if self._thread is not None:
            return
        with contextlib.suppress(queue.Empty):
            while True:
                job = self._jobs.get_nowait()
                if job is not None:
                    job()

    def close(self) -> None:
        """End the thread, wherever it waits. May be called twice."""
        self._stopping.set()
        if self._thread is not None:
            self._jobs.put(None)
            self._thread.join(JOIN_LIMIT_S)

    def _work(self) -> None:
        try:
            while (job := self._jobs.get()) is not None and not self._stopping.is_set():
                job()
        except _Stopped:
            return
        except BaseException as error:
            self.buffer.fail(error)

    def _pulse(self) -> None:
        if self._stopping.is_set():
            raise _Stopped
        self._watch()
        self.mailbox.deliver()
