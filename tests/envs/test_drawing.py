import hashlib
from dataclasses import dataclass

import numpy as np
import pytest

from polyathlon.canonical import content_hash
from polyathlon.domain import Brief, Core, Split
from polyathlon.drawing import TaskKey, draw_task, split_of
from polyathlon.errors import DomainError, TaskError
from polyathlon.seeding import child


@dataclass(frozen=True)
class Numbers:
    """Numbers below `size`, in words that depend on the rendering generator."""

    size: int

    def draw(self, rng: np.random.Generator, level: int) -> Core:
        return {"n": int(rng.integers(self.size))}

    def render(self, core: Core, rng: np.random.Generator) -> Brief:
        return Brief(f"{rng.integers(1000)}: repeat {core['n']}", hidden={"n": core["n"]})


def test_the_same_key_gives_the_same_task() -> None:
    key = TaskKey("x/a.b-v1", 2, 7)
    assert draw_task(Numbers(10**9), key) == draw_task(Numbers(10**9), key)


def test_a_new_version_of_a_domain_keeps_its_tasks() -> None:
    old = draw_task(Numbers(10**9), TaskKey("x/a.b-v1", 0, 7))
    new = draw_task(Numbers(10**9), TaskKey("x/a.b-v2", 0, 7))
    assert (old.prompt, old.content_hash) == (new.prompt, new.content_hash)


def test_level_seed_and_domain_are_hashed_and_not_added() -> None:
    keys = [TaskKey("x/a.b-v1", 0, 1), TaskKey("x/a.b-v1", 1, 0), TaskKey("x/a.c-v1", 0, 1)]
    assert len({draw_task(Numbers(10**9), key).content_hash for key in keys}) == 3


def test_a_tenth_of_contents_is_held_out_and_the_splits_are_disjoint() -> None:
    source = Numbers(10**9)
    train = {draw_task(source, TaskKey("x/a.b-v1", 0, seed, "train")).content_hash for seed in range(500)}
    test = {draw_task(source, TaskKey("x/a.b-v1", 0, seed, "test")).content_hash for seed in range(500)}
    assert not train & test
    assert {split_of(one) for one in train} == {"train"}
    assert {split_of(one) for one in test} == {"test"}
    hashes = [f"{child('h', k).integers(2**63):016x}" for k in range(4000)]
    assert 320 <= sum(split_of(one) == "test" for one in hashes) <= 480


def test_a_space_too_small_for_the_split_says_its_size() -> None:
    splits: tuple[Split, Split] = (
        ("train", "test") if split_of(content_hash({"n": 0})) == "train" else ("test", "train")
    )
    there, absent = splits
    assert draw_task(Numbers(1), TaskKey("x/a.b-v1", 0, 0, there)).hidden == {"n": 0}
    with pytest.raises(TaskError, match="1 different cores"):
        draw_task(Numbers(1), TaskKey("x/a.b-v1", 0, 0, absent))


def test_a_core_with_a_numpy_number_is_a_domain_error_with_its_place() -> None:
    class Careless(Numbers):
        def draw(self, rng: np.random.Generator, level: int) -> Core:
            return {"n": rng.integers(5)}  # type: ignore[dict-item]

    with pytest.raises(DomainError, match=r"core\.n is a int64"):
        draw_task(Careless(3), TaskKey("x/a.b-v1", 0, 0))


def test_children_of_a_seed_are_independent_of_each_other() -> None:
    assert child("a", 1, 2).integers(2**62) != child("a", 12).integers(2**62)
    assert child("a", 1).integers(2**62) == child("a", 1).integers(2**62)


def test_a_child_is_pcg64_on_the_first_sixteen_bytes_of_the_hash() -> None:
    digest = hashlib.sha256(b'["a",1]').digest()
    expected = np.random.Generator(np.random.PCG64(int.from_bytes(digest[:16], "big")))
    assert child("a", 1).bit_generator.state == expected.bit_generator.state
