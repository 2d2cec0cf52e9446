"""The coding workspace: files, runs, and handing in."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from polyathlon.errors import SandboxLost
from polyathlon.sandbox.choose import default_room
from polyathlon.sandbox.protocol import Limits, Snapshot
from polyathlon.sandbox.scripted import ScriptedRoom, ScriptedSandbox
from polyathlon.toolcall import write_call, write_fenced
from polyathlon.tree import Tree
from polyathlon.workspaces.coding import MAX_FILES, CodingWorkspace

FILES = Tree.of({"solution.py": "def f(x):\n    return x\n", "notes.txt": "hello\n"})


@pytest.fixture
def workspace() -> Iterator[CodingWorkspace]:
    made = CodingWorkspace(FILES, default_room())
    yield made
    made.close()
    made.close()


def test_files_can_be_listed_read_and_written(workspace: CodingWorkspace) -> None:
    assert "notes.txt" in workspace.act(write_call("list_files", {})).text
    assert workspace.act(write_call("read_file", {"path": "notes.txt"})).text == "hello\n"
    assert not workspace.act(write_call("write_file", {"path": "lib/a.py", "text": "A = 1\n"})).error
    assert workspace.evidence().tree.text("lib/a.py") == "A = 1\n"


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", "", "a//b", "a\0b"])
def test_a_path_outside_is_refused(workspace: CodingWorkspace, path: str) -> None:
    assert workspace.act(write_call("write_file", {"path": path, "text": "x"})).error
    assert workspace.act(write_call("read_file", {"path": path})).error


def test_a_run_sees_the_files_and_its_own_are_kept(workspace: CodingWorkspace) -> None:
    workspace.act(write_call("write_file", {"path": "a.py", "text": "print(6 * 7)\n"}))
    shown = workspace.act(write_fenced("python3 a.py > out.txt; cat out.txt; false"))
    assert shown.text == "42\n[exit code 1]"
    assert shown.error
    assert workspace.evidence().tree.text("out.txt") == "42\n"
    workspace.act(write_call("write_file", {"path": "a.py", "text": "print(1)\n"}))
    assert workspace.act(write_call("run", {"command": "python3 a.py"})).text == "1\n[exit code 0]"


def test_one_fenced_python_block_is_handed_in(workspace: CodingWorkspace) -> None:
    assert workspace.act("I think:\n```python\ndef f(x):\n    return 2\n```\nDone.").finished
    assert workspace.evidence().answer == "def f(x):\n    return 2\n"


def test_two_blocks_are_not(workspace: CodingWorkspace) -> None:
    seen = workspace.act("```python\na = 1\n```\n```python\na = 2\n```")
    assert seen.error
    assert not seen.finished


def test_what_was_never_handed_in_is_judged_as_it_stands(workspace: CodingWorkspace) -> None:
    assert workspace.evidence().answer == FILES.text("solution.py")
    workspace.act(write_fenced("rm solution.py"))
    assert workspace.evidence().answer is None


@pytest.mark.parametrize(
    "action", ["", "hello", "\ud800", "<tool_call>", "```python\nnever closed", write_call("fly", {})]
)
def test_a_message_that_is_no_call_costs_a_turn_and_no_more(workspace: CodingWorkspace, action: str) -> None:
    seen = workspace.act(action)
    assert seen.error
    assert not seen.finished


def test_hostile_commands_are_answered(workspace: CodingWorkspace) -> None:
    assert workspace.act(write_call("run", {"command": "echo a\0b"})).error
    assert workspace.act(write_call("run", {"command": "kill -9 $$"})).error
    assert "exit code 0" in workspace.act(write_call("run", {"command": "true"})).text


def test_there_is_a_limit_to_files(workspace: CodingWorkspace) -> None:
    for number in range(MAX_FILES):
        last = workspace.act(write_call("write_file", {"path": f"f{number}", "text": ""}))
    assert last.error


def test_a_lost_sandbox_is_not_the_policys_failure() -> None:
    class Gone(ScriptedRoom):
        def open(
            self,
            files: Tree | Snapshot,
            *,
            limits: Limits | None = None,
            packages: tuple[str, ...] = (),
            needs: frozenset[str] = frozenset(),
            readonly: Tree | None = None,
        ) -> ScriptedSandbox:
            raise SandboxLost("gone")

    workspace = CodingWorkspace(FILES, Gone())
    with pytest.raises(SandboxLost):
        workspace.act(write_fenced("true"))
