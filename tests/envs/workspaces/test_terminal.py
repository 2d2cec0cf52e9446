"""The terminal: what each tool shows, what lasts, what is judged; in the machine's real sandbox."""

import time
from collections.abc import Iterator

import pytest

from polyathlon import Entry, Json, Tree
from polyathlon.errors import DomainError, SandboxLost
from polyathlon.sandbox.choose import default_room
from polyathlon.sandbox.protocol import Limits, Sandbox, Snapshot
from polyathlon.toolcall import write_call, write_fenced
from polyathlon.workspaces.terminal import TerminalWorkspace, read_tree

FILES: dict[str, str | bytes | Entry] = {
    "notes.txt": "one\ntwo\n",
    "bin/run.sh": Entry(mode=0o755, data=b"echo ran\n", mtime_s=1_000_000_000),
}


@pytest.fixture
def terminal() -> Iterator[TerminalWorkspace]:
    workspace = TerminalWorkspace(Tree.of(FILES), default_room())
    yield workspace
    workspace.close()


class CountingRoom:
    """The machine's room, counting what it lends."""

    def __init__(self) -> None:
        self.opened = 0

    def open(
        self,
        files: Tree | Snapshot,
        *,
        limits: Limits | None = None,
        packages: tuple[str, ...] = (),
        needs: frozenset[str] = frozenset(),
        readonly: Tree | None = None,
    ) -> Sandbox:
        self.opened += 1
        return default_room().open(files, limits=limits, packages=packages, needs=needs, readonly=readonly)

    def load(self, tar: bytes) -> Snapshot:
        return default_room().load(tar)


def test_a_command_shows_status_directory_and_both_streams_in_order(terminal: TerminalWorkspace) -> None:
    seen = terminal.act(write_fenced("cd bin; echo out; echo err >&2; (exit 3)"))
    assert seen.text == "[exit 3] /workspace/bin\nout\nerr\n"
    assert not seen.error
    assert not seen.finished


def test_directory_and_variables_last(terminal: TerminalWorkspace) -> None:
    terminal.act(write_fenced("cd bin; x=7"))
    assert terminal.act(write_fenced('echo "$x"; ls')).text == "[exit 0] /workspace/bin\n7\nrun.sh\n"


def test_a_timeout_is_an_observation_and_the_directory_stays(terminal: TerminalWorkspace) -> None:
    terminal.act(write_fenced("cd bin"))
    seen = terminal.act(write_call("run", {"cmd": "sleep 30", "timeout_s": 1}))
    assert seen.error
    assert "out of time" in seen.text
    assert terminal.act(write_fenced("pwd")).text == "[exit 0] /workspace/bin\n/workspace/bin\n"


def test_long_output_keeps_head_and_tail(terminal: TerminalWorkspace) -> None:
    text = terminal.act(write_fenced("seq 1 20000")).text
    assert text.startswith("[exit 0] /workspace\n1\n2\n")
    assert text.endswith("19999\n20000\n")
    assert "characters cut" in text


def test_files_are_written_with_their_directories_and_read_back(terminal: TerminalWorkspace) -> None:
    wrote = terminal.act(write_call("write_file", {"path": "new/deep/a b.txt", "text": "h\u00e9\n"}))
    assert wrote.text == "4 bytes written to new/deep/a b.txt."
    assert terminal.act(write_call("read_file", {"path": "new/deep/a b.txt"})).text == "h\u00e9\n"
    assert terminal.evidence().tree.text("new/deep/a b.txt") == "h\u00e9\n"


@pytest.mark.parametrize("path", ["missing", "bin", "/etc/shadow", "-n", "nul\0", "\ud800", "", "x" * 5000])
def test_an_unreadable_file_is_an_error_that_says_why(terminal: TerminalWorkspace, path: str) -> None:
    seen = terminal.act(write_call("read_file", {"path": path}))
    assert seen.error
    assert seen.text


def test_half_a_surrogate_in_a_command_is_an_error_not_a_crash(terminal: TerminalWorkspace) -> None:
    assert terminal.act(write_call("run", {"cmd": "echo \ud800"})).error


def test_a_message_without_a_call_opens_no_sandbox_and_leaves_the_start() -> None:
    room = CountingRoom()
    workspace = TerminalWorkspace(Tree.of(FILES), room)
    assert workspace.act("I would list the files.").error
    evidence = workspace.evidence()
    workspace.close()
    assert room.opened == 0
    assert evidence.ledger == ()
    assert evidence.tree.text("notes.txt") == "one\ntwo\n"


def test_the_untouched_tree_reads_the_same_before_and_after_the_sandbox_opens(terminal: TerminalWorkspace) -> None:
    before = terminal.evidence().tree
    terminal.act(write_fenced("true"))
    assert terminal.evidence().tree.digest() == before.digest()


def test_the_record_of_the_sandbox_is_there_once_there_is_one(terminal: TerminalWorkspace) -> None:
    before = terminal.sandbox_record
    assert before is None
    terminal.act(write_fenced("echo x >made"))
    record = terminal.sandbox_record
    assert record is not None
    assert record.backend == default_room().record().backend
    assert "network" in record.capabilities
    assert record.usage.num_files == len(FILES) + 2  # bin, and what was made


def test_submit_ends_with_the_answer_and_stops_background_work(terminal: TerminalWorkspace) -> None:
    terminal.act(write_fenced("while :; do echo more >>late.txt; sleep 0.02; done &"))
    seen = terminal.act(write_call("submit", {"answer": "42"}))
    first = terminal.evidence()
    assert seen.finished
    assert first.answer == "42"
    assert [call.name for call in first.ledger] == ["run", "submit"]
    time.sleep(0.3)
    assert terminal.evidence().tree == first.tree


def test_modes_times_links_and_compressed_files_come_as_described() -> None:
    described: dict[str, Json] = {
        "a.gz": {"text": "hello\n", "gzip": True, "mtime_s": 1_000_000_000},
        "keys": {"dir": True, "mode": 0o2700},
        "keys/k": {"text": "x", "mode": 0o400},
        "link": {"link": "keys/k"},
    }
    workspace = TerminalWorkspace(read_tree(described), default_room())
    seen = workspace.act(write_fenced("zcat a.gz; stat -c '%n %a %Y' a.gz; stat -c %a keys keys/k; readlink link"))
    workspace.close()
    assert seen.text == "[exit 0] /workspace\nhello\na.gz 644 1000000000\n2700\n400\nkeys/k\n"


def test_an_entry_of_no_kind_is_refused() -> None:
    with pytest.raises(DomainError, match="'x' is no file, link or directory"):
        read_tree({"x": {"mode": 0o644}})


def test_a_closed_workspace_is_lost_not_reopened(terminal: TerminalWorkspace) -> None:
    terminal.close()
    terminal.close()
    with pytest.raises(SandboxLost):
        terminal.act(write_fenced("ls"))


def test_the_payload_owns_its_workspace_and_is_not_root(terminal: TerminalWorkspace) -> None:
    text = terminal.act(write_fenced("id -u; stat -c %u . notes.txt")).text
    uids = text.splitlines()[1:]
    assert len(set(uids)) == 1
    assert uids[0] != "0"
