"""Bug repair: the stages mean what their sentences say, and only a whole repair earns all."""

from __future__ import annotations

import ast
import json
from typing import Any

import pytest

from polyathlon import Evidence, Task, TaskKey, draw_task
from polyathlon.sandbox.choose import default_room
from polyathlon.toolcall import write_call, write_fenced
from polyathlon_domains.coding import _repairs as repairs
from polyathlon_domains.coding._mutants import faults, written
from polyathlon_domains.coding._own_code import outcomes
from polyathlon_domains.coding._stages import GUARDS, RESULTS, TRANSFORMS
from polyathlon_domains.coding.bug_repair import DOMAIN

ID = "polyathlon/coding.bug-repair-v1"

# each kind: its parameters, a list, and what is left or returned, worked out by hand from the sentence
BY_HAND: dict[str, tuple[list[Any], list[int], Any]] = {
    "keep": ([["over", 5]], [5, 6, 7, 1], [6, 7]),
    "change": ([["multiple", 3], 2, 10], [3, 4, 9], [6, -6, 18]),
    "clamp": ([[3, 9]], [1, 3, 5, 9, 12], [3, 3, 5, 9, 9]),
    "differences": ([2], [5, 4, 10], [3, 16]),
    "running": ([10], [4, 6, 1, 5], [4, 10, 0, 5]),
    "runs": ([1], [1, 2, 3, 3, 9, 8], [1, 3, 9]),
    "every": ([1, 2], [7, 8, 9, 10, 11], [8, 10]),
    "windows": ([2], [1, 2, 3, 4], [3, 5, 7]),
    "rotate": ([4], [1, 2, 3], [2, 3, 1]),
    "sort": ([3], [1, 2, 3, 4, 6], [6, 3, 4, 1, 2]),
    "fold": ([2], [1, 2, 3, 4, 5], [7, 8]),
    "until": ([["most", 4]], [9, 5, 4, 7], [9, 5]),
    "weighted": ([2, 5, ["under", 10]], [1, 2, 20, 3], 1 * 1 + 2 * 2 - 5 + 3 * 2),
    "checksum": ([1, 3, 50], [4, 20], (7 * 3 + 20) % 50),
    "balance": ([["least", 10], 2, 7], [10, 30, 9, 100], 20 + 60 - 9 + 200),
    "longest": ([["other", 0], 4, 1], [1, 0, 2, 3, 0, 5], 8),
    "reach": ([10, 1, 3], [4, 3, 9], 2),
    "drop": ([2, 1], [3, 9, 4, 5, 2], 13),
    "inversions": ([1, 3, 5], [4, 3, 1, 2], 5 + 3 * 3),
    "frequent": ([3, 7], [1, 2, 4, 5, 9], [1, 2]),
    "buckets": ([4, [3, 9]], [1, 3, 9, 10, 12, 2], [2, 8, 22]),
    "spread": ([3, 10, 50], [4, 20], 5),
    "itself": ([["over", 8], 1, 2], [9, 3, 4, 20, 5], [10, 3, 21]),
    "empty": ([], [], "LookupError"),
    "low": ([2], [5, -2, -3], "ValueError"),
    "long": ([5], [1, 2, 3, 4, 5, 6], "OverflowError"),
}


@pytest.mark.parametrize("kind", [*GUARDS, *TRANSFORMS, *RESULTS])
def test_a_stage_does_what_its_sentence_says(kind: str) -> None:
    parameters, values, wanted = BY_HAND[kind]
    core: dict[str, Any] = {"guards": [], "steps": [], "result": []}
    core["guards" if kind in GUARDS else "steps" if kind in TRANSFORMS else "result"] = [[kind, *parameters]]
    source = repairs.write_function(core, repairs.NAMES).source
    if kind in TRANSFORMS:
        source += "\n    return values"
    expected = {"error": wanted} if kind in GUARDS else {"value": wanted}
    assert json.loads(outcomes(source, repairs.ENTRY, [[values]])[0]) == expected


def task_at(level: int, seed: int) -> Task:
    return draw_task(DOMAIN.tasks, TaskKey(ID, level, seed))


def reward(task: Task, source: str) -> float | None:
    return DOMAIN.verifier.judge(task, Evidence(answer=source), default_room()).reward


def hidden(task: Task, key: str) -> Any:
    return task.hidden[key]


@pytest.mark.parametrize("level", range(5))
def test_the_repair_earns_all_and_the_faulty_code_nothing(level: int) -> None:
    task = task_at(level, 1)
    assert reward(task, hidden(task, "right") + "\n# repaired") == 1.0
    assert reward(task, hidden(task, "buggy")) == 0.0
    assert reward(task, hidden(task, "buggy") + "\n# not repaired") == 0.0
    assert hidden(task, "zero") <= 0.75


def test_one_fault_of_two_mended_earns_less_than_half() -> None:
    for seed in range(6):
        task = task_at(2, seed)
        for left in hidden(task, "faults"):
            partly = reward(task, repairs.faulty_source(hidden(task, "right"), [left]))
            assert partly is not None
            assert 0.0 <= partly < 0.5


def test_error_classes_count() -> None:
    task = next(task for seed in range(50) if "raises ValueError" in (task := task_at(4, seed)).prompt)
    assert '{"error":"ValueError"}' in hidden(task, "expected")
    assert reward(task, hidden(task, "right").replace("ValueError", "TypeError")) != 1.0


def test_the_shown_example_is_not_among_the_hidden_ones_and_does_fail() -> None:
    for seed in range(10):
        task = task_at(0, seed)
        files = task.public["files"]
        assert isinstance(files, dict)
        for call in hidden(task, "calls"):
            assert f"    ({call[0]}," not in str(files.get("examples.py", ""))
        if "For instance" in task.prompt:
            shown = json.loads(task.prompt.split("For instance ")[1].split("(", 1)[1].split(")")[0])
            assert outcomes(hidden(task, "buggy"), hidden(task, "entry"), [[shown]]) != outcomes(
                hidden(task, "right"), hidden(task, "entry"), [[shown]]
            )


def test_a_negated_condition_is_caught_wherever_it_stands() -> None:
    task = task_at(2, 3)
    right = hidden(task, "right")
    num_conditions = sum(fault.label == "condition" for fault in faults(ast.parse(right)))
    assert num_conditions >= 2
    for number in range(num_conditions):
        tree = ast.parse(right)
        negated = [fault for fault in faults(tree) if fault.label == "condition"][number]
        assert reward(task, written(tree, [negated])) != 1.0


def test_examples_run_in_the_workspace() -> None:
    task = next(task for seed in range(20) if "examples.py" in str((task := task_at(1, seed)).public["files"]))
    workspace = DOMAIN.open_workspace(task, default_room())
    try:
        assert "WRONG" in workspace.act(write_fenced("python3 examples.py")).text
        right = hidden(task, "right")
        assert not workspace.act(write_call("write_file", {"path": "solution.py", "text": right})).finished
        after = workspace.act(write_fenced("python3 examples.py")).text
        assert "WRONG" not in after
        assert after.count("ok") >= 2
        assert workspace.act(write_call("submit", {})).finished
        assert DOMAIN.verifier.judge(task, workspace.evidence(), default_room()).passed
    finally:
        workspace.close()


def test_comments_mislead_only_where_the_prompt_says_so() -> None:
    assert "comments may be wrong" in task_at(3, 0).prompt
    assert "#" not in task_at(2, 0).prompt
