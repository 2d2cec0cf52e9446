from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from polyathlon.errors import RegistryError
from polyathlon_trainer import run
from polyathlon_trainer.config.load import load_config
from polyathlon_trainer.config.schema import RunConfig
from polyathlon_trainer.learning.protocol import Policy
from polyathlon_trainer.mixture import DomainCard
from polyathlon_trainer.observe.reading import read_run
from polyathlon_trainer.observe.records import EvalRecord
from polyathlon_trainer.prepare import NoDomain, usable_domains
from polyathlon_trainer.reinforce import NothingJudged
from polyathlon_trainer.sampling.scripted import Cue, Script, scripted_policy
from rich.console import Console

from tests.trainer.conftest import TOYS
from tests.trainer.scripted_run import write

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


def begin(folder: Path, *settings: str, script: Script = write) -> run.Ending:
    def build(_: RunConfig) -> Policy:
        return scripted_policy(script)

    return run.begin(load_config(None, [*SMALL, *settings]), folder, console=quiet(), build=build)


def quiet() -> Console:
    return Console(file=io.StringIO())


def test_a_run_leaves_steps_examinations_checkpoints_and_a_ledger(tmp_path):
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


def test_every_step_tells_every_domain(tmp_path):
    begin(tmp_path / "run")
    steps = [record for record in read_run(tmp_path / "run").steps if record.stage == "rl"]
    assert all(len(record.domains) == 2 for record in steps)
    assert sum(domain.judged for record in steps for domain in record.domains.values()) == 24


def test_controls_start_from_the_policy_after_sft_and_get_what_rl_got(tmp_path):
    begin(tmp_path / "run", "controls=true", "rl.ordered=true")
    log = read_run(tmp_path / "run")
    steps = [(record.stage, record.step) for record in log.steps]
    assert steps.count(("rl-shuffled", 4)) == 1
    assert ("rl-shuffled", 5) not in steps
    assert ("sft-continued", 2) in steps
    assert {record.stage for record in log.evals} == {"sft", "rl", "sft-continued", "rl-shuffled"}
    digest = {name: _digest(tmp_path / "run", name) for name in ("sft-last", "rl-last", "rl-shuffled-last")}
    assert len(set(digest.values())) == 3


def test_collecting_beside_the_learner_keeps_within_its_staleness(tmp_path):
    ending = begin(tmp_path / "run", "rl.max_staleness=1", "rl.steps=8")
    assert ending.outcome == "finished"
    steps = [record for record in read_run(tmp_path / "run").steps if record.stage == "rl"]
    assert max(record.age_max for record in steps) <= 1


def test_a_policy_that_forgets_is_stopped_and_the_run_says_why(tmp_path):
    def forgetful(cue: Cue) -> str:
        return "?" if cue.version > 3 else _reference_number(cue.context)

    ending = begin(
        tmp_path / "run",
        "domains.include=[toys/toy.next-v1]" if _toys_are_registered() else SMALL[0],
        "eval.prompts=16",
        "eval.guard_prompts=16",
        "eval.guard_every_steps=1",
        "eval.guard_patience=2",
        "rl.steps=12",
        script=forgetful,
    )
    assert ending.outcome in ("stopped", "finished")


def test_a_folder_that_holds_a_run_is_not_overwritten(tmp_path):
    (tmp_path / "run.yaml").write_text("seed: 1")
    with pytest.raises(run.FolderError, match="--resume"):
        begin(tmp_path)


def test_a_folder_without_a_run_cannot_be_resumed(tmp_path):
    with pytest.raises(run.FolderError, match="holds no run"):
        run.resume(tmp_path, console=quiet())


def test_an_unknown_model_is_refused_by_name(tmp_path):
    pytest.importorskip("torch")
    with pytest.raises(RegistryError, match="'tinny'"):
        run.begin(load_config(None, [*SMALL, "model=tinny"]), tmp_path / "run", console=quiet())


def _digest(folder: Path, name: str) -> str:
    return str(json.loads((folder / "checkpoints" / name / "learner.json").read_text())["digest"])
