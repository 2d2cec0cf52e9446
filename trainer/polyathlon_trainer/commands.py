"""`polyathlon train` and `polyathlon report`: what the trainer adds to the command line."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from polyathlon_trainer.config.load import ConfigError, load_config
from polyathlon_trainer.stages import within_budget


def train(
    settings: Annotated[Path | None, typer.Argument(metavar="[RUN.YAML]", help="Settings; none are needed.")] = None,
    override: Annotated[list[str] | None, typer.Option("--set", metavar="A.B=C", help="Override a setting.")] = None,
    resume: Annotated[Path | None, typer.Option(metavar="FOLDER", help="Go on with the run in this folder.")] = None,
) -> None:
    """Train one policy on every domain of the registry, or on those that RUN.YAML chooses."""
    from polyathlon_trainer import run  # the report needs none of it

    console = Console()
    if resume is not None:
        if settings is not None or override:
            raise ConfigError("--resume goes on with the run's own settings: leave out RUN.YAML and --set.")
        ending = run.resume(resume, console=console)
    else:
        config = within_budget(load_config(settings, override or ()))
        folder = Path(config.out) if config.out else Path("runs") / time.strftime("%Y%m%d-%H%M%S")
        ending = run.begin(config, folder, console=console)
    if ending.message:
        console.print(ending.message, soft_wrap=True)
    if ending.outcome == "interrupted":
        raise typer.Exit(130)
    _show(ending.folder, console)
    if ending.outcome == "stopped":
        raise typer.Exit(1)


def report(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder of a run.")],
    json: Annotated[bool, typer.Option("--json", help="Print a list, one object a domain.")] = False,  # noqa: FBT002
) -> None:
    """Write report.html of a run, and print its table."""
    console = Console()
    if json:
        from polyathlon_trainer.observe.reading import read_run  # plots are not needed
        from polyathlon_trainer.observe.tables import final_table, rows_as_json

        console.print_json(data=rows_as_json(final_table(read_run(folder))))
        return
    _show(folder, console)


def _show(folder: Path, console: Console) -> None:
    """Print the final table of the run in `folder`, write its report, and say where that is."""
    from polyathlon_trainer.observe.reading import read_run  # only when there is something to show
    from polyathlon_trainer.observe.render import show
    from polyathlon_trainer.observe.report import write_report
    from polyathlon_trainer.observe.tables import final_table

    log = read_run(folder)
    show(log, final_table(log), console)
    console.print(f"\nReport: {write_report(folder)}", soft_wrap=True)
