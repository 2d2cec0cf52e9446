"""Rooms and sandboxes of the real backend, and what the tests count on the host."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from polyathlon.sandbox.bubblewrap import BubblewrapRoom, BubblewrapSandbox
from polyathlon.sandbox.protocol import Limits
from polyathlon.tree import Tree


@pytest.fixture(scope="session")
def room() -> Iterator[BubblewrapRoom]:
    room = BubblewrapRoom()
    yield room
    room.close()


@pytest.fixture
def sandbox(room: BubblewrapRoom) -> Iterator[BubblewrapSandbox]:
    with room.open(Tree()) as sandbox:
        yield sandbox


@pytest.fixture
def small(room: BubblewrapRoom) -> Iterator[BubblewrapSandbox]:
    limits = Limits(
        memory_bytes=64 * 2**20,
        disk_bytes=4 * 2**20,
        max_files=200,
        max_processes=16,
        cpu_s=1.0,
        output_bytes=2**20,
        kept_bytes=1000,
    )
    with room.open(Tree(), limits=limits) as sandbox:
        yield sandbox
