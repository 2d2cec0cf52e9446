"""Tools behind one door: a message becomes a checked call, its outcome an observation and a line of the ledger."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from polyathlon.canonical import Json
from polyathlon.clip import clip_text
from polyathlon.domain import Call, Observation, ToolSpec
from polyathlon.errors import ToolCallError
from polyathlon.toolcall import ShortForm, read_call


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a tool did: the text to show, whether it worked, whether the episode is over, and a result to keep."""

    text: str
    ok: bool = True
    finished: bool = False
    result: Json = None


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool and what carries it out. `run` gets arguments that fit the schema, and returns whatever they are."""

    spec: ToolSpec
    run: Callable[[Mapping[str, Json]], Outcome]


class Toolbox:
    """The tools of one workspace, and the ledger of the calls made."""

    def __init__(self, tools: Sequence[Tool], *, short_form: ShortForm | None = None) -> None:
        self._tools = {tool.spec.name: tool for tool in tools}
        self._short_form = short_form
        self._ledger: list[Call] = []

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        return tuple(tool.spec for tool in self._tools.values())

    @property
    def ledger(self) -> tuple[Call, ...]:
        return tuple(self._ledger)

    def go_back(self, ledger: tuple[Call, ...]) -> None:
        """Set the ledger back to `ledger`."""
        self._ledger = list(ledger)

    def act(self, message: str) -> Observation:
        """Carry out the one call of `message`; a malformed one gets an observation that says what was wrong."""
        try:
            call = read_call(message, self.specs, short_form=self._short_form)
        except ToolCallError as error:
            return Observation(str(error), error=True)
        outcome = self._tools[call.name].run(call.arguments)
        self._ledger.append(Call(call.name, call.arguments, outcome.result, outcome.ok))
        return Observation(clip_text(outcome.text), finished=outcome.finished, error=not outcome.ok)


def text_parameters(*names: str) -> dict[str, Json]:
    """Return the JSON Schema of an object whose required properties `names` are all strings."""
    return {"type": "object", "properties": {name: {"type": "string"} for name in names}, "required": list(names)}
