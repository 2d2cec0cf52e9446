from __future__ import annotations

import errno
import os
from pathlib import Path

import numpy as np
import pytest
from tests.trainer.making import CARDS, collected

from polyathlon_trainer import checkpoint as module
from polyathlon_trainer.checkpoint import Checkpoint, CheckpointError, Checkpoints
from polyathlon_trainer.state import RunState, fresh_rl


def make(name: str, step: int = 0) -> Checkpoint:
    state = RunState("rl", step=step, rl=fresh_rl(CARDS, version=3))
    return Checkpoint(name, state, {"digest": "abc", "steps": step}, (collected(0, [1.0, 0.1]),))


def test_everything_comes_back_as_it_was(tmp_path: Path) -> None:
    kept = Checkpoints(tmp_path, keep=2)
    kept.save(make("rl-000001", 1))
    assert kept.newest() == make("rl-000001", 1)


def test_tensors_come_back_bit_by_bit(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    weights = {"w": torch.from_numpy(np.random.default_rng(0).normal(size=(3, 2)).astype(np.float32))}
    kept = Checkpoints(tmp_path, keep=2)
    kept.save(Checkpoint("rl-000001", RunState("rl"), {"weights": weights, "steps": 3}))
    found = kept.newest()
    assert found is not None
    assert torch.equal(found.learner["weights"]["w"], weights["w"])


def test_the_newest_is_the_last_written_and_not_the_last_by_name(tmp_path: Path) -> None:
    kept = Checkpoints(tmp_path, keep=5)
    for name in ("sft-000009", "rl-000003"):
        kept.save(make(name))
    assert kept.names() == ["sft-000009", "rl-000003"]


def test_old_ones_go_and_ends_of_stages_stay(tmp_path: Path) -> None:
    kept = Checkpoints(tmp_path, keep=2)
    for name in ("sft-000001", "sft-last", "rl-000001", "rl-000002", "rl-000003"):
        kept.save(make(name))
    assert kept.names() == ["sft-last", "rl-000002", "rl-000003"]


def test_one_that_was_being_written_when_the_run_died_is_no_checkpoint(tmp_path: Path) -> None:
    kept = Checkpoints(tmp_path, keep=3)
    kept.save(make("rl-000001"))
    kept.save(make("rl-000002"))
    (tmp_path / "rl-000002" / "COMPLETE").unlink()
    (tmp_path / ".writing-rl-000003").mkdir()
    assert kept.names() == ["rl-000001"]
    kept.save(make("rl-000003"))
    assert kept.names() == ["rl-000001", "rl-000003"]


@pytest.mark.parametrize("file", ["state.json", "groups.msgpack", "learner.json"])
def test_a_damaged_one_is_named_together_with_the_last_good_one(tmp_path: Path, file: str) -> None:
    kept = Checkpoints(tmp_path, keep=3)
    kept.save(make("rl-000001"))
    kept.save(make("rl-000002"))
    data = bytearray((tmp_path / "rl-000002" / file).read_bytes())
    data[len(data) // 2] ^= 1
    (tmp_path / "rl-000002" / file).write_bytes(data)
    with pytest.raises(CheckpointError) as caught:
        kept.newest()
    assert f"rl-000002/{file} is damaged" in str(caught.value)
    assert f"The last good one is {tmp_path / 'rl-000001'}: delete {tmp_path / 'rl-000002'}" in str(caught.value)


def test_when_none_is_good_the_error_says_so(tmp_path: Path) -> None:
    kept = Checkpoints(tmp_path, keep=3)
    kept.save(make("rl-000001"))
    (tmp_path / "rl-000001" / "state.json").unlink()
    with pytest.raises(CheckpointError, match="No other checkpoint is good"):
        kept.newest()


def test_no_space_is_a_sentence_and_leaves_the_last_good_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = Checkpoints(tmp_path, keep=3)
    kept.save(make("rl-000001"))

    def full(path: Path, data: bytes) -> None:
        path.write_bytes(data[: len(data) // 2])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(module, "_write", full)
    with pytest.raises(CheckpointError, match="no space left for the checkpoint") as caught:
        kept.save(make("rl-000002"))
    assert str(tmp_path / "rl-000001") in str(caught.value)
    assert kept.names() == ["rl-000001"]
    assert not list(tmp_path.glob(".writing-*"))


def test_an_unknown_name_lists_what_there_is(tmp_path: Path) -> None:
    kept = Checkpoints(tmp_path, keep=3)
    kept.save(make("sft-last"))
    with pytest.raises(CheckpointError, match="Complete ones: sft-last"):
        kept.load("rl-last")
