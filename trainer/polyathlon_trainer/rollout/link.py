"""One worker process seen from the trainer: started, written to and read from without ever blocking, killed."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import time
from collections import deque
from collections.abc import Sequence
from pathlib import Path

from polyathlon_trainer.rollout.messages import HEADER, Order, Ready, Report, frame, read_reports

CHUNK_BYTES = 1 << 18
TAIL_BYTES = 2_000
KILL_LIMIT_S = 10.0


class WorkerLink:
    """A spawned env worker. `outstanding` are the orders it has not reported on, in the order it takes them."""

    def __init__(self, log_path: Path, *, hard_limit_s: float) -> None:
        ours, theirs = socket.socketpair()
        ours.settimeout(0)
        self._log_path = log_path
        with theirs, log_path.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "polyathlon_trainer.rollout.worker", str(theirs.fileno()), str(hard_limit_s)],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=_environment(),
                start_new_session=True,  # Ctrl-C is the trainer's to handle
            )
        self._socket = ours
        self._unsent = bytearray()
        self._held = bytearray()
        self.outstanding: deque[Order] = deque()
        self.ready = False
        self.last_heard_s = time.monotonic()

    @property
    def pid(self) -> int:
        return self._process.pid

    def fileno(self) -> int:
        return self._socket.fileno()

    @property
    def wants_to_write(self) -> bool:
        return bool(self._unsent)

    def send(self, orders: Sequence[Order]) -> None:
        """Queue `orders` and write what fits now. A worker that is gone is noticed by `receive`."""
        if not self.outstanding:
            self.last_heard_s = time.monotonic()
        self.outstanding.extend(orders)
        self._unsent += frame(list(orders))
        self.flush()

    def flush(self) -> None:
        """Write as much of what is queued as the socket takes now."""
        while self._unsent:
            try:
                written = self._socket.send(self._unsent)
            except BlockingIOError:
                return
            except OSError:
                self._unsent.clear()
                return
            del self._unsent[:written]

    def receive(self) -> tuple[list[Report], bool]:
        """Return the reports that have come, and whether the worker is gone."""
        gone = False
        while True:
            try:
                chunk = self._socket.recv(CHUNK_BYTES)
            except BlockingIOError:
                break
            except OSError:
                chunk = b""
            if not chunk:
                gone = True
                break
            self._held += chunk
            self.last_heard_s = time.monotonic()
        return self._unpack(), gone

    def kill(self) -> None:
        """Kill the process and whatever it leads, and wait for it. May be called twice."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, 9)
        self._socket.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(KILL_LIMIT_S)

    def last_words(self) -> str:
        """Return the end of the worker's log, for a message about why it died."""
        with contextlib.suppress(OSError), self._log_path.open("rb") as log:
            log.seek(max(0, log.seek(0, os.SEEK_END) - TAIL_BYTES))
            return log.read().decode("utf-8", errors="replace").strip()
        return ""

    def _unpack(self) -> list[Report]:
        reports: list[Report] = []
        while len(self._held) >= HEADER.size:
            end = HEADER.size + HEADER.unpack_from(self._held)[0]
            if len(self._held) < end:
                break
            for report in read_reports(bytes(self._held[HEADER.size : end])):
                if isinstance(report, Ready):
                    self.ready = True
                else:
                    self.outstanding.popleft()
                    reports.append(report)
            del self._held[:end]
        return reports


def _environment() -> dict[str, str]:
    """Return the worker's environment: ours, with our import path, and one thread for numeric libraries."""
    path = os.pathsep.join(entry or os.getcwd() for entry in sys.path)
    threads = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}
    return {**os.environ, **threads, "PYTHONPATH": path}
