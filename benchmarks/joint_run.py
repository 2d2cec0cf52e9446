"""What joint runs show, seed by seed. Prints one table, and which domains rose or fell in every run.

python benchmarks/joint_run.py runs/seed0 runs/seed1 runs/seed2      # finished runs
python benchmarks/joint_run.py --run 0 1 2 [--controls]              # runs them first, into runs/joint-seedN
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections import Counter
from pathlib import Path

from polyathlon_trainer.observe.headline import gain_text
from polyathlon_trainer.observe.reading import read_run
from polyathlon_trainer.observe.tables import FinalTable, Pooled, final_table


def train(seed: int, *, controls: bool) -> Path:
    """Run the main job once and return its folder."""
    out = Path("runs") / f"joint-seed{seed}"
    settings = [f"seed={seed}", f"out={out}", *(["controls=true"] if controls else [])]
    flags = [word for setting in settings for word in ("--set", setting)]
    subprocess.run([sys.executable, "-m", "polyathlon", "train", *flags], check=True)
    return out


def rows(name: str, table: FinalTable) -> list[tuple[str, ...]]:
    """Return the lines of one run: RL at each temperature, then the controls at T=1, then RL over each control."""
    found: list[tuple[str, Pooled]] = [(f"RL, {temperature}", pooled) for temperature, pooled in table.rl.items()]
    found += [(f"control {stage}, t1", pooled) for stage, pooled in table.controls.items()]
    lines = [
        (
            name,
            what,
            str(pooled.num_domains),
            "-" if pooled.before is None else f"{pooled.before:.3f}",
            "-" if pooled.after is None else f"{pooled.after:.3f}",
            gain_text(pooled.gain),
            f"{pooled.num_rose} rose, {pooled.num_fell} fell",
        )
        for what, pooled in found
    ]
    over = [
        (name, f"RL over {stage}, t1", "", "", "", gain_text(gain), "") for stage, gain in table.over_controls.items()
    ]
    return lines + over


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--run", nargs="*", type=int, default=[], metavar="SEED")
    parser.add_argument("--controls", action="store_true")
    asked = parser.parse_args()
    folders = [*asked.folders, *(train(seed, controls=asked.controls) for seed in asked.run)]
    if not folders:
        parser.error("name run folders, or --run with seeds")
    head = ("run", "what", "domains", "before", "after", "gain [95%]", "domains that moved (FDR 5%)")
    tables = {folder.name: final_table(read_run(folder)) for folder in folders}
    lines = [head, *(line for name, table in tables.items() for line in rows(name, table))]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    for line in lines:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())
    changes = Counter(
        (row.domain_id, row.rl["t1"].change) for table in tables.values() for row in table.rows if "t1" in row.rl
    )
    for (domain_id, change), count in sorted(changes.items()):
        if change in ("rose", "fell"):
            print(f"{domain_id}: {change} in {count} of {len(tables)} runs")


if __name__ == "__main__":
    main()
