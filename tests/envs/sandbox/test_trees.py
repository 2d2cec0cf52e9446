"""Files go in and come out as they are; nothing a payload plants makes the reader follow, block, leave or fail."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from polyathlon.errors import SandboxError
from polyathlon.sandbox.bubblewrap import BubblewrapRoom, BubblewrapSandbox
from polyathlon.sandbox.protocol import Limits
from polyathlon.tree import Entry, Tree

GIVEN = Tree(
    {
        "top.txt": Entry("file", 0o640, b"text\n", 1_000_000_000),
        "bin": Entry("dir", 0o2755, b"", 1_100_000_000),
        "bin/run": Entry("file", 0o4755, b"#!/bin/sh\necho ran\n", 1_200_000_000),
        "bin/link": Entry("symlink", 0o777, b"../top.txt", 1_300_000_000),
        "bin/broken": Entry("symlink", 0o777, b"/no/such", 1_300_000_000),
        "shut": Entry("dir", 0o000, b"", 1_400_000_000),
        "shut/secret": Entry("file", 0o000, b"\x00\xff", 1_500_000_000),
        "open": Entry("dir", 0o1777, b"", 1_600_000_000),
        "na\udcffme": Entry("file", 0o644, b"", 1_600_000_000),
    }
)


def test_a_tree_comes_back_as_it_was_given(room: BubblewrapRoom) -> None:
    with room.open(GIVEN) as sandbox:
        assert sandbox.get() == GIVEN
        assert sandbox.get().digest() == GIVEN.digest()


def test_a_payload_sees_the_modes_times_and_owner_it_was_given(room: BubblewrapRoom) -> None:
    with room.open(GIVEN) as sandbox:
        seen = sandbox.run(["stat", "-c", "%n %a %Y %U", "top.txt", "bin", "bin/run", "shut", "open"]).stdout
        assert seen.decode().splitlines() == [
            "top.txt 640 1000000000 user",
            "bin 2755 1100000000 user",
            "bin/run 4755 1200000000 user",
            "shut 0 1400000000 user",
            "open 1777 1600000000 user",
        ]
        assert sandbox.run(["bin/run"]).stdout == b"ran\n"
        assert sandbox.run(["cat", "shut/secret"]).exit_code == 1


def test_what_a_payload_sets_is_what_is_read(sandbox: BubblewrapSandbox) -> None:
    made = "echo a >f; chmod 4711 f; mkdir d e; chmod 3750 d; ln -s f l; touch -d @1234567890 f; chmod 0 e"
    assert sandbox.run(["sh", "-c", made]).ok
    tree = sandbox.get()
    assert tree.get("f") == Entry("file", 0o4711, b"a\n", 1_234_567_890)
    assert (tree.entries["d"].mode, tree.entries["e"].mode) == (0o3750, 0)
    assert tree.entries["l"].kind == "symlink"
    assert tree.entries["l"].data == b"f"
    assert list(tree) == ["d", "e", "f", "l"]


def test_the_workspace_belongs_to_the_payload(sandbox: BubblewrapSandbox) -> None:
    assert sandbox.run(["stat", "-c", "%U %G %a", "/workspace"]).stdout == b"user user 755\n"


@pytest.mark.isolation
def test_links_are_read_as_links_and_never_followed(sandbox: BubblewrapSandbox) -> None:
    secret = Path("/tmp") / f"polyathlon-link-{os.getpid()}"
    secret.write_text("host secret", encoding="utf-8")
    try:
        plant = f"ln -s {secret} file; ln -s / root; ln -s . loop; ln -s /proc/self/root/etc dir"
        assert sandbox.run(["sh", "-c", plant]).ok
        tree = sandbox.get()
        assert {path: tree.entries[path].kind for path in tree} == dict.fromkeys(
            ["dir", "file", "loop", "root"], "symlink"
        )
        assert all(b"host secret" not in entry.data for entry in tree.entries.values())
        assert secret.is_file()  # the control: whoever followed the link would have read it
    finally:
        secret.unlink()


@pytest.mark.isolation
def test_pipes_sockets_and_holes_neither_block_nor_fill_the_reader(sandbox: BubblewrapSandbox) -> None:
    plant = (
        "import os, socket\n"
        "os.mkfifo('pipe')\n"
        "socket.socket(socket.AF_UNIX).bind('socket')\n"
        "open('holes', 'w').truncate(200 * 2**20)\n"
        "open('plain', 'w').write('plain')\n"
    )
    assert sandbox.run(["python3", "-c", plant]).ok
    started_s = time.monotonic()
    tree = sandbox.get()
    assert time.monotonic() - started_s < 5
    assert {path: tree.entries[path].kind for path in ("pipe", "socket", "holes")} == dict.fromkeys(
        ["pipe", "socket", "holes"], "other"
    )
    assert tree.text("plain") == "plain"


@pytest.mark.isolation
def test_endless_nesting_and_many_names_do_not_make_a_workspace_unreadable(sandbox: BubblewrapSandbox) -> None:
    plant = (
        "import os\n"
        "open('first', 'w').write('here')\n"
        "os.link('first', 'same')\n"
        "for _ in range(3000):\n"
        "    os.mkdir('x' * 200); os.chdir('x' * 200)\n"
    )
    assert sandbox.run(["python3", "-c", plant]).ok
    tree = sandbox.get()
    assert tree.text("first") == tree.text("same") == "here"
    deepest = max(tree, key=len)
    assert deepest.count("/") == 64
    assert tree.entries[deepest].kind == "other"


@pytest.mark.isolation
def test_a_tree_that_changes_while_it_is_read_is_read(sandbox: BubblewrapSandbox) -> None:
    churn = (
        "import os, threading\n"
        "os.mkdir('real'); open('real/file', 'w').write('x')\n"
        "while True:\n"
        "    for made in (lambda: os.symlink('/etc', 'a'), lambda: os.mkfifo('a'), lambda: os.mkdir('a'),\n"
        "                 lambda: open('a', 'w').close()):\n"
        "        made()\n"
        "        os.rename('a', 'b') if not os.path.isdir('a') else os.rmdir('a')\n"
        "        os.path.lexists('b') and os.unlink('b')\n"
    )
    sandbox.put(Tree.of({"churn.py": churn}))
    sandbox.shell().run("python3 churn.py & sleep 0.3")
    for _ in range(50):
        tree = sandbox.get()
        assert tree.text("churn.py") == churn
        assert not any(path.startswith(("a/", "b/")) for path in tree)
    sandbox.kill()
    assert sandbox.get() == sandbox.get()


def test_what_is_put_replaces_what_stands_there(sandbox: BubblewrapSandbox) -> None:
    sandbox.put(Tree.of({"a/b": "old", "c": "old"}))
    sandbox.put(Tree.of({"a": "a file now", "c/d": "a folder now"}))
    assert sandbox.get().text("a") == "a file now"
    assert sandbox.get().text("c/d") == "a folder now"


@pytest.mark.isolation
def test_putting_through_a_planted_link_stays_inside(sandbox: BubblewrapSandbox) -> None:
    target = Path("/tmp") / f"polyathlon-put-{os.getpid()}"
    target.mkdir()
    try:
        assert sandbox.run(["sh", "-c", f"ln -s {target} folder; ln -s {target}/leaf leaf; ln -s /tmp top"]).ok
        sandbox.put(Tree.of({"folder/file": "x", "leaf": "y", "top/deep/file": "z"}))
        assert list(target.iterdir()) == []
        assert sandbox.get().text("folder/file") == "x"
        assert sandbox.get().text("leaf") == "y"
        assert sandbox.run(["ls", "/tmp"]).stdout == b""
    finally:
        target.rmdir()


def test_what_does_not_fit_or_is_no_file_is_refused(room: BubblewrapRoom) -> None:
    with pytest.raises(SandboxError, match="No space left"):
        room.open(Tree.of({"big": b"x" * 2_000_000}), limits=Limits(disk_bytes=1_000_000))
    with room.open(Tree()) as sandbox, pytest.raises(SandboxError, match="'other'"):
        sandbox.put(Tree({"pipe": Entry("other")}))


def test_files_of_tmp_last_from_one_command_to_the_next(sandbox: BubblewrapSandbox) -> None:
    assert sandbox.run(["sh", "-c", "echo kept >/tmp/x"]).ok
    assert sandbox.shell().run("cat /tmp/x").stdout == b"kept\n"
    assert len(sandbox.get()) == 0
