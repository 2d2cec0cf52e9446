"""What the tests count on the host: processes of a user, control groups of a launcher, descriptors, mounts."""

from __future__ import annotations

import glob
import os
import time
from collections.abc import Callable
from pathlib import Path

from polyathlon.sandbox.protocol import Sandbox


def processes_of(uid: int) -> list[int]:
    """Return the pids of the processes of user `uid`, zombies included, in a process namespace below ours.

    So an ordinary user, whose sandboxes run as that user, counts payloads and not its own test run.
    """
    own_depth = _depth(Path("/proc/self/status").read_text(encoding="utf-8"))
    found = []
    for path in glob.glob("/proc/[0-9]*/status"):
        try:
            text = Path(path).read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        if f"\nUid:\t{uid}\t" in text and _depth(text) > own_depth:
            found.append(int(path.split("/")[2]))
    return found


def _depth(status: str) -> int:
    line = next((line for line in status.splitlines() if line.startswith("NSpid:")), "")
    return len(line.split())


def groups_of(launcher_pid: int) -> list[str]:
    """Return the control groups that the launcher made."""
    return glob.glob(f"/sys/fs/cgroup/**/polyathlon-{launcher_pid}-*", recursive=True)


def descriptors_of(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/fd"))


def mounts() -> list[str]:
    return Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines()


def alive(pid: int) -> bool:
    """Whether `pid` runs: a zombie does not."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return text.rpartition(")")[2].split()[0] != "Z"


def comes_true(condition: Callable[[], bool], *, limit_s: float = 10.0) -> bool:
    """Return whether `condition` holds within `limit_s`."""
    end_s = time.monotonic() + limit_s
    while time.monotonic() < end_s:
        if condition():
            return True
        time.sleep(0.02)
    return condition()


def sh(sandbox: Sandbox, script: str) -> str:
    """Return what a script prints in `sandbox`; it must succeed."""
    report = sandbox.run(["sh", "-c", script])
    assert report.ok, report
    return report.stdout.decode()
