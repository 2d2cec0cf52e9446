"""An episode as a policy sees it: every text and every `info`, in order, and the verdict at the end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from polyathlon.canonical import Json, canonical_json
from polyathlon.domain import Evidence, Task, ToolSpec, Verdict, Verifier
from polyathlon.env import DomainEnv
from polyathlon.inspect.blind import FINISHERS, call_of
from polyathlon.sandbox.protocol import Room
from polyathlon.toolcall import write_call

SHELL_ARGUMENTS = ("cmd", "command")
DUMMY_TEXTS = ("zz", "*", "..", "/etc/hostname", "answer", "SELECT name, sql FROM sqlite_master")


@dataclass(frozen=True, slots=True)
class Walk:
    """What was shown on the way: the prompt, then an observation an action. `infos` are what `reset` and `step` gave.

    The last text and info come with the verdict: too late for a policy. `verdict` is None where there was none yet.
    """

    texts: tuple[str, ...]
    infos: tuple[dict[str, Any], ...]
    verdict: Verdict | None
    evidence: Evidence | None

    @property
    def tools(self) -> tuple[ToolSpec, ...]:
        """The tools that the first info names."""
        return tuple(ToolSpec(**tool) for tool in self.infos[0]["tools"])

    @property
    def before_the_end(self) -> tuple[str, ...]:
        """All that a policy can still make use of, as texts: instructions and tools too."""
        last = len(self.texts) - (self.verdict is not None)
        return (*self.texts[:last], *(canonical_json(_plain(info)) for info in self.infos[:last]))


class NotJudging:
    """A verifier that looks at nothing: for episodes whose task was tampered with."""

    def judge(self, task: Task, evidence: Evidence, room: Room) -> Verdict:
        """Return a failing verdict."""
        del task, evidence, room
        return Verdict.failing("not judged")


def walk(env: DomainEnv, task: Task, actions: Sequence[str], *, verifier: Verifier | None = None) -> Walk:
    """Play `actions` on `task`, as far as the episode goes, and close it. `env` should truncate what is lost."""
    prompt, info = env.begin(task, verifier=verifier)
    texts, infos = [prompt], [info]
    verdict: Verdict | None = None
    for action in actions:
        text, _, terminated, truncated, info = env.step(action)
        texts.append(text)
        infos.append(info)
        if terminated or truncated:
            verdict = Verdict(**info["verdict"])
            break
    evidence = env.evidence if verdict is not None else None
    env.close()
    return Walk(tuple(texts), tuple(infos), verdict, evidence)


def to_the_end(actions: Sequence[str], max_turns: int) -> tuple[str, ...]:
    """Return `actions`, then silence until the turns are over."""
    return (*actions, *[""] * max(0, max_turns - len(actions)))[:max_turns]


def harmless_actions(tools: Sequence[ToolSpec]) -> list[str]:
    """Return messages that a policy without a plan sends: noise, broken calls, and every tool with idle arguments.

    None of them hands anything in.
    """
    actions = [
        "x",
        "",
        "help",
        '<tool_call>{"name": "zz", "arguments": {}}</tool_call>',
        "<tool_call>{",
        "```\nls\n```",
    ]
    for tool in tools:
        if tool.name in FINISHERS:
            continue
        actions.append(write_call(tool.name, {}))
        if any(name in SHELL_ARGUMENTS for name in properties_of(tool)):
            actions.append(call_of(tool, "pwd; ls -la; ls -la .. /tmp; env; history; cat /etc/hostname"))
        else:
            actions += [call_of(tool, text) for text in DUMMY_TEXTS]
    return actions


def properties_of(tool: ToolSpec) -> tuple[str, ...]:
    """Return the names of the arguments that `tool` takes."""
    properties = tool.parameters.get("properties", {})
    return tuple(properties) if isinstance(properties, dict) else ()


def in_episodes(actions: Sequence[str], max_turns: int) -> list[tuple[str, ...]]:
    """Return `actions` in portions that leave an episode unfinished: nothing where the first message ends it."""
    size = max_turns - 1
    return [tuple(actions[k : k + size]) for k in range(0, len(actions), size)] if size else []


def _plain(info: dict[str, Any]) -> Json:
    return {key: value for key, value in info.items() if key != "verdict"}
