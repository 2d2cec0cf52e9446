"""The tools workspace on a small real world (a shop's stock), and the form that takes all calls in one message."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest

from polyathlon import Json, ToolSpec
from polyathlon.canonical import expect_int, expect_text
from polyathlon.errors import ToolCallError
from polyathlon.toolcall import write_call
from polyathlon.workspaces.tools import (
    CallRefused,
    CallsWorkspace,
    Function,
    ToolsWorkspace,
    read_calls,
    signature,
)


@dataclass
class Shop:
    stock: dict[str, int] = field(default_factory=lambda: {"tea": 3})
    sold: list[str] = field(default_factory=list)

    def as_json(self) -> Json:
        return {"stock": dict(self.stock), "sold": list(self.sold)}


def _sell(shop: Shop, arguments: Mapping[str, Json]) -> Json:
    item, count = expect_text(arguments["item"]), expect_int(arguments["count"])
    shop.sold.append(item)  # written before it is refused: must not stay
    if item not in shop.stock:
        raise CallRefused("not_found", f"there is no {item}")
    if shop.stock[item] < count:
        raise CallRefused("too_few", f"only {shop.stock[item]} left")
    shop.stock[item] -= count
    return {"left": shop.stock[item]}


SELL = ToolSpec(
    "sell",
    "Sell some of an item.",
    {
        "type": "object",
        "properties": {"item": {"type": "string"}, "count": {"type": "integer"}},
        "required": ["item", "count"],
    },
)


def _workspace(*reasons: str) -> ToolsWorkspace[Shop]:
    return ToolsWorkspace(Shop(), [Function(SELL, _sell)], reasons=reasons)


def test_a_call_changes_the_world_and_its_result_is_json() -> None:
    workspace = _workspace()
    observation = workspace.act(write_call("sell", {"item": "tea", "count": 2}))
    assert json.loads(observation.text) == {"left": 1}
    evidence = workspace.evidence()
    assert evidence.state == {"stock": {"tea": 1}, "sold": ["tea"]}
    assert evidence.ledger[0].ok
    assert evidence.ledger[0].result == {"left": 1}
    assert evidence.answer is None


@pytest.mark.parametrize(("item", "count", "kind"), [("gin", 1, "not_found"), ("tea", 9, "too_few")])
def test_a_refused_call_is_a_typed_error_and_changes_nothing(item: str, count: int, kind: str) -> None:
    workspace = _workspace()
    observation = workspace.act(write_call("sell", {"item": item, "count": count}))
    assert observation.error
    assert not observation.finished
    assert json.loads(observation.text)["error"]["kind"] == kind
    assert workspace.evidence().state == {"stock": {"tea": 3}, "sold": []}
    assert not workspace.evidence().ledger[0].ok


@pytest.mark.parametrize(
    "message",
    [
        "sell tea",
        write_call("sell", {"item": "tea"}),
        write_call("sell", {"item": "tea", "count": "2"}),
        write_call("sell", {"item": "tea", "count": 2, "price": 1}),
        write_call("steal", {}),
        "<tool_call>{",
    ],
)
def test_a_malformed_call_is_told_and_not_carried_out(message: str) -> None:
    workspace = _workspace()
    assert workspace.act(message).error
    assert workspace.evidence().ledger == ()
    assert workspace.evidence().state == {"stock": {"tea": 3}, "sold": []}


def test_finish_ends_the_episode_with_its_reason() -> None:
    workspace = _workspace("done", "impossible")
    assert workspace.act(write_call("finish", {"reason": "because"})).error
    assert workspace.act(write_call("finish", {"reason": "done"})).finished
    assert workspace.evidence().answer == "done"
    late = workspace.act(write_call("sell", {"item": "tea", "count": 1}))
    assert late.finished
    assert late.error
    assert workspace.evidence().state == {"stock": {"tea": 3}, "sold": []}


def test_evidence_is_frozen_when_it_is_taken() -> None:
    shop = Shop()
    workspace = ToolsWorkspace(shop, [Function(SELL, _sell)])
    before = workspace.evidence()
    workspace.act(write_call("sell", {"item": "tea", "count": 1}))
    assert before.state == {"stock": {"tea": 3}, "sold": []}
    assert shop.stock == {"tea": 3}
    assert [tool.name for tool in workspace.tools] == ["sell", "finish"]


def test_all_calls_of_one_message_are_kept_in_order() -> None:
    workspace = CallsWorkspace([SELL])
    calls = [{"name": "sell", "arguments": {"item": "tea", "count": 1}}, {"name": "sell", "arguments": {"item": "gin"}}]
    observation = workspace.act(json.dumps(calls))
    assert observation.finished
    assert observation.error
    assert observation.text == "sell: arguments: 'count' is a required property"
    assert [call.ok for call in workspace.evidence().ledger] == [True, False]


def test_no_call_must_be_said_and_is_not_the_same_as_no_answer() -> None:
    said, unsaid = CallsWorkspace([SELL]), CallsWorkspace([SELL])
    said.act("[]")
    unsaid.act("")
    assert said.evidence().answer == "[]"
    assert unsaid.evidence().answer is None
    assert said.evidence().ledger == unsaid.evidence().ledger == ()


def test_one_tagged_call_is_the_array_of_it() -> None:
    tagged = read_calls('I sell. <tool_call>{"name": "sell", "arguments": {"item": "</tool_call>"}}</tool_call>')
    assert tagged == read_calls('[{"name": "sell", "arguments": {"item": "</tool_call>"}}]')


@pytest.mark.parametrize(
    "message",
    [
        "",
        "null",
        "{}",
        '{"name": "sell", "arguments": {}}',
        '[{"name": "sell"}]',
        '[{"name": "sell", "arguments": {}, "why": 1}]',
        '[{"name": 1, "arguments": {}}]',
        '[{"name": "sell", "arguments": []}]',
        "[] []",
        "[1e999]",
        '[{"name": "a", "name": "b", "arguments": {}}]',
        "[" * 5000,
        '[{"name": "a", "arguments": {"x": ' + "[" * 20 + "]" * 20 + "}}]",
        json.dumps([{"name": "a", "arguments": {}}] * 33),
        '<tool_call>{"name": "a", "arguments": {}}</tool_call><tool_call>{"name": "a", "arguments": {}}</tool_call>',
        "<tool_call>",
        "<answer>[]</answer><answer>[]</answer>",
    ],
)
def test_anything_else_cannot_be_read(message: str) -> None:
    with pytest.raises(ToolCallError):
        read_calls(message)


def test_a_signature_shows_types_forms_defaults_and_nesting() -> None:
    parameters: dict[str, Json] = {
        "type": "object",
        "properties": {
            "to": {"type": "object", "properties": {"city": {"type": "string"}, "number": {"type": "integer"}}},
            "at": {"type": "string", "form": "HH:MM"},
            "tags": {"type": "array", "items": {"type": "string"}},
            "mode": {"type": "string", "enum": ["car", "bus"], "default": "bus"},
            "note": {"type": "string"},
        },
        "required": ["to", "at", "tags"],
    }
    shown = signature(ToolSpec("ride", "", parameters))
    assert shown == 'ride(to:{city?, number?:int}, at:HH:MM, tags:[str], mode:car|bus="bus", note?)'
