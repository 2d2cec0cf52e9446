"""The catalogue of the generators: a registry.yaml that is in force where POLYATHLON_CATALOGS names it."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Mapping
from pathlib import Path

from polyathlon.catalog import did_you_mean
from polyathlon.errors import UnknownDomain
from polyathlon_domains.bridges.reasoning_gym import INSTALL, NAMESPACE, VERSION
from polyathlon_domains.bridges.reasoning_gym.theirs import Generator

VERSION_OF_IDS = 1
"""Raised with VERSION, and with anything in this bridge that can change a reward."""
_HEAD = f"""# Written by `polyathlon import {NAMESPACE}` for release {VERSION}. Write it again instead of editing it.
# POLYATHLON_CATALOGS=THIS_FILE polyathlon list
namespace: {NAMESPACE}
domains:
"""


def row_id(generator: Generator) -> str:
    """Return the id of a generator's row: "<family>.<name>-vN"."""
    return f"{generator.family}.{generator.name.replace('_', '-')}-v{VERSION_OF_IDS}"


def full_id(generator: Generator) -> str:
    """Return the id that `gym.make` takes."""
    return f"{NAMESPACE}/{row_id(generator)}"


def chosen(generators: Mapping[str, Generator], patterns: str) -> list[Generator]:
    """Return the generators whose name or id holds one of `patterns` (with commas between), all for an empty text.

    A pattern with a wildcard must fit the whole name.

    Raises:
        UnknownDomain: no generator is like one of them; the message suggests the nearest.

    """
    found: dict[str, Generator] = {}
    for pattern in patterns.split(","):
        here = {name: generator for name, generator in generators.items() if _is_like(generator, pattern.strip())}
        if not here:
            near = did_you_mean(pattern.strip().replace("-", "_"), list(generators))
            raise UnknownDomain(
                f"reasoning-gym {VERSION} has no generator like {pattern!r} among {len(generators)}.{near}"
            )
        found |= here
    return sorted(found.values(), key=row_id)


def _is_like(generator: Generator, pattern: str) -> bool:
    wanted = pattern.replace("-", "_")
    if set(wanted) & set("*?["):
        return fnmatch.fnmatchcase(generator.name, wanted)
    return generator.name.find(wanted) >= 0 or full_id(generator).find(pattern) >= 0


def write_catalogue(path: Path, rows: Iterable[tuple[Generator, float]]) -> None:
    """Write the rows, each a generator and the floor to declare, sorted by id."""
    blocks = [_block(generator, floor) for generator, floor in sorted(rows, key=lambda row: row_id(row[0]))]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(_HEAD + "".join(blocks), encoding="utf-8")


def _block(generator: Generator, floor: float) -> str:
    return (
        f"  - id: {row_id(generator)}\n"
        f"    load: polyathlon_domains.bridges.reasoning_gym.load:{generator.name}\n"
        f"    kind: question\n"
        f"    install: {INSTALL}\n"
        f"    levels: {generator.levels}\n"
        f"    max_turns: 1\n"
        f"    floor: {floor:g}\n"
        f"    weight: 1.0\n"
    )
