from __future__ import annotations

from fractions import Fraction

import pytest

from polyathlon import Json, Observation
from polyathlon.toolcall import write_call
from polyathlon.workspaces.calculator import CalculatorError, evaluate, write_value
from polyathlon.workspaces.document import DocumentWorkspace, read_documents

PUBLIC: dict[str, Json] = {
    "documents": [
        {
            "id": "D1",
            "title": "Invoice",
            "pages": ["Total  12.50\nDate 2031-04-17", "Page two"],
            "tables": {"lines-1": [["Code", "Net"], ["A1", "12,50"]]},
        },
        {"id": "D2", "title": "Letter", "pages": ["The total is wrong."]},
    ]
}


@pytest.fixture
def workspace() -> DocumentWorkspace:
    return DocumentWorkspace(read_documents(PUBLIC))


def call(workspace: DocumentWorkspace, name: str, **arguments: Json) -> Observation:
    return workspace.act(write_call(name, arguments))


def test_documents_are_listed_opened_searched_and_tabled(workspace: DocumentWorkspace) -> None:
    assert call(workspace, "list_docs").text == ("D1: Invoice, 2 page(s); tables: lines-1\nD2: Letter, 1 page(s)")
    assert call(workspace, "open", doc="D1", page=2).text == "[D1, page 2 of 2]\nPage two"
    found = call(workspace, "search", text="TOTAL").text
    assert found == "D1, page 1: Total  12.50\nD2, page 1: The total is wrong."
    assert call(workspace, "table", doc="D1", id="lines-1").text == 'Code,Net\nA1,"12,50"\n'
    assert call(workspace, "calc", expression="19% * (100 - 20) / 3").text == "76/15 (about 5.066667)"


def test_submitting_ends_the_episode_and_only_it_gives_an_answer(workspace: DocumentWorkspace) -> None:
    call(workspace, "open", doc="D1", page=1)
    assert workspace.evidence().answer is None
    assert call(workspace, "submit", answer={"total": 12.5}).finished
    assert workspace.evidence().answer == '{"total":12.5}'
    assert [line.name for line in workspace.evidence().ledger] == ["open", "submit"]


def test_a_second_submission_changes_nothing(workspace: DocumentWorkspace) -> None:
    call(workspace, "submit", answer='{"a": 1}')
    again = call(workspace, "submit", answer='{"a": 2}')
    assert again.finished
    assert again.error
    assert workspace.evidence().answer == '{"a": 1}'


@pytest.mark.parametrize(
    ("name", "arguments", "says"),
    [
        ("open", {"doc": "D9", "page": 1}, "Documents: D1, D2"),
        ("open", {"doc": "D1", "page": 0}, "pages 1 to 2"),
        ("open", {"doc": "D1", "page": -1}, "pages 1 to 2"),
        ("open", {"doc": "D1", "page": 10**30}, "pages 1 to 2"),
        ("open", {"doc": "D1", "page": "1"}, "is not of type"),
        ("open", {"doc": "D1"}, "required"),
        ("search", {"text": ""}, "1 to 200"),
        ("search", {"text": "x" * 10_000}, "1 to 200"),
        ("table", {"doc": "D2", "id": "lines-1"}, "none"),
        ("calc", {"expression": "9^9^9^9"}, "not understood"),
        ("calc", {"expression": "1/0"}, "divides by zero"),
        ("calc", {"expression": "(" * 300}, "nested deeper"),
        ("calc", {"expression": ""}, "expected"),
        ("submit", {"answer": None}, "is not of type"),
        ("delete", {}, "no tool"),
    ],
)
def test_what_cannot_be_done_is_said_and_does_no_harm(
    workspace: DocumentWorkspace, name: str, arguments: dict[str, Json], says: str
) -> None:
    observation = call(workspace, name, **arguments)
    assert observation.error
    assert not observation.finished
    assert says in observation.text


@pytest.mark.parametrize(
    "action",
    [
        "",
        "\ud800",
        "<tool_call>",
        '<tool_call>{"name": "submit", "arguments": {"answer": {"a": NaN}}}</tool_call>',
        '<tool_call>{"name": "submit", "arguments": {"answer": ' + "[" * 5_000,
        '<tool_call>{"name": "submit", "arguments": {"answer": ' + "[" * 400 + "]" * 400 + "}}</tool_call>",
        "x" * 1_000_000,
    ],
)
def test_hostile_messages_never_crash(workspace: DocumentWorkspace, action: str) -> None:
    workspace.act(action)
    assert workspace.evidence() == workspace.evidence()
    workspace.close()
    workspace.close()


@pytest.mark.parametrize("depth", range(850, 1_000, 10))
def test_answers_at_the_edge_of_the_recursion_limit_never_crash(workspace: DocumentWorkspace, depth: int) -> None:
    observation = workspace.act(
        '<tool_call>{"name": "submit", "arguments": {"answer": ' + "[" * depth + "]" * depth + "}}</tool_call>"
    )
    assert observation.error
    assert "nested too deep" in observation.text
    assert workspace.evidence().answer is None


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("52-37", "15"),
        ("2+3*4", "14"),
        ("(2+3)*4", "20"),
        ("7-2-1", "4"),
        ("12/4/3", "1"),
        ("--2", "2"),
        ("-(1-3)", "2"),
        ("15%*80", "12"),
        (".5 + 1.25", "7/4"),
        ("6 \u00d7 2 \u2212 1", "11"),
        ("0.1+0.2", "3/10"),
    ],
)
def test_the_calculator_is_exact(text: str, value: str) -> None:
    assert evaluate(text) == Fraction(value)


@pytest.mark.parametrize(
    "text", ["", "1+", "(1", "1)", "2**3", "1 2", "x", "1e9", "1,000", "5//2", "٣", "9" * 401, "%"]
)
def test_the_calculator_refuses_everything_else(text: str) -> None:
    with pytest.raises(CalculatorError):
        evaluate(text)


def test_values_are_written_as_decimals_where_they_end() -> None:
    assert write_value(Fraction(25, 2)) == "12.5"
    assert write_value(Fraction(-1, 8)) == "-0.125"
    assert write_value(Fraction(100)) == "100"
    assert write_value(Fraction(1, 3)) == "1/3 (about 0.333333)"
