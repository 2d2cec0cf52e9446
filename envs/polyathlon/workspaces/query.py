"""A database to ask, and one query to hand in."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import cast

from polyathlon.canonical import Json, expect_text
from polyathlon.domain import Call, Evidence, Observation, ToolSpec, WorkspaceState
from polyathlon.toolcall import OPEN, write_call
from polyathlon.workspaces.toolbox import Outcome, Tool, Toolbox, text_parameters

INSTRUCTIONS = (
    'Send <tool_call>{"name": "run", "arguments": {"query": ...}}</tool_call> to try a query on a small sample '
    "database. One fenced sql block, or a call of submit, hands the query in and ends the task."
)

_SQL_BLOCK = re.compile(r"^```sql[ \t]*\n(.*?)^```[ \t]*$", re.DOTALL | re.MULTILINE | re.IGNORECASE)
_FENCES = re.compile(r"^```", re.MULTILINE)


class QueryWorkspace:
    """Runs queries on a sample database by `ask`, and keeps the one that is submitted."""

    instructions = INSTRUCTIONS

    def __init__(self, ask: Callable[[str], Outcome]) -> None:
        self._ask = ask
        self._toolbox = Toolbox(
            [
                Tool(ToolSpec("run", "Run a query on the sample database.", text_parameters("query")), self._run),
                Tool(ToolSpec("submit", "Hand in the query; ends.", text_parameters("query")), self._submit),
            ]
        )
        self._answer: str | None = None

    @property
    def tools(self) -> Sequence[ToolSpec]:
        return self._toolbox.specs

    def act(self, action: str) -> Observation:
        """Carry out one call, or submit the one fenced sql block.

        Raises:
            SandboxLost: the sandbox died under us.

        """
        block = _SQL_BLOCK.search(action) if OPEN not in action else None
        if block is not None and len(_FENCES.findall(action)) == 2:
            action = write_call("submit", {"query": block[1].strip()})
        return self._toolbox.act(action)

    def evidence(self) -> Evidence:
        return Evidence(answer=self._answer, ledger=self._toolbox.ledger)

    def snapshot(self) -> WorkspaceState:
        return WorkspaceState((self._answer, self._toolbox.ledger))

    def restore(self, state: WorkspaceState) -> None:
        self._answer, ledger = cast(tuple[str | None, tuple[Call, ...]], state.values)
        self._toolbox.go_back(ledger)

    def close(self) -> None:
        return None

    def _run(self, arguments: Mapping[str, Json]) -> Outcome:
        return self._ask(expect_text(arguments["query"]))

    def _submit(self, arguments: Mapping[str, Json]) -> Outcome:
        self._answer = expect_text(arguments["query"])
        return Outcome("Submitted.", finished=True)
