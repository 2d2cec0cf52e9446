"""X03: submitted code must not reach the judge, its answers, its files, its processes or its reward.

What a policy's commands print is read off what the policy sees. What runs only when it is judged has no such voice:
there the reference is handed in with a probe in it that spoils it where it finds something, and the verdict tells.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from polyathlon.canonical import expect_map
from polyathlon.domain import ToolSpec
from polyathlon.env import DomainEnv
from polyathlon.inspect.attacks.canaries import Canaries, canaries
from polyathlon.inspect.attacks.payload import Payload
from polyathlon.inspect.attacks.probes import (
    MEANINGS,
    PROGRAMS,
    STATEMENTS,
    command_probes,
    python_probes,
    shell_probe,
)
from polyathlon.inspect.attacks.programs import functions_of
from polyathlon.inspect.attacks.queries import tables_of
from polyathlon.inspect.attacks.scenes import Target, levels_of, target_of
from polyathlon.inspect.finding import WHOLE, CheckResult, Finding, measured
from polyathlon.inspect.play import Stage
from polyathlon.inspect.protocol import RULES
from polyathlon.toolcall import write_call

NOTHING = "_p=0\n"


@dataclass(frozen=True, slots=True)
class Answer:
    """What one probe said: its question, whether the answer is yes, and what was seen."""

    name: str
    yes: bool
    seen: str = ""


def check_privilege(stage: Stage) -> CheckResult:
    """X03: probes through every way in which a domain runs what is handed in, on its first and its last level."""
    faults: dict[str, Finding] = {}
    asked = 0
    for target in _targets(stage):
        with canaries() as told:
            answers = [*_answers(stage, target, told)]
            if told.was_written:
                answers.append(Answer("written", yes=True))
            if told.was_called:
                answers.append(Answer("network", yes=True))
        asked += len(answers)
        for answer in (answer for answer in answers if answer.yes and answer.name not in faults):
            text = f"what is handed in {MEANINGS[answer.name]}{f' ({answer.seen})' if answer.seen else ''}."
            hint = "Run it in a room of its own (polyathlon.sandbox), and hand in there nothing that judges."
            replay = stage.subject.replay(target.key)
            faults[answer.name] = Finding(target.key.level, target.key.seed, f"{text} {hint}", replay)
    if not asked:
        return CheckResult("X03", not_applicable="nothing that is handed in is run")
    return CheckResult("X03", (measured(RULES["X03"], WHOLE, len(faults), asked),), tuple(faults.values()))


def _targets(stage: Stage) -> Iterator[Target]:
    for level in sorted({levels_of(stage)[0], levels_of(stage)[-1]}):
        solved = next((p for p in stage.solved if p.key.level == level and p.verdict.passed), None)
        if solved is not None:
            yield target_of(stage, solved)


def _answers(stage: Stage, target: Target, told: Canaries) -> Iterator[Answer]:
    """Yield what each probe that fits the task says."""
    for tool in target.scene.tools:
        if tool.name == "run":
            yield from _by_shell(stage, target, tool, told)
            yield from _by_statements(stage, target, tool)
        if tool.name in ("build", "edit"):
            yield from _by_programs(stage, target, tool)
    payload = target.scene.payload
    if payload is not None and payload.language in ("python", "piece", "bash"):
        yield from _by_oracle(stage, target, payload, told)


def _by_shell(stage: Stage, target: Target, tool: ToolSpec, told: Canaries) -> Iterator[Answer]:
    argument = next((name for name in _properties(tool) if name in ("cmd", "command")), None)
    if argument is None:
        return
    seen = _watched(stage, target, [write_call(tool.name, {argument: shell_probe(told)})])[0].text
    for line in seen.splitlines():
        words = line.split()
        if len(words) == 3 and words[0] == "probe" and words[1] in MEANINGS:
            yield Answer(words[1], words[2] == "1")
    if "probe-files" in seen:
        listed = seen.partition("probe-files\n")[2].partition("probe-end")[0].splitlines()
        shown = {f"./{path}" for path in expect_map(target.scene.public.get("files", {}))}
        more = sorted(path for path in listed if path not in shown)
        yield Answer("unlisted", bool(more), ", ".join(more[:3]))


def _by_statements(stage: Stage, target: Target, tool: ToolSpec) -> Iterator[Answer]:
    if "query" not in _properties(tool):
        return
    table = (tables_of(target.scene) or ["t"])[0]
    calls = [write_call(tool.name, {"query": text.replace("{table}", table)}) for text in STATEMENTS]
    for text, call in zip(STATEMENTS, calls, strict=True):
        yield Answer("statement", not _watched(stage, target, [call])[0].error, text)


def _by_programs(stage: Stage, target: Target, tool: ToolSpec) -> Iterator[Answer]:
    argument = next(iter(_properties(tool)), "program")
    for text in PROGRAMS:
        yield Answer("program", not _watched(stage, target, [write_call(tool.name, {argument: text})])[0].error, text)


def _by_oracle(stage: Stage, target: Target, payload: Payload, told: Canaries) -> Iterator[Answer]:
    """Hand in the reference with each probe in it: spoilt where the answer is yes, a pass where it is no."""
    if payload.language == "bash":
        probes, inert = command_probes(told), "false"
    else:
        probes, inert = python_probes(told), NOTHING
    spoil = next((way for way in _spoilers(payload) if _passes(stage, target, payload, way(inert))), None)
    if spoil is None:
        return
    for name, probe in probes.items():
        passed = _passes(stage, target, payload, spoil(probe))
        yield Answer(name, not passed and _passes(stage, target, payload, spoil(inert)))


Spoiler = Callable[[str], str]


def _spoilers(payload: Payload) -> Sequence[Spoiler]:
    """Return ways to put a probe into the reference; the first under which it still passes is used."""
    text = payload.text
    if payload.language == "bash":
        return (lambda probe: f"if {probe}; then exit 7; fi; {text}",)
    if payload.language == "piece":
        asked = "(lambda s:(exec({0!r},s),s['_p'])[1])({{}})"
        return (
            lambda probe: f"({text}) if not {asked.format(probe)} else 1 // 0",
            lambda probe: f"if {asked.format(probe)}: 1 // 0\n{text}",
            lambda probe: f"{asked.format(probe)} and 1 // 0\n{text}",
        )
    ends = "".join(f"    def {name}(*args, **named): raise SystemExit\n" for name in functions_of(text)) or "    pass\n"
    return (lambda probe: f"{text}\n\n{probe}\nif _p:\n{ends}",)


def _passes(stage: Stage, target: Target, payload: Payload, text: str) -> bool:
    return stage.play(target.key, payload.carrying(text)).verdict.passed


@dataclass(frozen=True, slots=True)
class Seen:
    """What a policy saw after an action."""

    text: str
    error: bool


def _watched(stage: Stage, target: Target, actions: Sequence[str]) -> list[Seen]:
    """Return what a policy sees after each of `actions`, in an episode of its own that is not judged."""
    env = DomainEnv(stage.subject.entry.id, lost="truncate", room=stage.subject.room)
    try:
        env.begin(stage.task(target.key))
        seen = []
        for action in actions:
            text, _, _, _, info = env.step(action)
            seen.append(Seen(text, bool(info["error"])))
        return seen
    finally:
        env.close()


def _properties(tool: ToolSpec) -> list[str]:
    return [*expect_map(tool.parameters.get("properties", {}))]


def reaches_this_machine(stage: Stage, target: Target) -> bool:
    """Return whether what is handed in reads a file of this machine: then no attack with code may be tried on it."""
    with canaries() as told:
        for tool in target.scene.tools:
            argument = next((name for name in _properties(tool) if name in ("cmd", "command")), None)
            if tool.name == "run" and argument is not None:
                seen = _watched(stage, target, [write_call(tool.name, {argument: f"cat {told.path}"})])[0].text
                if told.token in seen:
                    return True
        payload = target.scene.payload
        if payload is None or payload.language not in ("python", "piece", "bash"):
            return False
        probes = command_probes(told) if payload.language == "bash" else python_probes(told)
        inert = "false" if payload.language == "bash" else NOTHING
        spoil = next((way for way in _spoilers(payload) if _passes(stage, target, payload, way(inert))), None)
        return spoil is not None and not _passes(stage, target, payload, spoil(probes["file"]))
