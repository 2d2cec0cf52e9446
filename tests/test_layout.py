"""Rules of the house that no other tool keeps: names, sizes, order, and nothing of one machine in the text."""

import ast
import importlib
import re
import subprocess
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
SOURCES = ("envs", "domains", "trainer", "benchmarks", "examples", "docs", "tests")
SHIPPED = ("envs", "domains", "trainer")
MAX_LINES = 400
VAGUE = {"utils", "util", "common", "helpers", "helper", "base", "manager", "misc"}
# a home or a workplace as the beginning of a path; brackets keep this file from finding itself
MACHINE_PATH = re.compile(r"(?<![\w}/.])/(?:[r]oot|[w]ork)/[\w.]")


def modules(*folders: str) -> list[Path]:
    found = [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]
    return [path for path in found if "__pycache__" not in path.parts]


def tracked() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode != 0:
        pytest.skip("this is no git checkout: there are no tracked files")
    return [ROOT / name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]


def shown(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_no_module_has_a_name_that_says_nothing() -> None:
    names = {path: {path.stem.strip("_"), *path.relative_to(ROOT).parent.parts} for path in modules(*SOURCES)}
    assert [shown(path) for path, parts in names.items() if parts & VAGUE] == []


def test_no_source_file_is_longer_than_400_lines() -> None:
    sizes = {shown(path): len(path.read_text(encoding="utf-8").splitlines()) for path in modules(*SOURCES)}
    assert {path: lines for path, lines in sizes.items() if lines > MAX_LINES} == {}


def registry_rows() -> list[dict[str, str]]:
    rows: list[dict[str, str]] = yaml.safe_load((ROOT / "registry.yaml").read_text(encoding="utf-8"))["domains"]
    return rows


def test_the_registry_is_sorted_by_id() -> None:
    ids = [row["id"] for row in registry_rows()]
    assert ids == sorted(ids)


def test_every_module_that_the_registry_loads_is_a_file() -> None:
    paths = [ROOT / "domains" / f"{row['load'].partition(':')[0].replace('.', '/')}.py" for row in registry_rows()]
    assert [shown(path) for path in paths if not path.is_file()] == []


def test_every_public_list_is_sorted_and_every_name_in_it_is_there() -> None:
    wrong = []
    for folder in SHIPPED:
        for path in modules(folder):
            if not declares_all(path):
                continue
            parts = path.relative_to(ROOT / folder).with_suffix("").parts
            module = importlib.import_module(".".join(parts).removesuffix(".__init__"))
            absent = [name for name in module.__all__ if not hasattr(module, name)]
            if absent or list(module.__all__) != sorted(module.__all__):
                wrong.append((shown(path), absent))
    assert wrong == []


def declares_all(path: Path) -> bool:
    nodes = ast.parse(path.read_text(encoding="utf-8")).body
    targets = [target for node in nodes if isinstance(node, ast.Assign) for target in node.targets]
    return any(isinstance(target, ast.Name) and target.id == "__all__" for target in targets)


def test_no_tracked_text_names_a_path_of_one_machine() -> None:
    found = []
    for path in tracked():
        text = path.read_bytes().decode("utf-8", errors="replace")
        found += [f"{shown(path)}: {match[0]}" for match in MACHINE_PATH.finditer(text)]
    assert MACHINE_PATH.search("in /" + "root/notes") is not None
    assert found == []
