"""Sandboxes opened ahead: none for a single use, each lent once, gone when memory is short or nobody asks."""

from __future__ import annotations

import time
from collections import deque

import pytest

from polyathlon.sandbox.bubblewrap import BubblewrapRoom
from polyathlon.sandbox.pool import Demand, Kind, Pool
from polyathlon.sandbox.protocol import Limits
from polyathlon.tree import Tree

from .host import comes_true, groups_of

KIND: Kind = ((), Limits())


class Made:
    """A spare that counts."""

    def __init__(self) -> None:
        self.closed = False

    def close(self) -> None:
        self.closed = True


class Workshop:
    """Makes spares, and says whether there is memory."""

    def __init__(self) -> None:
        self.made: list[Made] = []
        self.plenty = True
        self.pool: Pool[Made] = Pool(self.make, calm=lambda: self.plenty, most=3)

    def make(self, _: Kind) -> Made:
        self.made.append(Made())
        return self.made[-1]


@pytest.mark.parametrize(
    ("claims_s", "spares"), [([], 0), ([9, 9, 9], 0), ([6, 7, 8, 9], 1), ([9] * 100, 3), ([0] * 9, 0)]
)
def test_one_spare_for_four_claims_within_ten_seconds(claims_s: list[float], spares: int) -> None:
    assert Demand(deque(claims_s)).target(10.5, most=3) == spares


def test_few_claims_make_nothing() -> None:
    shop = Workshop()
    assert [shop.pool.claim(KIND) for _ in range(3)] == [None] * 3
    time.sleep(0.1)
    assert shop.made == []
    shop.pool.close()


def test_many_claims_get_spares_and_none_twice() -> None:
    shop = Workshop()
    lent = []
    for _ in range(12):
        lent.append(shop.pool.claim(KIND))
    assert comes_true(lambda: shop.pool.num_spares() == 3)
    lent += [shop.pool.claim(KIND) for _ in range(3)]
    got = [spare for spare in lent if spare is not None]
    assert len(got) == len(set(map(id, got))) >= 3
    assert shop.pool.claim(((), Limits(memory_bytes=1))) is None  # another kind
    shop.pool.close()
    assert all(spare.closed != (spare in got) for spare in shop.made)
    assert shop.pool.num_spares() == 0


def test_a_pool_at_rest_holds_nothing_and_starts_anew_when_asked_again_and_again() -> None:
    shop = Workshop()
    for _ in range(12):
        shop.pool.claim(KIND)
    assert comes_true(lambda: shop.pool.num_spares() == 3)
    shop.pool.rest()
    assert shop.pool.num_spares() == 0
    assert all(spare.closed for spare in shop.made)
    assert [shop.pool.claim(KIND) for _ in range(3)] == [None] * 3
    shop.pool.claim(KIND)
    assert comes_true(lambda: shop.pool.num_spares() == 1)
    shop.pool.close()


def test_spares_go_when_memory_is_short_and_come_back() -> None:
    shop = Workshop()
    for _ in range(12):
        shop.pool.claim(KIND)
    assert comes_true(lambda: shop.pool.num_spares() == 3)
    shop.plenty = False
    assert comes_true(lambda: all(spare.closed for spare in shop.made))
    shop.plenty = True
    assert comes_true(lambda: shop.pool.num_spares() == 3)
    shop.pool.close()


@pytest.mark.isolation
def test_a_room_lends_each_spare_once_and_leaves_none() -> None:
    room = BubblewrapRoom(spares=2)
    for _ in range(8):
        room.open(Tree()).close()
    assert comes_true(lambda: room.pool.num_spares() == 2)
    launcher = room.launcher()
    with room.open(Tree.of({"a": "b"})) as one, room.open(Tree()) as other:
        assert one.shell().run("cat a; touch left").stdout == b"b"
        assert other.shell().run("ls; pwd").stdout == b"/workspace\n"
        assert len({one.lease.uid, other.lease.uid}) == 2 or one.lease.uid == other.lease.uid != 0
    room.close()
    assert groups_of(launcher.pid) == []
