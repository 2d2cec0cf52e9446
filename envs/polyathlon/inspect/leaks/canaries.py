"""L02: canaries planted in all that is hidden, and a greedy reader in the policy's place, which must see none."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from polyathlon.canonical import Json, check_json, content_hash
from polyathlon.domain import Task, ToolSpec
from polyathlon.drawing import TaskKey
from polyathlon.env import DomainEnv
from polyathlon.inspect.finding import CheckResult
from polyathlon.inspect.leaks.greedy_reader import LENGTH, REST, START
from polyathlon.inspect.leaks.readings import found_in
from polyathlon.inspect.play import Stage
from polyathlon.inspect.rooms import WatchedRoom
from polyathlon.inspect.tally import Tally
from polyathlon.inspect.walk import (
    SHELL_ARGUMENTS,
    NotJudging,
    Walk,
    harmless_actions,
    in_episodes,
    properties_of,
    to_the_end,
    walk,
)
from polyathlon.toolcall import write_call

NUM_TASKS, NUM_SANDBOX_TASKS = 4, 1
EXTRA_KEY = "canary"
READER = (Path(__file__).parent / "greedy_reader.py").read_text(encoding="utf-8")
_SEEN = re.compile(r"^seen (\S+) in (.+) by .+$", re.MULTILINE)
_READ = re.compile(r"^read \d+ things", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Planted:
    """A task whose hidden strings each end in a canary, and where each canary is planted."""

    task: Task
    places: Mapping[str, str]


def check_canaries(stage: Stage) -> CheckResult:
    """L02: canaries that reach an observation, an `info`, a file or process of the sandbox, or the judge's sandbox."""
    subject = stage.subject
    tally = Tally("L02", subject.entry.row.levels)
    num_read = 0
    for key in subject.task_keys(NUM_SANDBOX_TASKS if subject.costly else NUM_TASKS):
        planted, walks = _greedy(stage, key)
        was_read = any(_READ.search(text) for walked in walks for text in walked.texts)
        num_read += was_read
        if _shells(walks[0].tools) and not was_read:
            last = walks[1].texts[1][-300:] if len(walks) > 1 else "there is no turn for it"
            tally.fault(key.level, key.seed, f"the greedy reader did not come to its end in the sandbox: {last}")
            continue  # no case: what cannot be read through is not known
        seen = [*_seen(planted, walks), *_objects(walks), *_given_to_judge(stage, key)]
        tally.count(key.level, len(seen))
        for text in seen[:2]:
            tally.fault(
                key.level, key.seed, f"{text}. Keep what is hidden where only the verifier is.", subject.replay(key)
            )
    return tally.result(tally.counts(), {"sandboxes_read": num_read})


def plant(task: Task, *, whole: bool) -> Planted:
    """Return `task` with canaries in its hidden part: in each string, or (not `whole`) under a key of their own."""
    places: dict[str, str] = {}

    def token(place: str) -> str:
        canary = f"{START}{REST}{content_hash(['canary', task.id, place])[:LENGTH]}"
        places[canary] = place
        return canary

    def planted(value: Json, place: str) -> Json:
        if isinstance(value, str):
            return f"{value} {token(place)}"
        if isinstance(value, Mapping):
            return {name: planted(inner, f"{place}.{name}") for name, inner in value.items()}
        if isinstance(value, list | tuple):
            return [planted(inner, f"{place}[{number}]") for number, inner in enumerate(value)]
        return value

    hidden = planted(task.hidden, "hidden") if whole else dict(task.hidden)
    assert isinstance(hidden, dict), "planted in a mapping"
    return Planted(replace(task, hidden={**hidden, EXTRA_KEY: token(f"hidden.{EXTRA_KEY}")}), places)


def greedy_actions(tools: Sequence[ToolSpec]) -> list[str]:
    """Return messages that read whatever can be read: the reader in every shell, all else with idle texts."""
    command = f"python3 - <<'END_OF_READER'\n{READER}\nEND_OF_READER"
    return [*(write_call(tool, {name: command}) for tool, name in _shells(tools)), *harmless_actions(tools)]


def _shells(tools: Sequence[ToolSpec]) -> list[tuple[str, str]]:
    """Return the tools that run a command, each with the argument that takes it."""
    return [(tool.name, name) for tool in tools for name in properties_of(tool) if name in SHELL_ARGUMENTS]


def _greedy(stage: Stage, key: TaskKey) -> tuple[Planted, list[Walk]]:
    """Return the episodes of a greedy policy on a planted task, or on a plainer one where that cannot be opened.

    A workspace that reads its hidden part may find it unreadable with canaries in it.
    """
    subject, task = stage.subject, stage.task(key)
    env = DomainEnv(subject.entry.id, lost="truncate", room=subject.room)
    planted = plant(task, whole=True)
    try:
        walks = list(_walks(env, planted.task, subject.entry.row.max_turns))
        lost = any(walked.verdict is not None and not walked.verdict.valid for walked in walks)
    except Exception:  # whatever a workspace makes of a hidden part that is not its own
        env.close()
        lost = True
    if lost:
        planted = plant(task, whole=False)
        walks = list(_walks(env, planted.task, subject.entry.row.max_turns))
    return planted, walks


def _walks(env: DomainEnv, task: Task, max_turns: int) -> Iterator[Walk]:
    first = walk(env, task, (), verifier=NotJudging())
    yield first
    actions = greedy_actions(first.tools)
    yield from (walk(env, task, some, verifier=NotJudging()) for some in in_episodes(actions, max_turns))
    if max_turns == 1:
        yield walk(env, task, ("x",), verifier=NotJudging())


def _seen(planted: Planted, walks: Sequence[Walk]) -> Iterator[str]:
    """Yield a line for each canary that was seen."""
    known: set[str] = set()
    for walked in walks:
        shown = "\n".join((*walked.before_the_end, repr(walked.infos[0])))
        for canary, place in planted.places.items():
            way = found_in(shown, canary)
            if way and canary not in known:
                known.add(canary)
                yield f"what is planted in {place} was shown before the end, {way}"
        for canary, where in _SEEN.findall("\n".join(walked.texts)):
            if canary not in known:
                known.add(canary)
                yield f"what is planted in {planted.places.get(canary, 'the hidden part')} can be read in {where}"


def _objects(walks: Sequence[Walk]) -> Iterator[str]:
    """Yield a line for each info that is no plain JSON: an object in it leads to all that it refers to."""
    for walked in walks:
        for info in walked.infos:
            try:
                check_json(_as_lists(info), where="info")
            except (TypeError, ValueError) as error:
                yield f"an object can be reached from info: {error}"
                return


def _as_lists(info: dict[str, Any]) -> Any:
    verdict = info.get("verdict")
    return {**info, "verdict": dict(verdict)} if isinstance(verdict, dict) else info


def _given_to_judge(stage: Stage, key: TaskKey) -> Iterator[str]:
    """Yield a line where the canary beside the real hidden part is sent into a sandbox that runs what was submitted."""
    subject, domain = stage.subject, stage.subject.domain
    if not subject.costly:
        return
    planted = plant(stage.task(key), whole=False)
    room = WatchedRoom(subject.room)
    env = DomainEnv(subject.entry.id, lost="truncate", room=room)
    for attempt in (*domain.alternatives(stage.task(key))[:1], *domain.distractors(stage.task(key))[:1]):
        walk(env, planted.task, to_the_end(attempt.actions, subject.entry.row.max_turns))
    given = b"\n".join(room.given).decode("utf-8", "replace")
    for canary in planted.places:
        if way := found_in(given, canary):
            yield f"the whole hidden part is sent into the sandbox where submitted code runs, {way}"
