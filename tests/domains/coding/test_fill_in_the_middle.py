"""Fill-in-the-middle: pieces worked out by hand, judged in the sandbox."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from polyathlon import Evidence, Task, TaskKey, draw_task
from polyathlon.sandbox.choose import default_room
from polyathlon_domains.coding._gaps import SHAPES, draw_shape, fill_gap, write_gapped
from polyathlon_domains.coding._own_code import outcomes
from polyathlon_domains.coding._phrases import chain_words
from polyathlon_domains.coding.fill_in_the_middle import DOMAIN, ENTRY

ID = "polyathlon/coding.fill-in-the-middle-v1"
NAMES = {"F": "f", "G": "g", "A": "a", "B": "b", "X": "x", "S": "s", "T": "t", "P": "p", "Q": "q"}
STEP = "def f(a, b):\n  # a plus 7, times b\n  return ___"
BLOCK = "def f(n, xs):\n  s, t = 0, 0\n  for x in n:\n    ___\n  return [s, t]"


def task_of(
    program: str, piece: str, kind: str, calls: list[list[object]], expected: list[object], *, zero: float
) -> Task:
    hidden = {
        "program": program,
        "piece": piece,
        "kind": kind,
        "scope": ["a", "b"],
        "arguments": calls,
        "expected": [json.dumps({"value": value}, separators=(",", ":")) for value in expected],
        "zero": zero,
    }
    return Task("x:0:train:0", 0, 0, "train", program, {}, hidden, "")  # type: ignore[arg-type]  # plain JSON by hand


STEP_TASK = task_of(
    STEP, "(a + 7) * b", "expression", [[1, 2], [3, 1], [0, 0], [5, 10], [-7, 3]], [16, 10, 0, 120, 0], zero=0.4
)
BLOCK_TASK = task_of(
    BLOCK, "s += x * 3\nt += x > 8", "statements", [[[1, 9], 0], [[2, 3], 0]], [[30, 1], [15, 0]], zero=0.2
)


def reward(task: Task, answer: str) -> float | None:
    return DOMAIN.verifier.judge(task, Evidence(answer=answer), default_room()).reward


@pytest.mark.parametrize(
    "answer", ["(a + 7) * b", "b * (7 + a)", "a*b + 7*b", "```python\n(a+7)*b\n```", "((a + 7) * b)"]
)
def test_any_expression_that_computes_the_same_earns_all(answer: str) -> None:
    assert reward(STEP_TASK, answer) == 1.0


def test_a_half_right_expression_earns_half_its_share_above_the_trivial() -> None:
    # right in the second, third and fifth of five cases; the constant 0 is right in two
    assert reward(STEP_TASK, "a + 7 if b != 0 else 0") == pytest.approx((0.6 - 0.4) / 0.6 * 0.5)


@pytest.mark.parametrize(
    "answer",
    ["a + 7 * b", "a", "b", "0", "None", "", "return (a + 7) * b", "x = (a + 7) * b", "(a + 7) * b)(", "9**9**9"],
)
def test_other_expressions_and_statements_earn_nothing(answer: str) -> None:
    assert reward(STEP_TASK, answer) == 0.0


@pytest.mark.parametrize(
    "answer",
    [
        "s += x * 3\nt += x > 8",
        "s += x * 3\n    t += x > 8",
        "s += x * 3; t += 1 if x > 8 else 0",
        "if x > 8:\n    t += 1\ns += 3 * x",
        "s = s + x * 3\nif x > 8:\n      t += 1",
    ],
)
def test_statements_may_be_laid_out_in_other_ways(answer: str) -> None:
    assert reward(BLOCK_TASK, answer) == 1.0


def test_one_right_statement_of_two_earns_where_it_is_enough() -> None:
    assert reward(BLOCK_TASK, "s += x * 3") == pytest.approx((0.5 - 0.2) / 0.8 * 0.5)


@pytest.mark.parametrize(
    "answer",
    [
        "return [30, 1]",
        "if x == 1:\n    return [30, 1]",
        "def f(n, xs):\n    return [30, 1]",
        "import os\nos._exit(0)",
        "global f\nf = None",
        "yield [30, 1]",
        "class A:\n    pass",
        "try:\n    s += x\nfinally:\n    pass",
        "pass",
    ],
)
def test_what_leaves_the_gap_is_refused(answer: str) -> None:
    assert reward(BLOCK_TASK, answer) == 0.0


@pytest.mark.parametrize(
    "piece", ["0) or (1", "1\nx", "a  # )\n+ b", "lambda: (yield 1)", "", "___"[:0], "a = 1", "*a"]
)
def test_a_piece_must_parse_alone(piece: str) -> None:
    assert fill_gap(STEP, piece, "expression") is None


def test_words_say_what_the_steps_compute() -> None:
    assert chain_words("A", [["plus", 7], ["times", "B"]], NAMES) == "a plus 7, times b"
    assert chain_words("A", [["off", 40], ["minus", 2]], NAMES) == "distance of a from 40, minus 2"
    assert (
        chain_words("T", [["times", 5], ["minus", "X"], ["cap", 514]], NAMES)
        == "smaller of (t times 5, minus x) and 514"
    )


def test_every_shape_computes_what_its_comment_says() -> None:
    by_hand: dict[str, tuple[dict[str, Any], list[Any], Any]] = {
        "value": ({"start": "B", "steps": [["minus", 3], ["times", "A"]]}, [2, 10], 14),
        "choice": ({"steps": [["times", 3]], "test": ["over", 5], "else": [["plus", "B"]]}, [4, 10], 14),
        "keep": ({"steps": [["times", 3]], "test": ["multiple", 2]}, [[1, 2, 4], 0], [6, 12]),
        "fold": ({"start": 1, "steps": [["times", 2], ["plus", "X"], ["cap", 20]]}, [[3, 4, 90], 0], 20),
        "check": (
            {"steps": [["plus", 1]], "test": ["over", 5], "join": "or", "test2": ["other", 3]},
            [[3, 4, 6], 0],
            12,
        ),
        "helper sum": (
            {"steps": [["plus", 1], ["times", "B"]], "test": ["most", 2], "flip": True, "after": [["minus", 5]]},
            *([[1, 2, 3], 10], 45),
        ),
        "helper sorted": (
            {"steps": [["times", "B"], ["plus", 1]], "test": ["under", 9], "flip": False},
            [[3, 1, 9], -2],
            [-5, -1],
        ),
        "helper count": (
            {"steps": [["minus", "B"], ["times", 2]], "test": ["least", 4], "flip": True},
            [[3, 4, 5], 2],
            2,
        ),
        "two totals": ({"steps": [["minus", "B"]], "test": ["over", 8]}, [[9, 10, 1], 1], [17, 2]),
        "swap": (
            {"start": [1, 2], "steps": [["plus", "X"], ["mod", 50]], "else": [["times", 3]]},
            [[5, 6], 0],
            [9, 21],
        ),
    }
    assert set(by_hand) == {shape for shapes in SHAPES for shape in shapes}
    for shape, (core, call, value) in by_hand.items():
        gapped = write_gapped({"shape": shape, **core}, NAMES)
        whole = fill_gap(gapped.program, gapped.piece, gapped.kind)
        assert whole is not None
        assert json.loads(outcomes(whole, ENTRY, [call])[0]) == {"value": value}, shape


@pytest.mark.parametrize("level", range(5))
def test_prompts_are_short_and_trivial_pieces_are_worth_nothing(level: int) -> None:
    for seed in range(20):
        task = draw_task(DOMAIN.tasks, TaskKey(ID, level, seed))
        assert len(task.prompt) <= (110 if level < 2 else 190)
        assert task.prompt.isascii()
        zero = task.hidden["zero"]
        assert isinstance(zero, float)
        assert 0 <= zero <= 0.7
        assert len(next(DOMAIN.solve(task))) <= 50


def test_a_lambda_and_other_right_ways_pass_at_every_level() -> None:
    for level in range(5):
        task = draw_task(DOMAIN.tasks, TaskKey(ID, level, 5))
        for attempt in DOMAIN.alternatives(task):
            assert reward(task, attempt.actions[0]) == 1.0, attempt


def test_drawn_shapes_vary_their_numbers() -> None:
    rng = np.random.default_rng(0)
    assert len({str(draw_shape(rng, 2)) for _ in range(200)}) >= 196
