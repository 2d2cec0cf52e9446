"""What replies give away: only what comes back each time counts."""

import itertools
from dataclasses import replace

import numpy as np
from tests.envs.inspect.planted import SOUND

from polyathlon import TaskKey, draw_task
from polyathlon.inspect.leaks.feedback import most_told

TASK = draw_task(SOUND.tasks, TaskKey("planted/test.sound-v1", 0, 0))
VARIANTS = [TASK, *(replace(TASK, hidden={"sum": total}) for total in (1, 2))]


def test_a_reply_that_tells_hidden_parts_apart_each_time_parts_them() -> None:
    assert most_told(VARIANTS, lambda task: ("hello", str(task.hidden["sum"] == 1))) == 2
    assert most_told(VARIANTS, lambda task: ("hello", str(task.hidden["sum"]))) == 3


def test_a_reply_that_comes_out_two_ways_by_chance_tells_nothing() -> None:
    luck = np.random.default_rng(0)
    assert {most_told(VARIANTS, lambda _: (("a b", "b a")[int(luck.integers(2))],)) for _ in range(50)} == {1}


def test_a_reply_that_counts_or_dates_tells_nothing() -> None:
    counted = itertools.count()
    assert most_told(VARIANTS, lambda _: (str(next(counted)), "the same")) == 1


def test_what_tells_beside_what_changes_is_found() -> None:
    counted = itertools.count()
    assert most_told(VARIANTS, lambda task: (str(next(counted)), str(task.hidden["sum"]))) == 3
