"""The shell answers as bash does: for any command, its output and its status are those of `bash -c`."""

from __future__ import annotations

import re
import signal
import subprocess
import tempfile
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from polyathlon.sandbox.bubblewrap import BubblewrapRoom, BubblewrapSandbox
from polyathlon.sandbox.protocol import Limits
from polyathlon.tree import Tree

MB = 2**20
PREFIX = re.compile(rb"(?:bash|/bin/bash|environment): (?:eval: |-c: )?line \d+: ")
PROCESS = re.compile(rb"bash: +\d+ (?=[A-Z])")
BACKGROUND = re.compile("(?<![&>])&(?![&>])")
"""What stands before it may print after the shell has answered, or not: there is no right output to compare."""
CHECKED = settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.fixture(scope="module")
def roomy(room: BubblewrapRoom) -> Iterator[BubblewrapSandbox]:
    limits = Limits(memory_bytes=512 * MB, output_bytes=64 * MB, kept_bytes=48 * MB, cpu_s=600.0)
    with room.open(Tree(), limits=limits) as sandbox:
        yield sandbox


def default_signals() -> None:
    """The suite may run where some are ignored; a command in a sandbox never does."""
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)


def expected(command: str) -> tuple[bytes, int]:
    """Return what bash on this machine says. Of hypothesis alone: its parts are harmless, whatever their order."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            ["bash", "-c", "--", command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=folder,
            env={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": folder},
            timeout=60,
            preexec_fn=default_signals,
            check=False,
        )
    return plain(done.stdout), done.returncode if done.returncode >= 0 else 128 - done.returncode


def found(sandbox: BubblewrapSandbox, command: str) -> tuple[bytes, int | None]:
    """Return what a fresh shell of the sandbox says."""
    report = sandbox.shell().run(command, timeout_s=60)
    sandbox.shell().close()
    assert not report.clipped
    return plain(report.stdout), report.exit_code


def plain(output: bytes) -> bytes:
    """Return the output without the names, lines and processes that bash puts into its own complaints."""
    return PROCESS.sub(b"bash: PID ", PREFIX.sub(b"bash: ", output))


words = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20)
octets = st.binary(max_size=60).map(lambda data: "".join(f"\\{byte:03o}" for byte in data))


def quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def here_document(lines: list[str]) -> str:
    return "cat <<'EOF_OF_TEST'\n" + "".join(f"{line}\n" for line in lines) + "EOF_OF_TEST\n"


prints = octets.map(lambda data: f"printf '{data}'")
to_stderr = octets.map(lambda data: f"printf '{data}' >&2")
in_pieces = st.tuples(octets, octets).map(
    lambda two: f"printf '\\303'; printf '\\251{two[0]}'; sleep 0.01; printf '{two[1]}'"
)
long_lines = st.integers(0, 300_000).map(lambda size: f"head -c {size} /dev/zero | tr '\\0' y")
documents = st.lists(words.filter(lambda w: "\n" not in w and "EOF_OF_TEST" not in w), max_size=4).map(here_document)
expansions = st.tuples(st.integers(-99, 99), st.integers(1, 9)).map(
    lambda n: f'x={n[0]}; echo "$((x * {n[1]})) ${{x}} ${{y-none}}"'
)
statuses = st.integers(0, 255).map(lambda code: f"(exit {code})")
exits = st.integers(0, 300).map(lambda code: f"exit {code}")
signals = st.sampled_from(["TERM", "KILL", "INT", "HUP", "SEGV", "USR1", "PIPE"]).map(
    lambda name: f"kill -{name} $$; sleep 1"
)
in_children = st.sampled_from(["TERM", "KILL", "ABRT"]).map(
    lambda name: f"bash -c 'kill -{name} $$' 2>/dev/null; echo $?"
)
jobs = octets.map(lambda data: f"(sleep 0.02; printf '{data}') & printf started; wait; echo $?")
broken = st.sampled_from(
    ["if", "echo 'open", "a=(", "for", "fi", "echo $(", "}", "((", "case x in", 'echo "', "cat <<X"]
)
others = st.sampled_from(
    [
        "true",
        "false",
        ":",
        "",
        "   ",
        "# nothing",
        "cd /; pwd",
        "set -e; false; echo no",
        "set -u; echo $nope",
        "echo a | grep b",
        "set -o pipefail; false | true",
        "f() { return 7; }; f",
        "read x; echo $?",
        "cat",
        "no-such-command-anywhere",
        "/etc/passwd",
        "echo $0 $# $*",
        "trap 'echo bye' EXIT",
        "exec echo replaced",
        "for i in 1 2 3; do echo $i; done",
        "{ echo out; echo err >&2; }",
        "echo x > file; cat file; rm file",
        "[[ a == b ]]",
        "let 0",
        "return 3",
        "break",
        "shift 5",
        "ulimit -f",
        "umask",
        "type cd",
        "printf '%s\\n' {a..c}",
        "exec 2>/dev/null; no-such-command",
        "exec >&2; echo both",
        "unset PATH; ls",
        "false || exit 9",
        "! true",
        "wait",
        "echo \\\n continued",
        "kill -9 $$",
        "kill $BASHPID",
        "(kill -9 $BASHPID); echo $?",
        "eval 'echo 1; exit 4'",
    ]
)
parts = st.one_of(prints, to_stderr, in_pieces, documents, expansions, statuses, in_children, jobs, others, long_lines)
commands = st.one_of(
    st.lists(parts, min_size=1, max_size=4).map("\n".join),
    st.tuples(parts, st.one_of(exits, signals, broken)).map("\n".join),
    st.one_of(broken, exits, signals),
)


@CHECKED
@given(commands)
@example("head -c 10485760 /dev/zero | tr '\\0' x")
@example("head -c 10485760 /dev/zero; echo; exit 3")
@example("printf '\\377\\000\\012\\200'")
@example(here_document(["$HOME `ls` \\", "'\"", ""]))
@example("kill -9 $$")
@example("echo a\nif")
@example("printf x\nif")
@example("-0")
@example("trap 'echo bye; exit 5' EXIT; exit 2")
def test_output_and_status_are_those_of_bash(roomy: BubblewrapSandbox, command: str) -> None:
    assert found(roomy, command) == expected(command)


text = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=40)
shellish = st.text(st.sampled_from("aeho \n'\"$(){}[]<>&|;#\\`!*?~=-+%1"), min_size=1, max_size=30)


@CHECKED
@given(st.one_of(text, shellish))
def test_any_text_at_all_ends_as_in_a_bash_of_its_own(roomy: BubblewrapSandbox, command: str) -> None:
    """What may be anything is run nowhere but inside: there, by a bash that is given the same text."""
    output, status = found(roomy, command)
    roomy.run("cd /workspace && find . -mindepth 1 -delete")
    script = 'exec 2>&1; bash -c -- "$1"; s=$?; printf x; exit $s'
    report = roomy.run(["bash", "-c", script, "bash", command], timeout_s=60)
    roomy.run("cd /workspace && find . -mindepth 1 -delete")
    broken = any(word in output + report.stdout for word in (b"syntax error", b"unexpected EOF"))
    if not broken:  # of text that does not parse, `bash -c` runs the lines before, and ends with their status
        assert status == report.exit_code
        if not BACKGROUND.search(command):
            assert output == plain(report.stdout.removesuffix(b"x"))


@CHECKED
@given(st.lists(st.one_of(prints, to_stderr, documents, statuses, in_children), min_size=2, max_size=8))
def test_one_shell_answers_each_command_with_its_own(roomy: BubblewrapSandbox, several: list[str]) -> None:
    shell = roomy.shell()
    for command in several:
        report = shell.run(command)
        assert (plain(report.stdout), report.exit_code) == expected(command)
        assert not report.fresh_shell
