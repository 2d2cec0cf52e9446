"""The launcher's hold on the warm Python: starts it, orders judges from it, and tells who waits how each one ended."""

from __future__ import annotations

import contextlib
import json
import marshal
import os
import selectors
import signal
import socket
from array import array
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path

from . import kernel
from .box import UID_SLOTS, Amounts, User, ceilings
from .cgroups import Group
from .jobs import reset_signals
from .watchdog import Watchdog, watchdog_for

_PROGRAM = Path(__file__).with_name("warm_python.py").read_text(encoding="utf-8")
_CONTROL = 3
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
_DEVICE_LINKS = (("fd", "/proc/self/fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2"))
_NAMESPACES = kernel.NEW_MOUNTS | kernel.NEW_PIDS | kernel.NEW_NETWORK | kernel.NEW_IPC | kernel.NEW_UTS


@dataclass(slots=True)
class Judgement:
    """A judge at work, or ordered. `line` goes to who waits; `pidfd` is there once it runs, `end` says how it ended."""

    line: socket.socket
    end: int
    amounts: Amounts
    user: User
    group: Group
    cpus: frozenset[int] = frozenset()
    pidfd: int | None = None
    pid: int | None = None
    doomed: bool = False
    cpu_spent: bool = False
    seen_cpu_s: float = 0.0
    watchdog: Watchdog | None = field(init=False)

    def __post_init__(self) -> None:
        self.watchdog = watchdog_for(self.group.counters, memory_bytes=self.amounts.memory_bytes)

    def begin(self, pidfd: int) -> None:
        """Take note that it runs."""
        self.pidfd, self.pid = pidfd, _pid_of(pidfd)
        if self.doomed:
            self.kill()

    def kill(self) -> None:
        """Kill it and all that it started: now, or as soon as it is there."""
        self.doomed = True
        if self.pidfd is not None:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)

    def check(self) -> None:
        """Kill it when it has used up its CPU seconds; what has used too much memory, where the kernel does not."""
        watched = self.watchdog.look([self.pid]) if self.watchdog is not None else [0.0]
        counted_s = self.group.cpu_s()
        self.seen_cpu_s = max(self.seen_cpu_s, watched[0]) if counted_s is None else counted_s
        if self.seen_cpu_s > self.amounts.cpu_s:
            self.cpu_spent = True
            self.kill()

    def ending(self) -> dict[str, object]:
        """Return how it ended, by the kernel's counters: its exit code is None when it was killed as a whole."""
        told = os.read(self.end, 64).split()
        counted_s = self.group.cpu_s()
        return {
            "exit_code": int(told[0]) if told else None,
            "full": bool(told and int(told[1])),
            "cpu_spent": self.cpu_spent,
            "oom": self.group.count("oom") + (self.watchdog.num_kills if self.watchdog is not None else 0),
            "pids": self.group.count("pids"),
            "cpu_s": self.seen_cpu_s if counted_s is None else counted_s,
        }

    def gone(self) -> bool:
        """Give its user and its groups back, and return True, once the last of its processes has been waited for."""
        if not self.group.removed():
            return False
        self.user.free()
        return True

    def free(self) -> None:
        """Close what was open for it."""
        os.close(self.end)
        if self.pidfd is not None:
            os.close(self.pidfd)
        if self.watchdog is not None:
            self.watchdog.close()
        self.line.close()


class WarmPython:
    """One warm Python and the judges that it has forked. `packages` are imported in it."""

    def __init__(self, plan: dict[str, object], selector: selectors.BaseSelector) -> None:
        """Start it.

        Raises:
            OSError: the kernel refuses; says what.

        """
        self._selector = selector
        self._line, self.pid = _start(plan)
        self._ordered: deque[Judgement] = deque()
        self._judgements: list[Judgement] = []
        self._ended: list[Judgement] = []
        settings = {"packages": plan["packages"], "seccomp": bytes.fromhex(str(plan["seccomp"]))}
        self._line.send(marshal.dumps(settings))
        self.alive = True
        selector.register(self._line, selectors.EVENT_READ, self._on_word)

    @property
    def busy(self) -> bool:
        return bool(self._judgements or self._ended)

    @property
    def watched(self) -> bool:
        """Whether a judge is at work that no control group counts."""
        return any(judgement.watchdog is not None for judgement in self._judgements)

    @property
    def cpus(self) -> list[frozenset[int]]:
        """The CPUs that each judge at work is bound to."""
        return [judgement.cpus for judgement in self._judgements]

    def judge(self, judgement: Judgement, streams: list[int], *, first_uid: int) -> None:
        """Order a judge. `streams` are its source and its standard streams. Owns `judgement` from here on."""
        amounts = judgement.amounts
        limits = ceilings(amounts, judgement.group, cpu_s=amounts.cpu_s)
        order = {
            "user": judgement.user.uid - first_uid if first_uid else 0,
            "disk_bytes": amounts.disk_bytes,
            "max_files": amounts.max_files,
            "ceilings": [(kind, *pair) for kind, pair in limits.items()],
            "cpus": sorted(judgement.cpus),
        }
        end, told = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        judgement.end = end
        self._judgements.append(judgement)
        groups = [os.open(path, os.O_WRONLY | os.O_CLOEXEC) for path in judgement.group.entries()]
        try:
            socket.send_fds(self._line, [marshal.dumps(order)], [*streams, told, *groups])
            self._ordered.append(judgement)
        except OSError as error:
            self._lose(judgement, str(error))
            return
        finally:
            for fd in (told, *groups):
                os.close(fd)
        self._selector.register(judgement.line, selectors.EVENT_READ, lambda: self._on_waiter(judgement))

    def check(self) -> None:
        """Hold every judge to what no limit of a process does."""
        for judgement in self._judgements:
            judgement.check()

    def tidy(self) -> None:
        """Give back what ended judges held, as far as their processes are gone."""
        self._ended = [judgement for judgement in self._ended if not judgement.gone()]

    def close(self) -> None:
        """Kill it, and with it every judge; those who wait are told that theirs is lost. May be called twice."""
        with contextlib.suppress(ProcessLookupError, ChildProcessError):
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        if self.alive:
            self.alive = False
            self._selector.unregister(self._line)
            self._line.close()
        for judgement in list(self._judgements):
            self._lose(judgement, "the warm Python has ended")
        for judgement in self._ended:
            judgement.group.remove()
        self.tidy()

    def _on_word(self) -> None:
        try:
            text, ancillary, _, _ = self._line.recvmsg(4096, socket.CMSG_SPACE(4), socket.MSG_CMSG_CLOEXEC)
        except ConnectionResetError:
            text = b""
        if not text:
            self.close()
            return
        judgement = self._ordered.popleft()
        if text[:1] != b"+":
            self._lose(judgement, text[1:].decode(errors="replace"))
            return
        fds = array("i")
        fds.frombytes(ancillary[0][2])
        self._selector.register(fds[0], selectors.EVENT_READ, lambda: self._on_end(judgement))
        judgement.begin(fds[0])

    def _on_waiter(self, judgement: Judgement) -> None:
        """Any word of who waits, or its end, means: kill it."""
        try:
            over = not judgement.line.recv(16)
        except ConnectionResetError:
            over = True
        if over:
            self._selector.unregister(judgement.line)
        judgement.kill()

    def _on_end(self, judgement: Judgement) -> None:
        self._tell(judgement, judgement.ending())

    def _lose(self, judgement: Judgement, why: str) -> None:
        self._tell(judgement, {"error": why})

    def _tell(self, judgement: Judgement, answer: dict[str, object]) -> None:
        with contextlib.suppress(OSError):
            judgement.line.send(json.dumps(answer).encode("ascii"))
        for watched in (judgement.line, judgement.pidfd):
            if watched is not None:
                with contextlib.suppress(KeyError, ValueError):
                    self._selector.unregister(watched)
        self._judgements.remove(judgement)
        judgement.free()
        self._ended.append(judgement)
        self.tidy()


def _pid_of(pidfd: int) -> int | None:
    """Return the number of the process here, None once it is gone."""
    with open(f"/proc/self/fdinfo/{pidfd}", encoding="ascii") as file:
        pid = next(int(line.split()[1]) for line in file if line.startswith("Pid:"))
    return pid if pid > 0 else None


def _start(plan: dict[str, object]) -> tuple[socket.socket, int]:
    """Start the warm Python: first process of its process namespace, root of a user namespace of sandbox users."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    word, their_word = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    first_uid = int(str(plan["first_uid"]))
    with word, their_word, theirs:
        child = os.fork()
        if child == 0:
            word.close()
            ours.close()
            _make_namespaces(plan, their_word, theirs)
        their_word.close()
        try:
            if word.recv(4096) == b"unshared" and first_uid:
                for name in ("uid_map", "gid_map"):
                    with open(f"/proc/{child}/{name}", "w", encoding="ascii") as file:
                        file.write(f"0 {first_uid} {UID_SLOTS}")
            word.send(b"mapped")
            answer = word.recv(4096)
        finally:
            os.waitpid(child, 0)
    if not answer.isdigit():
        ours.close()
        raise OSError(answer.decode(errors="replace") or "the process that makes the warm Python's namespaces died")
    return ours, int(answer)


def _make_namespaces(plan: dict[str, object], word: socket.socket, control: socket.socket) -> None:
    """Make the namespaces, start the warm Python in them, tell its pid, and leave it to the launcher. Never returns."""
    try:
        signal.set_wakeup_fd(-1)
        reset_signals()
        own = os.geteuid(), os.getegid()
        kernel.unshare(kernel.NEW_USER)
        if not plan["first_uid"]:
            kernel.map_only_myself(*own, inside=0)
        word.send(b"unshared")
        word.recv(16)
        if plan["first_uid"]:
            os.setgroups([])
        os.setresgid(0, 0, 0)
        os.setresuid(0, 0, 0)
        kernel.unshare(_NAMESPACES)
        pid = os.fork()
        if pid == 0:
            _become_python(plan, control)
        word.send(str(pid).encode())
    except BaseException as error:  # a forked child: nothing may escape into the parent's code
        with contextlib.suppress(OSError):
            word.send(str(error).encode()[:4000])
    finally:
        os._exit(0)


def _become_python(plan: dict[str, object], control: socket.socket) -> None:
    """Enter the read-only system, with /proc and /dev, and start the interpreter there."""
    at = str(plan["at"])
    root = f"{at}/box"
    kernel.mount(f"{at}/root", root, "", flags=kernel.MS_BIND | kernel.MS_REC)
    kernel.mount("tmpfs", f"{root}/dev", "tmpfs", flags=kernel.MS_NOSUID, data="mode=755,size=64k,nr_inodes=32")
    for name in _DEVICES:
        os.close(os.open(f"{root}/dev/{name}", os.O_CREAT | os.O_WRONLY, 0o666))
        kernel.mount(f"/dev/{name}", f"{root}/dev/{name}", "", flags=kernel.MS_BIND)
    for name, target in _DEVICE_LINKS:
        os.symlink(target, f"{root}/dev/{name}")
    os.mkdir(f"{root}/dev/shm")
    again = kernel.MS_BIND | kernel.MS_REMOUNT | kernel.MS_RDONLY | kernel.MS_NOSUID
    kernel.mount("", f"{root}/dev", "", flags=again)
    shut = kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC
    kernel.mount("proc", f"{root}/proc", "proc", flags=shut)
    kernel.change_root(root)
    nothing = os.open("/dev/null", os.O_RDWR)
    for place in (0, 1):
        os.dup2(nothing, place)
    spare = os.dup(control.fileno())  # it may be at _CONTROL already, where dup2 would leave it to close on exec
    os.dup2(spare, _CONTROL)
    os.closerange(_CONTROL + 1, os.sysconf("SC_OPEN_MAX"))
    words = plan["warm_python"]
    assert isinstance(words, list)
    environment = plan["environment"]
    assert isinstance(environment, dict)
    os.execve(words[0], [*words[1:], "-c", _PROGRAM], {**environment, "PYTHONHASHSEED": "0", "PWD": "/workspace"})
