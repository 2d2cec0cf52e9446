"""A policy that wrecks its own sandbox gets the wreck it made, never an episode that cannot be judged."""

from __future__ import annotations

import pytest

from polyathlon.sandbox.bubblewrap import BubblewrapSandbox

pytestmark = pytest.mark.isolation


def test_a_shut_workspace_is_the_commands_failure_and_can_be_opened_again(sandbox: BubblewrapSandbox) -> None:
    assert sandbox.run(["sh", "-c", "echo x >file; chmod 000 /workspace /tmp /dev/shm"]).ok
    report = sandbox.run(["true"])
    assert (report.exit_code, report.reason) == (126, "exit")
    assert b"Permission denied" in report.stderr
    assert sandbox.get().text("file") == "x\n"
    shell = sandbox.shell()
    assert shell.run("pwd; exit").stdout == b"/\n"
    assert shell.run("chmod 755 /workspace; cd /workspace; cat file").stdout == b"x\n"
    assert sandbox.run(["cat", "file"]).stdout == b"x\n"


def test_a_lost_working_directory_is_left_for_the_workspace(sandbox: BubblewrapSandbox) -> None:
    shell = sandbox.shell()
    assert shell.run("mkdir gone; cd gone; rmdir ../gone; exit").fresh_shell
    assert shell.run("pwd").stdout == b"/workspace\n"


def test_processes_used_up_by_the_shell_are_told_as_such(small: BubblewrapSandbox) -> None:
    forks = (
        "import os, time\n"
        "try:\n"
        "    while True:\n"
        "        if os.fork() == 0: time.sleep(60); os._exit(0)\n"
        "except BlockingIOError: print('full', flush=True); time.sleep(60)\n"
    )
    small.shell().run(f'python3 -ISc "{forks}" >log & while ! grep -qs full log; do :; done', timeout_s=10)
    report = small.run(["sh", "-c", "true; ls"])
    assert report.reason in ("pids", "exit")
    assert not report.ok or report.reason == "exit"
    small.kill()
    assert small.run(["ls"]).stdout == b"log\n"


def test_a_full_disk_stops_no_command_from_running(small: BubblewrapSandbox) -> None:
    small.shell().run("head -c 100000000 /dev/zero >big; for i in $(seq 1000); do : >$i; done 2>/dev/null")
    assert small.run(["echo", "fine"]).stdout == b"fine\n"
    assert small.shell().run("rm big; echo x >new && cat new").stdout == b"x\n"


@pytest.mark.parametrize(
    "command",
    [
        "readonly __command __number __status",
        "read() { :; }; printf() { :; }; eval() { :; }",
        "builtin() { sleep 60; }",
        "__restore() { exit 4; }",
        "ulimit -n 3",
        "ulimit -v 1000",
        "PWD=$(head -c 100000 /dev/zero | tr '\\0' a)",
        "exec 0<&- 1>&- 2>&-",
        'for fd in {3..30}; do eval "exec $fd>&-"; done',
        "trap 'kill -9 $$' DEBUG",
        "set -euo pipefail; set -x; shopt -s extdebug",
        "set -o posix; set -n",
        "kill -STOP $$",
        "cd /proc/self; unset PWD HOME PATH IFS",
        "exec sleep 60",
        "exec true",
        "stty sane; exec </dev/zero",
        "head -c 3000000 /dev/zero | tr '\\0' '\\1' >&11",
    ],
)
def test_whatever_is_done_to_the_shell_it_answers_again(sandbox: BubblewrapSandbox, command: str) -> None:
    shell = sandbox.shell()
    shell.run(command, timeout_s=0.5)
    shell.run("exit", timeout_s=0.5)
    shell.run("exit", timeout_s=0.5)
    assert shell.run("echo fine; pwd; cd /workspace").stdout.startswith(b"fine\n")
