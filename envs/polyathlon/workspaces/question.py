"""One question, one message: the answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from polyathlon.domain import Evidence, Observation, Task, ToolSpec, WorkspaceState
from polyathlon.sandbox.protocol import Room
from polyathlon.verify.answers import CLOSE, OPEN, AnswerForm

FORM = AnswerForm(places=("tag", "bare"))
INSTRUCTIONS = (
    "Reply with the answer alone, in the form the question asks for. If you reason first, put the final answer, and "
    "only it, inside one <answer></answer>."
)


def final_answer(message: str) -> str | None:
    """Return the one answer of `message`, stripped: what stands in its only `<answer>` tags, else the whole message.

    None when there are two answers, a tag without its partner, or more than 100,000 characters.
    """
    return FORM.read(message)


class QuestionWorkspace:
    """Keeps the first message; the answer is whatever `final_answer` finds in it."""

    tools: Sequence[ToolSpec] = ()
    instructions = INSTRUCTIONS

    def __init__(self) -> None:
        self._answer: str | None = None

    def act(self, action: str) -> Observation:
        self._answer = final_answer(action)
        if self._answer is None:
            return Observation(f"No single answer found: send one {OPEN}...{CLOSE}.", finished=True, error=True)
        return Observation("Answer received.", finished=True)

    def evidence(self) -> Evidence:
        return Evidence(answer=self._answer)

    def snapshot(self) -> WorkspaceState:
        return WorkspaceState(self._answer)

    def restore(self, state: WorkspaceState) -> None:
        self._answer = cast(str | None, state.values)

    def close(self) -> None:
        return None


def open_question(_task: Task, _room: Room) -> QuestionWorkspace:
    """Return a fresh question workspace: what a question domain gives as `open_workspace`."""
    return QuestionWorkspace()
