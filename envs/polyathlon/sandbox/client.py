"""The trainer's end of a launcher: starts it, and speaks for one sandbox each."""

from __future__ import annotations

import json
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
from typing import Any

from polyathlon.errors import SandboxError, SandboxLost, SandboxRefused
from polyathlon.sandbox.launcher import wire
from polyathlon.sandbox.launcher.cgroups import parse_count, parse_cpu_s
from polyathlon.sandbox.launcher.files import Row
from polyathlon.sandbox.protocol import Limits, Usage
from polyathlon.sandbox.system import Plan

_ANSWER_LIMIT_S = 30.0
_SETUP_LIMIT_S = 60.0
_AMOUNTS = ("memory_bytes", "disk_bytes", "max_files", "max_processes", "cpu_s", "cores")
_START = "import sys; sys.path.append(sys.argv[1]); from launcher.serve import main; main()"


@dataclass(frozen=True, slots=True)
class Ending:
    """How a job of the launcher ended. `exit_code` follows the shell: 128 + n for signal n."""

    exit_code: int
    started: bool
    cpu_spent: bool
    cpu_s: float


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
        answer = _receive(self._control, "to build the read-only system")[0]
        if "error" in answer:
            self._end()
            raise SandboxRefused(
                f"No sandbox here: the kernel refused to isolate ({answer['error']}). Allow unprivileged user "
                "namespaces (sysctl user.max_user_namespaces, kernel.apparmor_restrict_unprivileged_userns=0), or, "
                "in a container, run it with --security-opt seccomp=unconfined --security-opt apparmor=unconfined."
            )
        self.controllers = frozenset(str(name) for name in _strings(answer["controllers"]))

    def open_box(self, limits: Limits) -> Lease:
        """Return a new, empty sandbox.

        Raises:
            SandboxLost: the launcher is gone, or could not make one.

        """
        ours = self._ask(limits, {}, [])
        try:
            answer, fds = _receive(ours, "for a new sandbox")
        except SandboxLost:
            ours.close()
            raise
        if "error" in answer:
            ours.close()
            raise SandboxLost(f"No new sandbox: {answer['error']}.")
        counters = dict(zip(_strings(answer["counters"]), fds[1:], strict=True))
        return Lease(ours, uid=int(str(answer["uid"])), workspace=fds[0], counters=counters)

    def judge(self, limits: Limits, fds: Sequence[int]) -> socket.socket:
        """Start a judge in a fork of the warm Python; return the line on which it ends.

        `fds` are its source and its standard streams. A word on the line kills it and all that it started.

        Raises:
            SandboxLost: the launcher is gone.

        """
        return self._ask(limits, {"op": "judge"}, fds)

    def _ask(self, limits: Limits, body: dict[str, object], fds: Sequence[int]) -> socket.socket:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.settimeout(_ANSWER_LIMIT_S)
        amounts = {name: getattr(limits, name) for name in _AMOUNTS}
        try:
            with theirs, self._lock:
                wire.send(self._control, {**amounts, **body}, [theirs.fileno(), *fds])
        except OSError as error:
            ours.close()
            raise SandboxLost(f"The sandbox launcher is gone ({error}). Open a new room.") from error
        return ours

    def close(self) -> None:
        """End the launcher and every sandbox of it; wait until it is gone."""
        self._end()


class Lease:
    """One sandbox of a launcher. `uid` is the host user of its payload; `workspace` is a descriptor of its folder."""

    def __init__(self, line: socket.socket, *, uid: int, workspace: int, counters: Mapping[str, int]) -> None:
        self._line = line
        self.uid = uid
        self.workspace = workspace
        self._counters = counters
        self._closed = False
        self._num_first_files = self._num_files()

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
                raise SandboxLost(f"Waited {_ANSWER_LIMIT_S:.0f} s for killed commands to be gone.") from error
            except OSError as error:
                raise SandboxLost(f"The sandbox launcher is gone ({error}).") from error
        if not gone:
            raise SandboxLost("The sandbox launcher died while commands were killed.")

    def read(self, paths: Sequence[str] | None = None) -> list[Row]:
        """Return the workspace's rows; see launcher.files. With `paths`: of those, and what lies above them, alone."""
        source, sink = os.pipe()
        try:
            line = self._ask({"op": "read", "paths": None if paths is None else list(paths)}, [sink])
        finally:
            os.close(sink)
        return self._rows(line, source)

    def write(self, rows: Sequence[Row]) -> None:
        """Write `rows` into the workspace."""
        self._write("write", rows, ())

    def change(self, rows: Sequence[Row], removed: Sequence[str]) -> None:
        """Write the files of `rows` and remove the files `removed`: all of it, or nothing."""
        self._write("change", rows, removed)

    def _write(self, op: str, rows: Sequence[Row], removed: Sequence[str]) -> None:
        source, sink = os.pipe()
        data = wire.memory_file("rows", marshal.dumps((list(rows), list(removed))))
        try:
            line = self._ask({"op": op}, [sink, data])
        finally:
            os.close(sink)
            os.close(data)
        self._rows(line, source)

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
        room = os.statvfs(self.workspace)
        return Usage(
            cpu_s=cpu_s,
            peak_memory_bytes=None if peak is None else int(peak),
            disk_bytes=(room.f_blocks - room.f_bfree) * room.f_frsize,
            num_files=room.f_files - room.f_ffree - self._num_first_files,
        )

    def full(self) -> bool:
        """Whether no byte, or no file, more fits."""
        self._refuse_when_closed()
        room = os.statvfs(self.workspace)
        return room.f_bfree == 0 or room.f_ffree == 0

    def close(self) -> None:
        """Kill everything, free everything, and wait until that is done. May be called twice."""
        if self._closed:
            return
        self._closed = True
        for fd in (self.workspace, *self._counters.values()):
            os.close(fd)
        try:
            self._line.shutdown(socket.SHUT_WR)
            while self._line.recv(16):
                pass
        except OSError:
            pass  # the launcher is gone, and all of it with it
        self._line.close()

    def _counter(self, name: str) -> str | None:
        self._refuse_when_closed()
        fd = self._counters.get(name)
        if fd is None:
            return None
        try:
            return os.pread(fd, 4096, 0).decode("ascii")
        except OSError as error:  # ENODEV: the group is gone, as another launcher's sweep removes those of dead ones
            raise SandboxLost(f"The sandbox launcher is gone, and its control groups are ({error}).") from error

    def _num_files(self) -> int:
        room = os.statvfs(self.workspace)
        return room.f_files - room.f_ffree

    def _refuse_when_closed(self) -> None:
        if self._closed:
            raise SandboxLost("This sandbox is closed. Open another one.")

    def _ask(self, body: dict[str, object], fds: Sequence[int]) -> socket.socket:
        self._refuse_when_closed()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.settimeout(_ANSWER_LIMIT_S)
        try:
            with theirs:
                wire.send(self._line, body, [theirs.fileno(), *fds])
        except OSError as error:
            ours.close()
            raise SandboxLost(f"The sandbox is gone ({error}). Discard the episode.") from error
        return ours

    def _rows(self, line: socket.socket, source: int) -> list[Row]:
        with line, open(source, "rb") as file:
            data = file.read()
            ended(line)
        if not data:
            raise SandboxLost("The process that reads and writes the workspace died. Discard the episode.")
        kind, value = marshal.loads(data)  # from the launcher's own code, never from a payload
        if kind == "error":
            raise SandboxError(f"The workspace cannot be read or written: {value}.")
        return list(value)


def ended(line: socket.socket) -> Ending:
    """Return how the job of `line` ended, waiting for it at most 30 s.

    Raises:
        SandboxLost: the launcher died, or did not answer.

    """
    answer = answer_of(line)
    if "error" in answer:
        raise SandboxLost(f"The launcher could not start a command ({answer['error']}).")
    code = os.waitstatus_to_exitcode(answer["status"])
    return Ending(
        exit_code=code if code >= 0 else 128 - code,
        started=answer["started"],
        cpu_spent=answer["cpu_spent"],
        cpu_s=answer["cpu_s"],
    )


def answer_of(line: socket.socket) -> dict[str, Any]:
    """Return the launcher's last word on `line`, waiting for it at most 30 s.

    Raises:
        SandboxLost: the launcher died, or did not answer.

    """
    try:
        data = line.recv(4096)
    except TimeoutError as error:
        raise SandboxLost(f"Waited {_ANSWER_LIMIT_S:.0f} s for a killed command to be gone.") from error
    except OSError as error:
        raise SandboxLost(f"The sandbox launcher is gone ({error}).") from error
    if not data:
        raise SandboxLost("The sandbox launcher died while a command ran.")
    answer: dict[str, Any] = json.loads(data)
    return answer


def _receive(line: socket.socket, what: str) -> tuple[dict[str, object], list[int]]:
    try:
        message = wire.receive(line)
    except TimeoutError as error:
        raise SandboxLost(f"Waited too long {what}.") from error
    if message is None:
        raise SandboxLost(f"The sandbox launcher died while asked {what}; its last words are on stderr.")
    return message


def _strings(value: object) -> list[str]:
    assert isinstance(value, list)
    return value


def _end(control: socket.socket, process: subprocess.Popen[bytes]) -> None:
    control.close()
    try:
        process.wait(_ANSWER_LIMIT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
