"""Each limit holds, and its reason is told apart from the others; below it, the same command succeeds."""

from __future__ import annotations

import time

import pytest

from polyathlon.errors import SandboxError
from polyathlon.sandbox.bubblewrap import BubblewrapRoom, BubblewrapSandbox
from polyathlon.sandbox.client import LauncherProcess
from polyathlon.sandbox.protocol import Limits
from polyathlon.tree import Tree

from .host import processes_of

MB = 2**20


@pytest.fixture(scope="module")
def launcher(room: BubblewrapRoom) -> LauncherProcess:
    return room.launcher()


def hog(megabytes: int) -> list[str]:
    return ["python3", "-ISc", f"x = bytearray(b'1') * ({megabytes} * 2**20); print(len(x) // 2**20)"]


@pytest.mark.isolation
def test_memory_of_one_process(small: BubblewrapSandbox, launcher: LauncherProcess) -> None:
    assert small.run(hog(30)).stdout == b"30\n"
    report = small.run(hog(80))
    assert report.exit_code != 0
    assert report.stdout == b""
    if "memory" in launcher.controllers:
        assert report.reason == "oom"


@pytest.mark.isolation
def test_memory_of_all_processes_together(small: BubblewrapSandbox, launcher: LauncherProcess) -> None:
    if "memory" not in launcher.controllers:
        pytest.skip("no control group counts memory here")
    fill = "x = bytearray(b'1') * ({} * 2**20); open('ok', 'a').write('x'); print(1, flush=True); input()"
    code = (
        "import subprocess, sys, time\n"
        "ran = [subprocess.Popen([sys.executable, '-ISc', {!r}], stdin=-1, stdout=-1) for _ in range(3)]\n"
        "filled = [child.stdout.readline() for child in ran]; time.sleep(0.2)\n"
        "sys.exit(b'' in filled or any(child.poll() for child in ran))\n"
    )
    assert small.run(["python3", "-ISc", code.format(fill.format(8))]).reason == "exit"
    assert small.get().text("ok") == "xxx"
    assert small.run(["python3", "-ISc", code.format(fill.format(40))]).reason == "oom"


@pytest.mark.isolation
def test_an_out_of_memory_kill_inside_the_shell_is_told(small: BubblewrapSandbox, launcher: LauncherProcess) -> None:
    if "memory" not in launcher.controllers:
        pytest.skip("no control group counts memory here")
    shell = small.shell()
    shell.run("word=kept")
    report = shell.run("python3 -ISc \"x = bytearray(b'1') * (80 * 2**20)\"")
    assert report.reason == "oom"
    after = shell.run("echo $word; exit 137")
    assert after.reason == "signal"  # the code alone is no proof of anything


@pytest.mark.isolation
def test_processes(small: BubblewrapSandbox, launcher: LauncherProcess) -> None:
    forks = (
        "import os, sys, time\n"
        "for n in range({}):\n"
        "    try: pid = os.fork()\n"
        "    except BlockingIOError: print(n); sys.exit(1)\n"
        "    if pid == 0: time.sleep(30); os._exit(0)\n"
    )
    assert small.run(["python3", "-ISc", forks.format(10)]).ok
    report = small.run(["python3", "-ISc", forks.format(100)])
    assert 14 <= int(report.stdout) <= 24  # the limit is 16; some spare ones start the next command
    if "pids" in launcher.controllers:
        assert report.reason == "pids"


@pytest.mark.isolation
def test_a_fork_bomb_ends_with_its_deadline(small: BubblewrapSandbox) -> None:
    report = small.run(["bash", "-c", ":(){ :|:& };:; sleep 60"], timeout_s=1)
    assert report.exit_code is None or report.exit_code != 0
    assert report.wall_s < 8
    assert small.run(["echo", "fine"]).stdout == b"fine\n"


@pytest.mark.isolation
@pytest.mark.parametrize("folder", ["/workspace", "/tmp", "/dev/shm"])
def test_bytes_on_disk(small: BubblewrapSandbox, folder: str) -> None:
    assert small.run(["sh", "-c", f"head -c 3000000 /dev/zero >{folder}/x"]).ok
    report = small.run(["sh", "-c", f"head -c 10000000 /dev/zero >{folder}/x"])
    assert report.reason == "disk"
    assert report.exit_code == 1


@pytest.mark.isolation
def test_number_of_files(small: BubblewrapSandbox) -> None:
    assert small.run(["sh", "-c", "mkdir d; for i in $(seq 150); do : >d/$i; done"]).ok
    assert small.run(["sh", "-c", "for i in $(seq 150); do : >$i || exit 1; done"]).reason == "disk"


@pytest.mark.isolation
def test_nothing_else_is_writable(sandbox: BubblewrapSandbox) -> None:
    report = sandbox.run(
        ["sh", "-c", "for d in / /usr /etc /opt /dev /run /var /home /root /sys /proc; do touch $d/x; done"]
    )
    assert report.stderr.count(b"cannot touch") == 11
    assert sandbox.run(["sh", "-c", "for d in /workspace /tmp /dev/shm /var/tmp; do : >$d/x || exit 1; done"]).ok


@pytest.mark.isolation
def test_a_flood_of_output_ends_the_command(small: BubblewrapSandbox) -> None:
    report = small.run(["yes"])
    assert (report.exit_code, report.reason) == (None, "output_limit")
    report = small.run(["sh", "-c", "yes >&2"])
    assert report.reason == "output_limit"
    assert small.shell().run("yes").reason == "output_limit"
    assert small.shell().run("echo fine").stdout == b"fine\n"


def test_long_output_is_cut_in_the_middle_with_a_mark(small: BubblewrapSandbox) -> None:
    report = small.run(["sh", "-c", "printf start; head -c 5000 /dev/zero | tr '\\0' x; printf end"])
    assert report.clipped
    assert report.stdout.startswith(b"startxxx")
    assert report.stdout.endswith(b"xxxend")
    assert b"\n[... 4008 bytes cut ...]\n" in report.stdout
    assert len(report.stdout) == 1000 + len(b"\n[... 4008 bytes cut ...]\n")


@pytest.mark.isolation
@pytest.mark.parametrize(
    "command",
    ["sleep 1000", "trap '' TERM; sleep 1000", "setsid sleep 1000 & wait", "kill -STOP $$", "cat /dev/zero >/dev/null"],
)
def test_the_deadline_kills_the_whole_tree(sandbox: BubblewrapSandbox, command: str) -> None:
    report = sandbox.run(["bash", "-c", f"echo before; {command}"], timeout_s=0.3)
    assert (report.exit_code, report.reason, report.stdout) == (None, "timeout", b"before\n")
    assert 0.3 <= report.wall_s < 5
    assert processes_of(sandbox.lease.uid) == []


@pytest.mark.isolation
def test_nothing_a_command_started_outlives_it(sandbox: BubblewrapSandbox) -> None:
    report = sandbox.run(["bash", "-c", "setsid sleep 1000 & nohup sleep 1000 >/dev/null 2>&1 & sleep 1000 & disown"])
    assert report.ok
    assert processes_of(sandbox.lease.uid) == []


def test_cpu_seconds_count_for_the_sandbox(small: BubblewrapSandbox, launcher: LauncherProcess) -> None:
    started_s = time.monotonic()
    report = small.run(["sh", "-c", "while :; do :; done & while :; do :; done"], timeout_s=30)
    assert report.reason == "timeout"
    assert time.monotonic() - started_s < 20


def test_signals_and_codes_read_as_in_a_shell(sandbox: BubblewrapSandbox) -> None:
    report = sandbox.run(["sh", "-c", "kill -TERM $$"])
    assert (report.exit_code, report.reason) == (143, "signal")
    report = sandbox.run(["sh", "-c", "exit 3"])
    assert (report.exit_code, report.reason) == (3, "exit")


def test_a_program_that_is_not_there_is_no_lost_sandbox(sandbox: BubblewrapSandbox) -> None:
    report = sandbox.run(["no-such-program"])
    assert (report.exit_code, report.reason) == (127, "exit")
    assert b"No such file" in report.stderr
    assert sandbox.run(["/etc/passwd"]).exit_code == 126
    assert sandbox.run(["true", "x" * 3_000_000]).exit_code == 126


def test_standard_input_is_what_was_given_or_empty(sandbox: BubblewrapSandbox) -> None:
    assert sandbox.run(["cat"], stdin=b"\x00\xffin").stdout == b"\x00\xffin"
    assert sandbox.run(["cat"]).stdout == b""
    large = b"x" * 3_000_000
    assert sandbox.run(["wc", "-c"], stdin=large).stdout == b"3000000\n"
    spoil = "exec 3<>/proc/self/fd/0; echo spoilt >&3"
    assert sandbox.run(["sh", "-c", spoil], stdin=b"given").exit_code != 0


def test_words_that_no_program_can_be_given_are_refused(sandbox: BubblewrapSandbox) -> None:
    for argv, env in (([], {}), (["a\0b"], {}), (["true"], {"A=B": "c"}), (["true"], {"": "c"})):
        with pytest.raises(SandboxError):
            sandbox.run(argv, env=env)
    assert sandbox.run(["printf", "%s", "\udcff\ud800"]).ok


def test_defaults_are_generous_enough_for_a_compiler(room: BubblewrapRoom) -> None:
    source = '#include <stdio.h>\nint main(void) { puts("built"); return 0; }\n'
    with room.open(Tree.of({"a.c": source, "Makefile": "a: a.c\n\tgcc -o a a.c\n"}), limits=Limits()) as sandbox:
        if sandbox.run(["sh", "-c", "command -v gcc make"]).exit_code != 0:
            pytest.skip("no compiler on this host")
        assert sandbox.run(["make"]).ok
        assert sandbox.run(["./a"]).stdout == b"built\n"
