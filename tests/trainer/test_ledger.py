from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from polyathlon.drawing import TaskKey
from polyathlon_trainer.ledger import Ledger, LedgerError, Outcome, link_chain

KEYS = (TaskKey("a", 0, 1), TaskKey("b", 2, 5))
OUTCOME = Outcome("rl-0000000", "trained", (1.0, 0.0), (1.5, -1.5))


def test_promises_outlive_the_process(tmp_path: Path) -> None:
    Ledger(tmp_path, step=0).promise(0, KEYS)
    assert Ledger(tmp_path, step=0).promised(0) == KEYS
    assert Ledger(tmp_path, step=0).promised(1) is None


def test_a_promise_kept_is_not_written_twice(tmp_path: Path) -> None:
    for _ in range(2):
        Ledger(tmp_path, step=0).promise(0, KEYS)
    assert len((tmp_path / "dispatch.jsonl").read_text().splitlines()) == 1


def test_updates_after_the_checkpoint_are_dropped_and_promises_are_not(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path, step=0)
    for step in range(3):
        ledger.promise(step, KEYS)
        ledger.record(step, [OUTCOME], f"chain{step}")
    resumed = Ledger(tmp_path, step=1)
    assert len((tmp_path / "updates.jsonl").read_text().splitlines()) == 1
    assert resumed.promised(2) == KEYS


def test_a_torn_last_line_is_cut_off(tmp_path: Path) -> None:
    Ledger(tmp_path, step=0).promise(0, KEYS)
    with (tmp_path / "dispatch.jsonl").open("a") as file:
        file.write('{"batch":1,"ke')
    ledger = Ledger(tmp_path, step=0)
    assert ledger.promised(1) is None
    ledger.promise(1, KEYS)
    assert Ledger(tmp_path, step=0).promised(1) == KEYS


def test_a_damaged_line_is_named(tmp_path: Path) -> None:
    (tmp_path / "dispatch.jsonl").write_text("nonsense\n")
    with pytest.raises(LedgerError, match=r"dispatch\.jsonl is damaged"):
        Ledger(tmp_path, step=0)


@pytest.mark.parametrize(
    "change",
    [
        {"chain": "other"},
        {"step": 1},
        {"outcomes": [Outcome("rl-0000001", "trained", (1.0, 0.0), (1.5, -1.5))]},
        {"outcomes": [Outcome("rl-0000000", "trained", (1.0, 0.5), (1.5, -1.5))]},
        {"outcomes": [Outcome("rl-0000000", "trained", (1.0, 0.0), (1.5, -1.25))]},
        {"update": {"loss": 0.2}},
    ],
)
def test_the_chain_depends_on_everything(change: dict[str, Any]) -> None:
    facts: dict[str, Any] = {"step": 0, "outcomes": [OUTCOME], "update": {"loss": 0.1}}
    chain = change.pop("chain", "before")
    assert link_chain(chain, **(facts | change)) != link_chain("before", **facts)
