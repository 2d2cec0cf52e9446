"""`polyathlon check --report` on a sound domain and on planted faults, and their replay commands typed into a shell."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
NAMES = ("SOUND", "CONTAINMENT", "STRICT")


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    catalog = tmp_path_factory.mktemp("planted") / "registry.yaml"
    rows = "".join(
        f"  - {{id: test.{name.lower()}-v1, load: 'planted:{name}', kind: question, levels: 2, max_turns: 1}}\n"
        for name in NAMES
    )
    catalog.write_text(f"namespace: planted\ndomains:\n{rows}")
    paths = os.pathsep.join([str(HERE), *(str(ROOT / name) for name in ("envs", "domains", "trainer"))])
    return {**os.environ, "PYTHONPATH": paths, "POLYATHLON_CATALOGS": str(catalog)}


@pytest.fixture(scope="module")
def report(environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    ids = [f"planted/test.{name.lower()}-v1" for name in NAMES]
    command = [sys.executable, "-m", "polyathlon", "check", "--seeds", "16", "--report", str(folder), *ids]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=240)
    assert done.returncode == 1, done.stderr
    assert f"Scorecards: {folder}/index.html" in done.stderr
    return folder


def card(report: Path, name: str) -> dict:  # type: ignore[type-arg]  # a record as JSON has it
    found: dict = json.loads((report / "planted" / f"test.{name}-v1.json").read_text())  # type: ignore[type-arg]
    return found


def faults(report: Path, name: str, check: str) -> list[dict]:  # type: ignore[type-arg]
    return [fault for row in card(report, name)["results"] if row["check"] == check for fault in row["faults"]]


def test_a_sound_domain_has_a_page_without_faults(report: Path) -> None:
    assert card(report, "sound")["passed"]
    assert card(report, "sound")["num_faults"] == 0
    page = (report / "planted" / "test.sound-v1.html").read_text(encoding="utf-8")
    assert "None was found: no wrong answer that was paid, no right one that was refused." in page
    assert "None that pays" in page


def test_a_paying_exploit_is_on_the_page_with_what_was_sent(report: Path) -> None:
    fault = next(fault for fault in faults(report, "containment", "X01") if "'two answers'" in fault["message"])
    assert fault["reward"] == 1.0
    page = (report / "planted" / "test.containment-v1.html").read_text(encoding="utf-8")
    assert "Wrong answers that were paid" in page
    assert f"<pre>{fault['actions'][0]}</pre>" in page


@pytest.mark.parametrize(("name", "check"), [("containment", "X01"), ("strict", "V06")])
def test_a_replay_command_earns_again_what_the_scorecard_says(
    report: Path, environment: dict[str, str], name: str, check: str
) -> None:
    fault = faults(report, name, check)[0]
    words = shlex.split(fault["replay"])
    assert words[:2] == ["polyathlon", "play"]
    command = [sys.executable, "-m", "polyathlon", *words[1:], "--json"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)[0]["verdict"]["reward"] == fault["reward"]


def test_the_index_counts_grades_and_links_every_page(report: Path) -> None:
    index = (report / "index.html").read_text(encoding="utf-8")
    assert "1 of 3 domains are fit to train on" in index
    assert index.count('href="planted/') == 3
