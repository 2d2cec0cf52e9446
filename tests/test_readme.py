"""What README and the pages show is run: Python blocks as they stand, command lines through the real parser."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.core import TyperGroup

from polyathlon.cli import app
from polyathlon_domains.bridges.commands import import_domains
from polyathlon_trainer.commands import report, train
from polyathlon_trainer.config.load import load_config

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
PAGES = (README, *sorted((ROOT / "docs").rglob("*.md")), ROOT / "CONTRIBUTING.md")
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# commands named in running text: `polyathlon check`
INLINE = re.compile(r"`(polyathlon [^`]+)`")
CHEAP = {"list", "show", "doctor"}
IDS = {"ID": "math.arithmetic-expression-v1", "ID...": "math.arithmetic-expression-v1"}


def blocks(page: Path, language: str) -> list[str]:
    return [text for name, text in FENCE.findall(page.read_text(encoding="utf-8")) if name == language]


def python_blocks() -> list[str]:
    return [text for page in PAGES for text in blocks(page, "python")]


def command_lines() -> list[str]:
    found: list[str] = []
    for page in PAGES:
        for block in blocks(page, ""):
            lines = block.replace("\\\n", " ").replace("\n         ", " ").splitlines()
            found += [line for line in lines if line.startswith("polyathlon ")]
        found += [line.replace("\n", " ") for line in INLINE.findall(page.read_text(encoding="utf-8"))]
    return list(dict.fromkeys(found))


def words_of(line: str) -> list[str]:
    return [IDS.get(word, word) for word in shlex.split(line, comments=True)[1:]]


def environment() -> dict[str, str]:
    path = os.pathsep.join(str(ROOT / name) for name in ("envs", "domains", "trainer"))
    return {**os.environ, "PYTHONPATH": path}


def whole_command() -> TyperGroup:
    """The command line with the trainer's commands, which it finds by entry point."""
    whole = typer.Typer()
    whole.registered_commands += app.registered_commands
    whole.command("train")(train)
    whole.command("report")(report)
    whole.command("import")(import_domains)
    group = typer.main.get_command(whole)
    assert isinstance(group, TyperGroup)
    return group


def test_readme_shows_python_and_commands() -> None:
    assert blocks(README, "python")
    assert sum(line.startswith("polyathlon ") for block in blocks(README, "") for line in block.splitlines()) >= 5


@pytest.mark.parametrize("block", python_blocks())
def test_a_python_block_runs_as_it_stands(block: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", block],
        env=environment(),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("line", command_lines())
def test_a_command_line_is_one_that_polyathlon_takes(line: str) -> None:
    name, *words = words_of(line)
    context = whole_command().commands[name].make_context(name, words)
    assert context.info_name == name
    if name == "train" and context.params["settings"] is None:
        load_config(None, context.params["override"] or ())


@pytest.mark.parametrize("line", [line for line in command_lines() if words_of(line)[0] in CHEAP])
def test_a_cheap_command_line_of_a_page_runs(line: str) -> None:
    name, *words = words_of(line)
    done = subprocess.run(
        [sys.executable, "-m", "polyathlon", name, *words],
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_reference_at_work_passes_on_a_question() -> None:
    words = ["play", "math.arithmetic-expression-v1", "--solve"]
    done = subprocess.run(
        [sys.executable, "-m", "polyathlon", *words], env=environment(), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("reward 1.0\n")


def test_the_targets_of_make_that_readme_names_are_there() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    named = {name for page in PAGES for name in re.findall(r"(?:^|`)make ([a-z]+)", page.read_text(), re.MULTILINE)}
    assert {"train", "test"} <= named
    assert named <= set(re.findall(r"^([a-z]+):", makefile, re.MULTILINE))


def test_the_trainers_commands_are_declared_as_readme_calls_them() -> None:
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert 'train = "polyathlon_trainer.commands:train"' in project
    assert 'report = "polyathlon_trainer.commands:report"' in project
