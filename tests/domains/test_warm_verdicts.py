"""A verdict does not depend on how warm the Python was: the same evidence, judged in a cold sandbox, pays the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

import polyathlon
from polyathlon import Attempt, Task
from polyathlon.domain import Verdict
from polyathlon.drawing import TaskKey
from polyathlon.env import judge_evidence
from polyathlon.inspect.play import Playthrough, Stage, Subject
from polyathlon.sandbox.choose import default_room
from polyathlon.sandbox.probe import Record
from polyathlon.sandbox.protocol import Limits, Room, Sandbox, Snapshot
from polyathlon.tree import Tree

JUDGED_BY_PYTHON = ("coding.bug-repair", "coding.fill-in-the-middle", "coding.sql-query")
IDS = [name for name in polyathlon.registry().entries if any(part in name for part in JUDGED_BY_PYTHON)]
SEED = 31_000


class ColdRoom:
    """A room that opens sandboxes and keeps no warm Python. `num_opened` says that it was asked."""

    def __init__(self, room: Room) -> None:
        self._room = room
        self.num_opened = 0

    def open(
        self,
        files: Tree | Snapshot,
        *,
        limits: Limits | None = None,
        packages: tuple[str, ...] = (),
        needs: frozenset[str] = frozenset(),
        readonly: Tree | None = None,
    ) -> Sandbox:
        self.num_opened += 1
        return self._room.open(files, limits=limits, packages=packages, needs=needs, readonly=readonly)

    def load(self, tar: bytes) -> Snapshot:
        return self._room.load(tar)


def attempts(domain_id: str, stage: Stage, key: TaskKey) -> list[tuple[str, Playthrough]]:
    """Return the reference and all named attempts on one task, as they were played."""
    domain, task = stage.subject.domain, stage.task(key)
    kinds: tuple[Callable[[Task], Sequence[Attempt]], ...] = (
        domain.alternatives,
        domain.equivalents,
        domain.distractors,
        domain.exploits,
    )
    played = [("the reference", stage.solve(key))]
    return played + [(each.name, stage.play(key, each.actions)) for kind in kinds for each in kind(task)]


def compare(domain_id: str, keys: Sequence[TaskKey]) -> list[tuple[str, Verdict, Verdict]]:
    """Return (attempt, warm verdict, cold verdict) of all attempts on `keys`."""
    room, cold = default_room(), ColdRoom(default_room())
    record = room.warm_record()
    assert isinstance(record, Record), record
    assert not record.missing, record
    entry, domain = polyathlon.registry().entry(domain_id), polyathlon.load_domain(domain_id)
    pairs = []
    with Stage(Subject(entry, domain, room, 1)) as stage:
        for key in keys:
            for name, played in attempts(domain_id, stage, key):
                assert played.evidence is not None
                again, _ = judge_evidence(domain, played.task, played.evidence, cold)
                pairs.append((f"{key} {name}", played.verdict, again))
    assert cold.num_opened > 0
    return pairs


@pytest.mark.parametrize("domain_id", IDS)
def test_warm_and_cold_verdicts_are_equal(domain_id: str) -> None:
    levels = polyathlon.registry().entry(domain_id).row.levels
    pairs = compare(domain_id, [TaskKey(domain_id, levels // 2, SEED)])
    assert [(name, warm, cold) for name, warm, cold in pairs if warm != cold] == []
    assert {warm.passed for _, warm, _ in pairs} == {True, False}


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("domain_id", IDS)
def test_warm_and_cold_verdicts_are_equal_at_the_lowest_and_the_highest_level(domain_id: str) -> None:
    levels = polyathlon.registry().entry(domain_id).row.levels
    pairs = compare(domain_id, [TaskKey(domain_id, level, SEED + 1) for level in (0, levels - 1)])
    assert [(name, warm, cold) for name, warm, cold in pairs if warm != cold] == []
