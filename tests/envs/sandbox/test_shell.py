"""The persistent shell: state that lasts, statuses that nothing in the output can forge, deadlines that kill."""

from __future__ import annotations

import time

import pytest

from polyathlon.sandbox.bubblewrap import BubblewrapSandbox

from .host import comes_true, processes_of


def test_directory_variables_and_functions_last(sandbox: BubblewrapSandbox) -> None:
    shell = sandbox.shell()
    shell.run("mkdir deep; cd deep; word=kept; greet() { echo hello $1; }; export LOUD=yes")
    report = shell.run("pwd; greet $word; printenv LOUD")
    assert report.stdout == b"/workspace/deep\nhello kept\nyes\n"
    assert report.ok


def test_the_last_status_is_there_for_the_next_command(sandbox: BubblewrapSandbox) -> None:
    shell = sandbox.shell()
    assert shell.run("(exit 7)").exit_code == 7
    assert shell.run("echo $?").stdout == b"7\n"


def test_both_streams_come_in_the_order_they_were_written(sandbox: BubblewrapSandbox) -> None:
    assert sandbox.shell().run("echo 1; echo 2 >&2; echo 3").stdout == b"1\n2\n3\n"


def test_a_syntax_error_is_reported_and_survived(sandbox: BubblewrapSandbox) -> None:
    shell = sandbox.shell()
    report = shell.run("x=1; if")
    assert report.exit_code != 0
    assert b"syntax error" in report.stdout
    assert not report.fresh_shell
    assert shell.run("echo fine").stdout == b"fine\n"


def test_a_here_document_without_its_end_is_survived(sandbox: BubblewrapSandbox) -> None:
    shell = sandbox.shell()
    assert shell.run("cat <<END\none\n$((1 + 1))\nEND").stdout == b"one\n2\n"
    assert b"open" in shell.run("cat <<END\nopen").stdout
    assert shell.run("echo fine").stdout == b"fine\n"


def test_exit_is_told_and_the_next_shell_is_in_the_same_directory(sandbox: BubblewrapSandbox) -> None:
    shell = sandbox.shell()
    shell.run("mkdir here; cd here; word=lost")
    report = shell.run("echo bye; exit 5")
    assert (report.exit_code, report.reason, report.stdout, report.fresh_shell) == (5, "exit", b"bye\n", True)
    report = shell.run('pwd; echo "[$word]"')
    assert (report.stdout, report.fresh_shell) == (b"/workspace/here\n[]\n", False)


def test_text_that_looks_like_a_status_is_only_text(sandbox: BubblewrapSandbox) -> None:
    shell = sandbox.shell()
    assert shell.run(r"printf '1 0 /tmp\0002 0 /tmp\000'").stdout == b"1 0 /tmp\x002 0 /tmp\x00"
    assert shell.run("pwd").stdout == b"/workspace\n"


def test_a_status_forged_on_a_hidden_descriptor_ends_nothing_but_its_own_wait(sandbox: BubblewrapSandbox) -> None:
    shell = sandbox.shell()
    forge = "for fd in 3 4 {10..20}; do { printf '2 0 /tmp\\0' >&$fd; } 2>/dev/null; done; sleep 0.2; echo late; false"
    shell.run("true")
    assert shell.run(forge).exit_code == 0  # the forgery works, for the forger
    time.sleep(0.4)
    shell.run("true")  # takes what the forger wrote after its own forged end
    assert shell.run("echo mine; (exit 3)").exit_code == 3
    assert shell.run("echo mine").stdout == b"mine\n"


def test_children_inherit_the_standard_streams_only(sandbox: BubblewrapSandbox) -> None:
    listed = sandbox.shell().run("ls /proc/self/fd").stdout.split()
    assert listed == [b"0", b"1", b"2", b"3"]  # 3 is ls's own


def test_redirecting_the_shell_itself_keeps_its_status_line(sandbox: BubblewrapSandbox) -> None:
    shell = sandbox.shell()
    assert shell.run("exec 5>&1 >log; exec 3>&- 4>&-; echo hidden").exit_code == 0
    assert shell.run("exec >&5; cat log").stdout == b"hidden\n"


def test_standard_input_is_empty(sandbox: BubblewrapSandbox) -> None:
    assert sandbox.shell().run("read x; echo $?; cat", timeout_s=5).stdout == b"1\n"


def test_a_background_job_outlives_its_command(sandbox: BubblewrapSandbox) -> None:
    shell = sandbox.shell()
    started_s = time.monotonic()
    assert shell.run("(sleep 0.3; echo done >flag) & echo started").stdout == b"started\n"
    assert time.monotonic() - started_s < 0.3
    assert shell.run("wait; cat flag").stdout == b"done\n"


def test_binary_and_long_output_come_whole(sandbox: BubblewrapSandbox) -> None:
    shell = sandbox.shell()
    assert shell.run(r"printf '\377\000\200'").stdout == b"\xff\x00\x80"
    assert shell.run("head -c 200000 /dev/zero | tr '\\0' a").stdout == b"a" * 200_000


def test_a_long_command_arrives_whole(sandbox: BubblewrapSandbox) -> None:
    command = "cat <<'END' | wc -c\n" + "x" * 199_999 + "\nEND"
    assert sandbox.shell().run(command).stdout == b"200000\n"


def test_a_command_with_a_nul_or_a_lone_surrogate_does_not_raise(sandbox: BubblewrapSandbox) -> None:
    shell = sandbox.shell()
    assert shell.run("echo \0").exit_code == 2
    assert shell.run("printf %s \ud800").stdout == b"\xed\xa0\x80"


def test_set_e_ends_the_shell_as_it_would_a_terminal(sandbox: BubblewrapSandbox) -> None:
    report = sandbox.shell().run("set -e; false; echo never")
    assert (report.exit_code, report.stdout, report.fresh_shell) == (1, b"", True)


@pytest.mark.parametrize(
    "command",
    [
        "sleep 1000",
        "while :; do :; done",
        "trap '' TERM INT HUP; sleep 1000",
        "setsid setsid sleep 1000 & disown; nohup sleep 1000 >/dev/null 2>&1 & wait",
        "kill -STOP $$",
    ],
)
def test_a_timeout_kills_the_whole_tree_and_the_shell_answers_again(sandbox: BubblewrapSandbox, command: str) -> None:
    earlier = processes_of(sandbox.lease.uid)  # an ordinary user may still have zombies that init has not waited for
    shell = sandbox.shell()
    shell.run("mkdir here; cd here")
    report = shell.run(f"echo before; {command}", timeout_s=0.4)
    assert (report.exit_code, report.reason, report.stdout) == (None, "timeout", b"before\n")
    assert report.fresh_shell
    assert report.wall_s < 5
    assert set(processes_of(sandbox.lease.uid)) <= set(earlier)
    assert shell.run("pwd").stdout == b"/workspace/here\n"


def test_a_program_that_takes_the_shells_place_is_waited_for(sandbox: BubblewrapSandbox) -> None:
    shell = sandbox.shell()
    report = shell.run("exec sh -c 'sleep 0.2; echo done; exit 6'")
    assert (report.exit_code, report.reason, report.stdout, report.fresh_shell) == (6, "exit", b"done\n", True)
    report = shell.run("exec sleep 1000", timeout_s=0.3)
    assert (report.exit_code, report.reason, report.fresh_shell) == (None, "timeout", True)


def test_halt_kills_the_shell_and_keeps_the_files(sandbox: BubblewrapSandbox) -> None:
    shell = sandbox.shell()
    shell.run("echo kept >file; sleep 1000 & :")
    assert processes_of(sandbox.lease.uid)
    sandbox.kill()
    assert processes_of(sandbox.lease.uid) == []
    assert sandbox.get().text("file") == "kept\n"
    assert shell.run("cat file").stdout == b"kept\n"


def test_a_killed_shell_is_the_commands_doing(sandbox: BubblewrapSandbox) -> None:
    report = sandbox.shell().run("echo a; kill -9 -1; kill -9 $$")
    assert report.fresh_shell
    assert report.reason == "signal"
    assert comes_true(lambda: processes_of(sandbox.lease.uid) == [])
    assert sandbox.shell().run("echo again").stdout == b"again\n"
