"""The attacks, the files and the clean-up once more, as an ordinary user: that is another half of the code."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import polyathlon

NOBODY = 65534
TESTS = Path(__file__).parent
CHECKED = {
    "files and judges": ("test_attacks.py", "test_trees.py", "test_leaks.py", "test_warm.py"),
    "commands": (
        "test_watchdog.py",
        "test_running.py",
        "test_terminal.py::test_a_shell_with_a_prompt_job_control_and_its_size",
        "test_terminal.py::test_injected_keys_line_disciplines_and_other_terminals_are_out_of_reach",
        "test_shell.py::test_a_timeout_kills_the_whole_tree_and_the_shell_answers_again",
        "test_limits.py::test_processes",
        "test_limits.py::test_memory_of_one_process",
        "test_choose.py::test_the_default_room_holds_and_opens",
    ),
    "snapshots": ("test_layered.py", "test_snapshots.py", "test_snapshot_attacks.py", "test_snapshot_model.py"),
}


@pytest.mark.slow
@pytest.mark.isolation
@pytest.mark.skipif(os.geteuid() != 0, reason="the whole suite runs as an ordinary user already")
@pytest.mark.parametrize("part", CHECKED)
def test_all_of_it_holds_for_an_ordinary_user(part: str) -> None:
    _run_as_nobody([f"tests/{name}" for name in CHECKED[part]])


def _run_as_nobody(tests: list[str]) -> None:
    folder = Path(tempfile.mkdtemp(prefix="polyathlon-"))
    try:
        folder.chmod(0o755)
        shutil.copytree(TESTS, folder / "tests", ignore=shutil.ignore_patterns("__pycache__"))
        for name in ("polyathlon", "polyathlon_pytest"):  # the second is a plugin of pytest, and would be missed
            package = Path(polyathlon.__file__).parents[1] / name
            shutil.copytree(package, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copyfile(TESTS.parents[2] / "pyproject.toml", folder / "pyproject.toml")
        shutil.copyfile(TESTS.parents[2] / "registry.yaml", folder / "polyathlon" / "registry.yaml")
        python, path = _reachable_python(folder)
        answer = subprocess.run(
            [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests],
            cwd=folder,
            env={"PATH": "/usr/bin:/bin", "HOME": "/tmp", "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"},
            user=NOBODY,
            group=NOBODY,
            extra_groups=[],
            capture_output=True,
            text=True,
            timeout=200,
            check=False,
        )
        assert answer.returncode == 0, answer.stdout[-5000:] + answer.stderr[-2000:]
        assert "passed" in answer.stdout
    finally:
        shutil.rmtree(folder)


def _reachable_python(folder: Path) -> tuple[str, str]:
    """Return an interpreter of our version that nobody may run, and its PYTHONPATH."""
    packages = str(Path(pytest.__file__).parents[1])
    path = f"{folder}:{packages}"
    for python in (sys.executable, f"/usr/bin/python3.{sys.version_info.minor}"):
        try:
            tried = subprocess.run(
                [python, "-c", "import pytest, polyathlon"],
                cwd=folder,
                env={"PYTHONPATH": path},
                user=NOBODY,
                group=NOBODY,
                extra_groups=[],
                capture_output=True,
                timeout=60,
                check=False,
            )
        except OSError:
            continue
        if tried.returncode == 0:
            return python, path
    pytest.skip("no Python of this version, with these packages, can be run by another user on this machine")
