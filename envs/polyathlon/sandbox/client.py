"""The trainer's end of a launcher: starts it, and speaks for one sandbox each."""

from __future__ import annotations

import marshal
import os
import socket
import subprocess
import sys
import threading
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from polyathlon.errors import SandboxLost, SandboxRefused
from polyathlon.sandbox.launcher import wire
from polyathlon.sandbox.launcher.cgroups import parse_count, parse_cpu_s
from polyathlon.sandbox.launcher.files import Row
from polyathlon.sandbox.launcher.trees import Step
from polyathlon.sandbox.line import ANSWER_LIMIT_S, Line, SnapshotLease, failure, receive, strings
from polyathlon.sandbox.protocol import Limits, Usage
from polyathlon.sandbox.system import Plan

_SETUP_LIMIT_S = 60.0
_AMOUNTS = ("memory_bytes", "disk_bytes", "max_files", "max_processes", "cpu_s", "cores")
OpenOp = Literal["open", "fork"]
_START = "import sys; sys.path.append(sys.argv[1]); from launcher.serve import main; main()"


class LauncherProcess:
    """A running launcher. Thread-safe. It ends when this object, or the process that holds it, does."""

    def __init__(self, plan: Plan) -> None:
        """Start it and have it build the system of `plan`.

        Raises:
            SandboxRefused: this machine does not let it; says what the kernel answered.

        """
        self._lock = threading.Lock()
        self.plan = plan
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            # No preexec_fn and no user=: a plain spawn stays a vfork, however large this process is.
            process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-X", "utf8", "-c", _START, str(Path(__file__).parent)],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                cwd="/",
                env=dict[str, str](),
                start_new_session=True,
            )
        self.pid = process.pid
        self._end = weakref.finalize(self, _end, self._control, process)
        self._control.settimeout(_SETUP_LIMIT_S)
        wire.send(self._control, {**asdict(plan), "owner": os.getpid()})
        answer = receive(self._control, "to build the read-only system")[0]
        if "error" in answer:
            self._end()
            raise SandboxRefused(
                f"No sandbox here: the kernel refused to isolate ({answer['error']}). Allow unprivileged user "
                "namespaces (sysctl user.max_user_namespaces, kernel.apparmor_restrict_unprivileged_userns=0), or, "
                "in a container, run it with --security-opt seccomp=unconfined --security-opt apparmor=unconfined."
            )
        self.controllers = frozenset(str(name) for name in strings(answer["controllers"]))

    def open_box(self, limits: Limits, *, snapshot: SnapshotLease | None = None, op: OpenOp = "open") -> Lease:
        """Return a new sandbox, empty or on a snapshot; "open" starts with an empty /tmp, "fork" with the snapshot's.

        Raises:
            SandboxError: the snapshot does not fit, or is closed.
            SandboxLost: the launcher is gone, or could not make one.

        """
        body = {"op": op, **_amounts(limits)}
        if snapshot is not None:
            body["snapshot"] = snapshot.number
        ours = self._ask(body, [])
        try:
            answer, fds = receive(ours, "for a new sandbox")
            if "error" in answer:
                raise failure(answer, "No new sandbox")
        except BaseException:
            ours.close()
            raise
        counters = dict(zip(strings(answer["counters"]), fds[1:], strict=True))
        return Lease(ours, uid=int(str(answer["uid"])), top=Top.read(answer, fds[0]), counters=counters)

    def judge(self, limits: Limits, fds: Sequence[int]) -> socket.socket:
        """Start a judge in a fork of the warm Python; return the line on which it ends.

        `fds` are its source and its standard streams. A word on the line kills it and all that it started.

        Raises:
            SandboxLost: the launcher is gone.

        """
        return self._ask({"op": "judge", **_amounts(limits)}, fds)

    def load(self, trees: Sequence[Sequence[Step]]) -> SnapshotLease:
        """Return a snapshot of these layers, lowest first.

        Raises:
            SandboxError: it could not be made.
            SandboxLost: the launcher is gone.

        """
        data = wire.memory_file("trees", marshal.dumps([[step and tuple(step) for step in steps] for steps in trees]))
        owner, held = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            with held:
                line = self._ask({"op": "load"}, [held.fileno(), data])
            with line:
                answer, _ = receive(line, "to load a snapshot")
            if "error" in answer:
                raise failure(answer, "The snapshot could not be loaded")
        except BaseException:
            owner.close()
            raise
        finally:
            os.close(data)
        return SnapshotLease(owner, int(str(answer["snapshot"])))

    def _ask(self, body: dict[str, object], fds: Sequence[int]) -> socket.socket:
        """Send a question; return the line on which it is answered."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.settimeout(ANSWER_LIMIT_S)
        try:
            with theirs, self._lock:
                wire.send(self._control, body, [theirs.fileno(), *fds])
        except OSError as error:
            ours.close()
            raise SandboxLost(f"The sandbox launcher is gone ({error}). Open a new room.") from error
        return ours

    def close(self) -> None:
        """End the launcher and every sandbox of it; wait until it is gone."""
        self._end()


@dataclass(frozen=True, slots=True)
class Top:
    """What a sandbox writes to: a folder of its tmpfs, the files that are ours there, and what lies in layers below."""

    folder: int
    own_files: int
    below_bytes: int
    below_files: int

    @classmethod
    def read(cls, answer: Mapping[str, object], folder: int) -> Top:
        """Return the top that the launcher has just made, and that nothing has written to."""
        room = os.statvfs(folder)
        below_bytes, below_files = (int(str(answer[name])) for name in ("below_bytes", "below_files"))
        return cls(folder, room.f_files - room.f_ffree, below_bytes, below_files)

    def full(self) -> bool:
        """Whether no byte, or no file, more fits."""
        room = os.statvfs(self.folder)
        return room.f_bfree == 0 or room.f_ffree == 0

    def held(self) -> tuple[int, int]:
        """Return the bytes and the files of the sandbox, layers included."""
        room = os.statvfs(self.folder)
        num_bytes = (room.f_blocks - room.f_bfree) * room.f_frsize
        return self.below_bytes + num_bytes, self.below_files + room.f_files - room.f_ffree - self.own_files


class Lease(Line):
    """One sandbox of a launcher. `uid` is the host user of its payload."""

    def __init__(self, line: socket.socket, *, uid: int, top: Top, counters: Mapping[str, int]) -> None:
        super().__init__(line)
        self.uid = uid
        self._top = top
        self._counters = counters

    def spawn(
        self, command: Sequence[str], options: Sequence[str], fds: Sequence[int], *, cpu_s: float
    ) -> socket.socket:
        """Start `command`, with `fds` as its descriptors 0, 1, 2, ...; return the line on which it ends.

        The word "kill" on the line kills the command and all that it started; "end" gives what has a handler for
        SIGTERM, and only that, the time to end by itself, until somebody says "kill".
        """
        return self._ask(
            {"op": "spawn", "command": list(command), "options": list(options), "cpu_s": cpu_s},
            fds,
        )

    def kill(self) -> None:
        """Kill every command, and wait until they are gone. Any thread may call this."""
        with self._ask({"op": "kill"}, ()) as line:
            try:
                gone = line.recv(16)
            except TimeoutError as error:
                raise SandboxLost(f"Waited {ANSWER_LIMIT_S:.0f} s for killed commands to be gone.") from error
            except OSError as error:
                raise SandboxLost(f"The sandbox launcher is gone ({error}).") from error
        if not gone:
            raise SandboxLost("The sandbox launcher died while commands were killed.")

    def read(self, paths: Sequence[str] | None = None) -> list[Row]:
        """Return the workspace's rows; see launcher.files. With `paths`: of those, and what lies above them, alone."""
        return self._rows({"op": "read", "paths": None if paths is None else list(paths)})

    def write(self, rows: Sequence[Row], *, folder: str = "workspace") -> None:
        """Write `rows` into the workspace, or into another folder of the sandbox."""
        self._write({"op": "write", "folder": folder}, rows, ())

    def change(self, rows: Sequence[Row], removed: Sequence[str]) -> None:
        """Write the files of `rows` and remove the files `removed`: all of it, or nothing."""
        self._write({"op": "change"}, rows, removed)

    def _write(self, body: dict[str, object], rows: Sequence[Row], removed: Sequence[str]) -> None:
        data = wire.memory_file("rows", marshal.dumps((list(rows), list(removed))))
        try:
            self._rows(body, [data])
        finally:
            os.close(data)

    def snapshot(self) -> SnapshotLease:
        """Kill every process, and freeze the files.

        Raises:
            SandboxRefused: there are no snapshots here.
            SandboxLost: the sandbox is gone.

        """
        owner, held = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            with held:
                line = self._ask({"op": "snapshot"}, [held.fileno()])
            answer = self._move(line, "for a snapshot")
        except BaseException:
            owner.close()
            raise
        return SnapshotLease(owner, int(str(answer["snapshot"])))

    def restore(self, snapshot: SnapshotLease) -> None:
        """Kill every process, and put the sandbox on `snapshot`.

        Raises:
            SandboxError: the snapshot does not fit, or is closed.
            SandboxLost: the sandbox is gone.

        """
        answer = self._move(self._ask({"op": "restore", "snapshot": snapshot.number}, []), "to restore a snapshot")
        self.uid = int(str(answer["uid"]))

    def _move(self, line: socket.socket, what: str) -> dict[str, object]:
        """Return the answer of what gives the sandbox another top, and take that over."""
        with line:
            try:
                answer, fds = receive(line, what)
            except OSError as error:
                raise SandboxLost(f"The sandbox is gone ({error}). Discard the episode.") from error
        if "error" in answer:
            raise failure(answer, f"Asked {what}, the launcher failed")
        os.close(self._top.folder)
        self._top = Top.read(answer, fds[0])
        return answer

    def count(self, name: str) -> int:
        """Return the kernel's count of "oom" kills or refused "pids" so far; 0 where nothing counts."""
        return parse_count(self._counter(name) or "", name)

    def cpu_s(self) -> float | None:
        """Return the CPU seconds used since the sandbox opened, None where nothing counts them."""
        text = self._counter("cpu")
        return None if text is None else parse_cpu_s(text)

    def usage(self, cpu_s: float | None) -> Usage:
        """Return what is used now; of CPU time, what the caller knows."""
        peak = self._counter("peak")
        num_bytes, num_files = self._top.held()
        return Usage(
            cpu_s=cpu_s,
            peak_memory_bytes=None if peak is None else int(peak),
            disk_bytes=num_bytes,
            num_files=num_files,
        )

    def full(self) -> bool:
        """Whether no byte, or no file, more fits."""
        self._refuse_when_closed()
        return self._top.full()

    def close(self) -> None:
        """Kill everything, free everything, and wait until that is done. May be called twice."""
        if self._closed:
            return
        for fd in (self._top.folder, *self._counters.values()):
            os.close(fd)
        self._hang_up()

    def _counter(self, name: str) -> str | None:
        self._refuse_when_closed()
        fd = self._counters.get(name)
        if fd is None:
            return None
        try:
            return os.pread(fd, 4096, 0).decode("ascii")
        except OSError as error:  # ENODEV: the group is gone, as another launcher's sweep removes those of dead ones
            raise SandboxLost(f"The sandbox launcher is gone, and its control groups are ({error}).") from error


def _amounts(limits: Limits) -> dict[str, object]:
    return {name: getattr(limits, name) for name in _AMOUNTS}


def _end(control: socket.socket, process: subprocess.Popen[bytes]) -> None:
    control.close()
    try:
        process.wait(ANSWER_LIMIT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
