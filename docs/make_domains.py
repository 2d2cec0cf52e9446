"""Write docs/domains.md: every domain of registry.yaml in one table, and what its module says of itself.

python docs/make_domains.py
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path

from polyathlon.catalog import Row, read_catalog
from polyathlon.errors import RegistryError

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "domains.md"
HEAD = """# Domains

Written by `python docs/make_domains.py` from `registry.yaml` and the first line of each module; do not edit.

{num_domains} domains of {num_families} families. *Turns* is the most messages an episode may have. *Floor* is the most
that a policy which knows nothing earns on average. `polyathlon show ID` prints a task as a policy sees it.
"""
COLUMNS = ("id", "kind", "levels", "turns", "floor", "needs", "what is asked")


def page(rows: Iterable[Row]) -> str:
    """Return the page of `rows`, a section a family.

    Raises:
        ValueError: a module is not there, or has no docstring.

    """
    ordered = sorted(rows, key=lambda row: row.id)
    families = [(name, list(group)) for name, group in groupby(ordered, key=lambda row: row.family)]
    parts = [HEAD.format(num_domains=len(ordered), num_families=len(families))]
    parts += [f"\n## {name}\n\n{_table(group)}" for name, group in families]
    return "".join(parts)


def _table(rows: Iterable[Row]) -> str:
    lines = [" | ".join(COLUMNS), " | ".join("---" for _ in COLUMNS), *(" | ".join(_cells(row)) for row in rows)]
    return "".join(f"| {line} |\n" for line in lines)


def _cells(row: Row) -> tuple[str, ...]:
    path = f"domains/{row.load.partition(':')[0].replace('.', '/')}.py"
    extra = "" if row.install == "polyathlon" else f"`{row.install}`"
    needs = ", ".join(filter(None, (*row.needs, extra))) or "-"
    link = f"[{row.id}](../{path})"
    return link, row.kind, str(row.levels), str(row.max_turns), f"{row.floor:g}", needs, _sentence(ROOT / path, row)


def _sentence(path: Path, row: Row) -> str:
    if not path.is_file():
        raise ValueError(f"{row.id}: there is no {path.relative_to(ROOT)}. Mend `load` in registry.yaml.")
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    if not docstring:
        raise ValueError(f"{path.relative_to(ROOT)} has no docstring. Say in its first line what is asked.")
    return docstring.splitlines()[0].replace("|", "\\|")


def main() -> int:
    """Write the page; return the exit status."""
    try:
        text = page(read_catalog(ROOT / "registry.yaml", owner="polyathlon").rows)
    except (ValueError, RegistryError) as error:
        print(error, file=sys.stderr)
        return 1
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
