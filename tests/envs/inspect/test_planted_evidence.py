"""Each planted fault is found by the check that is meant for it, and by no other of these; sound domains by none."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
SEEDS = "16"
FOLDER = "tests.envs.inspect"
TURNS = {"TELLING_GUESSES": 30, "SHARED": 2, "SOUND_FILES": 4, "CACHED": 4, "LEAVING_OPEN": 4}
IN_SANDBOX = ("SOUND_FILES", "CACHED", "SWALLOWING", "LEAVING_OPEN")
SOUND = ("SOUND", "SOUND_FILES")

FAULTS = {
    "UNDOCUMENTED": "C01",
    "NUMPY_REWARD": "C02",
    "LENIENT": "C04",
    "SWALLOWING": "C04",
    "PRIVILEGED": "S02",
    "WRONG_GOLD": "S03",
    "UNNAMED_KEY": "S05",
    "ENCODED": "L01",
    "CACHED": "L02",
    "STYLED": "L03",
    "TELLING_GUESSES": "L04",
    "HASH_ORDER": "D01",
    "DATED": "D03",
    "SHARED": "D04",
    "NARROW": "U02",
    "LONGEST": "U04",
    "PASSAGES": "U05",
    "BACKWARD": "Q01",
    "SLOW_JUDGE": "R01",
    "HOARDING": "R02",
    "LEAVING_OPEN": "R02",
    "NOISY": "R03",
}
TERMINAL = ("SOUND_FILES", "CACHED", "LEAVING_OPEN")
CALLS = ("SOUND_CALLS", "CALLS_ENCODED", "ARGUMENT_ENCODED", "ARGUMENT_BESIDE")
REPEATS = tuple(name for name, rule in FAULTS.items() if rule[0] in "DUQR")
FLOORS = {"LONGEST": 0.3}


def full_id(name: str) -> str:
    return f"planted/test.{name.lower().replace('_', '-')}-v1"


def rows() -> str:
    lines = []
    for name in (*SOUND, *FAULTS, *CALLS):
        needs = "needs: [sandbox], " if name in IN_SANDBOX else ""
        kind = "terminal" if name in TERMINAL else "tools" if name in CALLS else "question"
        module = "planted_repeats" if name in REPEATS else "planted_evidence"
        lines.append(
            f"  - {{id: {full_id(name).split('/')[1]}, load: '{FOLDER}.{module}:{name}', "
            f"kind: {kind}, {needs}levels: 2, "
            f"max_turns: {TURNS.get(name, 1)}, floor: {FLOORS.get(name, 0.0)}, weight: 0}}\n"
        )
    return f"namespace: planted\ndomains:\n{''.join(lines)}"


def looked_at(
    folder: Path, checks: str, names: tuple[str, ...], *, fine: tuple[str, ...] = ("gold",)
) -> dict[str, dict[str, str]]:
    """Return, of each domain, what no grade of `fine` was given to: {name: {check: first message}}."""
    catalog = folder / "registry.yaml"
    catalog.write_text(rows())
    path = os.pathsep.join([str(ROOT), *(str(ROOT / name) for name in ("envs", "domains", "trainer"))])
    env = {**os.environ, "PYTHONPATH": path, "POLYATHLON_CATALOGS": str(catalog)}
    command = [sys.executable, str(HERE / "run_evidence.py"), SEEDS, checks, *map(full_id, names)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    return {
        name: {
            check: (messages or ["no message"])[0]
            for check, (grade, _, messages) in said[full_id(name)].items()
            if grade not in fine
        }
        for name in names
    }


@pytest.mark.parametrize(("name", "check"), FAULTS.items())
def test_a_planted_fault_is_found_by_the_check_meant_for_it(tmp_path: Path, name: str, check: str) -> None:
    assert check in looked_at(tmp_path, check, (name,))[name]


@pytest.mark.slow
@pytest.mark.parametrize("name", FAULTS)
def test_no_other_check_complains_about_a_planted_fault(tmp_path: Path, name: str) -> None:
    """Sixteen tasks a level leave room for a silver here and there: bounds that only more cases narrow."""
    assert set(looked_at(tmp_path, "all", (name,), fine=("gold", "silver"))[name]) <= {FAULTS[name]}


@pytest.mark.slow
@pytest.mark.parametrize("name", SOUND)
def test_sound_domains_are_silver_or_gold_in_every_check(tmp_path: Path, name: str) -> None:
    assert looked_at(tmp_path, "all", (name,), fine=("gold", "silver"))[name] == {}


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("SOUND_CALLS", ""),
        ("CALLS_ENCODED", "in base64"),
        ("ARGUMENT_ENCODED", "in hexadecimal"),
        ("ARGUMENT_BESIDE", "as it is"),
    ],
)
def test_what_a_request_says_of_a_call_is_no_leak_but_the_call_and_what_it_does_not_say_are(
    tmp_path: Path, name: str, told: str
) -> None:
    found = looked_at(tmp_path, "L01", (name,))[name]
    assert set(found) == ({"L01"} if told else set())
    assert found.get("L01", "").find(told) >= 0
