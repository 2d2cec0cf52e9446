"""The command line: `polyathlon list | show | play | check | new | doctor`, and what other packages add."""

from __future__ import annotations

import importlib.metadata
import sys

import typer
from rich.console import Console

from polyathlon.cli.check import check
from polyathlon.cli.doctor import doctor
from polyathlon.cli.listing import list_domains, show
from polyathlon.cli.new import new
from polyathlon.cli.play import play
from polyathlon.errors import PolyathlonError

GROUP = "polyathlon.commands"

app = typer.Typer(no_args_is_help=True, add_completion=False, help="A registry of RL domains, and its trainer.")
app.command("list")(list_domains)
app.command("show")(show)
app.command("play")(play)
app.command("check")(check)
app.command("new")(new)
app.command("doctor")(doctor)


def main() -> None:
    """Run the command line. Any error becomes one line on stderr and exit 1."""
    for point in sorted(importlib.metadata.entry_points(group=GROUP), key=lambda point: point.name):
        _add(point)
    try:
        app()
    except PolyathlonError as error:
        _fail(str(error))
    except (ValueError, OSError) as error:
        _fail(f"{type(error).__name__}: {error}")


def _add(point: importlib.metadata.EntryPoint) -> None:
    name = point.name
    if len(sys.argv) > 1 and sys.argv[1] not in (name, "--help"):
        return  # importing torch for `polyathlon list` would cost seconds
    try:
        app.command(name)(point.load())
    except ImportError as error:
        missing = str(error)
        app.command(name, help=f"(not available: {error})")(
            lambda: _fail(f"{missing}. Try: pip install 'polyathlon[train]'")
        )


def _fail(message: str) -> None:
    Console(stderr=True, soft_wrap=True).print(message, style="red", markup=False, highlight=False)
    sys.exit(1)
