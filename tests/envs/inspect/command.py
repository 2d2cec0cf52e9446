"""`polyathlon` as another process, on catalogues of planted domains."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parents[2]


def environment(catalog: Path, *first: Path, **more: str) -> dict[str, str]:
    """Return an environment in which `catalog` is in force, and modules are found in `first`, here and in our roots."""
    folders = [*first, HERE, *(ROOT / name for name in ("envs", "domains", "trainer"))]
    path = os.pathsep.join(map(str, folders))
    return {**os.environ, "PYTHONPATH": path, "POLYATHLON_CATALOGS": str(catalog), **more}


def polyathlon(env: Mapping[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "polyathlon", *words]
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=280)


def records(env: Mapping[str, str], *words: str) -> dict[str, dict[str, Any]]:
    """Return {id: row} of a command that prints JSON."""
    done = polyathlon(env, *words, "--json")
    assert done.stdout, done.stderr
    return {row["id"]: row for row in json.loads(done.stdout)}


def write_catalog(folder: Path, **loads: str) -> Path:
    """Write a registry.yaml with one question domain of one level for each name and `load`; "a_b" is "test.a-b-v1"."""
    rows = "".join(
        f"  - {{id: test.{name.replace('_', '-')}-v1, load: '{load}', kind: question, levels: 1, max_turns: 1}}\n"
        for name, load in loads.items()
    )
    path = folder / "registry.yaml"
    path.write_text(f"namespace: planted\ndomains:\n{rows}")
    return path
