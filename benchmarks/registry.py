"""What the registry costs: import over gymnasium's own, `make`, and 2,000 synthetic rows. Prints one table.

python benchmarks/registry.py
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
REPEATS = 15
ROW = """  - id: family{k:04d}.name-v1
    load: polyathlon_domains.math.arithmetic_expression:DOMAIN
    kind: question
    levels: 5
    max_turns: 1
    floor: 0.0
    weight: 1.0
"""
IMPORT = (
    "import time; import gymnasium; t = time.perf_counter(); import polyathlon; print(1000 * (time.perf_counter() - t))"
)
GYMNASIUM = "import time; t = time.perf_counter(); import gymnasium; print(1000 * (time.perf_counter() - t))"
LOADED = "import sys, polyathlon; print(sum(name.startswith('polyathlon_domains.') for name in sys.modules))"
MAKE = """
import time, gymnasium, polyathlon
name = "polyathlon/math.arithmetic-expression-v1"
gymnasium.make(name).reset(seed=0)
t = time.perf_counter()
for k in range(300): gymnasium.make(name)
print(1000 * (time.perf_counter() - t) / 300)
"""
RESET = MAKE.replace("gymnasium.make(name)\n", "env.reset(seed=k)\n").replace(
    "t = time", "env = gymnasium.make(name)\nt = time"
)
REGISTER = """
import time, gymnasium
t = time.perf_counter()
for k in range(2000): gymnasium.register(f"bench/family{k:04d}.name-v1", entry_point="a:b")
print(1000 * (time.perf_counter() - t))
"""


def run(code: str, catalog: str = "") -> float:
    path = os.pathsep.join(str(ROOT / name) for name in ("envs", "domains", "trainer"))
    env = {**os.environ, "PYTHONPATH": path, "POLYATHLON_CATALOGS": catalog}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], env=env, capture_output=True, text=True, check=True
    )
    return float(done.stdout)


def median(code: str, catalog: str = "", *, repeats: int = REPEATS) -> float:
    return statistics.median(run(code, catalog) for _ in range(repeats))


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        catalogs = {}
        for rows in (500, 2000):
            path = Path(folder) / f"{rows}.yaml"
            path.write_text("namespace: bench\ndomains:\n" + "".join(ROW.format(k=k) for k in range(rows)))
            catalogs[rows] = str(path)
        base = median(GYMNASIUM)
        table = [
            ("import gymnasium", base, ""),
            ("import polyathlon after it, 20 rows", median(IMPORT), ""),
            ("import polyathlon after it, 520 rows", median(IMPORT, catalogs[500]), "goal: at most 120 ms"),
            ("import polyathlon after it, 2,020 rows", median(IMPORT, catalogs[2000]), ""),
            ("gymnasium.register of 2,000 ids", median(REGISTER, repeats=3), "what filing directly avoids"),
            ("gymnasium.make of a loaded domain", median(MAKE, repeats=3), ""),
            ("reset of it", median(RESET, repeats=3), ""),
        ]
        print(f"{'what':44} {'ms':>9} {'/ gymnasium':>12}")
        for name, value, note in table:
            print(f"{name:44} {value:9.2f} {value / base:12.3f}  {note}")
        print(f"domain modules loaded by the import with 520 rows: {int(run(LOADED, catalogs[500]))}")


if __name__ == "__main__":
    main()
