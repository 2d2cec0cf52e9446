"""The query workspace: asking, and handing in."""

from __future__ import annotations

import pytest

from polyathlon.toolcall import write_call
from polyathlon.workspaces.query import QueryWorkspace
from polyathlon.workspaces.toolbox import Outcome


def workspace() -> QueryWorkspace:
    return QueryWorkspace(lambda query: Outcome(f"ran {query}"))


def test_a_run_asks_and_does_not_end() -> None:
    made = workspace()
    seen = made.act(write_call("run", {"query": "SELECT 1"}))
    assert (seen.text, seen.finished) == ("ran SELECT 1", False)
    assert made.evidence().answer is None


@pytest.mark.parametrize(
    "action",
    ["Then:\n```sql\nSELECT 2\n```\nDone.", "```SQL\nSELECT 2\n```", write_call("submit", {"query": "SELECT 2"})],
)
def test_one_block_or_a_call_hands_in(action: str) -> None:
    made = workspace()
    assert made.act(action).finished
    assert made.evidence().answer == "SELECT 2"


@pytest.mark.parametrize("action", ["", "SELECT 2", "```sql\nSELECT 1\n```\n```sql\nSELECT 2\n```", "```sql\nSELECT 2"])
def test_anything_else_costs_a_turn(action: str) -> None:
    made = workspace()
    seen = made.act(action)
    assert seen.error
    assert not seen.finished
    assert made.evidence().answer is None
