"""Output prediction: the interpreter against Python itself, and the prefix credit by hand."""

import json
import re
import subprocess
import sys

import pytest

from polyathlon import Evidence, Task, TaskKey, Verdict, draw_task
from polyathlon.sandbox.choose import default_room
from polyathlon.seeding import child
from polyathlon_domains.coding._interpreter import ProgramError, run_program
from polyathlon_domains.coding._programs import FORMS, Dice
from polyathlon_domains.coding.output_prediction import DOMAIN

ID = "polyathlon/coding.output-prediction-v1"
RUN_ALL = """
import contextlib, io, json, sys
def run(source):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(source, {})
    return out.getvalue()
print(json.dumps([run(source) for source in json.load(sys.stdin)]))
"""


def _judge(output: str, answer: str | None) -> Verdict:
    task = Task(f"{ID}:0:train:1", 0, 1, "train", "", {}, {"output": output}, "00")
    return DOMAIN.verifier.judge(task, Evidence(answer=answer), default_room())


def test_the_interpreter_prints_what_python_prints() -> None:
    programs: dict[str, str] = {}
    for level, forms in FORMS.items():
        dice = Dice(child("interpreter", level))
        for form in forms * 12:
            source = form(dice)
            try:
                programs[source] = run_program(source)
            except ProgramError:
                continue
    assert len(programs) > 150
    python = subprocess.run(
        [sys.executable, "-c", RUN_ALL], input=json.dumps(list(programs)), capture_output=True, text=True, check=True
    )
    assert json.loads(python.stdout) == list(programs.values())


@pytest.mark.parametrize(
    "source",
    [
        "while 1: A=1",
        "def F(N): return F(N)\nF(1)",
        "A=10\nfor I in range(9): A=A*A",
        "A='ab'\nfor I in range(9): A=A+A",
        "import os",
        "open('x')",
        "print(().__class__)",
        "A=[1]\nprint(A.__len__())",
        "A=[1]\nprint(A[3])",
        "print(B)",
        "lambda: 1",
        "A=1/0",
        "return 3",
        "print('{}'.format(1))",
    ],
)
def test_what_leaves_the_language_or_its_limits_is_refused(source: str) -> None:
    with pytest.raises(ProgramError):
        run_program(source)


def test_aliasing_is_that_of_python() -> None:
    assert run_program("A=[1]\nB=A\nB+=[2]\nB=B+[3]\nA.append(4)\nprint(A,B)") == "[1, 2, 4] [1, 2, 3]\n"


@pytest.mark.parametrize("answer", ["10\n13\n16", "10 \n13\r\n16\n", "\n10\n13\n16"])
def test_the_exact_output_passes(answer: str) -> None:
    assert _judge("10\n13\n16", answer).passed


@pytest.mark.parametrize(
    ("answer", "reward"),
    [
        ("10\n13\n17", 1 / 3),
        ("10\n13", 1 / 3),
        ("10\n99\n16", 1 / 6),
        ("10\n13\n16\n19", 3 / 8),
        ("10 13 16", 1 / 2),
        ("11\n13\n16", 0.0),
        ("13\n10\n16", 0.0),
        ("10\n13\n16\n1\n2\n3\n4", 0.0),
        ("1013", 0.0),
        ("", 0.0),
        (None, 0.0),
        ("nan", 0.0),
    ],
)
def test_only_a_right_beginning_of_about_the_right_length_earns_part(answer: str | None, reward: float) -> None:
    verdict = _judge("10\n13\n16", answer)
    assert not verdict.passed
    assert verdict.reward == pytest.approx(reward)


@pytest.mark.parametrize("level", range(5))
def test_the_first_printed_number_is_never_a_literal_of_the_program(level: int) -> None:
    for seed in range(20):
        task = draw_task(DOMAIN.tasks, TaskKey(ID, level, seed))
        first = str(task.hidden["output"]).split()[0]
        assert not set(re.findall(r"\d+", first)[:1]) & set(re.findall(r"\d+", task.prompt))
        assert str(task.hidden["output"]) not in task.prompt
