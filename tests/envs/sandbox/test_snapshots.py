"""What a snapshot keeps and what it does not; quotas over layers; attacks from one fork on another; nothing is left."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest

from polyathlon.errors import SandboxError, SandboxLost
from polyathlon.sandbox.bubblewrap import BubblewrapRoom, BubblewrapSandbox
from polyathlon.sandbox.client import LauncherProcess
from polyathlon.sandbox.protocol import Limits
from polyathlon.tree import Tree

from .host import alive, comes_true, descriptors_of, groups_of, mounts, processes_of

ROOT = os.geteuid() == 0
MIB = 2**20


def sh(sandbox: BubblewrapSandbox, script: str) -> str:
    report = sandbox.run(["sh", "-c", script])
    assert report.ok, report
    return report.stdout.decode()


def test_a_restore_undoes_what_was_done_since(sandbox: BubblewrapSandbox) -> None:
    sh(sandbox, "mkdir d; echo one >d/f; echo t >/tmp/t; echo s >/dev/shm/s")
    with sandbox.snapshot() as snapshot:
        before = sandbox.get()
        sh(sandbox, "echo two >d/f; rm -r d; echo new >g; rm /tmp/t; echo more >/dev/shm/s")
        assert list(sandbox.get()) == ["g"]
        for _ in range(2):
            sandbox.restore(snapshot)
            assert sandbox.get() == before
            assert sh(sandbox, "cat /tmp/t /dev/shm/s; echo three >d/f") == "t\ns\n"


def test_neither_a_fork_nor_its_origin_sees_what_the_other_does(sandbox: BubblewrapSandbox) -> None:
    sandbox.put(Tree.of({"f": "start"}))
    with sandbox.fork() as fork, fork.fork() as grandchild:
        for name, each in (("a", sandbox), ("b", fork), ("c", grandchild)):
            sh(each, f"printf {name} >f; echo {name} >/tmp/x; echo {name} >{name}")
        for name, each in (("a", sandbox), ("b", fork), ("c", grandchild)):
            assert list(each.get()) == [*sorted({name, "f"})]
            assert each.get().text("f") == name
            assert sh(each, "cat /tmp/x") == f"{name}\n"


def test_a_snapshot_outlives_its_sandbox(room: BubblewrapRoom) -> None:
    with room.open(Tree.of({"f": "kept"})) as sandbox:
        snapshot = sandbox.snapshot()
        sh(sandbox, "echo gone >f")
    with snapshot, room.open(snapshot) as other:
        assert other.get().text("f") == "kept"


def test_a_fresh_sandbox_on_a_snapshot_has_the_workspace_alone(
    sandbox: BubblewrapSandbox, room: BubblewrapRoom
) -> None:
    sh(sandbox, "echo w >w; mkdir -p /tmp/.local/lib; echo planted >/tmp/.bashrc; echo s >/dev/shm/s")
    with sandbox.snapshot() as snapshot, room.open(snapshot) as judge:
        assert sh(judge, "cat w; find /tmp /dev/shm -mindepth 1; echo own >/tmp/own; cat /tmp/own") == "w\nown\n"
        with judge.fork() as fork:
            assert sh(fork, "ls -A /tmp /dev/shm") == "/dev/shm:\n\n/tmp:\nown\n"


def test_a_shell_goes_on_as_it_was(sandbox: BubblewrapSandbox) -> None:
    shell = sandbox.shell()
    shell.run(
        "mkdir -p deep/er; cd deep/er; plain=1; export shown='a b'; declare -A map=([k]=v); f() { echo f$1; }; "
        "alias hello='echo hi'; set -f; umask 027; (exit 7)"
    )
    ask = 'echo $? $plain "$shown" ${map[k]}; f 2; hello; echo *; umask; pwd; bash -c \'echo "$shown"\''
    with sandbox.snapshot() as snapshot:
        wanted = b"7 1 a b v\nf2\nhi\n*\n0027\n/workspace/deep/er\na b\n"
        with sandbox.fork() as fork:
            assert fork.shell().run(ask).stdout == wanted
        assert shell.run(ask).stdout == wanted
        shell.run("plain=2; mv /workspace/deep /workspace/moved; cd /tmp")
        sandbox.restore(snapshot)
        assert shell.run(ask).stdout == wanted


def test_a_shell_in_a_folder_that_was_renamed_stays_in_it(sandbox: BubblewrapSandbox) -> None:
    shell = sandbox.shell()
    shell.run("mkdir a; cd a; echo here >x; mv ../a ../b")
    with sandbox.fork() as fork:
        assert fork.shell().run("cat x; pwd").stdout == b"here\n/workspace/b\n"


def test_a_shell_that_hangs_loses_its_variables_and_no_more(sandbox: BubblewrapSandbox) -> None:
    shell = sandbox.shell()
    shell.run("cd /tmp; x=1; builtin() { while :; do :; done; }", timeout_s=1)
    with sandbox.snapshot():
        report = shell.run("echo [$x]; pwd")
        assert (report.exit_code, report.stdout.startswith(b"[]\n")) == (0, True)


def test_no_process_lives_through_a_snapshot(sandbox: BubblewrapSandbox) -> None:
    sandbox.shell().run("setsid sleep 1000 & nohup sleep 1000 >/dev/null 2>&1 & sleep 1000 &")
    before = set(processes_of(sandbox.lease.uid))
    assert before
    with sandbox.snapshot():
        assert not before & set(processes_of(sandbox.lease.uid))


def test_a_snapshot_costs_the_same_whatever_is_in_it(room: BubblewrapRoom) -> None:
    """Counted in pages of the launcher's: time is noise here."""
    with room.open(Tree()) as empty, room.open(Tree()) as full:
        sh(full, "head -c 40000000 /dev/urandom >big; for i in $(seq 500); do echo $i >$i; done")
        launcher = room.launcher()
        costs = []
        for sandbox in (empty, full, empty, full):
            before = _written_and_cpu(launcher.pid)
            sandbox.snapshot().close()
            costs.append(_written_and_cpu(launcher.pid) - before)
        assert costs[3] <= costs[2] + 5  # hundredths of a second


def _written_and_cpu(pid: int) -> int:
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        fields = file.read().rpartition(")")[2].split()
    return sum(map(int, fields[11:15]))


@pytest.mark.isolation
def test_bytes_and_files_of_layers_count(room: BubblewrapRoom) -> None:
    limits = Limits(disk_bytes=8 * MIB, max_files=300)
    with room.open(Tree(), limits=limits) as sandbox:
        sh(sandbox, f"head -c {5 * MIB} /dev/urandom >a; for i in $(seq 100); do : >n$i; done")
        with sandbox.fork() as fork:
            for each in (sandbox, fork):
                report = each.run(["sh", "-c", f"head -c {5 * MIB} /dev/urandom >b"])
                assert (report.ok, report.reason) == (False, "disk")
                assert each.run(["sh", "-c", f"rm b; head -c {2 * MIB} /dev/urandom >b; rm b"]).ok
                assert not each.run(["sh", "-c", "set -e; for i in $(seq 300); do : >m$i; done"]).ok
                assert len([path for path in each.get() if path.startswith("m")]) in range(150, 221)


@pytest.mark.isolation
def test_no_limit_becomes_no_limit_at_all_when_it_is_used_up(room: BubblewrapRoom) -> None:
    limits = Limits(disk_bytes=2 * MIB, max_files=100)
    with room.open(Tree(), limits=limits) as sandbox:
        sandbox.run(["sh", "-c", f"head -c {3 * MIB} /dev/urandom >a"])
        for _ in range(3):
            sandbox.snapshot().close()
            assert not sandbox.run(["sh", "-c", "head -c 100000 /dev/urandom >b"]).ok
        sandbox.run(["sh", "-c", "rm -f a b; i=0; while : >n$i; do i=$((i+1)); done"])
        for _ in range(3):
            sandbox.snapshot().close()
            assert not sandbox.run(["sh", "-c", "set -e; for i in $(seq 40); do : >m$i; done"]).ok


def test_layers_that_waste_the_room_become_one(room: BubblewrapRoom) -> None:
    with room.open(Tree(), limits=Limits(disk_bytes=16 * MIB)) as sandbox:
        for number in range(8):  # 24 MiB written, 3 MiB there
            sh(sandbox, f"head -c {3 * MIB} /dev/urandom >same; echo {number} >n{number}")
            sandbox.snapshot().close()
        assert len(sandbox.get().entries["same"].data) == 3 * MIB
        assert [sandbox.get().text(f"n{number}") for number in range(8)] == [f"{number}\n" for number in range(8)]


def test_forks_of_forks_go_deep_and_old_snapshots_stay_good(room: BubblewrapRoom) -> None:
    kept = []
    with room.open(Tree.of({"first": "0", "dir/x": "x"})) as sandbox:
        for number in range(70):
            sh(sandbox, f"echo {number} >n; ln first l{number} 2>/dev/null || cp first l{number}; rm -f l{number - 1}")
            kept.append(sandbox.snapshot())
        for number in (0, 31, 32, 33, 63, 69):
            with room.open(kept[number]) as other:
                tree = other.get()
                assert tree.text("n") == f"{number}\n"
                assert list(tree) == ["dir", "dir/x", "first", f"l{number}", "n"]
        assert len(kept[69].layers) <= 33
    for snapshot in kept:
        snapshot.close()


@pytest.mark.skipif(not ROOT, reason="an ordinary user's layers take the names of a file apart")
def test_one_file_of_two_names_stays_one_through_layers(sandbox: BubblewrapSandbox) -> None:
    sh(sandbox, "echo 1 >a; ln a b; ln a gone; mkdir d; ln a d/c")
    sandbox.snapshot().close()
    sh(sandbox, "echo 2 >>gone; rm gone")
    sandbox.snapshot().close()
    sh(sandbox, "echo 3 >>d/c")
    sandbox.snapshot().close()
    assert sh(sandbox, "cat a b d/c | tr -d '\\n'; stat -c %i a b d/c | sort -u | wc -l") == "1231231231\n"


@pytest.mark.skipif(not ROOT, reason="an ordinary user's overlay refuses to rename a folder of a layer; mv copies it")
def test_a_folder_of_a_layer_can_be_renamed_at_once(sandbox: BubblewrapSandbox) -> None:
    sh(sandbox, "mkdir -p d/e; echo x >d/e/f")
    sandbox.snapshot().close()
    sh(sandbox, 'python3 -c \'import os; os.rename("d", "moved")\'')
    with sandbox.snapshot() as snapshot:
        assert sh(sandbox, "find . | sort") == ".\n./moved\n./moved/e\n./moved/e/f\n"
        assert len(snapshot.layers) == 1  # a layer that names a folder of another is told as their sum


def test_what_a_payload_plants_makes_no_snapshot_fail(sandbox: BubblewrapSandbox) -> None:
    plant = (
        "import os, socket\n"
        "os.mkfifo('pipe'); socket.socket(socket.AF_UNIX).bind('socket')\n"
        "open('holes', 'w').truncate(200 * 2**20)\n"
        "os.symlink('/', 'root'); os.symlink('loop', 'loop')\n"
        "try: os.mknod('gone', 0o020000, 0)\n"
        "except OSError: pass\n"
        "for name in ('opaque', 'redirect', 'whiteout', 'metacopy'):\n"
        "    try: os.mkdir(name); os.setxattr(name, f'user.overlay.{name}', b'y')\n"
        "    except OSError: pass\n"
        "open(b'\\xff\\xfe', 'w').write('bytes'); os.mkdir('shut'); open('shut/f', 'w'); os.chmod('shut', 0)\n"
        "for _ in range(3000):\n"
        "    os.mkdir('x' * 100); os.chdir('x' * 100)\n"
    )
    assert sandbox.run(["python3", "-c", plant]).ok
    before = sandbox.get()
    with sandbox.snapshot() as snapshot:
        after = sandbox.get()
        assert {path: after.get(path) for path in after} == {path: before.get(path) for path in after}
        assert set(before) - set(after) <= {"gone"}
        assert len(snapshot.layers) == 1
        with pytest.raises(SandboxError, match="nested too deep"):
            snapshot.to_tar()
        for _ in range(2):  # the second one squashes whatever it can
            sh(sandbox, "head -c 30000000 /dev/urandom >big")
            sandbox.snapshot().close()
        sandbox.restore(snapshot)


def test_a_closed_snapshot_and_one_that_does_not_fit_are_refused(room: BubblewrapRoom) -> None:
    with room.open(Tree.of({"f": b"x" * MIB})) as sandbox, sandbox.snapshot() as snapshot:
        with pytest.raises(SandboxError, match="more bytes or files"):
            room.open(snapshot, limits=Limits(disk_bytes=MIB // 2))
        with room.open(Tree(), limits=Limits(disk_bytes=MIB // 2)) as small:
            sh(small, "echo here >here")
            with pytest.raises(SandboxError, match="more bytes or files"):
                small.restore(snapshot)
            assert small.get().text("here") == "here\n"
        snapshot.close()
        snapshot.close()
        for ask in (lambda: room.open(snapshot), lambda: sandbox.restore(snapshot), snapshot.to_tar):
            with pytest.raises(SandboxError):
                ask()
        assert sandbox.get().entries["f"].data == b"x" * MIB


def test_a_snapshot_opens_where_other_packages_are(room: BubblewrapRoom) -> None:
    with (
        room.open(Tree.of({"f": "1"})) as sandbox,
        sandbox.snapshot() as snapshot,
        room.open(snapshot, packages=("numpy",)) as other,
    ):
        assert other.get() == sandbox.get()


@pytest.mark.isolation
def test_files_for_a_judge_cannot_be_changed(room: BubblewrapRoom) -> None:
    hidden = Tree.of({"tests/t.py": "assert True\n"})
    with room.open(Tree.of({"s.py": "x"}), readonly=hidden) as sandbox:
        for attempt in (
            "echo x >/judge/tests/t.py",
            "rm -rf /judge/tests",
            "mv /judge/tests /judge/other",
            "touch /judge/new",
            "chmod 777 /judge /judge/tests",
            "ln -sf /workspace/s.py /judge/tests/t.py",
            "rmdir /judge",
        ):
            assert not sandbox.run(["sh", "-c", attempt]).ok, attempt
            assert not sandbox.shell().run(attempt).ok, attempt
        assert sh(sandbox, "cat /judge/tests/t.py") == "assert True\n"
        assert list(sandbox.get()) == ["s.py"]
        with sandbox.snapshot() as snapshot, sandbox.fork() as fork, room.open(snapshot) as fresh:
            assert sh(fork, "cat /judge/tests/t.py") == "assert True\n"
            assert sh(fresh, "ls -A /judge") == ""
            sandbox.restore(snapshot)
            assert sandbox.shell().run("cat /judge/tests/t.py").stdout == b"assert True\n"


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
            assert "mine" not in sh(
                other, "cat /proc/*/root/workspace/mine 2>/dev/null; ls; cat /tmp/* 2>/dev/null; true"
            )
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
    with room.open(Tree()) as sandbox:
        sandbox.fork().close()
        with sandbox.snapshot() as snapshot:
            sandbox.restore(snapshot)
            room.load(snapshot.to_tar()).close()
    assert comes_true(lambda: _children(launcher) == [])
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
    assert comes_true(lambda: _children(launcher) == [])
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
