"""R02: what many episodes leave behind in a process of their own: memory, descriptors, processes, files."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import tempfile
import time
from collections.abc import Generator
from pathlib import Path

from polyathlon.canonical import Json, expect_int, expect_map, expect_text
from polyathlon.domain import Observation, Script, Task
from polyathlon.drawing import TaskKey, draw_task
from polyathlon.env import DomainEnv
from polyathlon.inspect.finding import WHOLE, CheckResult, Finding, measured
from polyathlon.inspect.play import Stage
from polyathlon.inspect.protocol import RULES
from polyathlon.inspect.repeats.elsewhere import Place, run_elsewhere
from polyathlon.inspect.walk import to_the_end, walk
from polyathlon.registration import load_domain, registry
from polyathlon.sandbox.choose import default_room

WORK = "polyathlon.inspect.cost.residue:residue_there"
NUM_EPISODES, NUM_SANDBOX_EPISODES = 1_000, 30
WARM_UP = 0.25
"""The share of episodes before the first look: caches fill, modules load, pools open."""
CPU_LIMIT_S = 30.0
SETTLE_S = 1.0


def check_residue(stage: Stage) -> CheckResult:
    """R02: growth of memory over 1,000 episodes (30 in a sandbox) after warming up, and 1 for each thing left."""
    subject = stage.subject
    wanted = NUM_SANDBOX_EPISODES if subject.costly else NUM_EPISODES
    wanted = max(8, min(wanted, wanted * subject.num_seeds // 16))  # a smoke test looks at fewer
    word = run_elsewhere(WORK, {"domain": subject.entry.id, "episodes": wanted}, Place("in a process of its own"))
    if word.trouble:
        fault = Finding(0, 0, f"the episodes of one process did not come to their end: {word.trouble}")
        return CheckResult("R02", (measured(RULES["R02"], WHOLE, float("nan"), 1),), (fault,))
    found = {name: expect_int(value) for name, value in expect_map(word.answer).items()}
    growth = max(0.0, found["memory_after"] / found["memory_before"] - 1.0)
    left = {
        "open descriptors": found["descriptors_after"] - found["descriptors_before"],
        "child processes": found["children_after"] - found["children_before"],
        "temporary files": found["files_after"] - found["files_before"],
        "threads": found["threads_after"] - found["threads_before"],
    }
    texts = [f"{count} {name}" for name, count in left.items() if count > 0]
    if growth > RULES["R02"].gold:
        texts.append(f"{growth:.0%} more memory")
    what = f"{found['episodes']} episodes left behind {', '.join(texts)}. Close what is opened; bound every cache."
    value = growth + sum(count for count in left.values() if count > 0)
    faults = (Finding(0, 0, what),) if texts else ()
    numbers = {"growth": growth, "memory_mb": found["memory_after"] / 2**20, "episodes": found["episodes"]}
    return CheckResult("R02", (measured(RULES["R02"], WHOLE, value, found["episodes"]),), faults, numbers)


def residue_there(request: Json) -> dict[str, int]:
    """Play {"domain", "episodes"} and return what was there before and after: what the fresh process runs.

    Memory in bytes, after the collector ran and the allocator gave back what it could. Sandboxes that stand ready are
    closed first: how many there are depends on how fast episodes come.
    """
    asked = expect_map(request)
    domain_id, wanted = expect_text(asked["domain"]), expect_int(asked["episodes"])
    folder = tempfile.mkdtemp(prefix="polyathlon-residue-")
    tempfile.tempdir = os.environ["TMPDIR"] = folder
    began_s = time.process_time()
    before: dict[str, int] = {}
    num_episodes = 0
    with contextlib.closing(_episodes(domain_id, wanted)) as episodes:
        for num_episodes, _ in enumerate(episodes, start=1):
            if num_episodes == max(1, int(WARM_UP * wanted)):
                before = _look(folder)
            if before and time.process_time() - began_s > CPU_LIMIT_S:
                break
    after = _settled(before, folder)
    found = {f"{name}_before": value for name, value in before.items()}
    return {**found, **{f"{name}_after": value for name, value in after.items()}, "episodes": num_episodes}


def _episodes(domain_id: str, wanted: int) -> Generator[None, None, None]:
    """Play so many episodes, each on a task of its own, of all levels in turn: the reference's, and wrong ones."""
    entry, domain = registry().entry(domain_id), load_domain(domain_id)
    env = DomainEnv(entry.id, lost="truncate")
    try:
        for number in range(wanted):
            key = TaskKey(entry.id, number % entry.row.levels, number // entry.row.levels)
            task = draw_task(domain.tasks, key)
            ways = [attempt.actions for attempt in (*domain.alternatives(task)[:1], *domain.distractors(task)[:2])]
            if number % 3 == 0 or not ways:
                _solve(env, domain.solve(task), entry.row.max_turns, task)
            else:
                walk(env, task, to_the_end(ways[number % len(ways)], entry.row.max_turns))
            yield
    finally:
        env.close()


def _solve(env: DomainEnv, script: Script, max_turns: int, task: Task) -> None:
    """Play the reference, as far as it goes."""
    env.begin(task)
    observation = Observation(task.prompt)
    for turn in range(max_turns):
        try:
            action = script.send(observation) if turn else next(script)
        except StopIteration:
            action = ""
        text, _, terminated, truncated, info = env.step(action)
        observation = Observation(text, error=bool(info["error"]))
        if terminated or truncated:
            break
    script.close()
    env.close()


def _settled(before: dict[str, int], folder: str) -> dict[str, int]:
    """Return what is there now, after a moment for what is about to end."""
    until_s = time.monotonic() + SETTLE_S
    found = _look(folder)
    while time.monotonic() < until_s and any(
        found[name] > before.get(name, 0) for name in ("children", "threads", "descriptors")
    ):
        time.sleep(0.05)
        found = _look(folder)
    return found


def _look(folder: str) -> dict[str, int]:
    default_room().rest()
    gc.collect()
    _give_back()
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    children = sum(len(path.read_text(encoding="ascii").split()) for path in Path("/proc/self/task").glob("*/children"))
    return {
        "memory": pages * os.sysconf("SC_PAGE_SIZE"),
        "descriptors": len(os.listdir("/proc/self/fd")),
        "children": children,
        "threads": len(os.listdir("/proc/self/task")),
        "files": sum(len(names) for _, _, names in os.walk(folder)),
    }


def _give_back() -> None:
    """Have the C library give free memory back to the system, so that what is counted is what is held."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
