"""Turn a request into the right calls of the offered functions, as JSON; each right argument earns a part."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from polyathlon import Attempt, Brief, Call, Core, Domain, Evidence, Json, Script, Task, ToolSpec, Verdict, answering
from polyathlon.canonical import expect_int, expect_list, expect_map, expect_text
from polyathlon.sandbox.protocol import Room
from polyathlon.toolcall import write_call
from polyathlon.verify.key import counted_part
from polyathlon.workspaces.tools import CallsWorkspace, signature
from polyathlon_domains.tools._arguments import Dice
from polyathlon_domains.tools._call_guesses import shortcuts
from polyathlon_domains.tools._calls import likeness, told
from polyathlon_domains.tools._functions import ALL, CONVERTED, FLAT, NESTED, Function, Slot

PROMPTS = (
    "{tools}\n{request}\nJSON [{{name, arguments}}]{none}:",
    "Tools: {tools}\n{request}\nAs JSON [{{name, arguments}}]{none}?",
    "{request}\nTools: {tools}\nJSON [{{name, arguments}}]{none}:",
)
NONE_FITS = "; skip what no tool does, [] if all"
MENTIONED = 0.5


@dataclass(frozen=True, slots=True)
class Level:
    """Tools offered, out of which functions, with how many optional arguments, and how they are asked for.

    `otherwise`: values are said in other units and forms than the schema wants. `num_calls` is the lowest and highest;
    `part_unfit` and `all_unfit` are the shares of requests that hold something no tool does, or nothing else.
    """

    num_tools: int
    functions: tuple[Function, ...]
    num_optional: int = 0
    otherwise: bool = False
    num_calls: tuple[int, int] = (1, 1)
    part_unfit: float = 0.0
    all_unfit: float = 0.0


LEVELS = (
    Level(5, FLAT),
    Level(5, FLAT, 1),
    Level(3, NESTED, 1),
    Level(3, CONVERTED, 1, otherwise=True),
    Level(3, CONVERTED, 1, otherwise=True, num_calls=(1, 2), part_unfit=0.3, all_unfit=0.04),
)


@dataclass(frozen=True, slots=True)
class CallTasks:
    """Calls first; the request is the calls in words."""

    def draw(self, rng: np.random.Generator, level: int) -> Core:
        shape, dice = LEVELS[level], Dice(rng)
        order = [shape.functions[int(k)] for k in rng.permutation(len(shape.functions))]
        offered = order[: shape.num_tools]
        groups = {function.group for function in offered}
        strangers = [function for function in order if function.group not in groups]
        luck = float(rng.random())
        num_calls = 0 if luck < shape.all_unfit else dice.number(*shape.num_calls)
        num_unfit = 1 if luck < shape.all_unfit + shape.part_unfit else 0
        return {
            "tools": sorted(function.name for function in offered),
            "num_optional": shape.num_optional,
            "calls": [_sample(dice, function, shape) for function in offered[:num_calls]],
            "unfit": [_sample(dice, function, shape) for function in strangers[:num_unfit]],
            "otherwise": shape.otherwise,
        }

    def render(self, core: Core, rng: np.random.Generator) -> Brief:
        dice = Dice(rng)
        num_optional = expect_int(core["num_optional"])
        names = [expect_text(name) for name in expect_list(core["tools"])]
        specs = [ALL[name].spec(num_optional=num_optional) for name in dice.some(names, len(names))]
        calls = expect_list(core["calls"])
        wishes = [
            _ask(dice, expect_map(call), otherwise=core["otherwise"] is True)
            for call in (*calls, *expect_list(core["unfit"]))
        ]
        prompt = dice.pick(PROMPTS).format(
            tools=" ".join(map(signature, specs)),
            request=" ".join(dice.some(wishes, len(wishes))),
            none=NONE_FITS if core["otherwise"] else "",
        )
        tools: Json = [{"name": s.name, "description": s.description, "parameters": s.parameters} for s in specs]
        return Brief(prompt, public={"tools": tools}, hidden={"calls": calls, "num_calls": len(calls)})


@dataclass(frozen=True, slots=True)
class CallVerifier:
    """Passed: the wanted calls and no others, in any order. Else their likeness; nothing for [] or for a bare name.

    Where no tool fits, no call is wanted: so the key tells how many there are.
    """

    def judge(self, task: Task, evidence: Evidence, room: Room) -> Verdict:
        if evidence.answer is None:
            return Verdict.failing("no calls could be read")
        tools = _tools(task)
        got = [told(call, tools) for call in evidence.ledger]
        wanted = [told(Call(name, arguments), tools) for name, arguments in _wanted(task)]
        if sorted((one.name, one.leaves) for one in got) == sorted((one.name, one.leaves) for one in wanted):
            return Verdict.passing()
        progress = likeness(got, wanted)
        return Verdict.failing("other calls", progress=progress, parts={"likeness": progress})


def open_calls(task: Task, _room: Room) -> CallsWorkspace:
    return CallsWorkspace(_tools(task))


def solve(task: Task) -> Script:
    """The calls that the request was made from."""
    return answering(_write(_wanted(task)))


def alternatives(task: Task) -> Sequence[Attempt]:
    calls = _wanted(task)
    filled = [(name, {**_defaults(task, name), **arguments}) for name, arguments in calls]
    ways = [Attempt("defaults written out", (_write(filled),)), Attempt("other order", (_write(calls[::-1]),))]
    if len(calls) == 1:
        ways.append(Attempt("as a tool call", (write_call(*calls[0]),)))
    return tuple(ways)


def equivalents(task: Task) -> Sequence[Attempt]:
    calls = _wanted(task)
    turned = [(name, dict(reversed([*arguments.items()]))) for name, arguments in calls]
    floats = [(name, {key: _as_float(value) for key, value in arguments.items()}) for name, arguments in calls]
    return (
        Attempt("arguments in another order", (_write(turned),)),
        Attempt("indented", (json.dumps(_as_json(calls), indent=2),)),
        Attempt("whole numbers written as 5.0", (_write(floats),)),
        Attempt("in answer tags after reasoning", (f"The second tool fits. <answer>{_write(calls)}</answer>",)),
    )


def distractors(task: Task) -> Sequence[Attempt]:
    calls, names = _wanted(task), [tool.name for tool in _tools(task)]
    if not calls:
        return tuple(Attempt(f"calls {name}", (_write([(name, {})]),)) for name in names)
    (name, arguments), rest = calls[0], calls[1:]
    first, value = next(iter(arguments.items()))
    other = next(one for one in names if one != name)
    wrong: dict[str, Mapping[str, Json]] = {
        "one argument missing": {key: inner for key, inner in arguments.items() if key != first},
        "one value changed": {**arguments, first: _changed(value)},
        "numbers as strings": {key: str(inner) if type(inner) is int else inner for key, inner in arguments.items()},
        "an argument nobody asked for": {**arguments, "priority": "high"},
        "an empty argument too many": {**arguments, "options": {}},
    }
    tries = [(title, [(name, changed), *rest]) for title, changed in wrong.items() if changed != arguments]
    tries += [("another tool", [(other, arguments), *rest]), ("the call twice", [calls[0], *calls])]
    return tuple(Attempt(title, (_write(tried),)) for title, tried in tries)


def exploits(task: Task) -> Sequence[Attempt]:
    calls, tools = _wanted(task), _tools(task)
    request = task.prompt
    stuffed = [(tool.name, {key: request for key in expect_map(tool.parameters["properties"])}) for tool in tools]
    hacks = [
        Attempt("every tool, no arguments", (_write([(tool.name, {}) for tool in tools]),)),
        Attempt("every argument is the request", (_write(stuffed),)),
        Attempt("the schemas given back", (json.dumps(task.public["tools"]),)),
        Attempt("two arrays", (f"{_write(calls)} {_write(calls)}",)),
        Attempt("names alone", (json.dumps([tool.name for tool in tools]),)),
        Attempt("a call in prose", (f"I would call {tools[0].name}.",)),
    ]
    return (*hacks, Attempt("no call", ("[]",))) if calls else tuple(hacks)


def _tools(task: Task) -> list[ToolSpec]:
    shown = [expect_map(tool) for tool in expect_list(task.public["tools"])]
    return [
        ToolSpec(expect_text(tool["name"]), expect_text(tool["description"]), expect_map(tool["parameters"]))
        for tool in shown
    ]


def _wanted(task: Task) -> list[tuple[str, Mapping[str, Json]]]:
    calls = [expect_map(call) for call in counted_part(task.hidden, "calls", "num_calls")]
    return [(expect_text(call["name"]), expect_map(call["arguments"])) for call in calls]


def _as_json(calls: Sequence[tuple[str, Mapping[str, Json]]]) -> list[Json]:
    return [{"name": name, "arguments": arguments} for name, arguments in calls]


def _write(calls: Sequence[tuple[str, Mapping[str, Json]]]) -> str:
    return json.dumps(_as_json(calls), separators=(",", ":"))


def _defaults(task: Task, name: str) -> Mapping[str, Json]:
    spec = next(tool for tool in _tools(task) if tool.name == name)
    properties = {key: expect_map(inner) for key, inner in expect_map(spec.parameters["properties"]).items()}
    return {key: inner["default"] for key, inner in properties.items() if "default" in inner}


def _as_float(value: Json) -> Json:
    return float(value) if type(value) is int else value


def _changed(value: Json) -> Json:
    if isinstance(value, int):
        return value + 1
    if isinstance(value, Mapping):
        return {key: _changed(inner) for key, inner in value.items()}
    return [*value[:-1], "soap"] if isinstance(value, list | tuple) else f"{value}s"


def _sample(dice: Dice, function: Function, shape: Level) -> Json:
    arguments: dict[str, Json] = {}
    for slot in function.needed:
        arguments[slot.name] = _other_than(dice, slot, [*arguments.values()])
    for slot in function.optional[: shape.num_optional]:
        if dice.number(0, 99) < 100 * MENTIONED:
            arguments[slot.name] = _other_than(dice, slot, [slot.default])
    return {"name": function.name, "arguments": arguments}


def _other_than(dice: Dice, slot: Slot, taken: Sequence[Json]) -> Json:
    while (value := slot.kind.sample(dice)) in taken:
        pass
    return value


def _ask(dice: Dice, call: Mapping[str, Json], *, otherwise: bool) -> str:
    function, arguments = ALL[expect_text(call["name"])], expect_map(call["arguments"])

    def said(slot: Slot) -> str:
        say = slot.kind.say_otherwise if otherwise and slot.kind.say_otherwise is not None else slot.kind.say
        return say(arguments[slot.name])

    more = "".join((slot.mention or "").format(said(slot)) for slot in function.optional if slot.name in arguments)
    return dice.pick(function.asks).format(more=more, **{slot.name: said(slot) for slot in function.needed})


DOMAIN = Domain(
    tasks=CallTasks(),
    open_workspace=open_calls,
    verifier=CallVerifier(),
    solve=solve,
    alternatives=alternatives,
    equivalents=equivalents,
    distractors=distractors,
    exploits=exploits,
    shortcuts=shortcuts,
)
