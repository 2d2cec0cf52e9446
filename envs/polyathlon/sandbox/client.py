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
from dataclasses import asdict
from pathlib import Path
from typing import Literal

from polyathlon.errors import SandboxLost, SandboxRefused
from polyathlon.sandbox.launcher import wire
from polyathlon.sandbox.launcher.files import Row
from polyathlon.sandbox.launcher.trees import Step
from polyathlon.sandbox.line import ANSWER_LIMIT_S, Line, SnapshotLease, failure, receive, strings
from polyathlon.sandbox.protocol import Limits
from polyathlon.sandbox.system import Plan

_SETUP_LIMIT_S = 60.0
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
        amounts = asdict(limits)
        names = ("memory_bytes", "disk_bytes", "max_files", "max_processes", "cpu_s")
        body: dict[str, object] = {"op": op, **{name: amounts[name] for name in names}}
        if snapshot is not None:
            body["snapshot"] = snapshot.number
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.settimeout(ANSWER_LIMIT_S)
        try:
            with theirs, self._lock:
                wire.send(self._control, body, [theirs.fileno()])
            answer, fds = receive(ours, "for a new sandbox")
            if "error" in answer:
                raise failure(answer, "No new sandbox")
        except BaseException as error:
            ours.close()
            if isinstance(error, OSError):
                raise SandboxLost(f"The sandbox launcher is gone ({error}). Open a new room.") from error
            raise
        counters = dict(zip(strings(answer["counters"]), fds[1:], strict=True))
        return Lease(ours, uid=int(str(answer["uid"])), top=fds[0], counters=counters)

    def load(self, trees: Sequence[Sequence[Step]]) -> SnapshotLease:
        """Return a snapshot of these layers, lowest first.

        Raises:
            SandboxError: it could not be made.
            SandboxLost: the launcher is gone.

        """
        data = wire.memory_file("trees", marshal.dumps([[step and tuple(step) for step in steps] for steps in trees]))
        line, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        owner, held = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        line.settimeout(ANSWER_LIMIT_S)
        try:
            with line, theirs, held:
                with self._lock:
                    wire.send(self._control, {"op": "load"}, [theirs.fileno(), held.fileno(), data])
                theirs.close()
                answer, _ = receive(line, "to load a snapshot")
            if "error" in answer:
                raise failure(answer, "The snapshot could not be loaded")
        except BaseException as error:
            owner.close()
            if isinstance(error, OSError):
                raise SandboxLost(f"The sandbox launcher is gone ({error}). Open a new room.") from error
            raise
        finally:
            os.close(data)
        return SnapshotLease(owner, int(str(answer["snapshot"])))

    def close(self) -> None:
        """End the launcher and every sandbox of it; wait until it is gone."""
        self._end()


class Lease(Line):
    """One sandbox of a launcher. `uid` is the host user of its payload; `top` is a folder of the tmpfs it writes to."""

    def __init__(self, line: socket.socket, *, uid: int, top: int, counters: Mapping[str, int]) -> None:
        super().__init__(line)
        self.uid = uid
        self.top = top
        self._counters = counters

    def spawn(self, command: Sequence[str], options: Sequence[str], fds: Sequence[int]) -> socket.socket:
        """Start `command`, with `fds` as its descriptors 0, 1, 2, ...; return the line on which it ends.

        A word on the line kills the command and all that it started.
        """
        return self._ask({"op": "spawn", "command": list(command), "options": list(options)}, fds)

    def read(self) -> list[Row]:
        """Return the workspace's rows; see launcher.files."""
        return self._rows({"op": "read"})

    def write(self, rows: Sequence[Row], *, folder: str = "workspace") -> None:
        """Write `rows` into the workspace, or into another folder of the sandbox."""
        data = wire.memory_file("rows", marshal.dumps(list(rows)))
        try:
            self._rows({"op": "write", "folder": folder}, [data])
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
        os.close(self.top)
        self.top = fds[0]
        return answer

    def count(self, name: str) -> int:
        """Return the kernel's count of "oom" kills or refused "pids" so far; 0 where nothing counts."""
        self._refuse_when_closed()
        fd = self._counters.get(name)
        if fd is None:
            return 0
        word = "oom_kill" if name == "oom" else "max"
        try:
            text = os.pread(fd, 4096, 0).decode("ascii")
        except OSError as error:  # another launcher has swept up the groups of ours, which is dead
            raise SandboxLost(f"The sandbox's control group is gone ({error}). Discard the episode.") from error
        for line in text.splitlines():
            if line.startswith(f"{word} "):
                return int(line.split()[1])
        return 0

    def full(self) -> bool:
        """Whether no byte, or no file, more fits."""
        self._refuse_when_closed()
        room = os.statvfs(self.top)
        return room.f_bfree == 0 or room.f_ffree == 0

    def close(self) -> None:
        """Kill everything, free everything, and wait until that is done. May be called twice."""
        if self._closed:
            return
        for fd in (self.top, *self._counters.values()):
            os.close(fd)
        self._hang_up()


def _end(control: socket.socket, process: subprocess.Popen[bytes]) -> None:
    control.close()
    try:
        process.wait(ANSWER_LIMIT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
