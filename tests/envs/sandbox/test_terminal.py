"""Programs that draw: keys go in, a screen comes out, and no terminal but its own is within a program's reach."""

from __future__ import annotations

import time

import pytest

from polyathlon.errors import SandboxError
from polyathlon.sandbox.bubblewrap import BubblewrapSandbox
from polyathlon.sandbox.keys import read_key
from polyathlon.sandbox.protocol import Terminal
from polyathlon.sandbox.terminal import PtyTerminal
from polyathlon.tree import Tree

from .host import comes_true, processes_of


def shows(terminal: Terminal, words: str, *, limit_s: float = 20.0) -> str:
    """Return the screen once `words` are on it: a busy machine draws late."""
    end_s = time.monotonic() + limit_s
    screen = terminal.screen()
    while words not in screen and time.monotonic() < end_s:
        screen = terminal.screen(quiet_s=0.3)
    assert words in screen, screen
    return screen


def test_a_shell_with_a_prompt_job_control_and_its_size(sandbox: BubblewrapSandbox) -> None:
    terminal = sandbox.terminal(["bash", "--norc"], columns=60, rows=10)
    shows(terminal, "$")
    terminal.send_keys("stty size; sleep 1000", "Enter")
    shows(terminal, "10 60")
    terminal.send_keys("C-z")
    shows(terminal, "Stopped")
    terminal.send_keys("kill %1; clear; echo 'a", "Enter", "b'", "Enter")
    assert shows(terminal, "\nb\n").splitlines()[-1].endswith("$")
    terminal.send_keys("exit", "Enter")
    assert comes_true(lambda: not terminal.alive)
    with pytest.raises(SandboxError, match="has ended"):
        terminal.send_keys("more")


def test_lines_end_without_blanks_and_long_ones_wrap(sandbox: BubblewrapSandbox) -> None:
    terminal = sandbox.terminal("printf 'ab  \\n%025d\\n\\xe4\\xb8\\xad\\xe6\\x96\\x87|\\n\\n' 7", columns=20, rows=8)
    assert shows(terminal, "|") == "ab\n" + "0" * 20 + "\n00007\n\u4e2d\u6587|"


def test_resizing_tells_the_program(sandbox: BubblewrapSandbox) -> None:
    terminal = sandbox.terminal("trap 'stty size' WINCH; echo ready; while :; do sleep 0.05; done")
    shows(terminal, "ready")
    terminal.resize(columns=100, rows=30)
    shows(terminal, "30 100")
    for columns, rows in ((0, 5), (5, 100_000)):
        with pytest.raises(SandboxError, match="columns"):
            terminal.resize(columns=columns, rows=rows)


def test_a_password_prompt_shows_nothing_of_what_is_typed(sandbox: BubblewrapSandbox) -> None:
    terminal = sandbox.terminal('read -rsp "Password: " word </dev/tty; echo; echo "got ${#word}"')
    shows(terminal, "Password:")
    terminal.send_keys("secret", "Enter")
    assert "secret" not in shows(terminal, "got 6")


def test_a_menu_of_bash(sandbox: BubblewrapSandbox) -> None:
    terminal = sandbox.terminal('select fruit in apple pear; do echo "took $fruit"; break; done')
    assert shows(terminal, "#?").startswith("1) apple\n2) pear")
    terminal.send_keys("2", "Enter")
    shows(terminal, "took pear")


def test_the_python_prompt(sandbox: BubblewrapSandbox) -> None:
    terminal = sandbox.terminal(["python3", "-q"])
    shows(terminal, ">>>")
    terminal.send_keys("for i in range(3):", "Enter", "    print(i * 7)", "Enter", "Enter")
    assert shows(terminal, "\n14\n").splitlines()[-4:] == ["0", "7", "14", ">>>"]
    terminal.send_keys("input('name? ')", "Enter", "me", "Enter", "C-d")
    assert "'me'" in shows(terminal, "'me'")
    assert comes_true(lambda: not terminal.alive)


def test_a_pager(sandbox: BubblewrapSandbox) -> None:
    if not sandbox.run("command -v less").ok:
        pytest.skip("no less on this host")
    sandbox.put(Tree.of({"long": "".join(f"row {number}\n" for number in range(1, 101))}))
    terminal = sandbox.terminal(["less", "long"], rows=11)
    assert shows(terminal, "row 10\n").startswith("row 1\nrow 2")
    terminal.send_keys("PageDown")
    assert shows(terminal, "row 20").startswith("row 11\n")
    terminal.send_keys("/row 77", "Enter")
    assert shows(terminal, "row 80").startswith("row 77\n")
    terminal.send_keys("Up")
    assert shows(terminal, "row 76").startswith("row 76\n")
    terminal.send_keys("q")
    assert comes_true(lambda: not terminal.alive)


def test_an_editor(sandbox: BubblewrapSandbox) -> None:
    if not sandbox.run("command -v vim").ok:
        pytest.skip("no vim on this host")
    sandbox.put(Tree.of({"file": "one\ntwo\nthree\n"}))
    terminal = sandbox.terminal(["vim", "-u", "NONE", "-n", "file"])
    assert shows(terminal, "three\n~").startswith("one\ntwo\nthree\n~\n")
    terminal.send_keys("Down", "d", "d", "o", "zwei", "Enter", "drei", "Escape", ":wq", "Enter")
    assert comes_true(lambda: not terminal.alive)
    assert sandbox.get().text("file") == "one\nthree\nzwei\ndrei\n"


def test_a_program_that_redraws_for_ever_is_read_for_so_long_and_no_longer(sandbox: BubblewrapSandbox) -> None:
    if not sandbox.run("command -v top").ok:
        pytest.skip("no top on this host")
    terminal = sandbox.terminal("while :; do echo tick; sleep 0.02; done")
    started_s = time.monotonic()
    assert "tick" in terminal.screen(quiet_s=0.5, timeout_s=2.0)
    assert time.monotonic() - started_s < 6
    top = sandbox.terminal(["top", "-d", "1"])
    shows(top, "COMMAND")


def test_what_nobody_reads_waits(sandbox: BubblewrapSandbox) -> None:
    terminal = sandbox.terminal("head -c 200000 /dev/zero | tr '\\0' x; echo; touch done; sleep 1000")
    time.sleep(0.5)
    assert "done" not in sandbox.get()
    shows(terminal, "x")
    assert comes_true(lambda: bool(terminal.screen()) and "done" in sandbox.get())


@pytest.mark.isolation
def test_a_flood_ends_the_program_and_the_screen_stays(small: BubblewrapSandbox) -> None:
    terminal = small.terminal(["yes", "flood"])
    end_s = time.monotonic() + 60
    while terminal.alive and time.monotonic() < end_s:
        terminal.screen(quiet_s=0.05, timeout_s=2.0)
    assert not terminal.alive
    assert terminal.screen().startswith("flood\nflood")
    assert processes_of(small.lease.uid) == []


@pytest.mark.isolation
@pytest.mark.parametrize(
    "drawing",
    [
        r"\033[1;2;3;4;5;6;7H\033[99999999999999999999C\033[;;;;m",
        r"\033]0;title without an end",
        r"\033[?3h\033[?3l\033[1;1r\033[99;1r\033[r",
        r"\033[6n\033[c\033[5n",
        r"\033[9999@\033[9999L\033[9999M\033[9999P\033[9999X\033[9999A",
        r"\033(0lqk\033(B\016\017\007\b\b\b\t\v\f\r\n",
        r"\xff\xfe\xc3\xc3\x28\xe4\xb8",
        r"\xe4\xb8\xad\033[1D\xe4\xb8\xad\033[1Dx\xcc\x81\xcc\x81",
        r"\033[38;2;1;2;3mcolour\033[48;5;300m\033[38;5m\033[38m",
        r"\033#8\033c\033[2J\033[3J\033[1K",
    ],
)
def test_no_drawing_breaks_the_screen(sandbox: BubblewrapSandbox, drawing: str) -> None:
    terminal = sandbox.terminal(f"printf '{drawing}'; printf '\\033c\\a\\033c'; echo still here; sleep 1000")
    assert shows(terminal, "still here")


@pytest.mark.isolation
def test_injected_keys_line_disciplines_and_other_terminals_are_out_of_reach(sandbox: BubblewrapSandbox) -> None:
    code = (
        "import errno, fcntl, os\n"
        "def tried(request, argument):\n"
        "    try: fcntl.ioctl(0, request, argument); return 'done'\n"
        "    except OSError as error: return errno.errorcode[error.errno]\n"
        "print(tried(0x5412, b'x'), tried(0x541C, b'\\2'), tried(0x5423, b'\\0' * 4))\n"
        "print(os.listdir('/dev/pts'), os.isatty(0), os.getpid() == os.tcgetpgrp(0), end=' ready')\n"
    )
    sandbox.put(Tree.of({"try.py": code}))
    terminal = sandbox.terminal(["python3", "try.py"])
    # TIOCSTI, TIOCLINUX, TIOCSETD
    assert shows(terminal, "ready").splitlines() == ["EPERM EPERM EPERM", "['ptmx'] True True ready"]


def test_closing_kills_and_may_come_twice(sandbox: BubblewrapSandbox) -> None:
    terminal = sandbox.terminal("trap '' HUP TERM; echo up; setsid sleep 1000 & sleep 1000")
    shows(terminal, "up")
    terminal.close()
    terminal.close()
    assert processes_of(sandbox.lease.uid) == []
    assert not terminal.alive
    assert terminal.screen() == "up"
    sandbox.terminal(["sleep", "1000"])
    sandbox.kill()
    assert processes_of(sandbox.lease.uid) == []


def test_a_terminal_that_ends_with_its_sandbox(sandbox: BubblewrapSandbox) -> None:
    terminal = sandbox.terminal(["cat"])
    assert isinstance(terminal, PtyTerminal)
    sandbox.close()
    assert not terminal.alive
    terminal.close()
    with pytest.raises(SandboxError):
        terminal.send_keys("x")


def test_a_program_that_reads_no_keys_is_told_of(sandbox: BubblewrapSandbox) -> None:
    terminal = sandbox.terminal("stty raw -echo; echo ready; sleep 1000")
    shows(terminal, "ready")
    with pytest.raises(SandboxError, match="reads no keys"):
        terminal.send_keys("x" * 100_000)


@pytest.mark.parametrize(
    ("key", "data"),
    [
        ("Enter", b"\r"),
        ("C-c", b"\x03"),
        ("C-Space", b"\0"),
        ("C-\\", b"\x1c"),
        ("M-x", b"\x1bx"),
        ("M-Enter", b"\x1b\r"),
        ("C-M-a", b"\x1b\x01"),
        ("F1", b"\x1b[[A"),
        ("F12", b"\x1b[24~"),
        ("BSpace", b"\x7f"),
        ("Up", b"\x1b[A"),
        ("enter", b"enter"),
        ("C-style", b"C-style"),
        ("M-expressions", b"M-expressions"),
        ("e\u00e9", b"e\xc3\xa9"),
        ("ls -l\n", b"ls -l\n"),
        ("", b""),
    ],
)
def test_keys_have_names_and_any_other_text_is_typed(key: str, data: bytes) -> None:
    assert read_key(key) == data


def test_arrows_of_full_screen_programs_and_keys_that_are_none() -> None:
    assert read_key("Left", application=True) == b"\x1bOD"
    for key in ("F13", "F0", "C-1", "C-Enter"):
        with pytest.raises(SandboxError, match=f"no key {key}"):
            read_key(key)
