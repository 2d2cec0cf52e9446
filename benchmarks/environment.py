"""Episodes a second on a question domain, against the same task in gem-llm and skyrl-gym. Prints one table.

    python benchmarks/environment.py [--level 0..3] [--rounds N]

"The same task" is: the same questions and answers (math.arithmetic-expression, integers only, because skyrl-gym's gsm8k
grader reads nothing else), each library's own environment class and own grader in its default configuration, one
message an episode, one environment at a time in one process. Each library wants the answer in a form of its own, and
gets it: "42", "\\boxed{42}", "#### 42", "Answer: 42". What differs is the work inside an episode:

  polyathlon   makes its task from the seed (draw, split by content hash, render), judges it, and gives a full verdict
  gem          MathEnv on a `datasets.Dataset` of our rows, grading in its process pool (its default) or without one
  skyrl-gym    gsm8k and aime through `skyrl_gym.make`: an environment an episode, as its trainer does; rows from a list
  + generator  the peer again, fed by our draw and render inside the episode instead of by a row: generating counts, too

Every contestant has a process of its own with nothing else imported, they take turns, and a ratio is taken within a
round: the figures are medians over rounds. Peers and libraries go into `.bench/venv`, made at the first run (400 MB).
"""

from __future__ import annotations

import argparse
import contextlib
import os
import statistics
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
VENV = ROOT / ".bench" / "venv"
PEERS = (
    "gem-llm==0.1.0",
    "skyrl-gym==0.4.0",
    "datasets",
    "pylatexenc",
)  # the last two gem imports and does not declare
DOMAIN = "polyathlon/math.arithmetic-expression-v1"
NUM_ROWS = 2_000
ROUNDS = 9
TURN_S = 0.25
WARM_UP = 40
GOAL = 5.0

Episode = Callable[[int, int], float]
"""Plays row k, answering the right value plus `off`; gives back the reward."""


class Row(NamedTuple):
    prompt: str
    value: int


def make_rows(level: int) -> list[Row]:
    from polyathlon import load_domain
    from polyathlon.drawing import TaskKey, draw_task

    source = load_domain(DOMAIN).tasks
    tasks = (draw_task(source, TaskKey(DOMAIN, level, seed)) for seed in range(NUM_ROWS))
    return [Row(task.prompt, int(str(task.hidden["value"]))) for task in tasks]


def generator(level: int) -> Callable[[], Row]:
    """Return our generator as a peer would call it: one stream, no seed a task, no split, no hash."""
    import numpy as np

    from polyathlon import load_domain

    source, rng = load_domain(DOMAIN).tasks, np.random.default_rng(0)

    def generate() -> Row:
        brief = source.render(source.draw(rng, level), rng)
        return Row(brief.prompt, int(str(brief.hidden["value"])))

    return generate


def polyathlon_episode(level: int, _fed: str) -> Episode:
    import gymnasium as gym

    import polyathlon  # noqa: F401  # files the ids

    rows = make_rows(level)
    env = gym.make(DOMAIN, level=level)

    def episode(k: int, off: int) -> float:
        env.reset(seed=k)
        return float(env.step(str(rows[k].value + off))[1])

    return episode


def gem_episode(level: int, fed: str) -> Episode:
    import datasets
    from gem.envs.math_env import MathEnv

    rows = datasets.Dataset.from_list([{"problem": row.prompt, "answer": str(row.value)} for row in make_rows(level)])
    env = MathEnv(dataset=rows) if fed != "no pool" else MathEnv(dataset=rows, use_mp=False)
    generate = generator(level)

    def read(_k: int, off: int) -> float:
        env.reset()
        return float(env.step(f"\\boxed{{{int(env.answer) + off}}}")[1])

    def generated(_k: int, off: int) -> float:
        prompt, value = generate()
        env.set_state({"first_obs": prompt, "answer": str(value)})
        return float(env.step(f"\\boxed{{{value + off}}}")[1])

    return generated if fed == "generator" else read


def skyrl_episode(name: str, key: str, mark: str, level: int, fed: str) -> Episode:
    import skyrl_gym

    rows, generate = make_rows(level), generator(level)

    def play(row: Row, off: int) -> float:
        env = skyrl_gym.make(name, extras={key: {"method": "rule", "ground_truth": str(row.value)}})
        env.init([{"role": "user", "content": row.prompt}])
        reward = env.step(f"{mark} {row.value + off}")["reward"]
        env.close()
        return float(reward)

    return (lambda _k, off: play(generate(), off)) if fed == "generator" else (lambda k, off: play(rows[k], off))


CONTESTANTS: dict[str, Callable[[int, str], Episode]] = {
    "polyathlon": polyathlon_episode,
    "gem MathEnv": gem_episode,
    "skyrl-gym gsm8k": lambda level, fed: skyrl_episode("gsm8k", "reward_spec", "####", level, fed),
    "skyrl-gym aime": lambda level, fed: skyrl_episode("aime", "reward_model", "Answer:", level, fed),
}
ENTRIES = (
    ("polyathlon", "seed"),
    ("gem MathEnv", "rows"),
    ("gem MathEnv", "no pool"),
    ("gem MathEnv", "generator"),
    ("skyrl-gym gsm8k", "rows"),
    ("skyrl-gym gsm8k", "generator"),
    ("skyrl-gym aime", "rows"),
    ("skyrl-gym aime", "generator"),
)
FED = {
    "seed": "task made from its seed",
    "rows": "row read",
    "no pool": "row read, use_mp=False",
    "generator": "+ generator",
}


def serve(name: str, fed: str, level: int) -> None:
    """Play turns as standard input asks: a line holds `off`, the answer is how many episodes a second."""
    episode = CONTESTANTS[name](level, fed)
    for off in (0, 1):
        for k in range(WARM_UP):
            reward = episode(k, off)
            assert (reward == 1.0) == (off == 0), f"{name} pays {reward} for an answer that is off by {off}."
    print("ready", flush=True)
    k = 0
    for line in sys.stdin:
        off, played, begin = int(line), 0, time.perf_counter()
        while (elapsed := time.perf_counter() - begin) < TURN_S:
            episode(k % NUM_ROWS, off)
            k, played = k + 1, played + 1
        print(played / elapsed, flush=True)


class Contestant:
    """A process that plays one entry's turns."""

    def __init__(self, python: Path, entry: tuple[str, str], level: int) -> None:
        path = os.pathsep.join(str(ROOT / name) for name in ("envs", "domains"))
        env = {
            **os.environ,
            "PYTHONPATH": path,
            "PYTHONHASHSEED": "0",
            "HF_HUB_OFFLINE": "1",
            "PYTHONWARNINGS": "ignore",
        }
        command = [str(python), __file__, "--serve", *entry, "--level", str(level)]
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        self._process = subprocess.Popen(command, env=env, text=True, **pipes)
        if self._process.stdout.readline().strip() != "ready":
            self._process.kill()
            raise SystemExit(f"{' '.join(entry)} did not start:\n{self._process.communicate()[1][-2000:]}")

    def turn(self, off: int) -> float:
        """Return episodes a second over one turn."""
        self._process.stdin.write(f"{off}\n")
        self._process.stdin.flush()
        return float(self._process.stdout.readline())

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()


@contextlib.contextmanager
def contestants(python: Path, level: int) -> Iterator[list[Contestant]]:
    every: list[Contestant] = []
    try:
        for entry in ENTRIES:
            every.append(Contestant(python, entry, level))
        yield every
    finally:
        for one in every:
            one.close()


def make_venv() -> Path:
    """Return the interpreter of the benchmark's venv, made first where it is not there or asks for other packages."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*PEERS, *(one for one in project["dependencies"] if not one.startswith("bubblewrap"))]
    python, stamp = VENV / "bin" / "python", VENV / "installed.txt"
    if stamp.exists() and stamp.read_text().splitlines() == wanted:
        return python
    print(f"Making {VENV.relative_to(ROOT)} with {', '.join(PEERS)} (minutes) ...", file=sys.stderr)
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(VENV)], check=True)
    # gem-llm pins msgspec 0.19, which ours allows
    done = subprocess.run([str(python), "-m", "pip", "install", "-q", *wanted], check=False)
    if done.returncode != 0:
        raise SystemExit("pip could not install the peers (above). The benchmark needs a package index and 400 MB.")
    stamp.write_text("\n".join(wanted) + "\n")
    return python


def measure(level: int, rounds: int) -> dict[int, list[list[float]]]:
    """Return {off: a list a round of episodes a second by entry}."""
    speeds: dict[int, list[list[float]]] = {0: [], 1: []}
    with contestants(make_venv(), level) as every:
        for _ in range(rounds):
            for off, table in speeds.items():
                table.append([one.turn(off) for one in every])
    return speeds


def show(speeds: dict[int, list[list[float]]], level: int) -> None:
    print(f"{DOMAIN}, level {level}: episodes/s, and polyathlon's over it; medians of {len(speeds[0])} rounds\n")
    print(f"{'':44} {'right answers':>20} {'wrong answers':>20}")
    for k, (name, fed) in enumerate(ENTRIES):
        cells = [_cell(speeds[off], k) for off in (0, 1)]
        print(f"{f'{name}, {FED[fed]}':44} " + " ".join(cells))
    print(f"\nGoal: at least {GOAL:.0f}x both peers.")
    for peer in ("gem", "skyrl-gym"):
        places = [k for k, (name, _) in enumerate(ENTRIES) if name.startswith(peer)]
        ratios = [_ratio(speeds[off], k) for k in places for off in (0, 1)]
        met = sum(ratio >= GOAL for ratio in ratios)
        print(f"  {peer}: met in {met} of {len(ratios)} cells, {min(ratios):.2f}x to {max(ratios):.2f}x")


def _ratio(table: Sequence[Sequence[float]], k: int) -> float:
    return statistics.median(speeds[0] / speeds[k] for speeds in table)


def _cell(table: Sequence[Sequence[float]], k: int) -> str:
    return f"{statistics.median(speeds[k] for speeds in table):11,.0f} {_ratio(table, k):7.2f}x"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--level", type=int, default=1, choices=range(4), help="0 is the easiest; 4 holds fractions")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--serve", nargs=2, metavar=("NAME", "FED"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(*options.serve, options.level)
    else:
        show(measure(options.level, options.rounds), options.level)


if __name__ == "__main__":
    main()
