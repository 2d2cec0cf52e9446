"""Episodes come back whole, and no kill or resume leaves half a part or one too many."""

from __future__ import annotations

from pathlib import Path

import pytest

from polyathlon_trainer.observe.episodes import read_episodes
from polyathlon_trainer.observe.lines import RecordError
from polyathlon_trainer.observe.recorder import Recorder

from .sample_rows import group, rows, uids


def test_an_unfinished_part_is_removed_on_opening(tmp_path: Path) -> None:
    (tmp_path / "episodes").mkdir()
    (tmp_path / "episodes" / "part-000000.parquet.tmp").write_bytes(b"half")
    with Recorder(tmp_path) as recorder:
        recorder.write_group(group("g1"), stage="rl", step=1)
    assert sorted(path.name for path in (tmp_path / "episodes").iterdir()) == ["part-000000.parquet"]


def test_reopening_without_a_mark_adds_parts_after_those_there(tmp_path: Path) -> None:
    for uid in ("g1", "g2"):
        with Recorder(tmp_path) as recorder:
            recorder.write_group(group(uid), stage="rl", step=1)
    assert uids(tmp_path) == ["g1", "g1", "g2", "g2"]


def test_episodes_come_back_with_their_tokens(tmp_path: Path) -> None:
    with Recorder(tmp_path) as recorder:
        recorder.write_group(group("g1"), stage="rl", step=7)
    row = next(rows(tmp_path))
    assert row == {
        "uid": "g1",
        "member": 0,
        "stage": "rl",
        "step": 7,
        "domain_id": "polyathlon/a.b-v1",
        "level": 2,
        "seed": 2**62,
        "split": "train",
        "prompt": "What is 2 + 2?",
        "texts": ["4", "again", "5"],
        "reward": 0.5,
        "passed": False,
        "truncated": False,
        "reason": "close",
        "parts": [("length", 1.0)],
        "prompt_ids": [1, 2, 3],
        "token_ids": [[5, 6], [8]],
        "logprobs": [[-0.5, -0.25], [-1.0]],
        "versions": [[3, 4], [4]],
        "observation_ids": [[7], []],
        "wall_s": 0.75,
        "sandbox": '{"backend": "bubblewrap"}',
    }


def test_hostile_text_is_kept_readable(tmp_path: Path) -> None:
    with Recorder(tmp_path) as recorder:
        recorder.write_group(group("g1", prompt="\ud800</script>\x00", text="x" * 1_000_000), stage="rl", step=1)
    row = next(rows(tmp_path))
    assert row["prompt"] == "\\ud800</script>\x00"
    assert len(row["texts"][0]) == 1_000_000  # type: ignore[index]  # a list of strings


def test_a_broken_part_is_named(tmp_path: Path) -> None:
    (tmp_path / "episodes").mkdir()
    (tmp_path / "episodes" / "part-000000.parquet").write_bytes(b"PAR1")
    with pytest.raises(RecordError, match=r"episodes/part-000000\.parquet: not a whole Parquet file"):
        list(read_episodes(tmp_path))


def test_episodes_after_the_mark_are_gone_even_if_none_follow(tmp_path: Path) -> None:
    with Recorder(tmp_path) as recorder:
        recorder.write_group(group("g1"), stage="rl", step=1)
        mark = recorder.mark()
        for uid in ("g2", "g3"):
            recorder.write_group(group(uid), stage="rl", step=2)
            recorder.mark()
    Recorder(tmp_path, mark=mark).close()
    assert uids(tmp_path) == ["g1", "g1"]
