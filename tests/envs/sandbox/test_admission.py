"""The gates: in order of asking, never more than allowed, adapting to memory, and nobody waits for ever."""

from __future__ import annotations

import random  # noqa: TID251  # a simulated crowd, seeded
import threading
import time

import pytest

from polyathlon.errors import SandboxLost
from polyathlon.sandbox.admission import Gate, Policy, Queue, Vitals, read_vitals
from polyathlon.sandbox.bubblewrap import BubblewrapRoom
from polyathlon.sandbox.protocol import Limits
from polyathlon.tree import Tree

MIB = 2**20
PLENTY = Vitals(64 * 2**30)


def test_starts_at_once_are_bounded_and_in_order() -> None:
    queue = Queue(Policy(starts_at_once=2))
    tickets = [queue.ask(0.0, MIB) for _ in range(5)]
    assert queue.admit(0.0, PLENTY) == tickets[:2]
    assert queue.admit(0.1, PLENTY) == []
    queue.started(tickets[1])
    assert queue.admit(0.2, PLENTY) == [tickets[2]]
    queue.left(tickets[0])
    assert queue.admit(0.3, PLENTY) == [tickets[3]]


def test_a_large_one_is_not_overtaken_by_small_ones() -> None:
    queue = Queue(Policy(starts_at_once=9, spare_bytes=100 * MIB, reserve=1.0))
    assert queue.admit(0, Vitals(300 * MIB)) == []
    first, large, small = (queue.ask(0, size * MIB) for size in (50, 400, 1))
    assert queue.admit(0, Vitals(300 * MIB)) == [first]
    assert queue.admit(1, Vitals(300 * MIB)) == []
    queue.left(first)
    assert queue.admit(2, Vitals(700 * MIB)) == [large, small]


def test_one_may_always_stand_however_little_there_is() -> None:
    queue = Queue(Policy())
    one, other = queue.ask(0, 2**40), queue.ask(0, 2**40)
    assert queue.admit(0, Vitals(0, 1.0)) == [one]
    queue.started(one)
    assert queue.admit(1, Vitals(0, 1.0)) == []
    queue.left(one)
    assert queue.admit(2, Vitals(0, 1.0)) == [other]


def test_the_number_alive_shrinks_under_pressure_and_grows_back() -> None:
    queue = Queue(Policy(starts_at_once=1_000, most_alive=100))
    for _ in range(100):
        queue.ask(0, MIB)
    assert len(queue.admit(0, PLENTY)) == 100
    queue.admit(1, Vitals(64 * 2**30, 0.9))
    assert queue.cap == 70.0
    queue.admit(1.1, Vitals(64 * 2**30, 0.9))  # at most once each half second
    assert queue.cap == 70.0
    queue.admit(2, Vitals(0))
    assert queue.cap == 49.0
    queue.admit(3, PLENTY)
    assert queue.cap == 50.0


def test_a_simulated_crowd_seed_7() -> None:
    """10,000 askers, random sizes and lives, 16 GiB: never more than fits, nobody starves, all is given back."""
    rng, queue = random.Random(7), Queue(Policy(starts_at_once=4, wait_s=1e9, reserve=0.25))
    total, now_s = 16 * 2**30, 0.0
    used: dict[int, int] = {}
    asked: list[int] = []
    admitted: list[int] = []
    starts: dict[int, float] = {}
    ends: dict[int, float] = {}
    while len(admitted) < 10_000 or ends:
        now_s += 0.01
        while len(asked) < 10_000 and len(asked) - len(admitted) < 50:
            asked.append(queue.ask(now_s, rng.choice((64, 256, 1024)) * MIB))
        vitals = Vitals(total - sum(used.values()), 0.5 if rng.random() < 0.01 else 0.0)
        for ticket in queue.admit(now_s, vitals):
            admitted.append(ticket)
            starts[ticket] = now_s + rng.uniform(0, 0.02)
            ends[ticket] = now_s + rng.uniform(0.02, 1.0)
            used[ticket] = queue.alive[ticket]
        assert len(queue.starting) <= 4
        assert len(queue.alive) <= max(queue.cap, len(ends))
        assert sum(used.values()) <= total - queue.policy.spare_bytes
        for ticket in [ticket for ticket, at_s in starts.items() if at_s <= now_s]:
            del starts[ticket]
            if rng.random() < 0.02:  # it could not be made
                queue.left(ticket)
                ends[ticket] = now_s
            queue.started(ticket)
        for ticket in [ticket for ticket, at_s in ends.items() if at_s <= now_s and ticket not in starts]:
            del ends[ticket], used[ticket]
            queue.left(ticket)
    assert admitted == asked
    assert not queue.alive
    assert not queue.starting
    assert not queue.waiting


def test_waiting_ends_with_a_reason() -> None:
    gate = Gate(Policy(most_alive=1, wait_s=0.1), vitals=lambda: PLENTY)
    with gate.start(MIB) as ticket:
        pass
    with pytest.raises(SandboxLost, match="within 0 s: 1 stand, 0 start, 1 may; 65536 MiB"), gate.start(MIB):
        pass
    gate.leave(ticket)
    gate.leave(ticket)
    with gate.start(MIB):
        assert len(gate.queue.alive) == 1


def test_a_start_that_fails_gives_its_place_back() -> None:
    gate = Gate(Policy(most_alive=1, wait_s=0.1), vitals=lambda: PLENTY)
    with pytest.raises(ZeroDivisionError), gate.start(MIB):
        _ = 1 / 0
    assert not gate.queue.alive


def test_threads_start_one_after_the_other_where_one_may() -> None:
    gate = Gate(Policy(starts_at_once=1), vitals=lambda: PLENTY)
    inside: list[int] = []
    most = []

    def work() -> None:
        with gate.start(MIB) as ticket:
            inside.append(ticket)
            most.append(len(inside))
            time.sleep(0.01)
            inside.remove(ticket)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1] * 8


def test_the_machine_tells_its_vitals() -> None:
    vitals = read_vitals()
    assert vitals.available_bytes > 10 * MIB
    assert 0 <= vitals.stalled <= 1


@pytest.mark.isolation
@pytest.mark.slow
def test_a_hundred_sandboxes_stand_and_give_their_places_back() -> None:
    room = BubblewrapRoom()
    opened = [room.open(Tree(), limits=Limits(memory_bytes=32 * MIB)) for _ in range(100)]
    assert len(room.gate.queue.alive) == 100
    assert opened[0].run(["echo", "on"]).stdout == opened[99].run(["echo", "on"]).stdout == b"on\n"
    for sandbox in opened:
        sandbox.close()
    assert not room.gate.queue.alive
    room.close()
