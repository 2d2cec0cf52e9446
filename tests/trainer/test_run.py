from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from polyathlon.errors import RegistryError
from polyathlon_trainer import run
from polyathlon_trainer.config.load import load_config
from polyathlon_trainer.config.schema import RunConfig
from polyathlon_trainer.learning.protocol import Policy
from polyathlon_trainer.observe.reading import read_run
from polyathlon_trainer.sampling.scripted import Cue, Script, scripted_policy

TOYS = Path(__file__).parent / "toys"

SMALL = (
    "domains.include=[math.arithmetic-expression-v1, logic.kinship-v1]",
    "sft.steps=2",
    "rl.steps=4",
    "rl.groups_per_step=6",
    "rl.group_size=4",
    "eval.prompts=3",
    "eval.samples=2",
    "eval.guard_prompts=3",
    "eval.guard_every_steps=2",
    "workers.count=2",
)


def begin(folder: Path, *settings: str, script: Script | None = None) -> run.Ending:
    def build(_: RunConfig) -> Policy:
        return scripted_policy(script or arithmetic)

    return run.begin(load_config(None, [*SMALL, *settings]), folder, console=quiet(), build=build)


def quiet() -> Console:
    return Console(file=io.StringIO())


def test_a_run_leaves_steps_examinations_checkpoints_and_a_ledger(tmp_path: Path) -> None:
    ending = begin(tmp_path / "run")
    assert ending.outcome == "finished"
    log = read_run(tmp_path / "run")
    assert [(record.stage, record.step) for record in log.steps] == [
        ("sft", 1), ("sft", 2), ("rl", 1), ("rl", 2), ("rl", 3), ("rl", 4)
    ]  # fmt: skip
    assert {(record.stage, record.step, record.temperature) for record in log.evals} == {
        *(("sft", 2, temperature) for temperature in (1.0, 0.5, 0.0)),
        ("rl", 2, 1.0),
        *(("rl", 4, temperature) for temperature in (1.0, 0.5, 0.0)),
    }
    assert log.end is not None
    assert (tmp_path / "run" / "checkpoints" / "rl-last" / "COMPLETE").exists()
    assert len((tmp_path / "run" / "ledger" / "rl" / "updates.jsonl").read_text().splitlines()) == 4


def test_every_step_tells_every_domain(tmp_path: Path) -> None:
    begin(tmp_path / "run")
    steps = [record for record in read_run(tmp_path / "run").steps if record.stage == "rl"]
    assert all(len(record.domains) == 2 for record in steps)
    assert sum(domain.judged for record in steps for domain in record.domains.values()) == 24


def test_controls_start_from_the_policy_after_sft_and_get_what_rl_got(tmp_path: Path) -> None:
    begin(tmp_path / "run", "controls=true", "rl.ordered=true")
    log = read_run(tmp_path / "run")
    steps = [(record.stage, record.step) for record in log.steps]
    assert steps.count(("rl-shuffled", 4)) == 1
    assert ("rl-shuffled", 5) not in steps
    assert ("sft-continued", 2) in steps
    assert {record.stage for record in log.evals} == {"sft", "rl", "sft-continued", "rl-shuffled"}
    digest = {name: _digest(tmp_path / "run", name) for name in ("sft-last", "rl-last", "rl-shuffled-last")}
    assert len(set(digest.values())) == 3


def test_collecting_beside_the_learner_keeps_within_its_staleness(tmp_path: Path) -> None:
    ending = begin(tmp_path / "run", "rl.max_staleness=1", "rl.steps=8")
    assert ending.outcome == "finished"
    steps = [record for record in read_run(tmp_path / "run").steps if record.stage == "rl"]
    assert max(record.age_max for record in steps) <= 1


@pytest.mark.slow
def test_a_policy_that_forgets_is_stopped_and_the_run_says_why(tmp_path: Path) -> None:
    settings = ("rl.steps=12", "rl.groups_per_step=4", "sft.steps=1", "eval.prompts=16", "eval.temperatures=[1.0]")
    guard = ("eval.guard_prompts=16", "eval.guard_every_steps=1", "eval.guard_patience=2")
    process = program(tmp_path / "run", "begin-forgetful", "domains.include=[toys/toy.next-v1]", *settings, *guard)
    assert process.returncode == 1
    assert "domains fell in 2 examinations in a row (toys/toy.next-v1)" in process.stderr
    log = read_run(tmp_path / "run")
    assert log.end is not None
    assert log.end.outcome == "stopped"
    assert [note.domain_id for note in log.notes] == ["toys/toy.next-v1"] * 2
    assert len([record for record in log.steps if record.stage == "rl"]) == 2


@pytest.mark.slow
def test_a_run_in_which_nothing_can_be_judged_ends_with_a_sentence(tmp_path: Path) -> None:
    settings = ("domains.include=[toys/toy.fragile-v1]", "domains.weights={toys/toy.fragile-v1: 1}", "sft.steps=0")
    small = ("rl.steps=9", "rl.groups_per_step=2", "eval.prompts=2", "eval.guard_prompts=2")
    process = program(tmp_path / "run", "begin-failing", *settings, *small)
    assert process.returncode == 1
    assert "3 batches in a row were lost whole" in process.stderr
    steps = [record for record in read_run(tmp_path / "run").steps if record.stage == "rl"]
    assert [dict(record.domains["toys/toy.fragile-v1"].failures) for record in steps] == [{"verifier": 16}] * 3
    assert all(record.domains["toys/toy.fragile-v1"].mean_reward is None for record in steps)


@pytest.mark.slow
def test_a_domain_that_cannot_be_loaded_is_left_out_aloud_and_the_others_train(tmp_path: Path) -> None:
    settings = ("domains.weights={toys/toy.missing-v1: 1}", "sft.steps=1", "rl.steps=2", "rl.groups_per_step=6")
    process = program(tmp_path / "run", "begin", *settings, "eval.prompts=2", "eval.guard_prompts=2")
    assert process.returncode == 0
    log = read_run(tmp_path / "run")
    assert [note.domain_id for note in log.notes] == ["toys/toy.missing-v1"]
    assert "toys/toy.missing-v1 is left out" in process.stderr
    assert log.run is not None
    assert "toys/toy.missing-v1" not in log.run.domains


@pytest.mark.slow
def test_the_tiny_policy_goes_through_a_whole_run_and_its_report(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    folder = tmp_path / "run"
    command = "from polyathlon.cli import main; main()"
    settings = (f"out={folder}", "sft.steps=4", "rl.steps=2", "rl.groups_per_step=4", "eval.prompts=2")
    more = (
        "eval.guard_prompts=2",
        "domains.include=[toys/toy.copy-v1, toys/toy.next-v1]",
        "workers.count=2",
        "device=cpu",
    )
    sets = [word for setting in (*settings, *more) for word in ("--set", setting)]
    done = subprocess.run(
        [sys.executable, "-c", command, "train", *sets],
        env=environment() | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert str(folder / "report.html") in done.stdout
    assert (folder / "report.html").stat().st_size > 10_000
    assert all(record.loss is not None for record in read_run(folder).steps if record.stage == "sft")


def test_a_folder_that_holds_a_run_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "run.yaml").write_text("seed: 1")
    with pytest.raises(run.FolderError, match="--resume"):
        begin(tmp_path)


def test_a_folder_without_a_run_cannot_be_resumed(tmp_path: Path) -> None:
    with pytest.raises(run.FolderError, match="holds no run"):
        run.resume(tmp_path, console=quiet())


def test_an_unknown_model_is_refused_by_name(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    with pytest.raises(RegistryError, match="'tinny'"):
        run.begin(load_config(None, [*SMALL, "model=tinny"]), tmp_path / "run", console=quiet())


def arithmetic(cue: Cue) -> str:
    """Add or subtract two numbers; wrong four times in ten, and lost on anything longer."""
    found = re.search(r"(\d+)([+-])(\d+)", cue.context)
    if found is None or cue.point > 0.6:
        return "0"
    left, sign, right = int(found[1]), found[2], int(found[3])
    return str(left + right if sign == "+" else left - right)


def program(folder: Path, what: str, *settings: str) -> subprocess.CompletedProcess[str]:
    path = Path(__file__).parent / "scripted_run.py"
    command = [sys.executable, str(path), str(folder), what, *settings]
    return subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=240, check=False)


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join([*sys.path, str(TOYS)]), "COLUMNS": "500"}


def _digest(folder: Path, name: str) -> str:
    return str(json.loads((folder / "checkpoints" / name / "learner.json").read_text())["digest"])
