"""Inspections side by side: one that dies takes nothing with it, and a command that is killed leaves nothing behind."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from polyathlon.inspect.side_by_side import cost_of

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
PATHS = os.pathsep.join([str(HERE), *(str(ROOT / name) for name in ("envs", "domains", "trainer"))])
CHECK = (sys.executable, "-m", "polyathlon", "check")
SANDBOXED = ("polyathlon/coding.fill-in-the-middle-v1", "polyathlon/terminal.one-liner-v1")


def test_a_process_that_dies_is_a_fault_of_its_domain_alone(tmp_path: Path) -> None:
    catalog = tmp_path / "registry.yaml"
    rows = "".join(
        f"  - {{id: test.{name.lower()}-v1, load: 'planted:{name}', kind: question, levels: 1, max_turns: 1}}\n"
        for name in ("DIES", "SOUND")
    )
    catalog.write_text(f"namespace: planted\ndomains:\n{rows}")
    env = {**os.environ, "PYTHONPATH": PATHS, "POLYATHLON_CATALOGS": str(catalog)}
    command = [*CHECK, "--json", "--seeds", "4", "--jobs", "2", "planted/test.dies-v1", "planted/test.sound-v1"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=240)
    dies, sound = json.loads(done.stdout)
    assert dies["broken"] == "the inspecting process ended early, exit code 3"
    assert sound["passed"]
    assert done.returncode == 1
    assert done.stderr == ""  # no progress in a pipe


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_command_that_is_killed_leaves_no_process_behind(how: signal.Signals) -> None:
    env = {**os.environ, "PYTHONPATH": PATHS}
    command = subprocess.Popen(
        [*CHECK, "--jobs", "2", *SANDBOXED],
        env=env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # the suite itself may run where it is ignored
    )
    try:
        started = wait_for(lambda: found if len(found := descendants(command.pid)) >= 5 else None, limit_s=120)
        command.send_signal(how)
        assert command.wait(30) != 0
        wait_for(lambda: not started & set(alive()), limit_s=30)
    finally:
        command.kill()


def test_domains_in_sandboxes_are_begun_first() -> None:
    assert cost_of("polyathlon/coding.bug-repair-v1") > cost_of("polyathlon/cad.mesh-repair-v1")
    assert cost_of("polyathlon/cad.mesh-repair-v1") > cost_of("polyathlon/math.arithmetic-expression-v1")


def wait_for(ask, *, limit_s: float):  # type: ignore[no-untyped-def]  # returns what `ask` does, once it is something
    until = time.monotonic() + limit_s
    while not (found := ask()):
        assert time.monotonic() < until, f"waited {limit_s} s"
        time.sleep(0.1)
    return found


def alive() -> dict[tuple[int, str], int]:
    """Return {(pid, start time): parent's pid} of all processes that have not ended."""
    found = {}
    for path in Path("/proc").glob("[0-9]*"):
        try:
            words = (path / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if words[0] != "Z":
            found[int(path.name), words[19]] = int(words[1])
    return found


def descendants(pid: int) -> set[tuple[int, str]]:
    parents = alive()
    found: set[tuple[int, str]] = set()
    layer = {pid}
    while layer:
        children = {who for who, parent in parents.items() if parent in layer}
        found |= children
        layer = {who[0] for who in children}
    return found


def test_an_inspection_over_its_time_is_ended_and_keeps_what_was_found(tmp_path: Path) -> None:
    catalog = tmp_path / "registry.yaml"
    catalog.write_text(
        "namespace: planted\ndomains:\n"
        "  - {id: test.hangs-v1, load: 'planted:HANGS', kind: question, levels: 1, max_turns: 1}\n"
    )
    code = (
        "from polyathlon.inspect.depth import Depth\n"
        "from polyathlon.inspect.side_by_side import inspect_domains\n"
        "if __name__ == '__main__':\n"
        "    found, = inspect_domains(['planted/test.hangs-v1'], depth=Depth(2), limit_s=15)\n"
        "    print(found.broken); print([result.check for result in found.results][:3], found.grade.word)\n"
    )
    env = {**os.environ, "PYTHONPATH": PATHS, "POLYATHLON_CATALOGS": str(catalog)}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=120)
    assert done.stdout.splitlines() == [
        "exploits: the inspection took more than 15 s, and was ended",
        "['C01', 'C05', 'S01'] quarantine",
    ], done.stderr
