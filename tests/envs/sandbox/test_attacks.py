"""Every attack fails in a sandbox, and the same attack succeeds outside: otherwise its failure would say nothing."""

from __future__ import annotations

import json
import os
import secrets
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from polyathlon.sandbox import attacks
from polyathlon.sandbox.bubblewrap import BubblewrapRoom, BubblewrapSandbox
from polyathlon.sandbox.system import ENVIRONMENT
from polyathlon.tree import Tree

pytestmark = pytest.mark.isolation

PROGRAM = Path(attacks.__file__)
# What even an ordinary user of a host may not do needs root for its control.
NEEDS_ROOT = {"write_kernel_setting", "write_system", "mount_something"}


@pytest.fixture(scope="module")
def facts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    secret = secrets.token_hex(8)
    path = Path("/tmp") / f"polyathlon-test-{secret}"
    path.write_text(secret, encoding="utf-8")
    path.chmod(0o644)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        own = Path("/proc/self/cmdline").read_bytes().hex()
        port = listener.getsockname()[1]
        yield json.dumps({"secret_path": str(path), "secret": secret, "port": port, "command_line": own})
    path.unlink()


@pytest.fixture(scope="module")
def inside(room: BubblewrapRoom, facts: str) -> dict[str, tuple[bool, str]]:
    with room.open(Tree.of({"attacks.py": PROGRAM.read_bytes()})) as sandbox:
        report = sandbox.run(["python3", "-I", "attacks.py", facts])
    assert report.ok, report
    return dict(json.loads(report.stdout))


@pytest.fixture(scope="module")
def outside(facts: str) -> dict[str, tuple[bool, str]]:
    with open(PROGRAM, "rb") as extra:  # a descriptor to be inherited
        answer = subprocess.run(
            [sys.executable, "-I", str(PROGRAM), facts],
            pass_fds=[extra.fileno()],
            env={"POLYATHLON_SECRET": "1", **os.environ},
            capture_output=True,
            check=True,
            timeout=60,
        )
    return dict(json.loads(answer.stdout))


@pytest.mark.parametrize("attack", attacks.ATTACKS)
def test_the_attack_fails_inside(inside: dict[str, tuple[bool, str]], attack: str) -> None:
    succeeded, evidence = inside[attack]
    assert not succeeded, evidence


@pytest.mark.parametrize("attack", attacks.ATTACKS)
def test_the_attack_succeeds_outside(outside: dict[str, tuple[bool, str]], attack: str) -> None:
    if attack in NEEDS_ROOT and os.geteuid() != 0:
        pytest.skip("the control of this attack needs root")
    succeeded, evidence = outside[attack]
    if attack == "open_vsock" and "not supported" in evidence:
        pytest.skip("this kernel has no AF_VSOCK")
    assert succeeded, evidence


def test_root_is_another_user_for_each_sandbox(room: BubblewrapRoom) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root has users to give")
    with room.open(Tree()) as one, room.open(Tree()) as other:
        assert len({0, one.lease.uid, other.lease.uid}) == 3
        one.shell().run("sleep 100 &")
        status = [line for line in _status_of_a_process(one.lease.uid) if line.startswith("Uid")]
        assert status == [f"Uid:\t{one.lease.uid}\t{one.lease.uid}\t{one.lease.uid}\t{one.lease.uid}"]


def test_the_whole_environment_is_the_documented_one(sandbox: BubblewrapSandbox) -> None:
    report = sandbox.run(["sh", "-c", "env | sort; cat /proc/1/environ"], env={"EXTRA": "given"})
    names = {line.split("=")[0] for line in report.stdout.decode().splitlines()}
    assert names == {"EXTRA", "PWD", *sandbox.environment}
    assert set(sandbox.environment) <= {"LD_LIBRARY_PATH", *ENVIRONMENT}
    assert b"EXTRA=given" in report.stdout
    assert sandbox.run(["cat", "/proc/1/environ"]).stdout == b""


def test_neither_homes_nor_sources_nor_installed_packages_are_there(sandbox: BubblewrapSandbox) -> None:
    report = sandbox.run(["sh", "-c", "ls -A /root /home /srv /mnt /work /var/lib /usr/src 2>/dev/null; ls -A / /opt"])
    assert report.stdout.decode().split("/:\n")[0].strip() == "/home:\n\n/root:\n\n/usr/src:"
    for package in ("polyathlon", "numpy", "yaml", "pip"):
        missing = sandbox.run(["python3", "-I", "-c", f"import {package}"])
        assert b"ModuleNotFoundError" in missing.stderr, package
    found = sandbox.run(["find", "/", "-xdev", "-name", "polyathlon*", "-not", "-path", "/proc/*"])
    assert found.stdout == b""


def test_only_named_packages_are_there(room: BubblewrapRoom) -> None:
    with room.open(Tree(), packages=("numpy",)) as sandbox:
        assert sandbox.run(["python3", "-I", "-c", "import numpy; print(numpy.arange(3).sum())"]).stdout == b"3\n"
        assert not sandbox.run(["python3", "-I", "-c", "import yaml"]).ok
        assert not sandbox.run(["sh", "-c", "echo x >> /opt/python/lib/python3*/site-packages/numpy/__init__.py"]).ok


def test_sandboxes_do_not_meet(room: BubblewrapRoom) -> None:
    with room.open(Tree()) as one, room.open(Tree()) as other:
        serve = "python3 -m http.server 8765 >/dev/null 2>&1 & touch /tmp/mine /workspace/mine /dev/shm/mine; sleep 0.5"
        one.shell().run(serve)
        see = "ls /tmp /workspace /dev/shm; exec 3<>/dev/tcp/127.0.0.1/8765"
        report = other.run(["bash", "-c", see])
        assert report.stdout == b"/dev/shm:\n\n/tmp:\n\n/workspace:\n"
        assert b"Connection refused" in report.stderr
        # the control: the sandbox that serves sees all of it
        assert one.shell().run(see).exit_code == 0


def test_a_setuid_program_gives_no_rights(sandbox: BubblewrapSandbox) -> None:
    report = sandbox.run(["sh", "-c", "cp /usr/bin/id . && chmod 6755 id && stat -c %a id && ./id -u; su -c true"])
    assert report.stdout.startswith(b"6755\n1000\n")
    assert report.exit_code != 0


def test_packed_system_calls_are_refused(sandbox: BubblewrapSandbox) -> None:
    code = (
        "import ctypes, errno\n"
        "libc = ctypes.CDLL(None, use_errno=True)\n"
        "def call(*args):\n"
        "    libc.syscall(*args)\n"
        "    return errno.errorcode.get(ctypes.get_errno())\n"
        "print(call(425, 1, 0), call(435, 0, 0), call(321, 0, 0, 0), call(250, 0, 0), call(0x40000000 + 39))\n"
        "import fcntl, os\n"
        "master, slave = os.openpty()\n"
        "try: fcntl.ioctl(slave, 0x5412, b'x'); print('typed')\n"
        "except OSError as error: print(error.errno == errno.EPERM)\n"
    )
    if os.uname().machine != "x86_64":
        pytest.skip("numbers of x86_64")
    # io_uring_setup, clone3, bpf, keyctl, an x32 call; then TIOCSTI
    assert sandbox.run(["python3", "-c", code]).stdout.decode().split() == [
        *["EPERM", "ENOSYS", "EPERM", "EPERM", "ENOSYS"],
        "True",
    ]


def test_threads_processes_and_terminals_still_work(sandbox: BubblewrapSandbox) -> None:
    code = (
        "import multiprocessing, threading, subprocess, os, pty\n"
        "t = threading.Thread(target=print, args=('thread',)); t.start(); t.join()\n"
        "print(subprocess.run(['echo', 'child'], capture_output=True, text=True).stdout.strip(), flush=True)\n"
        "if __name__ == '__main__':\n"
        "    with multiprocessing.get_context('fork').Pool(2) as pool: print(sum(pool.map(abs, [-1, -2])))\n"
        "    os.openpty()\n"
    )
    assert sandbox.run(["python3", "-c", code]).stdout == b"thread\nchild\n3\n"


def _status_of_a_process(uid: int) -> list[str]:
    for path in Path("/proc").glob("[0-9]*/status"):
        try:
            text = path.read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        if "Name:\tsleep\n" in text and f"\nUid:\t{uid}\t" in text:
            return text.splitlines()
    return []
