"""A game behind one door: each message is a move, and the engine alone says whether it is legal, over or won."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, cast

from polyathlon.canonical import Json
from polyathlon.clip import clip_text
from polyathlon.domain import Call, Evidence, Observation, ToolSpec, WorkspaceState
from polyathlon.workspaces.question import final_answer

MAX_MOVE_CHARS = 2_000
HOW_TO_MOVE = "Send one move a message: the move alone, or, after reasoning, inside one <answer></answer>."


@dataclass(frozen=True, slots=True)
class Played:
    """What the engine made of one move: the position after it, and the text to show.

    An illegal move leaves the position as it was, and `text` says why it was refused; it is never over or won.
    """

    position: Json
    text: str
    legal: bool = True
    over: bool = False
    won: bool = False


class Game(Protocol):
    """The rules of one game, as functions of the position: nothing is kept between calls."""

    @property
    def rules(self) -> str:
        """How a move is written, for a policy that has room to be told."""
        ...

    def start(self) -> Json:
        """Return the first position, plain JSON."""
        ...

    def play(self, position: Json, move: str) -> Played:
        """Return what `move` leads to. Whatever the text, this returns; a bad move is an illegal one."""
        ...


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a game stands, as evidence carries it in `state`."""

    position: Json
    moves: int = 0
    illegal: int = 0
    over: bool = False
    won: bool = False

    def as_json(self) -> Json:
        """Return {"position", "moves" (legal ones), "illegal" (refused ones), "over", "won"}."""
        return {
            "position": self.position,
            "moves": self.moves,
            "illegal": self.illegal,
            "over": self.over,
            "won": self.won,
        }


class GameWorkspace:
    """Plays one game. The ledger holds every move as a call of "move"; the answer is the last legal move."""

    tools: Sequence[ToolSpec] = ()

    def __init__(self, game: Game) -> None:
        self._game = game
        self._standing = Standing(game.start())
        self._ledger: list[Call] = []
        self._last_legal: str | None = None

    @property
    def instructions(self) -> str:
        return f"{self._game.rules} {HOW_TO_MOVE}"

    def act(self, action: str) -> Observation:
        """Play one move; an illegal one changes nothing, costs a turn, and is told why."""
        if self._standing.over:
            return Observation("The game is over.", finished=True, error=True)
        move = final_answer(action)
        if move is None or len(move) > MAX_MOVE_CHARS:
            return self._refuse(f"No single move found, or more than {MAX_MOVE_CHARS} characters. {HOW_TO_MOVE}")
        played = self._game.play(self._standing.position, move)
        if not played.legal:
            return self._refuse(played.text, move)
        self._last_legal = move
        self._ledger.append(Call("move", {"move": move}, played.text))
        self._standing = Standing(
            played.position, self._standing.moves + 1, self._standing.illegal, played.over, played.won
        )
        return Observation(clip_text(played.text), finished=played.over)

    def evidence(self) -> Evidence:
        return Evidence(answer=self._last_legal, ledger=tuple(self._ledger), state=self._standing.as_json())

    def snapshot(self) -> WorkspaceState:
        return WorkspaceState((copy.deepcopy(self._standing), tuple(self._ledger), self._last_legal))

    def restore(self, state: WorkspaceState) -> None:
        standing, ledger, self._last_legal = cast(tuple[Standing, tuple[Call, ...], str | None], state.values)
        self._standing, self._ledger = copy.deepcopy(standing), list(ledger)

    def close(self) -> None:
        return None

    def _refuse(self, why: str, move: str = "") -> Observation:
        stand = self._standing
        self._ledger.append(Call("move", {"move": move}, why, ok=False))
        self._standing = Standing(stand.position, stand.moves, stand.illegal + 1, stand.over, stand.won)
        return Observation(clip_text(f"Illegal: {why}"), error=True)
