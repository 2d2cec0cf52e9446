"""The scripted sandbox keeps the protocol's promises where nothing runs."""

from __future__ import annotations

import pytest

from polyathlon.errors import SandboxError, SandboxLost
from polyathlon.sandbox.protocol import Report, Room
from polyathlon.sandbox.scripted import Asked, ScriptedRoom, printing
from polyathlon.tree import Entry, Tree


def test_it_is_a_room() -> None:
    room: Room = ScriptedRoom({"echo hi": printing("hi\n")})
    with room.open(Tree()) as sandbox:
        assert sandbox.run(["echo", "hi"]).stdout == b"hi\n"
        assert sandbox.shell().run("echo hi").ok


def test_an_effect_changes_the_files() -> None:
    def touch(tree: Tree) -> tuple[Report, Tree]:
        return printing(""), tree.with_files({"made": "x"})

    with ScriptedRoom({"touch made": touch}).open(Tree.of({"a": "b"})) as sandbox:
        sandbox.shell().run("touch made")
        assert list(sandbox.get()) == ["a", "made"]


def test_an_unknown_command_is_not_found() -> None:
    with ScriptedRoom().open(Tree()) as sandbox:
        assert sandbox.run(["x"]) == Report(127, "exit", stderr=b"x: not scripted\n")
        assert sandbox.shell().run("x").stdout == b"x: not scripted\n"


def test_a_slow_answer_times_out_and_changes_nothing() -> None:
    def slow(tree: Tree) -> tuple[Report, Tree]:
        return Report(0, "exit", wall_s=5.0), tree.with_files({"made": "x"})

    with ScriptedRoom({"slow": slow}).open(Tree()) as sandbox:
        report = sandbox.shell().run("slow", timeout_s=1.0)
        assert (report.exit_code, report.reason, report.fresh_shell) == (None, "timeout", True)
        assert len(sandbox.get()) == 0
        assert sandbox.run(["slow"], timeout_s=6.0).ok


def test_what_was_asked_is_kept() -> None:
    room = ScriptedRoom()
    with room.open(Tree(), packages=("numpy",)) as sandbox:
        sandbox.run(["python3", "-c", "1"], stdin=b"in", env={"A": "b"})
        sandbox.shell().run("ls")
    assert room.opened[0].asked == [Asked("python3 -c 1", b"in", {"A": "b"}), Asked("ls")]
    assert room.opened[0].packages == ("numpy",)


def test_parents_appear_with_their_files_as_in_a_real_one() -> None:
    with ScriptedRoom().open(Tree.of({"a/b/c": "x"})) as sandbox:
        assert sandbox.get().get("a/b") == Entry("dir", 0o755)


def test_a_closed_sandbox_and_an_empty_command_are_refused() -> None:
    sandbox = ScriptedRoom().open(Tree())
    with pytest.raises(SandboxError, match="empty"):
        sandbox.run([])
    sandbox.close()
    sandbox.close()
    for ask in (lambda: sandbox.run(["x"]), sandbox.get, sandbox.shell):
        with pytest.raises(SandboxLost):
            ask()
