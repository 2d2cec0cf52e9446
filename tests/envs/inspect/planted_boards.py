"""A board that messages write on, judged as it stands at the end; and verifiers that do not look at all of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

from tests.envs.inspect.planted_mutants import ThreeSums, gold

from polyathlon import Attempt, Domain, Evidence, Observation, Script, Task, ToolSpec, Verdict
from polyathlon.domain import WorkspaceState
from polyathlon.sandbox.protocol import Room

PLACES = ("first", "second", "third")
TRIED = "scratch it works"
DONE = "done"


class BoardWorkspace:
    """Each message writes one word or more at a place, "first 12"; "done" ends it."""

    tools: Sequence[ToolSpec] = ()
    instructions = "PLACE TEXT writes; done ends."

    def __init__(self) -> None:
        self._board: dict[str, str] = {}

    def act(self, action: str) -> Observation:
        place, _, text = action.strip().partition(" ")
        if text:
            self._board[place] = text
        return Observation("", finished=action == DONE)

    def evidence(self) -> Evidence:
        return Evidence(state=dict(self._board))

    def snapshot(self) -> WorkspaceState:
        return WorkspaceState(dict(self._board))

    def restore(self, state: WorkspaceState) -> None:
        self._board = dict(cast(dict[str, str], state.values))

    def close(self) -> None:
        return None


@dataclass(frozen=True)
class BoardVerifier:
    """Passed: the sums stand at the places looked at."""

    places: tuple[str, ...]

    def judge(self, task: Task, evidence: Evidence, room: Room) -> Verdict:
        board = cast(dict[str, str], evidence.state)
        wanted = dict(zip(PLACES, map(str, gold(task)), strict=True))
        right = all(board.get(place) == wanted[place] for place in self.places)
        return Verdict.passing() if right else Verdict.failing("another board")


def _written(task: Task) -> tuple[str, ...]:
    return tuple(f"{place} {number}" for place, number in zip(PLACES, gold(task), strict=True))


def _solve(task: Task) -> Script:
    """Write, try something out beside it, and say that it is done."""
    for message in (*_written(task), TRIED, DONE):  # noqa: UP028  # `yield from` hands observations to a plain iterator
        yield message


def _untried(task: Task) -> Sequence[Attempt]:
    return (Attempt("nothing tried", (*_written(task), DONE)),)


SOUND_BOARD = Domain(
    ThreeSums(),
    lambda task, room: BoardWorkspace(),
    BoardVerifier(PLACES),
    _solve,
    alternatives=_untried,
    equivalents=lambda task: (Attempt("backwards", (*_written(task)[::-1], TRIED, DONE)),),
    distractors=lambda task: (Attempt("two of three", (*_written(task)[:2], DONE)), Attempt("none", (DONE,))),
    exploits=lambda task: (Attempt("not a number", ("first nan", DONE)),),
)
TWO_LOOKED_AT = replace(SOUND_BOARD, verifier=BoardVerifier(PLACES[:2]))
TRIAL_UNDECLARED = replace(SOUND_BOARD, alternatives=lambda task: ())
