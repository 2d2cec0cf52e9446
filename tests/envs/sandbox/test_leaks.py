"""Nothing is left: of a closed sandbox, of a killed owner, of a killed launcher."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from polyathlon.errors import SandboxLost
from polyathlon.sandbox.bubblewrap import BubblewrapRoom
from polyathlon.tree import Tree

from .host import alive, comes_true, descriptors_of, groups_of, mounts, processes_of

pytestmark = pytest.mark.isolation

BUSY = "setsid sleep 1000 & nohup sleep 1000 >/dev/null 2>&1 & echo x >/tmp/x"

OWNER = """
import json, sys, time
from polyathlon.sandbox.bubblewrap import BubblewrapRoom
from polyathlon.tree import Tree
room = BubblewrapRoom()
opened = [room.open(Tree()) for _ in range(3)]
for sandbox in opened:
    sandbox.shell().run("setsid sleep 1000 & nohup sleep 1000 >/dev/null 2>&1 & echo x >/tmp/x")
print(json.dumps([room.launcher().pid, [sandbox.lease.uid for sandbox in opened]]), flush=True)
time.sleep(1000)
"""


def test_a_closed_sandbox_leaves_nothing(room: BubblewrapRoom) -> None:
    launcher = room.launcher()
    room.open(Tree()).close()
    before = descriptors_of(os.getpid()), descriptors_of(launcher.pid), mounts()
    for _ in range(10):
        with room.open(Tree.of({"a": "b"})) as sandbox:
            sandbox.shell().run(BUSY)
            sandbox.run(["true"])
            sandbox.shell().run("sleep 5", timeout_s=0.05)
            sandbox.shell().run(BUSY)
            assert len(processes_of(sandbox.lease.uid)) >= 3
            if launcher.controllers:
                assert groups_of(launcher.pid)
        assert processes_of(sandbox.lease.uid) == []
        assert groups_of(launcher.pid) == []
    assert (descriptors_of(os.getpid()), descriptors_of(launcher.pid), mounts()) == before


def test_a_command_killed_while_it_starts_leaves_nothing(room: BubblewrapRoom) -> None:
    # bwrap may be killed after it has made the sandbox's first process and before it tells who that is
    with room.open(Tree()) as sandbox:
        for step in range(60):
            sandbox.run(["sleep", "1000"], timeout_s=0.0002 * step)
        assert comes_true(lambda: processes_of(sandbox.lease.uid) == [])
    assert groups_of(room.launcher().pid) == []


def test_closing_twice_is_fine_and_a_closed_sandbox_says_so(room: BubblewrapRoom) -> None:
    sandbox = room.open(Tree())
    sandbox.close()
    sandbox.close()
    with pytest.raises(SandboxLost):
        sandbox.run(["true"])


def test_a_closed_room_takes_its_launcher_and_its_sandboxes_along() -> None:
    room = BubblewrapRoom()
    sandbox = room.open(Tree())
    sandbox.shell().run(BUSY)
    launcher = room.launcher()
    room.close()
    assert not alive(launcher.pid)
    assert processes_of(sandbox.lease.uid) == []
    assert groups_of(launcher.pid) == []
    sandbox.close()


@pytest.mark.parametrize("victim", ["owner", "launcher"])
def test_a_kill_leaves_nothing_behind(victim: str) -> None:
    process = subprocess.Popen([sys.executable, "-c", OWNER], stdout=subprocess.PIPE, env=_environment(), text=True)
    assert process.stdout is not None
    launcher_pid, uids = json.loads(process.stdout.readline())
    assert all(len(processes_of(uid)) >= 3 for uid in uids)
    os.kill(process.pid if victim == "owner" else launcher_pid, signal.SIGKILL)
    assert comes_true(lambda: not alive(launcher_pid) and not any(map(processes_of, uids)))
    if victim == "launcher":
        BubblewrapRoom().open(Tree()).close()  # the next launcher sweeps what the dead one could not
    assert comes_true(lambda: groups_of(launcher_pid) == [])
    process.kill()
    process.wait()
    process.stdout.close()


def test_a_forked_copy_of_a_dead_owner_keeps_nothing_alive() -> None:
    fork = OWNER.replace("print(", "import os\nchild = os.fork()\nif child == 0: time.sleep(30); os._exit(0)\nprint(")
    process = subprocess.Popen([sys.executable, "-c", fork], stdout=subprocess.PIPE, env=_environment(), text=True)
    assert process.stdout is not None
    launcher_pid, uids = json.loads(process.stdout.readline())
    os.kill(process.pid, signal.SIGKILL)
    assert comes_true(lambda: not alive(launcher_pid) and not any(map(processes_of, uids)))
    process.wait()
    process.stdout.close()


def test_a_dead_launcher_is_a_lost_sandbox_and_not_a_hang() -> None:
    room = BubblewrapRoom()
    sandbox = room.open(Tree())
    shell = sandbox.shell()
    shell.run("true")
    os.kill(room.launcher().pid, signal.SIGKILL)
    assert comes_true(lambda: processes_of(sandbox.lease.uid) == [])
    started_s = time.monotonic()
    for ask in (lambda: shell.run("true"), lambda: sandbox.run(["true"]), sandbox.get, lambda: room.open(Tree())):
        with pytest.raises(SandboxLost):
            ask()
    sandbox.close()
    room.close()
    assert time.monotonic() - started_s < 10


def test_a_launcher_that_dies_during_a_command_is_a_lost_sandbox() -> None:
    room = BubblewrapRoom()
    with room.open(Tree()) as sandbox:
        killer = threading.Timer(0.3, os.kill, (room.launcher().pid, signal.SIGKILL))
        killer.start()
        with pytest.raises(SandboxLost):
            sandbox.run(["sleep", "20"])
        killer.join()
    room.close()


def test_threads_share_a_room(room: BubblewrapRoom) -> None:
    seen: list[bytes] = []

    def work(number: int) -> None:
        with room.open(Tree.of({"n": str(number)})) as sandbox:
            for _ in range(3):
                seen.append(sandbox.run(["cat", "n"]).stdout + sandbox.shell().run("cat n").stdout)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(seen) == sorted(b"%d%d" % (n, n) for n in range(6) for _ in range(3))


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
