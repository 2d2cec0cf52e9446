"""What the plan of the read-only system shows and hides."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from polyathlon.errors import SandboxRefused
from polyathlon.sandbox.bubblewrap import BubblewrapSandbox
from polyathlon.sandbox.system import plan_system


def test_a_package_that_is_not_installed_is_refused_by_name() -> None:
    with pytest.raises(SandboxRefused, match="no_such_package is not installed"):
        plan_system(("no_such_package",))


def test_a_package_brings_its_libraries_and_nothing_beside_it() -> None:
    plan = plan_system(("numpy",))
    offered = {os.path.basename(path) for _, path in plan.binds if "site-packages/" in path}
    assert offered <= {"numpy", "numpy.libs"}
    assert "numpy" in offered


def test_root_gives_users_that_nobody_has() -> None:
    plan = plan_system(())
    if os.geteuid() != 0:
        assert plan.first_uid == 0
        return
    users = {int(line.split(":")[2]) for line in Path("/etc/passwd").read_text(encoding="utf-8").splitlines()}
    assert plan.first_uid > 0
    assert not users & set(range(plan.first_uid, plan.first_uid + 20_000))


def test_python_is_the_version_that_runs_us(sandbox: BubblewrapSandbox) -> None:
    code = "import sys, sqlite3, json, decimal; print(*sys.version_info[:2])"
    major, minor = sandbox.run(["python3", "-I", "-c", code]).stdout.split()
    assert f"{int(major)}.{int(minor)}" == ".".join(map(str, __import__("sys").version_info[:2]))


@pytest.mark.parametrize("tool", ["bash", "find", "awk", "sed", "grep", "gzip", "tar", "sort"])
def test_the_tools_of_a_shell_are_there(sandbox: BubblewrapSandbox, tool: str) -> None:
    assert sandbox.run(["sh", "-c", f"command -v {tool}"]).ok


def test_names_and_zones_are_the_same_everywhere(sandbox: BubblewrapSandbox) -> None:
    report = sandbox.run(["sh", "-c", "id -un; hostname; date +%Z; pwd; getent hosts localhost >/dev/null && echo ok"])
    assert report.stdout == b"user\nsandbox\nUTC\n/workspace\nok\n"
