"""The command line as a user meets it: another process, a pipe, an exit code."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ID = "polyathlon/math.arithmetic-expression-v1"


def polyathlon(*words: str, stdin: str = "", cwd: Path | None = None, **env: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([env.pop("PATH_FIRST", ""), *(str(ROOT / name) for name in ("envs", "domains", "trainer"))])
    full = {**os.environ, **env, "PYTHONPATH": path}
    command = [sys.executable, "-m", "polyathlon", *words]
    return subprocess.run(
        command, input=stdin, env=full, cwd=cwd, capture_output=True, text=True, check=False, timeout=240
    )


def test_list_prints_a_row_a_domain_and_json_with_the_registrys_keys() -> None:
    assert polyathlon("list").stdout.count("polyathlon/") == 20
    rows = json.loads(polyathlon("list", "--json").stdout)
    assert len(rows) == 20
    row = next(row for row in rows if row["id"] == ID)
    assert (row["family"], row["kind"], row["levels"], row["max_turns"], row["weight"]) == (
        "math",
        "question",
        5,
        1,
        1.0,
    )


def test_an_unknown_id_is_one_line_with_the_nearest_and_exit_1() -> None:
    done = polyathlon("show", "polyathlon/math.arithmetic-expresion-v1")
    assert done.returncode == 1
    assert done.stderr.strip().count("\n") == 0
    assert f"Did you mean {ID}?" in done.stderr


def test_play_by_the_reference_passes() -> None:
    record = json.loads(polyathlon("play", ID, "--solve", "--level", "2", "--seed", "5", "--json").stdout)[0]
    assert record["verdict"]["passed"]
    assert record["verdict"]["reward"] == 1.0


def test_play_by_hand_reads_a_message_up_to_a_full_stop() -> None:
    done = polyathlon("play", ID, stdin="no\nnumber\n.\n")
    assert done.returncode == 0
    assert "reward 0.0: the last line is no number" in done.stdout


def test_play_by_a_script_and_a_script_that_is_none(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text('["1"]')
    assert "reward 0.0" in polyathlon("play", ID, "--script", str(script)).stdout
    script.write_text("[1]")
    done = polyathlon("play", ID, "--script", str(script))
    assert done.returncode == 1
    assert "Write a JSON list of strings" in done.stderr


def test_play_by_actions_falls_silent_after_them() -> None:
    invoice = "polyathlon/finance.invoice-extract-v1"
    record = json.loads(polyathlon("play", invoice, "--actions", '["nothing"]', "--json").stdout)[0]
    assert [turn["action"] for turn in record["turns"]] == ["nothing", *[""] * 13]
    assert record["verdict"]["reward"] == 0.0


def test_actions_that_are_no_list_of_texts_are_refused() -> None:
    done = polyathlon("play", ID, "--actions", "[1]")
    assert done.returncode == 1
    assert "--actions: expected a string, found int. Write a JSON list of strings" in done.stderr


def test_a_level_that_is_not_there_says_which_are() -> None:
    done = polyathlon("play", ID, "--level", "9")
    assert done.returncode == 1
    assert "levels 0 to 4" in done.stderr


def test_a_new_domain_passes_its_inspection_as_it_stands(tmp_path: Path) -> None:
    (tmp_path / "acme").mkdir()
    (tmp_path / "acme" / "__init__.py").write_text("")
    catalog = tmp_path / "registry.yaml"
    catalog.write_text("namespace: acme\ndomains: []\n")
    made = polyathlon("new", "words.letter-count", "--package", str(tmp_path / "acme"), "--catalog", str(catalog))
    assert made.returncode == 0, made.stderr
    env = {"POLYATHLON_CATALOGS": str(catalog), "PATH_FIRST": str(tmp_path)}
    done = polyathlon("check", "acme/words.letter-count-v1", "--seeds", "32", cwd=None, **env)
    assert done.returncode == 0, done.stdout + done.stderr
    again = polyathlon("new", "words.letter-count", "--package", str(tmp_path / "acme"), "--catalog", str(catalog))
    assert again.returncode == 1
    assert "there already" in again.stderr
    second = polyathlon("new", "words.all", "--package", str(tmp_path / "acme"), "--catalog", str(catalog))
    assert second.returncode == 0
    assert [line.strip() for line in catalog.read_text().splitlines() if "- id" in line] == [
        "- id: words.all-v1",
        "- id: words.letter-count-v1",
    ]


def test_check_without_an_id_says_what_to_write() -> None:
    done = polyathlon("check")
    assert done.returncode == 1
    assert "say --all" in done.stderr


def test_check_of_a_domain_that_cannot_be_loaded_is_a_fault_and_not_a_crash(tmp_path: Path) -> None:
    catalog = tmp_path / "registry.yaml"
    catalog.write_text(
        "namespace: acme\ndomains:\n  - {id: a.b-v1, load: 'nowhere:DOMAIN', kind: question, levels: 1, max_turns: 1}\n"
    )
    done = polyathlon("check", "acme/a.b-v1", POLYATHLON_CATALOGS=str(catalog))
    assert done.returncode == 1
    assert "could not be inspected" in done.stdout


@pytest.mark.parametrize("command", ["list", "doctor"])
def test_tables_take_json(command: str) -> None:
    rows = json.loads(polyathlon(command, "--json").stdout)
    assert all(isinstance(row, dict) for row in rows)


DOCUMENTS = "polyathlon/finance.invoice-extract-v1"


def test_play_sends_given_actions_and_then_nothing_to_the_end() -> None:
    done = polyathlon("play", DOCUMENTS, "--actions", '["one", "two"]', "--json")
    assert done.returncode == 0, done.stderr
    turns = json.loads(done.stdout)[0]["turns"]
    assert [turn["action"] for turn in turns] == ["one", "two"] + [""] * 12


def test_play_reads_long_actions_from_a_file_and_takes_any_text(tmp_path: Path) -> None:
    path = tmp_path / "actions.json"
    path.write_text(json.dumps(["\ud800" + "7" * 300_000]))
    done = polyathlon("play", ID, "--actions", f"@{path}")
    assert done.returncode == 0, done.stderr
    assert "> \\ud800777" in done.stdout
    assert "characters cut" in done.stdout
    assert json.loads(polyathlon("play", ID, "--actions", f"@{path}", "--json").stdout)[0]["verdict"]["valid"]


def test_play_refuses_actions_that_are_no_list_of_messages() -> None:
    done = polyathlon("play", ID, "--actions", '{"a": 1}')
    assert done.returncode == 1
    assert done.stderr.startswith("ValueError: --actions: ")
    assert "Write a JSON list of strings" in done.stderr


def test_a_script_of_several_messages_is_sent_one_a_turn(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text('["one", "two"]')
    done = polyathlon("play", DOCUMENTS, "--script", str(script))
    assert done.stdout.count("No tool call found.") == 2
    assert "The messages ended before the episode did." in done.stdout
