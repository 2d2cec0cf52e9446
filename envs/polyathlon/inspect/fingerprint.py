"""One hash for all of a task, and the same hashes from a fresh process: does one key give one task everywhere?"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence

from polyathlon.canonical import content_hash
from polyathlon.domain import Task
from polyathlon.drawing import TaskKey, draw_task
from polyathlon.inspect.lifeline import end_with_parent
from polyathlon.registration import load_domain

PROCESS_LIMIT_S = 900.0


def fingerprint(task: Task) -> str:
    """Return a hash over all of a task: prompt, public, hidden, content hash."""
    return content_hash([task.id, task.prompt, dict(task.public), dict(task.hidden), task.content_hash])


def fingerprints(domain_id: str, pairs: Sequence[tuple[int, int]]) -> list[str]:
    """Return the fingerprint of each (level, seed), in order. What the fresh process runs."""
    source = load_domain(domain_id).tasks
    return [fingerprint(draw_task(source, TaskKey(domain_id, level, seed))) for level, seed in pairs]


def fingerprints_in_fresh_process(domain_id: str, pairs: Sequence[tuple[int, int]]) -> list[str]:
    """Return the same from a process under another hash seed and time zone; its last words, if it failed."""
    code = "from polyathlon.inspect.fingerprint import answer; answer()"
    env = {**os.environ, "PYTHONHASHSEED": "4242", "TZ": "Asia/Kathmandu", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=json.dumps([domain_id, list(pairs), os.getpid()]),
        capture_output=True,
        text=True,
        env=env,
        timeout=PROCESS_LIMIT_S,
        check=False,
    )
    if done.returncode != 0:
        return [f"the process failed: {done.stderr[-300:]}"] * len(pairs)
    found = json.loads(done.stdout)
    return [str(item) for item in found]


def answer() -> None:
    """Write the fingerprints asked for on standard input to standard output, both as JSON."""
    domain_id, pairs, parent_pid = json.load(sys.stdin)
    end_with_parent(parent_pid)
    print(json.dumps(fingerprints(domain_id, pairs)))
