"""What a snapshot keeps and what it does not, quotas over layers, and what a judge is given beside it."""

from __future__ import annotations

import os

import pytest

from polyathlon.errors import SandboxError
from polyathlon.sandbox.bubblewrap import BubblewrapRoom, BubblewrapSandbox
from polyathlon.sandbox.protocol import Limits
from polyathlon.tree import Tree

from .host import processes_of, sh

ROOT = os.geteuid() == 0
MIB = 2**20


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
