"""Where no control group counts: the sum over processes is the limit, and the reasons are the same."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from polyathlon.sandbox.bubblewrap import BubblewrapRoom, BubblewrapSandbox
from polyathlon.sandbox.launcher import processes
from polyathlon.sandbox.launcher.watchdog import Watchdog

pytestmark = pytest.mark.isolation

MB = 2**20
HOG = "import sys, time; x = bytearray(b'1') * ({} * 2**20); print('filled', flush=True); time.sleep(1000)"


@pytest.fixture(scope="module")
def uncounted(room: BubblewrapRoom) -> None:
    if {"memory", "cpuacct"} & room.launcher().controllers:
        pytest.skip("control groups count here: another user's run is the one that has a watchdog")


def test_memory_of_all_processes_together_is_bounded(small: BubblewrapSandbox, uncounted: None) -> None:
    code = (
        "import subprocess, sys, time\n"
        f"ran = [subprocess.Popen([sys.executable, '-ISc', {HOG.format(40)!r}]) for _ in range(3)]\n"
        "time.sleep(3); sys.exit(any(child.poll() for child in ran))\n"
    )
    assert small.run(["python3", "-ISc", code], timeout_s=60).reason == "oom"
    fits = code.replace("40 *", "8 *")
    assert small.run(["python3", "-ISc", fits], timeout_s=60).reason == "exit"


def test_the_shell_lives_on_and_the_reason_is_told(small: BubblewrapSandbox, uncounted: None) -> None:
    shell = small.shell()
    shell.run("word=kept")
    hogs = " & ".join([f'python3 -ISc "{HOG.format(40)}" >/dev/null'] * 2)
    report = shell.run(f"{hogs} & wait -n; echo ended; kill %1 %2 2>/dev/null; false", timeout_s=60)
    assert (report.exit_code, report.reason) == (1, "oom")
    assert report.stdout.endswith(b"ended\n")
    assert shell.run("echo $word").stdout == b"kept\n"


def test_cpu_seconds_are_summed_over_processes(small: BubblewrapSandbox, uncounted: None) -> None:
    # each alone stays below the limit of one second
    burn = "bash -c 'for ((i=0;i<100000;i++)); do :; done'"
    report = small.run(f"for n in {{1..30}}; do {burn}; done; sleep 9", timeout_s=60)
    assert (report.exit_code, report.reason) == (None, "timeout")
    assert report.usage.cpu_s is not None
    assert report.usage.cpu_s > 0.8


def hog(megabytes: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-ISc", HOG.format(megabytes)], stdout=subprocess.PIPE)


def test_the_watchdog_kills_the_largest_and_counts_as_the_kernel_does() -> None:
    code = (
        "import subprocess, sys\n"
        f"ran = [subprocess.Popen([sys.executable, '-ISc', {HOG!r}.format(n)], stdout=-1) for n in (20, 60, 30)]\n"
        "for child in ran: child.stdout.readline()\n"
        "print(ran[1].pid, flush=True); print(ran[1].wait(), flush=True)\n"
        "for child in ran: child.kill()\n"
    )
    with subprocess.Popen([sys.executable, "-ISc", code], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        largest = int(parent.stdout.readline())
        calm, strict = Watchdog(500 * MB), Watchdog(100 * MB)
        try:
            assert calm.look([parent.pid, None])[1] == 0.0
            assert os.pread(calm.counter, 99, 0) == b"oom_kill 0\n"
            assert largest in {process.pid for process in processes.below(parent.pid)}
            strict.look([parent.pid])
            assert os.pread(strict.counter, 99, 0) == b"oom_kill 1\n"
            assert parent.stdout.readline() == "-9\n"
        finally:
            calm.close()
            strict.close()


def test_time_of_children_that_have_ended_counts_on() -> None:
    burn = "for ((i=0;i<300000;i++)); do :; done"
    code = f"import subprocess, time; subprocess.run(['bash', '-c', {burn!r}]); print(1, flush=True); time.sleep(99)"
    with subprocess.Popen([sys.executable, "-ISc", code], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        parent.stdout.readline()
        found = processes.read_process(parent.pid)
        parent.kill()
    assert found is not None
    assert found.cpu_s > 0.1


def test_who_handles_the_signal_is_told_from_who_does_not() -> None:
    code = "import signal, time; {}; print(1, flush=True); time.sleep(99)"
    actions = {
        "signal.signal(signal.SIGTERM, lambda *_: None)": True,
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)": False,
        "pass": False,
    }
    for action, handles in actions.items():
        with subprocess.Popen([sys.executable, "-ISc", code.format(action)], stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            process.stdout.readline()
            assert processes.handles_term(process.pid) == handles
            process.kill()
            time.sleep(0.05)
            assert not processes.handles_term(process.pid)  # a zombie handles nothing
    assert not processes.handles_term(2**22 - 1)
