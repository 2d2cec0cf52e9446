from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

PROGRAM = Path(__file__).parent / "scripted_run.py"
LIMIT_S = 240.0
pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
SETTINGS = (
    "sft.steps=3",
    "rl.groups_per_step=8",
    "rl.group_size=4",
    "checkpoint.every_steps=3",
    "eval.prompts=4",
    "eval.samples=2",
    "eval.temperatures=[1.0]",
    "eval.guard_prompts=4",
    "eval.guard_every_steps=7",
    "workers.count=2",
)
ORDERED = (*SETTINGS, "rl.ordered=true", "rl.steps=20")
BESIDE = (*SETTINGS, "rl.max_staleness=2", "rl.steps=20")


def start(folder: Path, what: str, *settings: str) -> subprocess.Popen[bytes]:
    with log_of(folder).open("ab") as log:
        return subprocess.Popen(
            [sys.executable, str(PROGRAM), str(folder), what, *settings],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            stdout=subprocess.DEVNULL,
            stderr=log,
            start_new_session=True,
        )


def log_of(folder: Path) -> Path:
    return folder.parent / f"{folder.name}.log"


def finish(folder: Path, what: str, *settings: str) -> None:
    process = start(folder, what, *settings)
    assert process.wait(LIMIT_S) == 0, log_of(folder).read_text()[-2_000:]


def lines(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_bytes().splitlines(keepends=True) if line.endswith(b"\n")]


def updates(folder: Path) -> list[dict[str, Any]]:
    return lines(folder / "ledger" / "rl" / "updates.jsonl")


def dispatches(folder: Path) -> list[dict[str, Any]]:
    return lines(folder / "ledger" / "rl" / "dispatch.jsonl")


def wait_for_step(folder: Path, process: subprocess.Popen[bytes], step: int) -> None:
    deadline = time.monotonic() + LIMIT_S
    while len(updates(folder)) < step and process.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.005)


def kill(process: subprocess.Popen[bytes]) -> list[int]:
    """Kill -9 the trainer alone, and return the ids of the workers it leaves."""
    workers = [child.pid for child in psutil.Process(process.pid).children(recursive=True)]
    os.kill(process.pid, signal.SIGKILL)
    process.wait(10)
    return workers


def reference(path: Path, *settings: str) -> Path:
    folder = path / "whole"
    finish(folder, "begin", *settings)
    return folder


@pytest.fixture(scope="module")
def whole_ordered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return reference(tmp_path_factory.mktemp("ordered"), *ORDERED)


@pytest.fixture(scope="module")
def whole_beside(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return reference(tmp_path_factory.mktemp("beside"), *BESIDE)


def learned(folder: Path) -> dict[str, Any]:
    """Return the scripted learner's digest of all that it was ever given, imitation included."""
    found: dict[str, Any] = json.loads((folder / "checkpoints" / "rl-last" / "learner.json").read_text())
    return found


def metrics(folder: Path) -> list[dict[str, Any]]:
    """Return the RL steps of metrics.jsonl, without what a clock says."""
    clocks = {"time_s", "learn_s", "wait_s"}
    steps = [row for row in lines(folder / "metrics.jsonl") if row["kind"] == "step" and row["stage"] == "rl"]
    for row in steps:
        for domain in row["domains"].values():
            del domain["engine_s"], domain["judge_s"]
    return [{key: value for key, value in row.items() if key not in clocks} for row in steps]


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_ordered_runs_killed_at_random_give_the_identical_stream(
    tmp_path: Path, whole_ordered: Path, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    folder = tmp_path / "killed"
    what = "begin"
    for step in sorted(int(k) for k in rng.choice(np.arange(1, 20), size=3, replace=False)):
        process = start(folder, what, *(ORDERED if what == "begin" else ()))
        wait_for_step(folder, process, step)
        time.sleep(float(rng.random()) * 0.05)
        workers = kill(process)
        assert _all_end(workers)
        what = "resume"
    finish(folder, "resume")
    assert len(updates(folder)) == 20
    assert updates(folder) == updates(whole_ordered)  # the last chain is the hash of every task, reward and update
    assert dispatches(folder) == dispatches(whole_ordered)
    assert metrics(folder) == metrics(whole_ordered)
    assert learned(folder) == learned(whole_ordered)


def test_a_run_killed_before_its_first_checkpoint_begins_again(tmp_path: Path, whole_ordered: Path) -> None:
    folder = tmp_path / "early"
    process = start(folder, "begin", *ORDERED)
    deadline = time.monotonic() + LIMIT_S
    while not (folder / "run.yaml").exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    kill(process)
    finish(folder, "resume")
    assert updates(folder) == updates(whole_ordered)


@pytest.mark.parametrize("seed", [0, 1])
def test_beside_the_learner_a_kill_trains_nothing_twice_and_loses_nothing(
    tmp_path: Path, whole_beside: Path, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    folder = tmp_path / "beside"
    process = start(folder, "begin", *BESIDE)
    wait_for_step(folder, process, int(rng.integers(4, 15)))
    kill(process)
    promised_before = dispatches(folder)
    finish(folder, "resume")
    assert dispatches(folder)[: len(promised_before)] == promised_before
    assert dispatches(folder) == dispatches(whole_beside)
    used = Counter(uid for update in updates(folder) for fate in ("trained", "flat", "lost") for uid in update[fate])
    assert used == {f"rl-{number:07d}": 1 for number in range(160)}
    assert not any(update["lost"] for update in updates(folder))
    ages = [row["age_max"] for row in metrics(folder)]
    assert max(ages) <= 2


def test_kill_9_of_workers_in_the_middle_changes_nothing(tmp_path: Path, whole_ordered: Path) -> None:
    folder = tmp_path / "workers"
    process = start(folder, "begin", *ORDERED)
    for step in (2, 6, 11, 12):
        wait_for_step(folder, process, step)
        children = psutil.Process(process.pid).children()
        os.kill(children[step % len(children)].pid, signal.SIGKILL)
    assert process.wait(LIMIT_S) == 0
    assert updates(folder) == updates(whole_ordered)  # no lost group, and no reward that was not the judge's
    failures = Counter(
        kind for row in metrics(folder) for domain in row["domains"].values() for kind in domain["failures"]
    )
    assert failures == {}


def test_ctrl_c_saves_and_the_run_goes_on_from_there(tmp_path: Path, whole_ordered: Path) -> None:
    folder = tmp_path / "asked"
    process = start(folder, "begin", *ORDERED)
    wait_for_step(folder, process, 8)
    process.send_signal(signal.SIGINT)
    assert process.wait(LIMIT_S) == 130
    stopped_at = len(updates(folder))
    assert 8 <= stopped_at < 20
    assert (folder / "checkpoints" / f"rl-{stopped_at:06d}" / "COMPLETE").exists()
    finish(folder, "resume")
    assert updates(folder) == updates(whole_ordered)


def _all_end(pids: list[int]) -> bool:
    deadline = time.monotonic() + 15
    while time.monotonic() < deadline:
        if not any(psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE for pid in pids):
            return True
        time.sleep(0.05)
    return False
