from __future__ import annotations

import threading

import pytest
from tests.trainer.making import collected, plan

from polyathlon_trainer.buffer import Buffer


def test_a_batch_is_ready_when_its_last_group_is_in_and_comes_in_planned_order() -> None:
    buffer = Buffer()
    buffer.promise([plan(0), plan(1)])
    buffer.add(collected(1, [0.0, 1.0]))
    assert not buffer.ready()
    buffer.add(collected(0, [0.0, 1.0]))
    assert buffer.ready()
    taken = buffer.take(limit_s=0)
    assert taken is not None
    assert [item.plan.number for item in taken] == [0, 1]


def test_a_later_batch_never_overtakes_a_slow_one() -> None:
    buffer = Buffer()
    buffer.promise([plan(0)])
    buffer.promise([plan(1)])
    buffer.add(collected(1, [0.0, 1.0]))
    assert buffer.take(limit_s=0.01) is None
    assert [item.number for item in buffer.missing()] == [0]
    assert [item.plan.number for item in buffer.held()] == [1]


def test_what_was_not_promised_or_comes_twice_is_refused() -> None:
    buffer = Buffer()
    buffer.promise([plan(0), plan(1)])
    buffer.add(collected(0, [1.0, 0.0]))
    for number in (0, 7):
        with pytest.raises(ValueError, match="not promised, or came twice"):
            buffer.add(collected(number, [1.0, 0.0]))


def test_groups_from_a_checkpoint_count_as_finished() -> None:
    buffer = Buffer()
    buffer.promise([plan(0), plan(1)], [collected(0, [1.0, 0.0])])
    assert [item.number for item in buffer.missing()] == [1]


def test_a_dead_collector_is_an_error_and_not_a_hang() -> None:
    buffer = Buffer()
    buffer.promise([plan(0)])
    threading.Timer(0.05, buffer.fail, [RuntimeError("the collector died")]).start()
    with pytest.raises(RuntimeError, match="the collector died"):
        buffer.take(limit_s=30)


def test_what_is_ready_can_still_be_taken_after_the_collector_died() -> None:
    buffer = Buffer()
    buffer.promise([plan(0)])
    buffer.add(collected(0, [1.0, 0.0]))
    buffer.fail(RuntimeError("the collector died"))
    assert buffer.take(limit_s=0) is not None
