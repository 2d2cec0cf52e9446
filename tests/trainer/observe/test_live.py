"""Progress: enough on a terminal, nearly nothing in a pipe."""

from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console

from polyathlon_trainer.observe.live import Progress, duration
from polyathlon_trainer.observe.records import DomainStep, Stage, StepRecord


class Clock:
    """Seconds that pass when told to."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def step(number: int, rewards: dict[str, float | None], *, stage: Stage = "rl") -> StepRecord:
    domains = {key: DomainStep(0.5, 4, 2, 10, 0.1, 0.1, reward, 0.4, 1.0, 0.1) for key, reward in rewards.items()}
    return StepRecord(stage, number, 0.0, 0.1, 1.0, 1.0, 3.0, 1e-4, domains=domains)


def test_in_a_pipe_a_line_at_most_each_thirty_seconds_and_one_at_the_end() -> None:
    out, clock = StringIO(), Clock()
    with Progress(Console(file=out, width=40), planned_steps={"rl": 100}, clock=clock) as progress:
        for number in range(1, 101):
            progress.step(step(number, {"polyathlon/math.a-v1": 0.5, "polyathlon/cad.b-v1": 0.25, "x/y-v1": None}))
            clock.now_s += 1.0
    lines = out.getvalue().splitlines()
    assert [line.split(",")[0] for line in lines] == [
        "rl step 1/100",
        "rl step 31/100",
        "rl step 61/100",
        "rl step 91/100",
        "rl step 100/100",
    ]
    assert lines[1] == ("rl step 31/100, 1.0 steps/s, 1 min 09 s left, reward 0.375, worst cad.b-v1 0.250, waiting 75%")


def test_time_left_comes_from_a_budget_of_seconds_where_steps_are_not_planned() -> None:
    out, clock = StringIO(), Clock()
    progress = Progress(Console(file=out), planned_s={"rl": 180.0}, clock=clock)
    progress.step(step(1, {}))  # it took 4 s, so the stage began 4 s ago
    assert out.getvalue() == "rl step 1, 2 min 56 s left, waiting 75%\n"


def test_a_new_stage_forgets_the_rewards_and_the_pace_of_the_last() -> None:
    out, clock = StringIO(), Clock()
    progress = Progress(Console(file=out), clock=clock)
    progress.step(step(1, {"a": 0.9}))
    clock.now_s += 60.0
    progress.step(step(1, {"b": 0.1}, stage="rl-shuffled"))
    assert out.getvalue().splitlines()[1] == "rl-shuffled step 1, reward 0.100, worst b 0.100, waiting 75%"


def test_on_a_terminal_the_line_is_redrawn_and_leaves_nothing() -> None:
    out = StringIO()
    console = Console(file=out, force_terminal=True, width=100, color_system=None)
    with Progress(console, planned_steps={"rl": 2}) as progress:
        progress.say("evaluated at step 1")
        progress.step(step(1, {"polyathlon/math.a-v1": 0.5}))
        progress.step(step(2, {"polyathlon/math.a-v1": 0.5}))
    text = out.getvalue()
    assert "evaluated at step 1" in text
    assert "worst math.a-v1 0.500" in text
    assert text.rstrip().endswith("\x1b[2K")  # the last drawing is wiped


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.4, "0 s"), (59.4, "59 s"), (200.0, "3 min 20 s"), (7500.0, "2 h 05 min")]
)
def test_durations_in_words(seconds: float, words: str) -> None:
    assert duration(seconds) == words
