"""One sandbox, as the launcher holds it: a mount namespace with a sized tmpfs, a user, and control groups."""

from __future__ import annotations

import marshal
import math
import os
import resource
import socket
from collections.abc import Callable
from dataclasses import dataclass

from . import files, kernel, layers
from .cgroups import Group, JobGroup
from .layers import Layers, Place
from .worlds import World, make_here, make_in_child

UID_SLOTS = 20_000
_SPARE_PROCESSES = 6  # two of bwrap's own a command, a shell and a run at a time, and room to start the next
_MAX_DESCRIPTORS = 1024


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

    def place(self, at: str, user: User) -> Place:
        """Return where a box of `user` stands and what it may hold."""
        return Place(at, self.disk_bytes, self.max_files, user.uid, user.gid)


@dataclass(frozen=True, slots=True)
class User:
    """The host user a payload runs as. `claim` holds the uid against every other launcher; None: it is our own.

    A snapshot, and every box on it, has the user of the box it was taken of, which owns the files.
    """

    uid: int
    gid: int
    claim: socket.socket | None

    def share(self) -> User:
        """Return the same user once more: it is free when every one of them was freed."""
        return User(self.uid, self.gid, None if self.claim is None else self.claim.dup())

    def free(self) -> None:
        """Give the user back."""
        if self.claim is not None:
            self.claim.close()


@dataclass(slots=True)
class Box:
    """An open sandbox. Closing its world frees its files; `layers` lie below them."""

    at: str
    amounts: Amounts
    user: User
    group: Group
    world: World
    layers: Layers = ()

    @property
    def place(self) -> Place:
        """Where its mounts are, and what they may hold."""
        return self.amounts.place(self.at, self.user)

    def become_payload(self, job: JobGroup | None, *, cpu_s: float) -> None:
        """Enter, take on the limits, and give up the privileges: what runs next is the payload's.

        The limit on descriptors is for `limit_descriptors`: this fork of the launcher may hold more.
        """
        self.group.join(job)
        self.world.enter()
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
        self.world.enter()
        top, limit = f"{self.at}/box/workspace", self.amounts.disk_bytes
        try:
            rows = (
                files.read_tree(top, max_bytes=limit)
                if paths is None
                else files.read_paths(top, paths, max_bytes=limit)
            )
        except OSError as error:
            answer(out, "error", str(error))
        else:
            answer(out, "rows", rows)

    def write(self, rows: list[files.Row], out: int, *, folder: str) -> None:
        """Write `rows` into the workspace; tell `out` what went wrong. Runs in a child process.

        Another `folder` is made where there is none, and stays the launcher's own: no payload may write there.
        """
        own = folder == "workspace"

        def work(top: str) -> None:
            uid, gid = (self.user.uid, self.user.gid) if own else (os.geteuid(), os.getegid())
            files.write_tree(top, rows, uid=uid, gid=gid)

        self._carry_out(work, out, folder=folder)

    def change(self, rows: list[files.Row], removed: list[str], out: int) -> None:
        """Write the files `rows` and remove the files `removed`, or do nothing. Runs in a child process."""
        self._carry_out(lambda top: files.change_tree(top, rows, removed, uid=self.user.uid, gid=self.user.gid), out)

    def _carry_out(self, work: Callable[[str], None], out: int, *, folder: str = "workspace") -> None:
        self.world.enter()
        top = f"{self.at}/box/{folder}"
        try:
            os.makedirs(top, exist_ok=True)
            work(top)
        except (OSError, RecursionError) as error:  # no room, or what is to be replaced is nested without end
            answer(out, "error", str(error))
        else:
            answer(out, "rows", [])

    def free(self) -> None:
        """Give everything back. Every process of the sandbox must be gone."""
        self.group.remove()
        self.world.close()
        self.user.free()


def answer(out: int, kind: str, value: object) -> None:
    """Write what a child has found to `out`, and close it."""
    with open(out, "wb") as file:
        file.write(marshal.dumps((kind, value)))  # type: ignore[arg-type]  # text, or rows of plain values


def ceilings(amounts: Amounts, group: Group, *, cpu_s: float) -> dict[int, tuple[int, int]]:
    """Return the limits of one process, soft and hard, by resource."""
    wanted = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_CPU: max(1, math.ceil(cpu_s)) + 1,
        resource.RLIMIT_FSIZE: max(amounts.disk_bytes, amounts.memory_bytes),
        resource.RLIMIT_MEMLOCK: 64 * 1024,
        resource.RLIMIT_MSGQUEUE: 64 * 1024,
        resource.RLIMIT_NOFILE: _MAX_DESCRIPTORS,
    }
    # Where a control group counts processes it must be the one that refuses: it keeps count of that, and a sandbox and
    # its forks have one user but a group each.
    if not group.counters.pids:
        wanted[resource.RLIMIT_NPROC] = amounts.processes
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
    """Return a new box, and a descriptor of its tmpfs to read its fill from."""
    place = amounts.place(at, user)

    def work() -> tuple[Layers, str]:
        own = user.claim is None
        kernel.unshare(kernel.NEW_MOUNTS | kernel.NEW_USER if own else kernel.NEW_MOUNTS)
        if own:
            kernel.map_only_myself(user.uid, user.gid)
        layers.make_plain(place)
        return (), f"{at}/box"

    made = (make_here if user.claim is not None else make_in_child)(work).take()
    return Box(at, amounts, user, group, made.world), made.top
