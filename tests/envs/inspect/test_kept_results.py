"""Results that are kept: a killed command goes on where it was, and what is damaged is done anew."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from tests.envs.inspect.command import environment, polyathlon, records, write_catalog

from polyathlon.inspect.check import Check
from polyathlon.inspect.depth import Depth
from polyathlon.inspect.finding import CheckResult, Finding, Measure
from polyathlon.inspect.grade import Grade
from polyathlon.inspect.kept import NUM_BINDINGS, DamagedResult, Kept, ResultStore, forget

ID = "planted/test.slow-v1"
CHANGING = "planted/test.changing-v1"
CHECK = Check(("V06",), lambda stage: ())
KEPT = Kept(
    (
        CheckResult(
            "V06", (Measure(0, 0.5, 4, Grade.BRONZE, 0.1, 0.9),), (Finding(0, 1, "refused", reward=0.0),), {"mean": 1.5}
        ),
    ),
    {"rewrite": (4, *(0,) * 21)},
    ((0, 3, "train"),),
)


def store(folder: Path, *, source: str = "aa", seeds: int = 64) -> ResultStore:
    return ResultStore(folder, ID, {"source": source, "waivers": "ww"}, Depth(seeds, 2))


def test_what_is_kept_comes_back_and_only_for_the_same_sources_and_depth(tmp_path: Path) -> None:
    store(tmp_path).put(CHECK, KEPT)
    assert store(tmp_path).get(CHECK) == KEPT
    assert store(tmp_path, source="bb").get(CHECK) is None
    assert store(tmp_path, seeds=4).get(CHECK) is None
    assert store(tmp_path).get(Check(("S04",), CHECK.look)) is None


def test_a_number_that_is_none_is_kept_as_none(tmp_path: Path) -> None:
    unseen = Kept((CheckResult("V06", (Measure(0, float("nan"), 0, Grade.QUARANTINE),)),), {})
    store(tmp_path).put(CHECK, unseen)
    found = store(tmp_path).get(CHECK)
    assert found is not None
    assert str(found) == str(unseen)


@pytest.mark.parametrize("text", ["", "x", "0" * 64 + "\n{}", "nan"])
def test_a_damaged_file_is_told_with_its_path(tmp_path: Path, text: str) -> None:
    store(tmp_path).put(CHECK, KEPT)
    path = next(tmp_path.rglob("*.json"))
    path.write_text(text)
    with pytest.raises(DamagedResult, match=path.name):
        store(tmp_path).get(CHECK)


def test_no_more_states_of_the_sources_are_kept_than_a_few(tmp_path: Path) -> None:
    for number in range(NUM_BINDINGS + 3):
        store(tmp_path, source=str(number)).put(CHECK, KEPT)
    assert len(list(tmp_path.glob("*/*/"))) == NUM_BINDINGS
    assert store(tmp_path, source=str(NUM_BINDINGS + 2)).get(CHECK) == KEPT
    forget(tmp_path, ID)
    assert list(tmp_path.rglob("*.json")) == []


# --- by the command line -------------------------------------------------------------------------------------------


SLOW = """
\"\"\"A slow domain.\"\"\"

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from time import sleep

import planted

from polyathlon import Evidence, Task, Verdict
from polyathlon.sandbox.protocol import Room

PAUSE_S = float(os.environ.get("PLANTED_SLEEP_S", "0"))
if log := os.environ.get("PLANTED_LOG"):
    with Path(log).open("a") as file:
        file.write("loaded\\n")


@dataclass(frozen=True)
class SlowVerifier(planted.SumVerifier):
    \"\"\"Takes its time.\"\"\"

    def judge(self, task: Task, evidence: Evidence, room: Room) -> Verdict:
        sleep(PAUSE_S)
        return super().judge(task, evidence, room)


SLOW = replace(planted.SOUND, verifier=SlowVerifier())
"""
"""A sound domain that tells in a file when it was loaded, and takes its time to judge."""


def catalog(folder: Path, cache: Path, **more: str) -> dict[str, str]:
    path = write_catalog(folder, slow="acme_slow:SLOW", changing="planted:CHANGING")
    (folder / "acme_slow.py").write_text(SLOW)
    return environment(path, folder, POLYATHLON_CACHE=str(cache), PLANTED_LOG=str(folder / "log"), **more)


def told(record: dict[str, Any]) -> dict[str, Any]:
    """Return what two inspections of the same domain must agree on: all but seconds."""
    kept = {key: value for key, value in record.items() if key not in ("wall_s", "cpu_s")}
    kept["results"] = [result for result in kept["results"] if result["check"] not in ("R01", "R02")]  # seconds, bytes
    for result in kept["results"]:
        result["numbers"] = {
            name: value for name, value in result["numbers"].items() if not name.endswith(("_s", "_ms"))
        }
    return kept


def num_loads(folder: Path) -> int:
    log = folder / "log"
    return log.read_text().count("loaded") if log.exists() else 0


def test_a_killed_inspection_goes_on_where_it_was(tmp_path: Path) -> None:
    """Killed by kill -9 while its checks are at work; the second command redoes none that was done."""
    cache = tmp_path / "cache"
    slow = catalog(tmp_path, cache, PLANTED_SLEEP_S="0.02")
    words = ["check", ID, CHANGING, "--seeds", "8", "--jobs", "2", "--json"]
    begun = subprocess.Popen([sys.executable, "-m", "polyathlon", *words], env=slow, stdout=subprocess.DEVNULL)
    until = time.monotonic() + 120
    while len(done := kept_files(cache, "slow")) < 4:
        assert time.monotonic() < until
        assert begun.poll() is None, "it ended before it could be killed"
        time.sleep(0.05)
    begun.send_signal(signal.SIGKILL)
    begun.wait(30)
    time.sleep(1.5)  # its processes end within a second after it
    done = kept_files(cache, "slow")
    assert not [path for path in cache.rglob(".*") if path.is_file()], "nothing half written"
    resumed = records(catalog(tmp_path, cache), *words[:-1])
    for path, changed_ns in done.items():
        assert path.stat().st_mtime_ns == changed_ns, path
    anew = records(catalog(tmp_path, tmp_path / "another"), *words[:-1])
    assert told(resumed[ID]) == told(anew[ID])
    assert resumed[ID]["grade"] == "gold"
    assert told(resumed[CHANGING]) == told(anew[CHANGING])


def kept_files(cache: Path, name: str) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in cache.glob(f"*{name}*/*/[A-Z]*.json")}


def test_what_was_found_before_is_not_looked_for_again_unless_asked_to(tmp_path: Path) -> None:
    env = catalog(tmp_path, tmp_path / "cache")
    words = ("check", ID, "--seeds", "4")
    first = records(env, *words)
    num_before = num_loads(tmp_path)
    assert num_before >= 1
    assert told(records(env, *words)[ID]) == told(first[ID])
    assert num_loads(tmp_path) == num_before
    assert told(records(env, *words, "--fresh")[ID]) == told(first[ID])
    assert num_loads(tmp_path) > num_before


def test_a_damaged_result_is_told_and_done_anew(tmp_path: Path) -> None:
    env = catalog(tmp_path, tmp_path / "cache")
    words = ("check", ID, "--seeds", "4", "--json")
    first = polyathlon(env, *words)
    path = next((tmp_path / "cache").rglob("X01-*.json"))
    path.write_text(path.read_text().replace('"grade": 4', '"grade": 1').replace('"grade":4', '"grade":1'))
    second = polyathlon(env, *words)
    assert f"{path}: is not as it was written. It is looked at anew." in second.stderr
    assert [told(row) for row in json.loads(second.stdout)] == [told(row) for row in json.loads(first.stdout)]
    assert polyathlon(env, *words).stderr == ""


def test_an_episode_that_changed_its_task_is_remembered_when_it_is_not_played_again(tmp_path: Path) -> None:
    env = catalog(tmp_path, tmp_path / "cache")
    words = ("check", CHANGING, "--seeds", "4")
    assert records(env, *words)[CHANGING]["grade"] == "quarantine"
    next((tmp_path / "cache").rglob("D04-*.json")).unlink()
    found = {row["check"]: row["grade"] for row in records(env, *words)[CHANGING]["results"]}
    assert found["D04"] == "quarantine"


def test_the_folder_can_be_named_on_the_command_line(tmp_path: Path) -> None:
    env = catalog(tmp_path, tmp_path / "cache")
    polyathlon(env, "check", ID, "--seeds", "4", "--tier", "0", "--cache", str(tmp_path / "named"))
    assert list((tmp_path / "named").rglob("C05-*.json"))
    assert not (tmp_path / "cache").exists()
    assert os.environ.get("POLYATHLON_CACHE", "").startswith("/")
