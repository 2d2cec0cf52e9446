"""The inspector inspected: each planted fault is found by the check that is meant for it, a sound domain by none."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
SEEDS = "16"

FAULTS = {
    "NAN_CLAMP": "exploits do not pay",
    "CONTAINMENT": "exploits do not pay",
    "TOLERANCE": "wrong answers fail",
    "RAISES": "hostile input",
    "STRICT": "right answers pass",
    "LENGTH_CREDIT": "blind policies earn nothing",
    "EMPTY_CREDIT": "blind policies earn nothing",
    "SLOW": "hostile input",
    "FLAKY": "verdicts repeat",
    "LINTED": "verifier lint",
    "SHOWN": "nothing leaks",
    "SET_ORDER": "generation repeats",
    "CHANGING": "generation repeats",
    "FEW": "space and splits",
    "SALTED": "space and splits",
    "CONSTANT": "blind policies earn nothing",
    "UNSOLVED": "reference",
    "TELLING": "nothing leaks",
    "FRAGILE": "hostile input",
    "NO_EXPLOITS": "exploits do not pay",
    "NO_EQUIVALENTS": "right answers pass",
}


@pytest.fixture(scope="session")
def inspections(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, list[str]]]:
    """All planted domains inspected by the command line: {name: {check: messages}}."""
    names = ["SOUND", *FAULTS]
    rows = "".join(
        f"  - {{id: test.{name.lower().replace('_', '-')}-v1, load: 'planted:{name}', kind: question, levels: 2, "
        f"max_turns: {2 if name == 'TELLING' else 1}, weight: 0}}\n"
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
    found: dict[str, dict[str, list[str]]] = {}
    for name, record in zip(names, json.loads(done.stdout), strict=True):
        results = {row["check"]: [fault["message"] for fault in row["faults"]] for row in record["results"]}
        found[name] = {check: messages for check, messages in results.items() if messages}
        if record["broken"]:
            found[name]["broken"] = [record["broken"]]
    return found


@pytest.mark.parametrize(("name", "check"), FAULTS.items())
def test_a_planted_fault_is_found_by_the_check_meant_for_it(
    inspections: dict[str, dict[str, list[str]]], name: str, check: str
) -> None:
    assert check in inspections[name], inspections[name]


def test_the_sound_domain_has_no_fault(inspections: dict[str, dict[str, list[str]]]) -> None:
    assert inspections["SOUND"] == {}
