"""What messages hold, chains of wrong parts, and rewrites, every expected value worked out by hand."""

import json

import pytest

from polyathlon import Attempt
from polyathlon.inspect.mutants.credit import Inversion, chain_of, inversions, num_pairs
from polyathlon.inspect.mutants.frames import frames_of
from polyathlon.inspect.mutants.generate import script_mutants
from polyathlon.inspect.mutants.picking import Picker
from polyathlon.inspect.mutants.rewrites import rewrites_of

PICK = Picker("test")
CALL = '<tool_call>{"name": "submit", "arguments": {"answer": {"total": 5, "due": null}}}</tool_call>'

FORMS = [
    ("42", "question", "text"),
    ("3+4", "game", "move"),
    ("x + 1", "coding", "python"),
    ("two words", "coding", "text"),
    ("SELECT a FROM t", "coding", "sql"),
    ("find . -type f", "terminal", "shell"),
    ('{"a": 1}', "question", "record"),
    ('[{"name": "f", "arguments": {}}]', "tools", "calls"),
    ("```python\nx = 1\n```", "coding", "python"),
    ("```bash\nls\n```", "terminal", "shell"),
    ("```sql\nSELECT 1\n```", "coding", "sql"),
    ('```json\n{"features": [{"op": "add", "box": [1, 1, 1]}]}\n```', "mesh", "part"),
    ('```json\n{"edits": []}\n```', "mesh", "mesh"),
    (CALL, "document", "record"),
    ('<tool_call>{"name": "run", "arguments": {"cmd": "ls"}}</tool_call>', "terminal", "shell"),
    ('<tool_call>{"name": "refund", "arguments": {"order": 7}}</tool_call>', "tools", "arguments"),
]


@pytest.mark.parametrize(("message", "kind", "family"), FORMS)
def test_a_message_is_read_by_its_form(message: str, kind: str, family: str) -> None:
    (frame,) = frames_of(message, kind)
    assert frame.family == family


@pytest.mark.parametrize(("message", "kind", "family"), FORMS)
def test_the_same_content_written_back_is_the_same_message(message: str, kind: str, family: str) -> None:
    (frame,) = frames_of(message, kind)
    assert frame.write(frame.value) == message


def test_a_file_that_is_written_is_read_by_its_text_and_its_path_goes_with_it() -> None:
    text = "all: a\n\na: b\n\tcp b a\n"
    message = (
        f"<tool_call>{json.dumps({'name': 'write_file', 'arguments': {'path': 'Makefile', 'text': text}})}</tool_call>"
    )
    assert [(frame.family, frame.where) for frame in frames_of(message, "terminal")] == [
        ("makefile", "text"),
        ("arguments", "arguments"),
    ]
    arguments = {"path": "a.json", "text": json.dumps({"n": 5})}
    answer = f"<tool_call>{json.dumps({'name': 'write_file', 'arguments': arguments})}</tool_call>"
    assert [frame.family for frame in frames_of(answer, "terminal")] == ["record", "record"]


def test_a_mutant_of_a_call_is_a_call() -> None:
    mutants = {mutant.operator: mutant.actions for mutant in script_mutants([CALL], "document", PICK)}
    assert mutants["record: x10"] == (CALL.replace("5", "50"),)
    assert mutants["record: value instead of null"] == (CALL.replace("null", '"1"'),)


def test_what_only_looks_different_is_no_mutant() -> None:
    mutants = list(script_mutants(["```python\nx = 1\n```"], "coding", PICK))
    assert all(mutant.actions != ("```python\nx = 1\n```",) for mutant in mutants)
    assert len({mutant.actions for mutant in mutants}) == len(mutants)


def test_a_chain_nests_its_wrong_parts() -> None:
    chain = chain_of(["10;20;30"], "question", PICK)
    assert chain is not None
    fields = [script[0].split(";") for script in chain.scripts]
    wrong = [{k for k, (mine, right) in enumerate(zip(row, fields[0], strict=True)) if mine != right} for row in fields]
    assert [len(places) for places in wrong] == [0, 1, 2, 3]
    assert wrong[1] < wrong[2] < wrong[3]


def test_a_chain_over_the_fields_of_a_record() -> None:
    chain = chain_of([CALL], "document", PICK)
    assert chain is not None
    assert chain.scripts[0][0].count("null") == 1
    assert len(chain.scripts) == 3


def test_one_part_and_a_program_have_no_chain() -> None:
    assert chain_of(["42"], "question", PICK) is None
    assert chain_of(["x + 1"], "coding", PICK) is None


def test_inversions_are_pairs_where_more_wrong_parts_earn_more() -> None:
    assert inversions([1.0, 0.1, 0.3, 0.2]) == [Inversion(1, 2), Inversion(1, 3)]
    assert inversions([1.0, 0.5, 0.5, 0.0]) == []
    assert inversions([1.0, None, 0.5]) == []
    assert (num_pairs([1.0, 0.5, 0.2, 0.1]), num_pairs([1.0, None, 0.5])) == (6, 1)


def test_rewrites_of_a_number() -> None:
    assert dict(rewrites_of(["-5"], "question", declared=())) == {
        "trailing newline": ("-5\n",),
        "white space around": (" \n-5 \n\n",),
    }


def test_a_minus_is_written_otherwise_only_where_the_domain_says_so() -> None:
    declared = [Attempt("unicode minus", ("\u22125",))]
    found = dict(rewrites_of(["8-5=3;-5"], "question", declared=declared))
    assert found["unicode minus"] == ("8-5=3;\u22125",)


def test_rewrites_of_a_record_and_of_a_call() -> None:
    record = dict(rewrites_of(['{"a": 1, "b": [2]}'], "question", declared=()))
    assert record["JSON keys in another order"] == ('{"b": [2], "a": 1}',)
    assert json.loads(record["JSON laid out"][0]) == {"a": 1, "b": [2]}
    call = dict(rewrites_of([CALL], "document", declared=()))
    turned = '<tool_call>{"arguments": {"answer": {"due": null, "total": 5}}, "name": "submit"}</tool_call>'
    assert call["JSON keys in another order"] == (turned,)
    assert call["words around the call or block"] == (f"This is what I do next.\n\n{CALL}\n",)


def test_a_list_that_may_be_a_text_keeps_its_layout() -> None:
    assert "JSON laid out" not in dict(rewrites_of(["[1, 2, 3]"], "question", declared=()))
