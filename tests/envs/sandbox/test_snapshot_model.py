"""Random file operations, snapshots, restores and forks, against plain folders on the host: the trees must be equal.

Compared are kinds, modes, times, contents, attributes, and which names are one file. The number of names that stat
tells is not: overlayfs goes on counting those that were removed above a layer.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from polyathlon.sandbox.bubblewrap import BubblewrapRoom, BubblewrapSandbox
from polyathlon.sandbox.snapshot import BubblewrapSnapshot
from polyathlon.tree import Tree

ROOT = os.geteuid() == 0

# Carries out operations in the current folder and prints their errors, then all that is there. The same text runs in a
# sandbox and on the host. Every touched path and its parent get a time that depends on the operation alone.
PROGRAM = r"""
import errno, hashlib, json, os, stat, subprocess, sys

def touch(paths, now):
    for path in paths:
        for each in (path, os.path.dirname(path) or "."):
            if os.path.lexists(each):
                os.utime(each, ns=(now, now), follow_symlinks=False)

def rename(a, b):
    try:
        os.rename(a, b)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        subprocess.run(["mv", "-T", a, b], check=True)

def write(path, text, flags):
    fd = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK, 0o644)
    os.write(fd, text.encode())
    os.close(fd)

def remove(path):
    if os.path.isdir(path) and not os.path.islink(path):
        os.rmdir(path)
    else:
        os.unlink(path)

DO = {
    "create": lambda a, b, n: write(a, "x" * n, os.O_WRONLY | os.O_CREAT | os.O_TRUNC),
    "append": lambda a, b, n: write(a, str(n), os.O_WRONLY | os.O_APPEND),
    "overwrite": lambda a, b, n: write(a, str(n), os.O_RDWR),
    "truncate": lambda a, b, n: os.truncate(a, n * 3000) if not os.path.islink(a) else None,
    "chmod": lambda a, b, n: os.chmod(a, 0o600 | (n * 7 & 0o177) | (0o100 if os.path.isdir(a) else 0))
    if not os.path.islink(a) else None,
    "mkdir": lambda a, b, n: os.mkdir(a),
    "symlink": lambda a, b, n: os.symlink(b, a),
    "link": lambda a, b, n: os.link(b, a, follow_symlinks=False),
    "rename": lambda a, b, n: rename(a, b),
    "remove": lambda a, b, n: remove(a),
    "rmtree": lambda a, b, n: subprocess.run(["rm", "-r", "--", a], check=True, stderr=subprocess.DEVNULL),
    "setxattr": lambda a, b, n: os.setxattr(a, f"user.k{n % 3}", b"v%d" % n, follow_symlinks=False),
    "removexattr": lambda a, b, n: os.removexattr(a, f"user.k{n % 3}", follow_symlinks=False),
    "utime": lambda a, b, n: None,
    "fifo": lambda a, b, n: os.mkfifo(a, 0o600),
}

def show():
    rows, links = {}, {}
    for folder, folders, files in os.walk("."):
        for name in [".", *folders, *files] if folder == "." else [*folders, *files]:
            path = os.path.normpath(os.path.join(folder, name))
            entry = os.lstat(path)
            kind = stat.S_IFMT(entry.st_mode)
            row = [oct(entry.st_mode), entry.st_mtime_ns]
            if stat.S_ISLNK(entry.st_mode):
                row.append(os.readlink(path))
            elif stat.S_ISREG(entry.st_mode):
                data = open(path, "rb").read()
                row += [len(data), hashlib.sha256(data).hexdigest()]
            if not stat.S_ISDIR(entry.st_mode):
                links.setdefault((entry.st_dev, entry.st_ino), []).append(path)
            if not stat.S_ISLNK(entry.st_mode) and not stat.S_ISFIFO(entry.st_mode):
                names = [name for name in os.listxattr(path) if name.startswith("user.k")]
                row += [[name, os.getxattr(path, name).decode()] for name in sorted(names)]
            rows[path] = row
    return [rows, sorted(sorted(group) for group in links.values() if len(group) > 1)]

os.umask(0o022)
errors = []
for op, a, b, n, now in json.loads(sys.argv[1]):
    try:
        DO[op](a, b, n)
        errors.append("")
        touch([a, b], now)
    except OSError as error:
        errors.append(errno.errorcode[error.errno])
    except subprocess.CalledProcessError:
        errors.append("failed")
print(json.dumps([errors, show()]))
"""

NAMES = ("a", "b", "c")
PATHS = [*NAMES, *(f"{folder}/{name}" for folder in ("a", "b", "a/b") for name in NAMES)]
OPERATIONS = [
    *("create", "create", "append", "overwrite", "truncate", "chmod", "mkdir", "mkdir", "symlink", "rename", "rename"),
    *("remove", "rmtree", "setxattr", "removexattr", "utime", "fifo"),
    *(["link", "link"] if ROOT else []),  # see docs/sandboxes.md: an ordinary user's layers take files' names apart
]
operation = st.tuples(st.sampled_from(OPERATIONS), st.sampled_from(PATHS), st.sampled_from(PATHS), st.integers(0, 9))
action = st.tuples(st.sampled_from(["snapshot", "snapshot", "restore", "fork", "open", "load"]), st.integers(0, 9))
segment = st.tuples(st.integers(0, 9), st.lists(operation, min_size=2, max_size=12), action)

Operation = tuple[str, str, str, int]
Shown = tuple[list[str], tuple[dict[str, list[object]], list[list[str]]]]


class Pair:
    """A sandbox, and the folder on the host that must be equal to its workspace."""

    def __init__(self, sandbox: BubblewrapSandbox, folder: Path) -> None:
        self.sandbox, self.folder = sandbox, folder

    def apply(self, operations: list[Operation], start: int) -> None:
        timed = [(*each, (start + place + 1) * 10**9 + 123_456_789) for place, each in enumerate(operations)]
        argv = ["python3", "-I", "-c", PROGRAM, json.dumps(timed)]
        report = self.sandbox.run(argv)
        assert report.ok, report.stderr.decode()
        argv[0] = sys.executable
        wanted = subprocess.run(argv, cwd=self.folder, capture_output=True, text=True, check=True, timeout=60).stdout
        assert differences(json.loads(report.stdout), json.loads(wanted)) == [], timed


def differences(seen: Shown, wanted: Shown) -> list[object]:
    """Return what differs, as (what, seen, wanted)."""
    (errors, (rows, links)), (wanted_errors, (wanted_rows, wanted_links)) = seen, wanted
    found: list[object] = []
    for number, (error, wanted_error) in enumerate(zip(errors, wanted_errors, strict=True)):
        if error != wanted_error:
            found.append((number, error, wanted_error))
    for path in sorted({*rows, *wanted_rows}):
        if rows.get(path) != wanted_rows.get(path):
            found.append((path, rows.get(path), wanted_rows.get(path)))
    return found + ([("links", links, wanted_links)] if links != wanted_links else [])


def copied(folder: Path, scratch: Path) -> Path:
    target = Path(tempfile.mkdtemp(dir=scratch))
    subprocess.run(["cp", "-aT", str(folder), str(target)], check=True)
    return target


def without_pipes(folder: Path, scratch: Path) -> Path:
    target = copied(folder, scratch)
    for path in target.rglob("*"):
        if path.is_fifo():
            times = path.parent.stat()
            path.unlink()
            os.utime(path.parent, ns=(times.st_atime_ns, times.st_mtime_ns))
    return target


@pytest.mark.isolation
@settings(
    max_examples=int(os.environ.get("POLYATHLON_MODEL_EXAMPLES", "12")),
    deadline=None,
    suppress_health_check=list(HealthCheck),
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],  # an example takes seconds: one that fails is short enough to read
)
@given(st.lists(segment, min_size=2, max_size=7))
def test_trees_stay_equal_whatever_is_done(
    room: BubblewrapRoom, segments: list[tuple[int, list[Operation], tuple[str, int]]]
) -> None:
    scratch = Path(tempfile.mkdtemp(prefix="polyathlon-model-"))
    top = Path(tempfile.mkdtemp(dir=scratch))
    top.chmod(0o755)
    pairs = [Pair(room.open(Tree()), top)]
    kept: list[tuple[BubblewrapSnapshot, Path]] = []
    start = 0
    try:
        pairs[0].apply([("utime", ".", ".", 0)], 0)
        for which, operations, (what, number) in segments:
            pair = pairs[which % len(pairs)]
            pair.apply(operations, start := start + 100)
            if what == "snapshot" or not kept:
                kept.append((pair.sandbox.snapshot(), copied(pair.folder, scratch)))
            snapshot, folder = kept[number % len(kept)]
            if what == "restore":
                pair.sandbox.restore(snapshot)
                pair.folder = copied(folder, scratch)
            elif what == "fork":
                pairs.append(Pair(pair.sandbox.fork(), copied(pair.folder, scratch)))
            elif what == "open":
                pairs.append(Pair(room.open(snapshot), copied(folder, scratch)))
            elif what == "load":
                loaded = room.load(snapshot.to_tar())
                assert loaded.layers == snapshot.layers
                assert loaded.to_tar() == snapshot.to_tar()
                kept.append((loaded, without_pipes(folder, scratch)))
        for pair in pairs:
            pair.apply([], 0)
    finally:
        for pair in pairs:
            pair.sandbox.close()
        for snapshot, _ in kept:
            snapshot.close()
        shutil.rmtree(scratch)
