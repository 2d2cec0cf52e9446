"""`pytest --polyathlon ID` as a plugin's author runs it: another process, in a folder that holds tests of its own."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PLANTED = ROOT / "tests" / "envs" / "inspect"
SOUND, STRICT, DIES = "planted/test.sound-v1", "planted/test.strict-v1", "planted/test.dies-v1"
FLAGS = ("--polyathlon-seeds", "4")


def made_suite(folder: Path) -> Path:
    """A project with one test, a catalogue of a sound domain and of faulty ones, and no patience for warnings."""
    rows = "".join(
        f"  - {{id: test.{name.lower()}-v1, load: 'planted:{name}', kind: question, levels: 2, max_turns: 1}}\n"
        for name in ("SOUND", "STRICT", "DIES")
    )
    (folder / "registry.yaml").write_text(f"namespace: planted\ndomains:\n{rows}")
    (folder / "pytest.ini").write_text("[pytest]\nfilterwarnings = error\n")
    (folder / "test_own.py").write_text("def test_own():\n    assert True\n")
    (folder / "temporary").mkdir()
    return folder


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    return made_suite(tmp_path)


@pytest.fixture(scope="module")
def sound_run(tmp_path_factory: pytest.TempPathFactory) -> subprocess.CompletedProcess[str]:
    return pytest_in(made_suite(tmp_path_factory.mktemp("sound")), "--polyathlon", SOUND, *FLAGS, "-rs")


@pytest.fixture(scope="module")
def strict_suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_suite(tmp_path_factory.mktemp("strict"))


@pytest.fixture(scope="module")
def strict_run(strict_suite: Path) -> subprocess.CompletedProcess[str]:
    return pytest_in(strict_suite, "--polyathlon", STRICT, *FLAGS)


def pytest_in(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    paths = [str(PLANTED), *(str(ROOT / name) for name in ("envs", "domains"))]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "POLYATHLON_CATALOGS": str(folder / "registry.yaml")}
    env |= {"TMPDIR": str(folder / "temporary"), "PYTEST_ADDOPTS": ""}
    command = [sys.executable, "-m", "pytest", "-v", "-p", "polyathlon_pytest", *words]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False, timeout=280)


def outcomes(done: subprocess.CompletedProcess[str]) -> dict[str, str]:
    """Return {test: outcome} as `pytest -v` prints them, with and without xdist."""
    plain = re.findall(r"^(\S.*?::.*?) (PASSED|FAILED|SKIPPED|ERROR)", done.stdout, re.MULTILINE)
    dealt = re.findall(r"^\[gw\d+\] \[ *\d+%\] (PASSED|FAILED|SKIPPED) (.+?) *$", done.stdout, re.MULTILINE)
    return {name: outcome for name, outcome in plain if not name.startswith(("FAILED", "["))} | {
        name: outcome for outcome, name in dealt
    }


def test_a_sound_domain_passes_every_check_beside_the_projects_own_tests(
    sound_run: subprocess.CompletedProcess[str],
) -> None:
    assert sound_run.returncode == 0, sound_run.stdout + sound_run.stderr
    found = outcomes(sound_run)
    assert found["test_own.py::test_own"] == "PASSED"
    assert found[f"{SOUND}::S01 reference"] == "PASSED"
    assert found[f"{SOUND}::V04 distractors"] == "PASSED"
    assert found[f"{SOUND}::S04 right answers"] == "SKIPPED"
    assert found[f"{SOUND}::grade"] == "PASSED"
    assert f"collected {len(found)} items" in sound_run.stdout


def test_a_skipped_check_says_why(sound_run: subprocess.CompletedProcess[str]) -> None:
    assert "S04 right answers: the domain names no alternatives" in sound_run.stdout


def test_a_faulty_domain_fails_at_the_check_meant_for_it_with_the_command_that_shows_it(
    strict_run: subprocess.CompletedProcess[str],
) -> None:
    assert strict_run.returncode == 1, strict_run.stdout + strict_run.stderr
    found = outcomes(strict_run)
    assert found[f"{STRICT}::V06 rewrites"] == "FAILED"
    assert found[f"{STRICT}::grade"] == "FAILED"
    assert found[f"{STRICT}::C03 hostile input"] == "PASSED"
    assert "V06 rewrites, level " in strict_run.stdout
    assert "'line feed' is refused" in strict_run.stdout
    replay = rf"""polyathlon play {STRICT} --level 0 --seed \d --actions '\["\d+\\n"\]'"""
    assert re.search(replay, strict_run.stdout)
    assert "Traceback" not in strict_run.stdout


def test_last_failed_runs_what_failed(strict_suite: Path, strict_run: subprocess.CompletedProcess[str]) -> None:
    failed = {name for name, outcome in outcomes(strict_run).items() if outcome == "FAILED"}
    assert failed >= {f"{STRICT}::S01 reference", f"{STRICT}::V06 rewrites", f"{STRICT}::grade"}
    again = pytest_in(strict_suite, "--polyathlon", STRICT, *FLAGS, "--last-failed")
    assert set(outcomes(again)) == failed


@pytest.mark.slow
@pytest.mark.parametrize(("grade", "outcome"), [("bronze", "PASSED"), ("gold", "FAILED")])
def test_the_wanted_grade_decides_what_fails(suite: Path, grade: str, outcome: str) -> None:
    done = pytest_in(suite, "--polyathlon", STRICT, *FLAGS, "--polyathlon-grade", grade, "-k", "V06")
    assert outcomes(done) == {f"{STRICT}::V06 rewrites": outcome}


@pytest.mark.slow
def test_a_domain_that_takes_its_process_down_fails_and_the_suite_goes_on(suite: Path) -> None:
    done = pytest_in(suite, "--polyathlon", DIES, "--polyathlon", SOUND, *FLAGS)
    found = outcomes(done)
    assert {outcome for name, outcome in found.items() if name.startswith(DIES)} == {"FAILED"}
    assert found[f"{SOUND}::grade"] == "PASSED"
    assert "the inspecting process ended early, exit code 3" in done.stdout


@pytest.mark.slow
def test_workers_of_xdist_share_one_inspection_a_domain_and_leave_nothing_behind(suite: Path) -> None:
    (suite / "conftest.py").write_text(
        "from polyathlon.testing import shared\n"
        "made = shared.inspect\n"
        "def told(domain_id, **how):\n"
        f"    with open({str(suite / 'made.txt')!r}, 'a') as file:\n"
        "        file.write(domain_id + '\\n')\n"
        "    return made(domain_id, **how)\n"
        "shared.inspect = told\n"
    )
    done = pytest_in(suite, "--polyathlon", SOUND, "--polyathlon", STRICT, *FLAGS, "-n", "2")
    assert done.returncode == 1, done.stdout + done.stderr
    found = outcomes(done)
    assert found[f"{SOUND}::grade"] == "PASSED"
    assert found[f"{STRICT}::V06 rewrites"] == "FAILED"
    assert found["test_own.py::test_own"] == "PASSED"
    assert sorted((suite / "made.txt").read_text().split()) == [SOUND, STRICT]
    assert list((suite / "temporary").glob("polyathlon-*")) == []


def test_a_misspelt_domain_is_one_line_with_the_nearest(suite: Path) -> None:
    done = pytest_in(suite, "--polyathlon", "planted/test.sund-v1")
    assert done.returncode == 4
    assert f"Did you mean {SOUND}?" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_time_limit_fails_the_first_check_and_the_others_at_once(suite: Path) -> None:
    done = pytest_in(suite, "--polyathlon", SOUND, "--polyathlon-seeds", "64", "--timeout", "0.2", "-k", "C01 or S01")
    assert set(outcomes(done).values()) == {"FAILED"}
    assert "was broken off" in done.stdout


def test_without_the_flag_pytest_imports_nothing_of_polyathlon(suite: Path) -> None:
    (suite / "test_own.py").write_text(
        "import sys\n"
        "def test_own():\n"
        "    assert 'polyathlon_pytest' in sys.modules\n"
        "    assert not {'polyathlon', 'numpy', 'gymnasium'} & set(sys.modules)\n"
    )
    done = pytest_in(suite, "-W", "error")
    assert done.returncode == 0, done.stdout
