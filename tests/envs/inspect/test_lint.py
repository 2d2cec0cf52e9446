"""The lint: each smell with its example and its sound twin, what it follows, and the gym's own helpers without one."""

from __future__ import annotations

from pathlib import Path

import pytest

import polyathlon.verify
from polyathlon.inspect.lint import lint_domain, lint_files, lint_source
from polyathlon.inspect.smells import WHY

VERIFY = Path(polyathlon.verify.__file__).parent

SMELLS = {
    "float": "float(answer) > 3",
    "int": "int(answer) == 3",
    "clamp": "max(0.0, min(1.0, score))",
    "set": "set(answer) == set(gold)",
    "in": "gold in answer",
    "endswith": "answer.endswith(gold)",
    "all": "all(part == 1 for part in answer)",
    "eval": "eval(answer)",
    "json": "json.loads(answer)",
    "format": "answer.format(gold)",
    "close": "math.isclose(answer, gold)",
    "random": "time.time() > 3",
}
SOUND = {
    "float": "float(len(answer) > 3)",
    "clamp": "max(3, len(answer))",
    "set": "sorted(answer) == sorted(gold)",
    "in": "answer in ('yes', 'no')",
    "all": "bool(answer) and all(part == 1 for part in answer)",
    "format": "PROMPT.format(answer)",
    "close": "math.isclose(answer, gold, rel_tol=0.01)",
}
MORE = {
    "min(1.0, score)": "clamp",
    "frozenset(answer) == gold": "set",
    "answer.startswith('x')": "endswith",
    "exec(answer)": "eval",
    "ast.literal_eval(answer)": "eval",
    "np.allclose(answer, gold)": "close",
    "answer.format_map(gold)": "format",
    "loads(answer)": "json",
    "datetime.now()": "random",
}


def rules(expression: str, *, mark: str = "") -> list[str]:
    source = f"class V:\n    def judge(self, task, evidence, room):\n        return {expression}{mark}\n"
    return [smell.rule for smell in lint_source(source, "V")]


@pytest.mark.parametrize("rule", sorted(SMELLS))
def test_each_smell_is_found(rule: str) -> None:
    assert rule in rules(SMELLS[rule])


def test_every_rule_has_an_example() -> None:
    assert {*SMELLS, "except"} == {*WHY}


@pytest.mark.parametrize("rule", sorted(SOUND))
def test_its_sound_twin_is_not(rule: str) -> None:
    assert rules(SOUND[rule]) == []


@pytest.mark.parametrize("expression", sorted(MORE))
def test_each_smell_has_other_forms(expression: str) -> None:
    assert rules(expression) == [MORE[expression]]


@pytest.mark.parametrize("caught", ["", " Exception", " (ValueError, BaseException) as error"])
def test_a_broad_except_is_found(caught: str) -> None:
    source = (
        f"class V:\n    def judge(self):\n        try:\n            pass\n        except{caught}:\n            pass\n"
    )
    assert [smell.rule for smell in lint_source(source, "V")] == ["except"]


def test_a_reason_excuses_its_line_or_its_rule_everywhere() -> None:
    assert rules("gold in answer", mark="  # sound: a set of codes") == []
    source = (
        "# sound everywhere, float: numpy's numbers\nclass V:\n    def judge(self):\n        return float(x), int(x)\n"
    )
    assert [smell.rule for smell in lint_source(source, "V")] == ["int"]
    assert [smell.rule for smell in lint_source(source.replace(": numpy's numbers", ""), "V")] == ["float", "int"]


def test_what_a_verifier_names_is_read_too() -> None:
    far, idle = (f"def {name}(x):\n    return x in y\n" for name in ("far", "idle"))
    verifier = "class V:\n    def judge(self):\n        return near(1)\n"
    source = f"{far}def near(x):\n    return far(x)\n{idle}{verifier}"
    assert [smell.line for smell in lint_source(source, "V")] == [2]


def test_names_from_the_family_s_other_modules_are_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    family = tmp_path / "acme_family"
    family.mkdir()
    (family / "__init__.py").write_text("")
    (family / "_scoring.py").write_text("def credit(x, gold):\n    return gold in x\n")
    (family / "quiz.py").write_text(
        "from dataclasses import dataclass\nfrom acme_family._scoring import credit as worth\n\n"
        "class V:\n    def judge(self, task, evidence, room):\n        return worth(evidence.answer, '7')\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    import importlib

    verifier = importlib.import_module("acme_family.quiz").V()

    class Shaped:
        def __init__(self) -> None:
            self.verifier = verifier

    found = lint_domain(Shaped())  # type: ignore[arg-type]
    assert [(smell.rule, smell.file, smell.line) for smell in found] == [("in", "_scoring.py", 2)]
    assert "_scoring.py line 2" in found[0].text


def test_the_gym_s_own_helpers_have_no_smell() -> None:
    """What runs inside the sandbox runs what a policy wrote: no verdict is made there."""
    paths = [*sorted(VERIFY.glob("*.py")), VERIFY / "inside" / "formula_server.py"]
    assert len(paths) > 25
    assert [smell.text for smell in lint_files(paths)] == []
