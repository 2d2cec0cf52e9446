"""What is held still for a foreign generator is looked at: torn questions bar a domain, restless ones are told."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from polyathlon.inspect.blindness import chance_above

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
NAMES = ("STEADY", "RESTLESS", "TORN")


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    rows = "".join(
        f"  - {{id: test.{name.lower()}-v1, load: 'planted:{name}', kind: question, levels: 2, max_turns: 1}}\n"
        for name in NAMES
    )
    catalog = tmp_path_factory.mktemp("ambient") / "registry.yaml"
    catalog.write_text(f"namespace: planted\ndomains:\n{rows}")
    path = os.pathsep.join([str(HERE), *(str(ROOT / name) for name in ("envs", "domains", "trainer"))])
    env = {**os.environ, "PYTHONPATH": path, "POLYATHLON_CATALOGS": str(catalog)}
    ids = [f"planted/test.{name.lower()}-v1" for name in NAMES]
    command = [sys.executable, "-m", "polyathlon", "check", "--json", "--seeds", "4", "--jobs", "2", *ids]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    return dict(zip(NAMES, json.loads(done.stdout), strict=True))


def result(record: dict[str, Any], check: str) -> dict[str, Any]:
    return next(row for row in record["results"] if row["check"] == check)


def test_a_question_with_two_answers_bars_its_domain(records: dict[str, dict[str, Any]]) -> None:
    torn = result(records["TORN"], "D05")
    assert torn["grade"] == "quarantine"
    assert "gives two answers" in torn["faults"][0]["message"]
    assert torn["faults"][0]["replay"].startswith("polyathlon play planted/test.torn-v1 --level ")
    assert result(records["TORN"], "D01")["grade"] == "gold"


def test_another_task_elsewhere_is_told_and_bars_nothing(records: dict[str, dict[str, Any]]) -> None:
    assert result(records["RESTLESS"], "D05")["grade"] == "gold"
    assert result(records["RESTLESS"], "D06")["grade"] == "silver"
    assert result(records["RESTLESS"], "D06")["measures"][0]["value"] == 0.0


def test_a_generator_that_repeats_by_itself_has_no_fault(records: dict[str, dict[str, Any]]) -> None:
    for check in ("D05", "D06"):
        assert result(records["STEADY"], check)["grade"] == "gold"
        assert [m["num_cases"] for m in result(records["STEADY"], check)["measures"]] == [120, 120]


def test_luck_is_granted_at_a_floor_and_none_without() -> None:
    assert chance_above(0.0, 24) == 0.0
    assert chance_above(0.5, 24) == pytest.approx(0.2, abs=0.001)
    assert chance_above(0.5, 2_400) == pytest.approx(0.02, abs=0.0001)
