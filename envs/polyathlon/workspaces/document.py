"""Documents to leaf through, search and calculate on; the submitted JSON is the answer.

`task.public["documents"]` holds them in order: {"id", "title", "pages": [text, ...], "tables": {id: [row, ...]}}.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from polyathlon.canonical import Json, canonical_json, expect_list, expect_map, expect_text
from polyathlon.domain import Call, Evidence, Observation, Task, ToolSpec, WorkspaceState
from polyathlon.sandbox.protocol import Room
from polyathlon.workspaces.calculator import CalculatorError, evaluate, write_value
from polyathlon.workspaces.toolbox import Outcome, Tool, Toolbox, text_parameters

MAX_HITS = 20
MAX_QUERY_CHARS = 200
INSTRUCTIONS = (
    "You work on documents with tools, one call a message: "
    '<tool_call>{"name": "open", "arguments": {"doc": "D1", "page": 1}}</tool_call>. '
    "list_docs() names the documents; open(doc, page) shows a page, counted from 1; search(text) finds lines; "
    "table(doc, id) gives a table as CSV; calc(expression) calculates exactly; submit(answer) hands in the JSON answer "
    "and ends the episode. Nothing counts that is not submitted."
)
_NO_ARGUMENTS: dict[str, Json] = {"type": "object", "properties": {}}
_PAGE: dict[str, Json] = {
    "type": "object",
    "properties": {"doc": {"type": "string"}, "page": {"type": "integer"}},
    "required": ["doc", "page"],
}
_ANSWER: dict[str, Json] = {
    "type": "object",
    "properties": {"answer": {"type": ["object", "array", "string"]}},
    "required": ["answer"],
}


@dataclass(frozen=True, slots=True)
class Document:
    """One document: pages of text, and tables by id as rows of cells."""

    id: str
    title: str
    pages: tuple[str, ...]
    tables: Mapping[str, tuple[tuple[str, ...], ...]]


def read_documents(public: Mapping[str, Json]) -> tuple[Document, ...]:
    """Return the documents of a task's public part.

    Raises:
        KeyError, TypeError: they are not in the form that this module's first lines describe.

    """
    return tuple(_document(expect_map(entry)) for entry in expect_list(public["documents"]))


class DocumentWorkspace:
    """Leafs through `documents`. The answer is what submit() was given: a string as it is, other JSON as its text."""

    instructions = INSTRUCTIONS

    def __init__(self, documents: Sequence[Document]) -> None:
        self._documents = {document.id: document for document in documents}
        self._answer: str | None = None
        self._toolbox = Toolbox(
            (
                Tool(ToolSpec("list_docs", "Name every document, its pages and tables.", _NO_ARGUMENTS), self._list),
                Tool(ToolSpec("open", "Show one page of a document, counted from 1.", _PAGE), self._open),
                Tool(
                    ToolSpec("search", "Find lines that hold a text, case aside.", text_parameters("text")),
                    self._search,
                ),
                Tool(ToolSpec("table", "Give a table as CSV.", text_parameters("doc", "id")), self._table),
                Tool(
                    ToolSpec("calc", "Calculate exactly with + - * / ( ) and %.", text_parameters("expression")), _calc
                ),
                Tool(ToolSpec("submit", "Hand in the answer, once; ends the episode.", _ANSWER), self._submit),
            )
        )

    @property
    def tools(self) -> Sequence[ToolSpec]:
        return self._toolbox.specs

    def act(self, action: str) -> Observation:
        if self._answer is not None:
            return Observation("The answer has been submitted; the episode is over.", finished=True, error=True)
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

    def _list(self, _: Mapping[str, Json]) -> Outcome:
        return Outcome("\n".join(map(_describe, self._documents.values())) or "There are no documents.")

    def _open(self, arguments: Mapping[str, Json]) -> Outcome:
        document, page = self._documents.get(str(arguments["doc"])), arguments["page"]
        if document is None:
            return self._unknown(arguments["doc"])
        if not isinstance(page, int | float) or page not in range(1, len(document.pages) + 1):
            return Outcome(f"{document.id} has the pages 1 to {len(document.pages)}.", ok=False)
        number = int(page)
        return Outcome(f"[{document.id}, page {number} of {len(document.pages)}]\n{document.pages[number - 1]}")

    def _search(self, arguments: Mapping[str, Json]) -> Outcome:
        wanted = " ".join(str(arguments["text"]).casefold().split())
        if not 0 < len(wanted) <= MAX_QUERY_CHARS:
            return Outcome(f"Search for 1 to {MAX_QUERY_CHARS} characters.", ok=False)
        hits = [
            f"{document.id}, page {number}: {line.strip()}"
            for document in self._documents.values()
            for number, page in enumerate(document.pages, start=1)
            for line in page.splitlines()
            if wanted in " ".join(line.casefold().split())
        ]
        more = f"\n... and {len(hits) - MAX_HITS} more lines" if len(hits) > MAX_HITS else ""
        return Outcome("\n".join(hits[:MAX_HITS]) + more if hits else "No line holds that text.")

    def _table(self, arguments: Mapping[str, Json]) -> Outcome:
        document = self._documents.get(str(arguments["doc"]))
        if document is None:
            return self._unknown(arguments["doc"])
        rows = document.tables.get(str(arguments["id"]))
        if rows is None:
            return Outcome(f"{document.id} has the tables: {', '.join(document.tables) or 'none'}.", ok=False)
        sheet = io.StringIO()
        csv.writer(sheet, lineterminator="\n").writerows(rows)
        return Outcome(sheet.getvalue())

    def _submit(self, arguments: Mapping[str, Json]) -> Outcome:
        answer = arguments["answer"]
        try:
            self._answer = answer if isinstance(answer, str) else canonical_json(answer)
        except RecursionError:
            return Outcome("The answer is nested too deep; submit the object that was asked for.", ok=False)
        return Outcome("Answer received.", finished=True)

    def _unknown(self, name: Json) -> Outcome:
        return Outcome(f"There is no document {str(name)[:60]!r}. Documents: {', '.join(self._documents)}.", ok=False)


def open_documents(task: Task, _room: Room) -> DocumentWorkspace:
    """Return a fresh workspace on the task's documents: what a document domain gives as `open_workspace`."""
    return DocumentWorkspace(read_documents(task.public))


def _document(entry: Mapping[str, Json]) -> Document:
    return Document(
        id=expect_text(entry["id"]),
        title=expect_text(entry["title"]),
        pages=tuple(map(expect_text, expect_list(entry["pages"]))),
        tables={
            name: tuple(tuple(map(expect_text, expect_list(row))) for row in expect_list(rows))
            for name, rows in expect_map(entry.get("tables", {})).items()
        },
    )


def _describe(document: Document) -> str:
    tables = f"; tables: {', '.join(document.tables)}" if document.tables else ""
    return f"{document.id}: {document.title}, {len(document.pages)} page(s){tables}"


def _calc(arguments: Mapping[str, Json]) -> Outcome:
    try:
        return Outcome(write_value(evaluate(str(arguments["expression"]))))
    except CalculatorError as error:
        return Outcome(f"calc: {error}.", ok=False)
