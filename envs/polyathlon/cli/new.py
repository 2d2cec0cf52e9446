"""`polyathlon new`: a module and a registry block to start a domain from; both work as they stand."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from polyathlon.catalog import read_catalog
from polyathlon.errors import RegistryError

_NAME = re.compile(r"^(?P<family>[a-z][a-z0-9-]*)\.(?P<name>[a-z][a-z0-9-]*)$")
TEMPLATE = Path(__file__).with_name("new_domain.py.txt")


def new(
    name: Annotated[str, typer.Argument(help="family.name, such as math.digit-sum")],
    *,
    catalog: Annotated[Path, typer.Option(help="The registry.yaml to add the block to.")] = Path("registry.yaml"),
    package: Annotated[Path, typer.Option(help="The package folder that holds families.")] = Path(
        "domains/polyathlon_domains"
    ),
) -> None:
    """Write one module and one block: a domain of two levels that passes its inspection, to be changed into yours."""
    match = _NAME.match(name)
    if match is None:
        raise ValueError(f"{name!r} is no name for a domain. Write family.name in lower case, such as math.digit-sum.")
    known = read_catalog(catalog, owner=str(catalog))
    domain_id = f"{name}-v1"
    if any(row.id == domain_id for row in known.rows):
        raise RegistryError(f"{catalog}: {domain_id} is there already. Choose another name, or raise its -vN.")
    family, module = match["family"].replace("-", "_"), match["name"].replace("-", "_")
    path = package / family / f"{module}.py"
    if path.exists():
        raise RegistryError(f"{path} is there already. Choose another name.")
    path.parent.mkdir(parents=True, exist_ok=True)
    init = path.parent / "__init__.py"
    if not init.exists():
        init.write_text(f'"""The {family} domains."""\n', encoding="utf-8")
    path.write_text(TEMPLATE.read_text(encoding="utf-8"), encoding="utf-8")
    _insert(catalog, domain_id, _block(domain_id, f"{package.name}.{family}.{module}"))
    full_id = f"{known.namespace}/{domain_id}"
    Console(highlight=False).print(f"{path}\n{catalog}: {domain_id}\nNext: polyathlon check {full_id}")


def _block(domain_id: str, module: str) -> list[str]:
    return [
        f"  - id: {domain_id}",
        f"    load: {module}:DOMAIN",
        "    kind: question",
        "    levels: 2",
        "    max_turns: 1",
    ]


def _insert(catalog: Path, domain_id: str, block: list[str]) -> None:
    """Add `block` where its id belongs in the sorted file; every other line stays as it is."""
    lines = catalog.read_text(encoding="utf-8").rstrip("\n").split("\n")
    starts = [(k, line.split("id:", 1)[1].strip()) for k, line in enumerate(lines) if re.match(r"\s*- id:", line)]
    place = next((k for k, other in starts if other > domain_id), len(lines))
    if lines and lines[-1].strip() == "domains: []":
        lines[-1], place = "domains:", len(lines)
    catalog.write_text("\n".join([*lines[:place], *block, *lines[place:]]) + "\n", encoding="utf-8")
