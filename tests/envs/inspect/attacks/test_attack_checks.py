"""Each planted fault is found by the check that is meant for it and by no other; sound domains by none."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[3]

FAULTS = {
    "EITHER": "X01",
    "PARTS_LOOSE": "X01",
    "STALE": "X02",
    "HOST": "X03",
    "CODE_HERE": "X03",
    "COMMENTED": "X04",
    "SLASHED": "X04",
    "LAZY": "N05",
    "TWINS": "N05",
}
SOUND = ("SOUND", "FILES", "CODE")
KINDS = {"HOST": "terminal", "FILES": "terminal", "CODE": "coding", "CODE_HERE": "coding"}
ATTACKS = "tests.envs.inspect.planted_attacks"
MODULES = {"SOUND": "tests.envs.inspect.planted"}
ALSO = {"HOST": {"X01"}, "CODE_HERE": {"X01"}}
"""Checks that refuse to try attacks on this very machine, and say so."""


def _id(name: str) -> str:
    return f"planted/test.{name.lower().replace('_', '-')}-v1"


@pytest.fixture(scope="session")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, list[Any]]]:
    """What every check says about every planted domain: {name: {check: [grade, why it does not apply, messages]}}."""
    names = [*SOUND, *FAULTS]
    rows = "".join(
        f"  - {{id: {_id(name).partition('/')[2]}, load: '{MODULES.get(name, ATTACKS)}:{name}', "
        f"kind: {KINDS.get(name, 'question')}, levels: 2, max_turns: {3 if name in KINDS else 1}, weight: 0"
        f"{', needs: [sandbox]' if name in KINDS else ''}}}\n"
        for name in names
    )
    catalog = tmp_path_factory.mktemp("attacked") / "registry.yaml"
    catalog.write_text(f"namespace: planted\ndomains:\n{rows}")
    path = os.pathsep.join([str(ROOT), *(str(ROOT / name) for name in ("envs", "domains", "trainer"))])
    env = {**os.environ, "PYTHONPATH": path, "POLYATHLON_CATALOGS": str(catalog)}
    command = [sys.executable, str(HERE / "run_checks.py"), "16", *map(_id, names)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False, cwd=catalog.parent)
    assert done.returncode == 0, done.stderr[-3000:]
    results = json.loads(done.stdout.splitlines()[-1])
    return {name: results[_id(name)] for name in names}


@pytest.mark.parametrize(("name", "check"), FAULTS.items())
def test_a_planted_fault_is_found_by_its_check(found: dict[str, dict[str, list[Any]]], name: str, check: str) -> None:
    grade, _, messages = found[name][check]
    assert grade not in ("gold", "silver"), found[name]
    assert messages


@pytest.mark.parametrize("name", FAULTS)
def test_no_other_check_finds_it(found: dict[str, dict[str, list[Any]]], name: str) -> None:
    others = {check for check, (grade, _, _) in found[name].items() if grade not in ("gold", "silver")}
    assert others == {FAULTS[name], *ALSO.get(name, set())}, found[name]


@pytest.mark.parametrize("name", SOUND)
def test_a_sound_domain_is_gold(found: dict[str, dict[str, list[Any]]], name: str) -> None:
    assert {check: grade for check, (grade, _, _) in found[name].items()} == dict.fromkeys(
        ("X01", "X02", "X03", "X04", "N05"), "gold"
    )


def test_a_find_of_the_fuzz_is_shrunk(found: dict[str, dict[str, list[Any]]]) -> None:
    shown = found["SLASHED"]["X04"][2][0]
    assert "'//'" in shown, shown


def test_questions_have_no_code_to_probe(found: dict[str, dict[str, list[Any]]]) -> None:
    assert found["SOUND"]["X03"][1] == "nothing that is handed in is run"
