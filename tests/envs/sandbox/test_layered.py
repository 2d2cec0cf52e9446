"""What a sandbox on layers has in common with every other: patches, usage, its record, terminals, its place."""

from __future__ import annotations

import pytest

from polyathlon.errors import PatchRefused
from polyathlon.sandbox.bubblewrap import BubblewrapRoom, BubblewrapSandbox
from polyathlon.tree import Tree

from .host import comes_true


def test_a_patch_applies_through_layers_whole_or_not_at_all(sandbox: BubblewrapSandbox) -> None:
    sandbox.put(Tree.of({"a.txt": "one\n", "gone.txt": "x\n"}))
    with sandbox.fork() as fork:
        fork.apply(
            "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+two\n--- a/gone.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"
        )
        assert (fork.get().text("a.txt"), "gone.txt" in fork.get()) == ("two\n", False)
        with pytest.raises(PatchRefused):
            sandbox.apply("--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-two\n+three\n")
        assert (sandbox.get().text("a.txt"), sandbox.get().text("gone.txt")) == ("one\n", "x\n")


def test_what_lies_in_layers_counts_as_used(sandbox: BubblewrapSandbox) -> None:
    assert sandbox.run("head -c 1048576 /dev/zero >half; touch a b").ok
    before = sandbox.usage()
    with sandbox.fork() as fork:
        for each in (sandbox, fork):
            assert each.run("head -c 1048576 /dev/zero >more").ok
            used = each.usage()
            assert used.disk_bytes is not None
            assert before.disk_bytes is not None
            assert 2**20 <= used.disk_bytes - before.disk_bytes < 2**20 + 65536
            assert used.num_files is not None
            assert before.num_files is not None
            assert used.num_files - before.num_files == 2  # the folder is copied up to hold it


def test_a_record_names_the_layers_that_a_sandbox_stands_on(sandbox: BubblewrapSandbox, room: BubblewrapRoom) -> None:
    sandbox.put(Tree.of({"a": "1"}))
    assert sandbox.record().layers == ()
    with sandbox.snapshot() as snapshot, room.open(snapshot) as fresh, sandbox.fork() as fork:
        assert len(snapshot.layers) == 1
        assert fresh.record().layers == snapshot.layers
        assert fork.record().layers[:1] == snapshot.layers
        fresh.put(Tree.of({"b": "2"}))
        assert fresh.record().layers == snapshot.layers
        sandbox.restore(snapshot)
        assert sandbox.record().layers == snapshot.layers
    assert sandbox.record().layers == snapshot.layers


def test_a_terminal_ends_with_the_processes_of_a_snapshot_and_a_fork_has_its_own(sandbox: BubblewrapSandbox) -> None:
    terminal = sandbox.terminal()
    terminal.send_keys("echo mine >mine", "Enter")
    assert comes_true(lambda: "mine" in sandbox.get())
    with sandbox.fork() as fork:
        assert not terminal.alive
        other = fork.terminal()
        other.send_keys("cat mine", "Enter")
        assert comes_true(lambda: "\nmine" in other.screen())


def test_forks_wait_at_the_gate_and_give_their_places_back(room: BubblewrapRoom) -> None:
    before = len(room.gate.queue.alive)
    with room.open(Tree()) as sandbox:
        with sandbox.fork(), sandbox.snapshot() as snapshot, room.open(snapshot):
            assert len(room.gate.queue.alive) == before + 3
        assert len(room.gate.queue.alive) == before + 1
    assert len(room.gate.queue.alive) == before
