"""`polyathlon import reasoning-gym` finds what is known to be wrong with it, each fault by the check meant for it."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

ROOT = Path(__file__).parents[3]
COMMAND = "import typer; from polyathlon_domains.bridges.commands import import_domains; typer.run(import_domains)"

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("reasoning_gym") is None, reason="needs the extra reasoning-gym"
)


class Known(NamedTuple):
    """A fault seen by hand: the generator, the check that must find it, and what the finding must say."""

    generator: str
    check: str
    says: str


QUICK = (
    Known("complex_arithmetic", "X01", "exploit 'no answer: nan' earns 1.000"),
    Known("game_of_life_halting", "X01", "earns 1.000"),
    Known("gsm_symbolic", "V04", "distractor 'the other sign' earns 1.000"),
)
ALL = (
    *QUICK,
    Known("complex_arithmetic", "V04", "'no answer: nan"),
    Known("game_of_life_halting", "V04", "'a word turned round' earns 1.000"),
    Known("puzzle24", "V04", "'24 from other numbers' earns 1.000"),
    Known("gsm_symbolic", "X01", "earns 1.000"),
    Known("number_sorting", "V04", "'the last number plus one' earns 1.000"),
    Known("gcd", "X01", "'two answers, the right one"),
    Known("codeio", "D05", "gives two answers"),
    Known("isomorphic_strings", "D06", "another task for the same seed"),
    Known("prime_factorization", "C03", "breaks the episode"),
    Known("coin_flip", "V04", "earns 1.000"),
)


def imported(folder: Path, generators: set[str], *more: str) -> dict[str, dict[str, Any]]:
    """Return what the command finds of `generators`, by name."""
    path = os.pathsep.join(str(ROOT / name) for name in ("envs", "domains", "trainer"))
    patterns = ",".join(f"{name[:-1]}[{name[-1]}]" for name in sorted(generators))  # each fits one name alone
    command = [sys.executable, "-c", COMMAND, "reasoning-gym", "--only", patterns, "--out", str(folder), "--jobs", "2"]
    done = subprocess.run(
        [*command, *more], env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    record = json.loads((folder / "findings.json").read_text(encoding="utf-8"))
    return {one["generator"]: one for one in record["generators"]}


def said(one: dict[str, Any], check: str) -> str:
    return "\n".join(
        example["message"] for found in one["checks"] if found["check"] == check for example in found["examples"]
    )


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, dict[str, Any]]]:
    folder = tmp_path_factory.mktemp("quick")
    return folder, imported(folder, {known.generator for known in QUICK}, "--seeds", "2")


@pytest.mark.parametrize("known", QUICK, ids=lambda known: known.generator)
def test_three_known_faults_are_found_in_a_few_seconds(
    quick: tuple[Path, dict[str, dict[str, Any]]], known: Known
) -> None:
    found = quick[1][known.generator]
    assert found["grade"] == "quarantine"
    assert found["wrong_paid_in_full"] > 0
    assert known.says in said(found, known.check)


def test_the_catalogue_is_in_force_where_it_is_named(quick: tuple[Path, dict[str, dict[str, Any]]]) -> None:
    folder, _ = quick
    play = (
        "import gymnasium as gym, polyathlon\n"
        "env = gym.make('reasoning-gym/arithmetic.gsm-symbolic-v1')\n"
        "prompt, info = env.reset(seed=1)\n"
        "*_, info = env.step('no number')\n"
        "print(info['verdict']['reward'], 'final answer' in prompt)\n"
    )
    path = os.pathsep.join(str(ROOT / name) for name in ("envs", "domains", "trainer"))
    env = {**os.environ, "PYTHONPATH": path, "POLYATHLON_CATALOGS": str(folder / "registry.yaml")}
    done = subprocess.run([sys.executable, "-c", play], env=env, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["0.0", "True"], done.stderr


@pytest.fixture(scope="module")
def all_known(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    return imported(tmp_path_factory.mktemp("all"), {known.generator for known in ALL})


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("known", ALL, ids=lambda known: f"{known.generator}-{known.check}")
def test_every_known_fault_is_found_by_the_check_meant_for_it(
    all_known: dict[str, dict[str, Any]], known: Known
) -> None:
    assert known.says in said(all_known[known.generator], known.check), all_known[known.generator]["checks"]


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_line_feed_that_costs_a_right_answer_its_score_is_told(all_known: dict[str, dict[str, Any]]) -> None:
    assert all_known["gcd"]["line_feed_costs"] == 1.0
    assert all_known["puzzle24"]["line_feed_costs"] == 0.0
