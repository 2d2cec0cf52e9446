"""`polyathlon doctor`: what this machine can do, and what to install for the rest."""

from __future__ import annotations

import importlib.util
import platform
from typing import Annotated

import typer

from polyathlon.canonical import Json
from polyathlon.cli.table import print_json, print_rows
from polyathlon.errors import SandboxError
from polyathlon.registration import registry
from polyathlon.sandbox.choose import default_room

EXTRAS = {
    "cad": ("trimesh", "manifold3d"),
    "docker": ("docker",),
    "train": ("torch", "pyarrow", "tensorboard"),
    "smollm2": ("transformers", "gguf"),
    "vllm": ("vllm",),
    "ray": ("ray",),
}


def doctor(*, json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False) -> None:
    """Say what works here: registry, plugins, sandbox (by attacking it), extras. Exit 1 when something is broken."""
    rows = [*_registry_rows(), *_sandbox_rows(), *_extra_rows()]
    if json:
        print_json(rows)
    else:
        print_rows(rows, columns=("what", "state", "detail"))
    raise typer.Exit(1 if any(row["state"] == "broken" for row in rows) else 0)


def _registry_rows() -> list[dict[str, Json]]:
    known = registry()
    python = f"Python {platform.python_version()}, {platform.system()} {platform.machine()}"
    rows: list[dict[str, Json]] = [
        {"what": "machine", "state": "ok", "detail": python},
        {
            "what": "registry",
            "state": "ok",
            "detail": f"{len(known.entries)} domains of {len(known.namespaces)} catalogues",
        },
    ]
    return rows + [{"what": f"plugin {f.plugin}", "state": "broken", "detail": f.cause} for f in known.faults]


def _sandbox_rows() -> list[dict[str, Json]]:
    try:
        record = default_room().record()
    except SandboxError as error:
        return [{"what": "sandbox", "state": "broken", "detail": str(error)}]
    return [
        {"what": f"sandbox: {name}", "state": "broken" if state == "not held" else state, "detail": evidence}
        for name, state, evidence in record.rows()
    ]


def _extra_rows() -> list[dict[str, Json]]:
    rows: list[dict[str, Json]] = []
    for extra, modules in EXTRAS.items():
        missing = [module for module in modules if importlib.util.find_spec(module) is None]
        detail = f"pip install 'polyathlon[{extra}]' brings {', '.join(missing)}" if missing else ", ".join(modules)
        rows.append({"what": f"extra {extra}", "state": "absent" if missing else "ok", "detail": detail})
    return rows
