"""How a command is run: by text, within its own limits, ended in time and with grace, and what it used."""

from __future__ import annotations

import os
import platform
import time
from dataclasses import replace

import pytest

from polyathlon.errors import SandboxError
from polyathlon.sandbox.bubblewrap import BubblewrapRoom, BubblewrapSandbox
from polyathlon.sandbox.protocol import Limits
from polyathlon.sandbox.shell import SavedShell
from polyathlon.tree import Tree

from .host import comes_true, processes_of

MB = 2**20
HOG = "python3 -ISc \"x = bytearray(b'1') * (80 * 2**20)\""


def test_a_text_is_run_by_bash(sandbox: BubblewrapSandbox) -> None:
    report = sandbox.run('for i in {1..3}; do echo -n "$i "; done; (exit 4)')
    assert (report.stdout, report.exit_code) == (b"1 2 3 ", 4)
    assert sandbox.run("if").exit_code == 2
    assert sandbox.run("-x").exit_code == 127  # a command that is not there, and no option
    with pytest.raises(SandboxError, match="empty"):
        sandbox.run([])


def test_silence_ends_a_command_and_output_does_not(sandbox: BubblewrapSandbox) -> None:
    report = sandbox.run("echo said; sleep 1000", idle_s=1.0)
    assert (report.exit_code, report.reason, report.stdout) == (None, "idle_timeout", b"said\n")
    assert sandbox.run("for i in 1 2 3 4 5 6; do echo $i; sleep 0.5; done", idle_s=2.5).ok
    assert processes_of(sandbox.lease.uid) == []


def test_silence_ends_the_shells_command_and_the_shell(sandbox: BubblewrapSandbox) -> None:
    shell = sandbox.shell()
    report = shell.run("echo said >&2; sleep 1000", idle_s=1.0)
    assert (report.exit_code, report.reason, report.stdout, report.fresh_shell) == (
        None,
        "idle_timeout",
        b"said\n",
        True,
    )
    assert shell.run("echo fine", idle_s=5.0).stdout == b"fine\n"


def test_the_limits_of_one_command_are_narrower_and_never_wider(small: BubblewrapSandbox) -> None:
    asked = Limits(cpu_s=1000.0, output_bytes=100, kept_bytes=10)
    report = small.run("head -c 90 /dev/zero | tr '\\0' x", limits=asked)
    assert report.ok
    assert report.stdout == b"xxxxx\n[... 80 bytes cut ...]\nxxxxx"
    assert small.run("head -c 200 /dev/zero", limits=asked).reason == "output_limit"
    wide = Limits(output_bytes=2**40, kept_bytes=2**30)
    report = small.run("head -c 2000 /dev/zero", limits=wide)
    assert (report.ok, report.clipped) == (True, True)
    assert small.run("yes", limits=wide).reason == "output_limit"


def test_cpu_seconds_of_one_command_alone(sandbox: BubblewrapSandbox) -> None:
    report = sandbox.run("while :; do :; done", limits=replace(sandbox.limits, cpu_s=0.5), timeout_s=60)
    assert report.reason == "timeout"
    assert report.exit_code in (None, 152)  # killed by the count of all its processes, or by that of this one
    assert report.wall_s < 50
    assert report.usage.cpu_s is not None
    assert 0.4 < report.usage.cpu_s < 5
    assert sandbox.run("echo fine").ok  # the sandbox has the rest of its seconds


def test_what_handles_the_signal_gets_time_to_use_it(sandbox: BubblewrapSandbox) -> None:
    script = "trap 'echo cleaned >log; echo bye; exit 3' TERM; echo ready; while :; do sleep 0.05; done"
    report = sandbox.run(script, timeout_s=1.0)
    assert (report.exit_code, report.reason, report.stdout) == (None, "timeout", b"ready\nbye\n")
    assert sandbox.get().text("log") == "cleaned\n"


def test_a_script_does_not_go_on_while_its_command_ends(sandbox: BubblewrapSandbox) -> None:
    script = "(trap 'echo cleaned; exit 0' TERM; while :; do sleep 0.05; done); echo next >next; echo next"
    report = sandbox.run(script, timeout_s=1.0)
    assert report.reason == "timeout"
    assert report.stdout == b"cleaned\n"
    assert "next" not in sandbox.get()


def test_make_removes_its_half_made_target(sandbox: BubblewrapSandbox) -> None:
    if not sandbox.run("command -v make").ok:
        pytest.skip("no make on this host")
    sandbox.put(Tree.of({"Makefile": "target:\n\techo half >$@; sleep 1000; echo whole >>$@\n"}))
    assert sandbox.run("make -s; echo never", timeout_s=2.0).reason == "timeout"
    assert "target" not in sandbox.get()


@pytest.mark.parametrize(
    "script", ["sleep 1000", "trap '' TERM; sleep 1000", "python3 -c 'import time; time.sleep(99)'"]
)
def test_grace_that_nobody_can_use_is_not_given(sandbox: BubblewrapSandbox, script: str) -> None:
    sandbox.run("true")
    waits = []
    for _ in range(3):  # the machine may be busy once
        started_s = time.monotonic()
        assert sandbox.run(script, timeout_s=0.5).reason == "timeout"
        waits.append(time.monotonic() - started_s)
    assert min(waits) < 1.4


def test_grace_is_a_second_and_no_more(sandbox: BubblewrapSandbox) -> None:
    report = sandbox.run("trap 'while :; do sleep 0.1; done' TERM; while :; do sleep 0.1; done", timeout_s=0.5)
    assert report.reason == "timeout"
    assert 1.4 < report.wall_s < 10
    assert processes_of(sandbox.lease.uid) == []


@pytest.mark.isolation
def test_a_flood_in_the_time_of_grace_is_held_back(small: BubblewrapSandbox) -> None:
    report = small.run("trap 'yes' TERM; while :; do sleep 0.05; done", timeout_s=0.5)
    assert report.reason in ("timeout", "output_limit")
    assert len(report.stdout) < 2000
    assert processes_of(small.lease.uid) == []


@pytest.mark.isolation
def test_reasons_come_from_the_kernel_and_not_from_the_code(small: BubblewrapSandbox) -> None:
    assert (small.run("exit 137").exit_code, small.run("exit 137").reason) == (137, "signal")
    assert small.run("kill -9 $$").reason == "signal"
    if "memory" not in sandbox_controllers(small):
        pytest.skip("no control group counts memory here: a process gets an error, and no more")
    report = small.run(HOG)
    assert report.reason == "oom"
    assert small.run(f"{HOG}; exit 5").reason == "oom"  # the code of the command's own end is kept
    assert small.run(f"{HOG}; exit 5").exit_code == 5
    assert small.run(f"{HOG}; true").reason == "exit"  # it lived with it


def test_usage_is_what_the_kernel_counted(sandbox: BubblewrapSandbox) -> None:
    if not {"cpuacct", "memory"} <= sandbox_controllers(sandbox):
        pytest.skip("nothing counts here")
    report = sandbox.run("head -c 3000000 /dev/zero >file; mkdir d; i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done")
    assert report.usage.cpu_s is not None
    assert report.usage.cpu_s > 0.05
    assert report.usage.peak_memory_bytes is not None
    assert 3_000_000 < report.usage.peak_memory_bytes < sandbox.limits.memory_bytes
    assert report.usage.disk_bytes is not None
    assert 3_000_000 <= report.usage.disk_bytes < 3_100_000
    assert report.usage.num_files == 2
    light = sandbox.run("true")
    assert light.usage.cpu_s is not None
    assert light.usage.cpu_s < report.usage.cpu_s
    whole = sandbox.usage().cpu_s
    assert whole is not None
    assert whole >= report.usage.cpu_s + light.usage.cpu_s - 1e-6  # both sums are of whole microseconds
    sandbox.run("rm -r file d")
    assert (sandbox.usage().disk_bytes, sandbox.usage().num_files) == (0, 0)


def test_a_command_is_not_charged_for_the_shells_jobs(sandbox: BubblewrapSandbox) -> None:
    if "cpuacct" not in sandbox_controllers(sandbox):
        pytest.skip("nothing counts here")
    sandbox.shell().run("while :; do :; done &")
    report = sandbox.run("sleep 1")
    sandbox.kill()
    assert report.usage.cpu_s is not None
    assert report.usage.cpu_s < 0.3


def test_the_shells_commands_have_a_usage_each(sandbox: BubblewrapSandbox) -> None:
    if "cpuacct" not in sandbox_controllers(sandbox):
        pytest.skip("nothing counts here")
    shell = sandbox.shell()
    heavy = shell.run("i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done").usage.cpu_s
    light = shell.run(":").usage.cpu_s
    assert heavy is not None
    assert light is not None
    assert heavy > 0.05 > light


def test_the_record_says_what_the_sandbox_is(room: BubblewrapRoom) -> None:
    with room.open(Tree.of({"a": "b"}), packages=("yaml",), limits=Limits(max_files=7)) as sandbox:
        record = sandbox.record().as_dict()
    assert record["backend"] == "bubblewrap"
    assert record["kernel"] == platform.release()
    assert record["packages"] == ["yaml"]
    assert record["layers"] == []
    limits, usage = record["limits"], record["usage"]
    assert isinstance(limits, dict)
    assert isinstance(usage, dict)
    assert limits["max_files"] == 7
    assert usage["num_files"] == 1


@pytest.mark.parametrize(("cores", "shown"), [(0.5, "1"), (1.0, "1"), (1.5, "2"), (1000.0, None)])
def test_nproc_shows_the_cores_rounded_up(room: BubblewrapRoom, cores: float, shown: str | None) -> None:
    there = len(os.sched_getaffinity(0))
    if there < 2:
        pytest.skip("this machine has one core")
    with room.open(Tree(), limits=Limits(cores=cores)) as sandbox:
        wanted = (shown or str(there)).encode() + b"\n"
        assert sandbox.run("nproc").stdout == wanted
        assert sandbox.shell().run("nproc").stdout == wanted


@pytest.mark.isolation
def test_half_a_core_is_half_a_core_even_for_who_frees_itself(room: BubblewrapRoom) -> None:
    if "cpu" not in room.launcher().controllers:
        pytest.skip("no control group holds CPU time back here")
    code = (
        "import os, time\n"
        "os.sched_setaffinity(0, range(os.cpu_count()))\n"
        "for _ in range(3): os.fork()\n"
        "end = time.monotonic() + 2\n"
        "while time.monotonic() < end: pass\n"
    )
    with room.open(Tree(), limits=Limits(cores=0.25)) as sandbox:
        report = sandbox.run(["python3", "-ISc", code], timeout_s=60)
    assert report.usage.cpu_s is not None
    assert report.usage.cpu_s < 0.5 * report.wall_s


def test_the_kill_comes_back_from_another_command(sandbox: BubblewrapSandbox) -> None:
    shell = sandbox.shell()
    shell.run("word=lost; sleep 1000 &")
    sandbox.kill()
    assert processes_of(sandbox.lease.uid) == []
    report = shell.run("echo [$word]")
    assert (report.stdout, report.fresh_shell) == (b"[]\n", False)


def test_a_saved_shell_goes_on_in_its_directory_with_its_variables(room: BubblewrapRoom) -> None:
    with room.open(Tree()) as one, room.open(Tree.of({"deep/er/x": ""})) as other:
        shell = one.shell()
        shell.run("mkdir -p deep/er; cd deep/er; export A=$'two\\nlines' B='\"$x`' C; plain=no; readonly D=1; export D")
        saved = shell.saved()
        assert saved.directory == "/workspace/deep/er"
        ask = 'pwd; printf "%s|" "$A" "$B" "${plain-unset}" "$D"'
        seen = b'/workspace/deep/er\ntwo\nlines|"$x`|no|1|'
        assert shell.run(ask).stdout == seen  # the next command starts from it
        other.shell().start(saved)
        report = other.shell().run(ask)
        assert (report.stdout, report.fresh_shell) == (seen, False)
        exported = other.shell().run('bash -c \'printf "%s|" "$A" "$B" "${plain-unset}" "$D"\'').stdout
        assert exported == b'two\nlines|"$x`|unset|1|'


def test_a_shell_is_saved_twice_and_before_its_first_command(sandbox: BubblewrapSandbox) -> None:
    shell = sandbox.shell()
    assert shell.saved().directory == "/workspace"
    shell.run("export A=kept")
    assert shell.saved() == shell.saved()
    shell.start(shell.saved())
    assert b"kept" in shell.saved().state
    assert shell.run("echo $A").stdout == b"kept\n"


@pytest.mark.isolation
@pytest.mark.parametrize(
    "command",
    [
        "builtin() { sleep 1000; }; declare() { echo gone; }; printf() { :; }",
        "exec sleep 1000",
        "trap 'touch /workspace/trapped; sleep 1000' EXIT",
        "export A=$(head -c 100000 /dev/zero | tr '\\0' x); for i in {1..9}; do export A$i=$A; done",
        "exec 4>&- 3<&-",
        "kill -STOP $$",
    ],
)
def test_no_payload_holds_the_saving_up(sandbox: BubblewrapSandbox, command: str) -> None:
    shell = sandbox.shell()
    shell.run(f"cd /tmp; {command}", timeout_s=1.0)
    started_s = time.monotonic()
    saved = shell.saved()
    assert time.monotonic() - started_s < 10
    assert isinstance(saved, SavedShell)
    assert "trapped" not in sandbox.get()
    assert comes_true(lambda: processes_of(sandbox.lease.uid) == [])
    assert shell.run("echo fine").stdout == b"fine\n"


def sandbox_controllers(sandbox: BubblewrapSandbox) -> set[str]:
    usage = sandbox.usage()
    counted = {"cpuacct": usage.cpu_s, "memory": usage.peak_memory_bytes}
    return {name for name, amount in counted.items() if amount is not None}
