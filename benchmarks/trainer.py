"""How a run used its time: share that the learner waited, tokens and groups a second, judge seconds a domain.

python benchmarks/trainer.py RUN_FOLDER     reads a run that is there
python benchmarks/trainer.py                first makes a short one: the tiny model, 10 RL steps
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from polyathlon_trainer.observe.headline import short_name
from polyathlon_trainer.observe.lines import RecordError
from polyathlon_trainer.observe.reading import AFTER, RunLog, read_run
from polyathlon_trainer.observe.records import StepRecord
from polyathlon_trainer.observe.render import Sheet, show_sheet
from polyathlon_trainer.observe.shares import Share, shares

SHORT_RUN = ("sft.steps=2", "rl.steps=10", "eval.prompts=4", "eval.guard_every_steps=0")
LIMIT_S = 600


def time_sheet(log: RunLog) -> Sheet:
    """Return one table of RL: a row a domain, and the whole run in the last.

    Rates are over the wall time of the steps, which is waiting and learning. Judge seconds are summed over workers, so
    that they may exceed wall time.
    """
    steps = log.of_stage(AFTER)
    wall_s = sum(step.wait_s + step.learn_s for step in steps)
    rows = [(short_name(key), *_row(share, wall_s=wall_s)) for key, share in shares(steps).items()]
    columns = ("domain", "groups", "groups/s", "tokens/s", "engine s", "judge s", "judge ms/group")
    return Sheet(
        f"RL, {len(steps)} steps, {wall_s:.1f} s: {_waiting(steps)}", columns, tuple(rows), _total(log, wall_s)
    )


def _waiting(steps: Sequence[StepRecord]) -> str:
    wall_s = sum(step.wait_s + step.learn_s for step in steps)
    waited_s = sum(step.wait_s for step in steps)
    return f"the learner waited {100 * waited_s / wall_s:.1f}% of the time" if wall_s else "no time was measured"


def _row(share: Share, *, wall_s: float) -> tuple[str, ...]:
    groups = share.num_judged
    return (
        str(groups),
        _rate(groups, wall_s),
        _rate(share.num_tokens, wall_s),
        f"{share.engine_s:.1f}",
        f"{share.judge_s:.2f}",
        f"{1000 * share.judge_s / groups:.1f}" if groups else "-",
    )


def _total(log: RunLog, wall_s: float) -> tuple[str, ...]:
    every = shares(log.of_stage(AFTER)).values()
    groups, tokens = sum(share.num_judged for share in every), sum(share.num_tokens for share in every)
    judge_s = sum(share.judge_s for share in every)
    return (
        "all",
        str(groups),
        _rate(groups, wall_s),
        _rate(tokens, wall_s),
        f"{sum(share.engine_s for share in every):.1f}",
        f"{judge_s:.2f}",
        f"{1000 * judge_s / groups:.1f}" if groups else "-",
    )


def _rate(count: int, wall_s: float) -> str:
    return f"{count / wall_s:.1f}" if wall_s else "-"


def short_run(folder: Path) -> None:
    """Make a short run in `folder`."""
    settings = [word for setting in (*SHORT_RUN, f"out={folder}") for word in ("--set", setting)]
    subprocess.run([sys.executable, "-m", "polyathlon", "train", *settings], check=True, timeout=LIMIT_S)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", help="what `polyathlon train` wrote; without it a run is made")
    folder: Path | None = parser.parse_args().folder
    try:
        if folder is not None:
            show_sheet(time_sheet(read_run(folder)), Console())
            return 0
        with tempfile.TemporaryDirectory() as made:
            short_run(Path(made) / "run")
            show_sheet(time_sheet(read_run(Path(made) / "run")), Console())
    except (RecordError, subprocess.SubprocessError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
