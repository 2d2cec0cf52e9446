"""The inspector inspected: each planted fault is found by the check that is meant for it, a sound domain by none."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.envs.inspect import test_planted_evidence as evidence
from tests.envs.inspect.attacks import test_attack_checks as attacks
from tests.envs.inspect.mutants import test_checks as mutants

from polyathlon.inspect.checks import CHECKS

pytestmark = pytest.mark.timeout(1_200)  # thirty inspections before the first test
HERE = Path(__file__).parent
ROOT = HERE.parents[2]
SEEDS = "16"

FAULTS = {
    "NAN_CLAMP": "X01",
    "CONTAINMENT": "X01",
    "TOLERANCE": "V04",
    "RAISES": "C03",
    "STRICT": "V06",
    "LENGTH_CREDIT": "N02",
    "EMPTY_CREDIT": "N01",
    "SLOW": "C03",
    "FLAKY": "D02",
    "LINTED": "C05",
    "SHOWN": "L01",
    "SET_ORDER": "D01",
    "CHANGING": "D04",
    "FEW": "U01",
    "SALTED": "U03",
    "CONSTANT": "N02",
    "UNSOLVED": "S01",
    "TELLING": "L01",
    "FRAGILE": "C03",
    "NO_EXPLOITS": "X01",
    "NO_EQUIVALENTS": "V06",
    "REFUSING": "S04",
    "UNMOVED": "N04",
}
SOUND = ("SOUND", "LAMP")
LOADED = {"FREE": "SOUND"}
FLOORS = {"FREE": 0.5}
"""The most that a row may declare: a sound domain that pays half for nothing."""


@pytest.fixture(scope="session")
def records(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """All planted domains inspected by the command line: {name: record}."""
    names = [*SOUND, *FAULTS, *FLOORS]
    rows = "".join(
        f"  - {{id: test.{name.lower().replace('_', '-')}-v1, load: 'planted:{LOADED.get(name, name)}', "
        f"kind: question, levels: 2, "
        f"max_turns: {2 if name == 'TELLING' else 1}, floor: {FLOORS.get(name, 0.0)}, weight: 0}}\n"
        for name in names
    )
    catalog = tmp_path_factory.mktemp("planted") / "registry.yaml"
    catalog.write_text(f"namespace: planted\ndomains:\n{rows}")
    path = os.pathsep.join([str(HERE), *(str(ROOT / name) for name in ("envs", "domains", "trainer"))])
    env = {**os.environ, "PYTHONPATH": path, "POLYATHLON_CATALOGS": str(catalog)}
    ids = [f"planted/test.{name.lower().replace('_', '-')}-v1" for name in names]
    command = [sys.executable, "-m", "polyathlon", "check", "--json", "--seeds", SEEDS, "--jobs", "2", *ids]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    return dict(zip(names, json.loads(done.stdout), strict=True))


def found_by(record: dict[str, Any]) -> dict[str, list[str]]:
    """Return {rule: messages} of the checks that hold a domain below silver."""
    results = [row for row in record["results"] if row["grade"] not in ("silver", "gold")]
    return {row["check"]: [fault["message"] for fault in row["faults"]] for row in results}


@pytest.mark.parametrize(("name", "check"), FAULTS.items())
def test_a_planted_fault_is_found_by_the_check_meant_for_it(
    records: dict[str, dict[str, Any]], name: str, check: str
) -> None:
    found = found_by(records[name])
    assert found.get(check), (found, records[name]["broken"])
    assert records[name]["grade"] in ("reject", "quarantine", "bronze")


@pytest.mark.parametrize("name", SOUND)
def test_a_sound_domain_is_gold(records: dict[str, dict[str, Any]], name: str) -> None:
    assert records[name]["reasons"] == []
    assert records[name]["levels"] == ["gold", "gold"]
    assert [fault for row in records[name]["results"] for fault in row["faults"]] == []


def test_every_rule_has_a_planted_fault_that_it_is_there_for() -> None:
    """So that a check which is taken away, or loosened until it finds nothing, is missed by a test."""
    planted = {
        *FAULTS.values(),
        *evidence.FAULTS.values(),
        *attacks.FAULTS.values(),
        *(rule for *_, rule in mutants.FAULTS),
    }
    planted |= {"D05", "D06", "N03"}  # test_ambient, and the next test
    assert planted == {rule for check in CHECKS for rule in check.answers}
    assert sum(map(len, (FAULTS, evidence.FAULTS, attacks.FAULTS, mutants.FAULTS))) >= 40


def test_a_high_floor_is_silver_at_best(records: dict[str, dict[str, Any]]) -> None:
    assert {row["check"] for row in records["FREE"]["results"] if row["grade"] == "silver"} >= {"N03"}


def test_a_fault_of_one_level_leaves_the_others_their_grade(records: dict[str, dict[str, Any]]) -> None:
    """UNSOLVED: the reference is wrong on one task of level 1. FEW: level 0 is so small that answers recur."""
    assert records["UNSOLVED"]["levels"] == ["gold", "quarantine"]
    assert records["UNSOLVED"]["grade"] == "quarantine"
    assert records["FEW"]["levels"][0] == "quarantine"
    assert records["FEW"]["levels"][1] in ("silver", "gold")


def test_the_reason_names_the_check_the_level_and_what_was_wanted(records: dict[str, dict[str, Any]]) -> None:
    assert records["UNSOLVED"]["reasons"][0].startswith(
        "quarantine: S01 reference, level 1: share of tasks whose reference earns 1 is 0.938"
    )
    assert records["UNSOLVED"]["reasons"][0].endswith("of 16 cases; gold >= 1, silver >= 1")


def test_rewards_are_told_by_where_the_actions_came_from(records: dict[str, dict[str, Any]]) -> None:
    """Two levels of 16 tasks; three distractors each and mutants; two equivalents each and general rewrites."""
    rewards = records["SOUND"]["rewards"]
    assert rewards["reference"] == [0] * 20 + [32, 0]
    assert rewards["mutant"][0] > 96
    assert rewards["mutant"][1:] == [0] * 21
    assert rewards["rewrite"][20] >= 64
    assert [*rewards["rewrite"][:20], rewards["rewrite"][21]] == [0] * 21
    assert rewards["attack"][20:] == [0, 0]
    assert rewards["blind"][20:] == [0, 0]
    assert records["RAISES"]["rewards"]["attack"][21] > 0
