"""One sandbox, as the launcher holds it: a mount namespace with a sized tmpfs, a user, and control groups."""

from __future__ import annotations

import contextlib
import marshal
import math
import os
import resource
import signal
import socket
from collections.abc import Callable
from dataclasses import dataclass

from . import files, kernel
from .cgroups import Group, JobGroup

UID_SLOTS = 20_000
_SPARE_PROCESSES = 6  # two of bwrap's own a command, a shell and a run at a time, and room to start the next
_MAX_DESCRIPTORS = 1024
_FOLDERS = (("workspace", 0o755), ("tmp", 0o1777), ("shm", 0o1777))


@dataclass(frozen=True, slots=True)
class Amounts:
    """The limits of one sandbox, as they come over the socket."""

    memory_bytes: int
    disk_bytes: int
    max_files: int
    max_processes: int
    cpu_s: float
    cores: float

    @classmethod
    def read(cls, body: dict[str, object]) -> Amounts:
        """Return the limits in a message."""
        amounts = {name: float(str(body[name])) for name in cls.__slots__}
        cpu_s, cores = amounts.pop("cpu_s"), amounts.pop("cores")
        return cls(**{name: int(amount) for name, amount in amounts.items()}, cpu_s=cpu_s, cores=cores)

    @property
    def processes(self) -> int:
        return self.max_processes + _SPARE_PROCESSES


@dataclass(frozen=True, slots=True)
class User:
    """The host user a payload runs as. `claim` holds the uid against every other launcher; None: it is our own."""

    uid: int
    gid: int
    claim: socket.socket | None


@dataclass(slots=True)
class Box:
    """An open sandbox. `mounts` and `users` are descriptors of its namespaces; closing them frees its files."""

    at: str
    amounts: Amounts
    user: User
    group: Group
    mounts: int
    users: int | None

    def enter(self) -> None:
        """Enter the namespaces, in a child process that keeps its privileges over them."""
        if self.users is not None:
            kernel.setns(self.users, kernel.NEW_USER)
        kernel.setns(self.mounts, kernel.NEW_MOUNTS)

    def become_payload(self, job: JobGroup | None, *, cpu_s: float) -> None:
        """Enter, take on the limits, and give up the privileges: what runs next is the payload's.

        The limit on descriptors is for `limit_descriptors`: this fork of the launcher may hold more.
        """
        self.group.join(job)
        self.enter()
        with open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
            file.write("1000")
        for kind, pair in ceilings(self.amounts, self.group, cpu_s=cpu_s).items():
            if kind != resource.RLIMIT_NOFILE:
                resource.setrlimit(kind, pair)
        if self.user.claim is not None:
            os.setgroups([])
            os.setresgid(self.user.gid, self.user.gid, self.user.gid)
            os.setresuid(self.user.uid, self.user.uid, self.user.uid)

    def limit_descriptors(self) -> None:
        """Take on the payload's limit on descriptors, as the last thing before the program starts."""
        resource.setrlimit(resource.RLIMIT_NOFILE, _ceiling(resource.RLIMIT_NOFILE, _MAX_DESCRIPTORS))

    def read(self, paths: list[str] | None, out: int) -> None:
        """Write the workspace's rows (of `paths` only) or what is wrong with it to `out`. Runs in a child process."""
        self.enter()
        top, limit = f"{self.at}/box/workspace", self.amounts.disk_bytes
        try:
            rows = (
                files.read_tree(top, max_bytes=limit)
                if paths is None
                else files.read_paths(top, paths, max_bytes=limit)
            )
        except OSError as error:
            _answer(out, "error", str(error))
        else:
            _answer(out, "rows", rows)

    def write(self, rows: list[files.Row], out: int) -> None:
        """Write `rows` into the workspace; tell `out` what went wrong. Runs in a child process."""
        self._carry_out(lambda top: files.write_tree(top, rows, uid=self.user.uid, gid=self.user.gid), out)

    def change(self, rows: list[files.Row], removed: list[str], out: int) -> None:
        """Write the files `rows` and remove the files `removed`, or do nothing. Runs in a child process."""
        self._carry_out(lambda top: files.change_tree(top, rows, removed, uid=self.user.uid, gid=self.user.gid), out)

    def _carry_out(self, work: Callable[[str], None], out: int) -> None:
        self.enter()
        try:
            work(f"{self.at}/box/workspace")
        except (OSError, RecursionError) as error:  # no room, or what is to be replaced is nested without end
            _answer(out, "error", str(error))
        else:
            _answer(out, "rows", [])

    def free(self) -> None:
        """Give everything back. Every process of the sandbox must be gone."""
        self.group.remove()
        os.close(self.mounts)
        if self.users is not None:
            os.close(self.users)
        if self.user.claim is not None:
            self.user.claim.close()


def _answer(out: int, kind: str, value: str | list[files.Row]) -> None:
    with open(out, "wb") as file:
        file.write(marshal.dumps((kind, value)))


def ceilings(amounts: Amounts, group: Group, *, cpu_s: float) -> dict[int, tuple[int, int]]:
    """Return the limits of one process, soft and hard, by resource."""
    wanted = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_CPU: max(1, math.ceil(cpu_s)) + 1,
        resource.RLIMIT_FSIZE: max(amounts.disk_bytes, amounts.memory_bytes),
        resource.RLIMIT_MEMLOCK: 64 * 1024,
        resource.RLIMIT_MSGQUEUE: 64 * 1024,
        resource.RLIMIT_NOFILE: _MAX_DESCRIPTORS,
        # Where a control group counts processes it must be the one that refuses: only it keeps count of that.
        resource.RLIMIT_NPROC: amounts.processes * (4 if group.counters.pids else 1),
    }
    if not group.counters.oom:  # nothing counts the sum: at least no single process may exceed it
        wanted[resource.RLIMIT_DATA] = amounts.memory_bytes
    return {kind: _ceiling(kind, amount) for kind, amount in wanted.items()}


def _ceiling(kind: int, amount: int) -> tuple[int, int]:
    """Return the soft and the hard limit: `amount`, or what this process has itself, if that is less."""
    _, hard = resource.getrlimit(kind)
    amount = amount if hard == resource.RLIM_INFINITY else min(amount, hard)
    # One second between the signal and the kill tells a spent CPU limit from any other kill.
    return (amount - 1 if kind == resource.RLIMIT_CPU else amount), amount


def claim_user(first_uid: int, start: int) -> User:
    """Return a host user that no other sandbox of this machine has now.

    As root that is one of a reserved range but its first, which runs warm Pythons, claimed by an abstract socket of
    its name, which the kernel frees with its holder. Otherwise it is the caller.
    """
    if first_uid == 0:
        return User(os.geteuid(), os.getegid(), None)
    for slot in range(UID_SLOTS - 1):
        uid = first_uid + 1 + (start + slot) % (UID_SLOTS - 1)
        claim = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            claim.bind(f"\0polyathlon-uid-{uid}")
        except OSError:
            claim.close()
            continue
        return User(uid, uid, claim)
    raise OSError(f"all {UID_SLOTS} users of the reserved range are taken")


def open_box(at: str, amounts: Amounts, user: User, group: Group) -> tuple[Box, int]:
    """Return a new box, and a descriptor of its workspace to read its fill from."""
    ready, hold = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        os.close(hold[1])
        _make_world(at, amounts, user, ready[1], hold[0])
    os.close(ready[1])
    os.close(hold[0])
    try:
        message = os.read(ready[0], 4096)
        if message != b"ready":
            raise OSError(message.decode(errors="replace") or "the process that makes the namespaces died")
        place = f"/proc/{child}"
        users = os.open(f"{place}/ns/user", os.O_RDONLY | os.O_CLOEXEC) if user.claim is None else None
        mounts = os.open(f"{place}/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)
        workspace = os.open(f"{place}/root{at}/box/workspace", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    finally:
        os.close(ready[0])
        os.close(hold[1])
        with contextlib.suppress(ChildProcessError):
            os.waitpid(child, 0)
    return Box(at, amounts, user, group, mounts, users), workspace


def _make_world(at: str, amounts: Amounts, user: User, ready: int, hold: int) -> None:
    """Make the namespaces and the tmpfs, say so, and keep them until the parent holds them."""
    try:
        signal.set_wakeup_fd(-1)
        own = user.claim is None
        kernel.unshare(kernel.NEW_MOUNTS | kernel.NEW_USER if own else kernel.NEW_MOUNTS)
        if own:
            kernel.map_only_myself(user.uid, user.gid)
        data = f"mode=755,size={amounts.disk_bytes},nr_inodes={amounts.max_files + len(_FOLDERS) + 1}"
        kernel.mount("tmpfs", f"{at}/box", "tmpfs", flags=kernel.MS_NOSUID | kernel.MS_NODEV, data=data)
        for name, mode in _FOLDERS:
            os.mkdir(f"{at}/box/{name}")
            os.chmod(f"{at}/box/{name}", mode)
            os.chown(f"{at}/box/{name}", user.uid, user.gid)
        os.write(ready, b"ready")
        os.read(hold, 1)
    except BaseException as error:  # a forked child: nothing may escape into the parent's code
        with contextlib.suppress(OSError):
            os.write(ready, str(error).encode()[:4000])
    finally:
        os._exit(0)
