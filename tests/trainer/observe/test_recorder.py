"""A run's files survive kill -9, and a resumed run holds each row once."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from polyathlon_trainer.observe.lines import METRICS, RecordError, decode, encode, mend, read_records
from polyathlon_trainer.observe.recorder import Mark, Recorder
from polyathlon_trainer.observe.records import (
    EndRecord,
    EvalRecord,
    NoteRecord,
    Record,
    RunRecord,
    StepRecord,
)

from .sample_rows import group, step, uids

RECORDS: list[Record] = [
    RunRecord(model="tiny", seed=3, domains=("polyathlon/a.b-v1",), planned_steps={"sft": 10, "rl": 20}),
    step(1),
    step(2, loss=None),
    EvalRecord(
        stage="rl",
        step=2,
        time_s=2.5,
        temperature=1.0,
        rewards={"polyathlon/a.b-v1": ((0.0, 0.5), (1.0,), ())},
        passed={"polyathlon/a.b-v1": ((0, 0), (1,), ())},
    ),
    NoteRecord(text="résumé: \ud800 left out", time_s=3.0, step=2, domain_id="polyathlon/a.b-v1"),
    EndRecord(outcome="finished", time_s=4.0),
]


def test_records_come_back_as_they_were_written(tmp_path: Path) -> None:
    with Recorder(tmp_path) as recorder:
        for record in RECORDS:
            recorder.write(record)
    back = read_records(tmp_path)
    assert back[:4] == RECORDS[:4]
    assert back[4] == NoteRecord(text="résumé: \\ud800 left out", time_s=3.0, step=2, domain_id="polyathlon/a.b-v1")
    assert back[5] == RECORDS[5]


def test_a_number_that_is_not_finite_stays_visible_and_the_line_stays_json() -> None:
    line = encode(step(1, loss=math.nan))
    assert b'"loss":"nan"' in line
    back = decode(line, where="here")
    assert isinstance(back, StepRecord)
    assert back.loss is not None
    assert math.isnan(back.loss)


def test_numpy_numbers_are_written_as_plain_ones() -> None:
    record = StepRecord("rl", 1, 0.0, float(np.float32(0.5)), np.float64(2.0), 0.0, 0.0, 0.0, kl=np.float32(0.25))  # type: ignore[arg-type]  # what a careless caller passes
    back = decode(encode(record), where="here")
    assert isinstance(back, StepRecord)
    assert (back.loss, back.grad_norm, back.kl) == (0.5, 2.0, 0.25)


@pytest.mark.parametrize("torn", [b'{"kind":"step","st', b'{"kind":"step","st\n', b"\x00\x00\x00\n", b"\xff"])
def test_a_torn_last_line_is_cut_on_opening_and_skipped_in_reading(tmp_path: Path, torn: bytes) -> None:
    (tmp_path / METRICS).write_bytes(encode(step(1)) + torn)
    assert read_records(tmp_path) == [step(1)]
    with Recorder(tmp_path) as recorder:
        recorder.write(step(2))
    assert read_records(tmp_path) == [step(1), step(2)]


def test_mend_says_how_much_it_cut(tmp_path: Path) -> None:
    path = tmp_path / METRICS
    assert mend(path) == 0
    path.write_bytes(encode(step(1)) + b"torn")
    assert mend(path) == 4
    assert mend(path) == 0


def test_a_broken_line_in_the_middle_is_named(tmp_path: Path) -> None:
    (tmp_path / METRICS).write_bytes(encode(step(1)) + b"oops\n" + encode(step(2)))
    with pytest.raises(RecordError, match=r"metrics\.jsonl: line 2: not a record"):
        read_records(tmp_path)


def test_a_record_of_an_unknown_kind_is_named(tmp_path: Path) -> None:
    (tmp_path / METRICS).write_bytes(b'{"kind":"dream"}\n')
    with pytest.raises(RecordError, match=r"line 1: unknown kind 'dream'; known are run, step"):
        read_records(tmp_path)


def test_a_folder_without_a_run_says_what_to_give(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="Give the folder that `polyathlon train` wrote"):
        read_records(tmp_path)


def test_resuming_at_a_mark_drops_what_came_after_it(tmp_path: Path) -> None:
    with Recorder(tmp_path) as recorder:
        recorder.write(step(1))
        recorder.write_group(group("g1"), stage="rl", step=1)
        mark = recorder.mark()
        recorder.write(step(2))
        recorder.write_group(group("g2"), stage="rl", step=2)
    with Recorder(tmp_path, mark=mark) as recorder:
        recorder.write(step(2))
        recorder.write_group(group("g2"), stage="rl", step=2)
        recorder.write(step(3))
    assert read_records(tmp_path) == [step(1), step(2), step(3)]
    assert uids(tmp_path) == ["g1", "g1", "g2", "g2"]


def test_an_interrupted_run_leaves_the_same_bytes_as_one_that_was_not(tmp_path: Path) -> None:
    straight, broken = tmp_path / "straight", tmp_path / "broken"
    with Recorder(straight) as recorder:
        for number in range(1, 6):
            recorder.write(step(number))
    with Recorder(broken) as recorder:
        for number in range(1, 3):
            recorder.write(step(number))
        mark = recorder.mark()
        recorder.write(step(3))
    with Recorder(broken, mark=mark) as recorder:
        for number in range(3, 6):
            recorder.write(step(number))
    assert (straight / METRICS).read_bytes() == (broken / METRICS).read_bytes()


def test_a_mark_beyond_the_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="has 0 bytes, and the checkpoint was written at 99"):
        Recorder(tmp_path, mark=Mark(metrics_bytes=99, episode_parts=0))


def test_a_mark_is_two_integers_for_a_checkpoint(tmp_path: Path) -> None:
    with Recorder(tmp_path) as recorder:
        recorder.write(step(1))
        recorder.write_group(group("g1"), stage="rl", step=1)
        assert recorder.mark() == Mark(metrics_bytes=len(encode(step(1))), episode_parts=1)
        assert recorder.mark() == Mark(metrics_bytes=len(encode(step(1))), episode_parts=1)


def test_kill_nine_loses_only_the_open_part_and_a_torn_line(tmp_path: Path) -> None:
    script = f"""
import os, signal, sys
sys.path[:0] = {sys.path!r}
from pathlib import Path
from sample_rows import group, step
from polyathlon_trainer.observe.recorder import Recorder
recorder = Recorder(Path({str(tmp_path)!r}))
recorder.write(step(1))
recorder.write_group(group("g1"), stage="rl", step=1)
recorder.mark()
recorder.write(step(2))
recorder.write_group(group("g2"), stage="rl", step=2)
os.kill(os.getpid(), signal.SIGKILL)
"""
    here = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
    done = subprocess.run([sys.executable, "-c", script], env=here, capture_output=True, timeout=60, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()
    assert read_records(tmp_path) == [step(1), step(2)]
    assert uids(tmp_path) == ["g1", "g1"]


def test_tensorboard_has_aggregates_and_two_series_a_domain_and_no_doubles_after_a_resume(tmp_path: Path) -> None:
    with Recorder(tmp_path) as recorder:
        recorder.write(step(1))
        mark = recorder.mark()
        recorder.write(step(2))
    with Recorder(tmp_path, mark=mark) as recorder:
        recorder.write(step(2))
        recorder.write(step(3))
    events = EventAccumulator(str(tmp_path / "tensorboard" / "rl"))
    events.Reload()
    tags = events.Tags()["scalars"]
    assert len([tag for tag in tags if "polyathlon/a.b-v1" in tag]) == 2
    assert len(tags) <= 24
    rewards = [(event.step, event.value) for event in events.Scalars("domain_reward/polyathlon/a.b-v1")]
    assert [number for number, _ in rewards] == [1, 2, 3]
    assert rewards[-1][1] == pytest.approx(0.03)


def test_no_space_is_said_in_a_sentence_and_leaves_no_half_line(tmp_path: Path) -> None:
    import resource

    recorder = Recorder(tmp_path)
    first: list[Record] = [NoteRecord(text="n" * 100_000, time_s=0.0), step(1)]
    for record in first:
        recorder.write(record)
    size = (tmp_path / METRICS).stat().st_size
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    former = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 20, hard))
    try:
        with pytest.raises(RecordError, match=r"metrics\.jsonl: not written: .*Free space"):
            recorder.write(step(2))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, former)
    assert read_records(tmp_path) == first
    recorder.write(step(2))
    recorder.close()
    recorder.close()
    assert read_records(tmp_path) == [*first, step(2)]
