"""Attacks from one fork on another, kills at any moment, and nothing is left."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest

from polyathlon.errors import SandboxLost
from polyathlon.sandbox.bubblewrap import BubblewrapRoom
from polyathlon.sandbox.client import LauncherProcess
from polyathlon.sandbox.protocol import Limits
from polyathlon.tree import Tree

from .host import alive, comes_true, descriptors_of, groups_of, mounts, processes_of, sh

ROOT = os.geteuid() == 0
MIB = 2**20


@pytest.mark.isolation
def test_no_fork_reaches_its_sibling(room: BubblewrapRoom) -> None:
    """Both have one host user. The control: two processes of one sandbox's command do signal each other."""
    with room.open(Tree.of({"shared": "start"})) as one:
        one.put(Tree.of({"run.sh": "sleep 1000 & kill -9 $! && wait $!; test $? = 137"}))
        assert one.run(["bash", "run.sh"]).ok
        with one.fork() as other:
            one.shell().run("echo mine >mine; sleep 1000 & sleep 0.05")
            assert one.lease.uid == other.lease.uid
            at = room.launcher().plan.at
            assert "mine" not in sh(other, "cat /proc/*/root/*/mine 2>/dev/null; ls; cat /tmp/* 2>/dev/null; true")
            for path in (f"{at}/layers/0", f"{at}/box", f"{at}/top", f"{at}/layers/0/workspace/shared"):
                assert not other.run(["ls", path]).ok
            attack = (
                "import os, signal, socket, ctypes\n"
                "own = os.getpid()\n"
                "for pid in range(1, 400):\n"
                "    if pid != own and pid != os.getppid():\n"
                "        try: os.kill(pid, signal.SIGKILL)\n"
                "        except OSError: pass\n"
                "libc = ctypes.CDLL(None, use_errno=True)\n"
                "mount = libc.mount(b'overlay', b'/workspace', b'overlay', 0, b'lowerdir=/workspace:/tmp')\n"
                "assert mount != 0\n"
                "open('shared', 'w').write('overwritten')\n"
                "os.utime('shared', (1, 1))\n"
                "listener = socket.socket(socket.AF_UNIX); listener.bind('\\0fork')\n"
            )
            assert other.run(["python3", "-c", attack]).ok
            other.run(["python3", "-c", "import os, signal; os.kill(-1, signal.SIGKILL)"])
            assert one.shell().run("jobs -r | wc -l").stdout.split() == [b"1"]
            assert one.get().text("shared") == "start"
            assert one.run(["python3", "-c", "import socket; socket.socket(socket.AF_UNIX).bind('\\0fork')"]).ok


@pytest.mark.isolation
def test_pipes_sockets_and_locks_of_a_layer_join_no_siblings(room: BubblewrapRoom) -> None:
    make = (
        "import os, socket\n"
        "os.mkfifo('pipe'); open('locked', 'w'); listener = socket.socket(socket.AF_UNIX); listener.bind('socket')\n"
    )
    hold = (
        "import fcntl, os, time\n"
        "pipe = os.open('pipe', os.O_RDWR); os.write(pipe, b'secret')\n"
        "fcntl.flock(os.open('locked', os.O_RDONLY), fcntl.LOCK_EX)\n"
        "print('ready', flush=True); time.sleep(1000)\n"
    )
    probe = (
        "import fcntl, os, socket\n"
        "pipe = os.open('pipe', os.O_RDONLY | os.O_NONBLOCK)\n"
        "assert os.read(pipe, 10) == b''\n"
        "fcntl.flock(os.open('locked', os.O_RDONLY), fcntl.LOCK_EX | fcntl.LOCK_NB)\n"
        "try: socket.socket(socket.AF_UNIX).connect('socket')\n"
        "except ConnectionRefusedError: print('apart')\n"
    )
    with room.open(Tree()) as one:
        assert one.run(["python3", "-c", make]).ok
        with one.fork() as other:
            one.put(Tree.of({"hold.py": hold}))
            assert one.shell().run("python3 hold.py | (read x; echo $x; sleep 1000) & sleep 1").ok
            assert not one.run(["flock", "-n", "locked", "true"]).ok  # the control: it is held
            assert other.run(["python3", "-c", probe]).stdout == b"apart\n"


@pytest.mark.isolation
@pytest.mark.skipif(not ROOT, reason="without a control group of their own, processes of one user are counted together")
def test_a_fork_that_is_full_of_processes_leaves_its_sibling_room(room: BubblewrapRoom) -> None:
    limits = Limits(max_processes=16)
    with room.open(Tree(), limits=limits) as one:
        if not one.lease.count("pids") and not groups_of(room.launcher().pid):
            pytest.skip("no control group counts processes here")
        fill = (
            "import os, signal, time\n"
            "children = []\n"
            "for _ in range(50):\n"
            "    try: child = os.fork()\n"
            "    except BlockingIOError: break\n"
            "    if child == 0: time.sleep(1000)\n"
            "    children.append(child)\n"
            "for child in children[:3]: os.kill(child, signal.SIGKILL); os.waitpid(child, 0)\n"
            "open('/tmp/full', 'w').write('x'); time.sleep(1000)\n"
        )
        one.put(Tree.of({"fill.py": fill}))
        with one.fork() as other, one.fork() as third:
            for each in (one, third):
                assert each.shell().run("python3 fill.py & until [ -e /tmp/full ]; do sleep 0.05; done").ok
            assert len(processes_of(one.lease.uid)) >= 2 * limits.max_processes
            assert other.run(["sh", "-c", "for i in $(seq 10); do sleep 0.1 & done; wait"]).ok


@pytest.mark.isolation
def test_a_hundred_snapshots_and_forks_leave_nothing(room: BubblewrapRoom) -> None:
    launcher = room.launcher()
    lasting = _children(launcher)  # its warm Python, where another test has asked for one
    with room.open(Tree()) as sandbox:
        sandbox.fork().close()
        with sandbox.snapshot() as snapshot:
            sandbox.restore(snapshot)
            room.load(snapshot.to_tar()).close()
    assert comes_true(lambda: _children(launcher) == lasting)
    before = descriptors_of(os.getpid()), descriptors_of(launcher.pid), mounts()
    uids = set()
    for number in range(20):
        with room.open(Tree.of({"a": "b"})) as sandbox, sandbox.snapshot() as snapshot:
            sandbox.shell().run("setsid sleep 1000 & echo x >x")
            with sandbox.fork() as fork, room.open(snapshot) as fresh, fork.fork() as grandchild:
                fork.shell().run("sleep 1000 &")
                fork.restore(snapshot)
                uids |= {each.lease.uid for each in (sandbox, fork, fresh, grandchild)}
                if number % 5 == 0:
                    room.load(snapshot.to_tar()).close()
            sandbox.snapshot()  # never closed: freed when nobody holds it
    assert comes_true(lambda: (descriptors_of(os.getpid()), descriptors_of(launcher.pid), mounts()) == before)
    assert not any(map(processes_of, uids))
    assert groups_of(launcher.pid) == []
    assert comes_true(lambda: _children(launcher) == lasting)
    if ROOT:
        assert comes_true(lambda: not uids & _claimed_uids())


OWNER = """
import json, time
from polyathlon.sandbox.bubblewrap import BubblewrapRoom
from polyathlon.tree import Tree
room = BubblewrapRoom()
sandbox = room.open(Tree.of({"a": "b"}))
kept = [sandbox.snapshot() for _ in range(3)]
forks = [sandbox.fork(), room.open(kept[0])]
kept.append(room.load(kept[0].to_tar()))
for each in (sandbox, *forks):
    each.shell().run("setsid sleep 1000 & echo x >/tmp/x")
print(json.dumps([room.launcher().pid, [each.lease.uid for each in (sandbox, *forks)]]), flush=True)
time.sleep(1000)
"""


@pytest.mark.isolation
@pytest.mark.parametrize("victim", ["owner", "launcher"])
def test_a_kill_with_snapshots_open_leaves_nothing(victim: str) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen([sys.executable, "-c", OWNER], stdout=subprocess.PIPE, env=environment, text=True)
    assert process.stdout is not None
    try:
        launcher_pid, uids = json.loads(process.stdout.readline())
        assert all(map(processes_of, uids))
        os.kill(process.pid if victim == "owner" else launcher_pid, signal.SIGKILL)
        assert comes_true(lambda: not alive(launcher_pid) and not any(map(processes_of, uids)))
        if victim == "launcher":
            BubblewrapRoom().open(Tree()).close()  # the next launcher sweeps what the dead one could not
        assert comes_true(lambda: groups_of(launcher_pid) == [])
        if ROOT:
            assert comes_true(lambda: not set(uids) & _claimed_uids())
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


@pytest.mark.isolation
def test_a_dead_launcher_is_a_lost_snapshot() -> None:
    room = BubblewrapRoom()
    sandbox = room.open(Tree())
    snapshot = sandbox.snapshot()
    os.kill(room.launcher().pid, signal.SIGKILL)
    assert comes_true(lambda: not alive(room.launcher().pid))
    for ask in (sandbox.snapshot, sandbox.fork, lambda: sandbox.restore(snapshot), snapshot.to_tar):
        with pytest.raises(SandboxLost):
            ask()
    snapshot.close()
    sandbox.close()
    room.close()


def _children(launcher: LauncherProcess) -> list[str]:
    with open(f"/proc/{launcher.pid}/task/{launcher.pid}/children", encoding="ascii") as file:
        return file.read().split()


def _claimed_uids() -> set[int]:
    with open("/proc/net/unix", encoding="utf-8", errors="replace") as file:
        names = [line.split()[-1] for line in file if "@polyathlon-uid-" in line]
    return {int(name.rpartition("-")[2]) for name in names}
