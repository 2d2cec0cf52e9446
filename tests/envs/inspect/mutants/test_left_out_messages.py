"""Which messages of a right script are missed when they are left out, and which are not: on boards, played for real."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parents[1]
ROOT = HERE.parents[2]
BOARDS = ("SOUND_BOARD", "TWO_LOOKED_AT", "TRIAL_UNDECLARED")


@pytest.fixture(scope="module")
def left_out(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """What is said of each board about messages left out, which it does not miss."""
    ids = {name: f"planted/test.{name.lower().replace('_', '-')}-v1" for name in BOARDS}
    rows = "".join(
        f"  - {{id: {full.split('/')[1]}, load: 'tests.envs.inspect.planted_boards:{name}', kind: game, levels: 2, "
        "max_turns: 8, floor: 0.0, weight: 0}\n"
        for name, full in ids.items()
    )
    catalog = tmp_path_factory.mktemp("boards") / "registry.yaml"
    catalog.write_text(f"namespace: planted\ndomains:\n{rows}")
    path = os.pathsep.join([str(ROOT), *(str(ROOT / name) for name in ("envs", "domains", "trainer"))])
    env = {**os.environ, "PYTHONPATH": path, "POLYATHLON_CATALOGS": str(catalog)}
    command = [sys.executable, str(HERE / "run_evidence.py"), "4", "V01,V02", *ids.values()]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    return {
        name: [text for _, _, texts in said[full].values() for text in texts if text.find("message left out") >= 0]
        for name, full in ids.items()
    }


def test_neither_the_last_word_nor_a_trial_that_a_right_way_does_without_is_missed(
    left_out: dict[str, list[str]],
) -> None:
    assert left_out["SOUND_BOARD"] == []


def test_a_message_whose_work_no_right_way_leaves_undone_is_found_where_it_is_not_missed(
    left_out: dict[str, list[str]],
) -> None:
    assert left_out["TWO_LOOKED_AT"]
    assert all(text.find('"third ') < 0 for text in left_out["TWO_LOOKED_AT"])


def test_a_trial_that_every_declared_way_leaves_behind_is_found(left_out: dict[str, list[str]]) -> None:
    assert left_out["TRIAL_UNDECLARED"]
    assert all(text.find("scratch") < 0 for text in left_out["TRIAL_UNDECLARED"])
