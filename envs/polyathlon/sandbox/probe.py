"""What a sandbox holds on this machine: a record filled by attacking it, not by reading its settings."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import secrets
import socket
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from polyathlon.errors import SandboxRefused
from polyathlon.sandbox.protocol import Limits, Report, Room, Sandbox
from polyathlon.tree import Tree

_ATTACKS = Path(__file__).with_name("attacks.py")
PROBE_LIMITS = Limits(
    memory_bytes=64 * 2**20, disk_bytes=4 * 2**20, max_files=500, max_processes=12, output_bytes=2**20
)

_HELD_BY_ATTACK = {
    "read_host_file": "host files",
    "read_host_environment": "host environment",
    "write_kernel_setting": "kernel settings",
    "open_vsock": "no hypervisor socket",
    "open_netlink": "no netlink socket",
    "reach_host_network": "network",
    "see_host_process": "host processes",
    "make_user_namespace": "no nested user namespace",
    "make_network_namespace": "no nested network namespace",
    "mount_something": "no mounts",
    "trace_process": "no tracing",
    "write_system": "read-only system",
    "inherit_descriptor": "no inherited descriptor",
    "keep_privileges": "no privileges",
}
_FILL = (
    "for d in /workspace /tmp /dev/shm; do head -c 8388608 /dev/zero >$d/fill && exit 0; rm -f $d/fill; done; exit 1"
)
_MANY = "for i in $(seq 600); do : >/tmp/$i || exit 1; done"
_FORKS = (
    "import os, time\n"
    "alive = 0\n"
    "try:\n"
    "    while alive < 40:\n"
    "        if os.fork() == 0: time.sleep(20); os._exit(0)\n"
    "        alive += 1\n"
    "except BlockingIOError: pass\n"
    "print(alive, flush=True)"
)
_HOG = "x = bytearray(96 * 2**20); print(len(x))"
_HOGS = (
    "import subprocess, sys\n"
    "hog = 'x = bytearray(b\"1\") * (40 * 2**20); print(len(x), flush=True); input()'\n"
    "ran = [subprocess.Popen([sys.executable, '-ISc', hog], stdin=-1, stdout=-1) for _ in range(3)]\n"
    "print(sum(bool(child.stdout.readline()) for child in ran))\n"
    "[child.kill() for child in ran]\n"
)


@dataclass(frozen=True, slots=True)
class Capability:
    """One thing that a sandbox must hold back, whether it did, and what the attack saw."""

    name: str
    held: bool
    evidence: str
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Record:
    """All that one backend holds on this machine, for `polyathlon doctor` and for who must decide on it."""

    backend: str
    kernel: str
    capabilities: tuple[Capability, ...]

    @property
    def missing(self) -> tuple[Capability, ...]:
        """What did not hold and is not optional: with any of these, nothing may run."""
        return tuple(capability for capability in self.capabilities if not (capability.held or capability.optional))

    def rows(self) -> list[tuple[str, str, str]]:
        """Return (capability, "held", "not held" or "not held (optional)", evidence), a row each."""
        words = {True: "held", False: "not held"}
        return [
            (c.name, words[c.held] + (" (optional)" if c.optional and not c.held else ""), c.evidence)
            for c in self.capabilities
        ]


def probe(room: Room, *, backend: str) -> Record:
    """Return what sandboxes of `room` hold. Takes some tenths of a second, and is harmless where it succeeds.

    Raises:
        SandboxRefused: no sandbox opens here, or no program runs in it.

    """
    capabilities = tuple(_attack(room))
    if all(capability.held for capability in capabilities):  # without walls, an excess would be the host's
        capabilities += tuple(_exceed(room))
    return Record(backend=backend, kernel=platform.release(), capabilities=capabilities)


def require(record: Record, needs: frozenset[str] = frozenset()) -> None:
    """Refuse a backend that does not hold, or that lacks what a task `needs` beyond that.

    Raises:
        SandboxRefused: names what did not hold and what was seen, or what there is none of.

    """
    if record.missing:
        what = "; ".join(f"{capability.name}: {capability.evidence}" for capability in record.missing)
        raise SandboxRefused(
            f"The {record.backend} sandbox does not hold on this machine ({what}), so nothing will run in it. "
            "`polyathlon doctor` prints the whole record."
        )
    tried = {capability.name: capability for capability in record.capabilities}
    for name in sorted(needs):
        if name not in tried:
            raise SandboxRefused(
                f"A task needs {name!r}, and the {record.backend} sandbox is tried for {', '.join(sorted(tried))} only."
            )
        if not tried[name].held:
            raise SandboxRefused(
                f"A task needs {name!r}, which the {record.backend} sandbox does not hold on this machine "
                f"({tried[name].evidence}). Run it where `polyathlon doctor` shows that as held."
            )


@contextlib.contextmanager
def prepared_attack() -> Iterator[str]:
    """Give the attack program's argument: where on this machine to look for what, while the context lasts."""
    with (
        tempfile.NamedTemporaryFile("w", prefix="polyathlon-probe-") as secret_file,
        socket.create_server(("127.0.0.1", 0)) as listener,
    ):
        secret = secrets.token_hex(16)
        secret_file.write(secret)
        secret_file.flush()
        os.chmod(secret_file.name, 0o644)
        own = Path("/proc/self/cmdline").read_bytes().hex()
        port: int = listener.getsockname()[1]
        yield json.dumps({"secret_path": secret_file.name, "secret": secret, "port": port, "command_line": own})


def attack_text() -> str:
    """Return the attack program."""
    return _ATTACKS.read_text(encoding="utf-8")


def _attack(room: Room) -> Iterator[Capability]:
    with prepared_attack() as facts, room.open(Tree.of({"attacks.py": attack_text()}), limits=PROBE_LIMITS) as sandbox:
        report = sandbox.run(["python3", "-I", "attacks.py", facts], timeout_s=20)
    yield from told_by_attacks(report)


def told_by_attacks(report: Report) -> Iterator[Capability]:
    """Read the report of the attack program.

    Raises:
        SandboxRefused: it did not run, so nothing is known.

    """
    if not report.ok:
        raise SandboxRefused(
            f"The attack program did not run in the sandbox ({report.reason}, exit code {report.exit_code}: "
            f"{report.stderr.decode(errors='replace')[-500:].strip()}), so nothing is known of its walls."
        )
    outcomes = json.loads(report.stdout)
    for attack, name in _HELD_BY_ATTACK.items():
        succeeded, evidence = outcomes[attack]
        yield Capability(name, not succeeded, evidence)


def _exceed(room: Room) -> Iterator[Capability]:
    with room.open(Tree(), limits=PROBE_LIMITS) as sandbox:
        yield _refused("disk size", sandbox.run(["bash", "-c", _FILL]), "8 MiB into 4 MiB")
        yield _refused("file count", sandbox.run(["bash", "-c", _MANY]), "600 files into 500")
    with room.open(Tree(), limits=PROBE_LIMITS) as sandbox:
        yield _count_processes(sandbox)
        yield _refused("memory of a process", sandbox.run(["python3", "-IS", "-c", _HOG]), "96 MiB into 64 MiB")
        hogs = sandbox.run(["python3", "-IS", "-c", _HOGS])
        fitted = hogs.stdout.strip().decode()
        yield Capability(
            "memory of all processes", fitted != "3", f"{fitted or 'none'} of 3 x 40 MiB fit into 64 MiB", optional=True
        )
        loop = sandbox.run(["bash", "-c", "trap '' TERM; setsid sleep 30 & while :; do :; done"], timeout_s=0.2)
        yield Capability("deadline", loop.reason == "timeout" and loop.wall_s < 10, f"ended after {loop.wall_s:.1f} s")
        flood = sandbox.run(["yes"])
        yield Capability(
            "output", flood.reason == "output_limit", f"{flood.reason} after {len(flood.stdout)} kept bytes"
        )


def _refused(name: str, report: Report, what: str) -> Capability:
    return Capability(name, report.exit_code != 0, f"{what}: {report.reason}, exit code {report.exit_code}")


def _count_processes(sandbox: Sandbox) -> Capability:
    report = sandbox.run(["python3", "-IS", "-c", _FORKS])
    forked = int(report.stdout or b"0")
    return Capability("process count", forked < 40, f"{forked} of 40 forks; limit 12 and 6 to spare", optional=True)
