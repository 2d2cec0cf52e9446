from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from polyathlon_trainer import run
from polyathlon_trainer.config.load import load_config
from polyathlon_trainer.observe.reading import read_run


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_smollm2_imitates_and_takes_two_rl_steps_on_three_domains(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    settings = (
        "model=smollm2-135m",
        "device=cpu",
        "domains.include=[math.arithmetic-expression-v1, logic.kinship-v1, games.countdown-target-v1]",
        "sft.steps=2",
        "sft.examples_per_step=6",
        "rl.steps=2",
        "rl.groups_per_step=9",
        "rl.group_size=4",
        "rl.max_new_tokens=32",
        "rl.max_prompt_tokens=256",
        "eval.prompts=2",
        "eval.samples=1",
        "eval.temperatures=[1.0]",
        "eval.guard_prompts=2",
        "workers.count=2",
    )
    ending = run.begin(load_config(None, settings), tmp_path / "run", console=Console(file=io.StringIO()))
    assert ending.outcome == "finished"
    log = read_run(tmp_path / "run")
    imitation = [record for record in log.steps if record.stage == "sft"]
    assert all(record.loss is not None and record.loss > 0 for record in imitation)
    steps = [record for record in log.steps if record.stage == "rl"]
    assert [sum(domain.judged for domain in record.domains.values()) for record in steps] == [9, 9]
    assert all(domain.judged == 3 for record in steps[:1] for domain in record.domains.values())
    assert [record.stage for record in log.evals] == ["sft", "rl"]
