"""S05: what is graded by name must be named to the policy: keys, paths, tools, functions."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from polyathlon.canonical import Json, canonical_json, parse_json, parse_json_prefix
from polyathlon.drawing import TaskKey
from polyathlon.env import DomainEnv
from polyathlon.inspect.finding import CheckResult
from polyathlon.inspect.handed_in import arguments_of, texts_in
from polyathlon.inspect.play import Stage
from polyathlon.inspect.space.survey import public_text
from polyathlon.inspect.tally import Tally
from polyathlon.inspect.walk import Walk, to_the_end, walk
from polyathlon.toolcall import OPEN

NUM_TASKS, NUM_SANDBOX_TASKS = 16, 2
OWN_PLACES = ("/tmp/", "/dev/", "/proc/", "~", "$", "&")
PATH_ARGUMENTS = ("path", "file", "filename")

_REDIRECT = re.compile(r"(?<![0-9<>&-])>{1,2}\s*\"?([\w./$~&-]+)")
_NAME = re.compile(r"[A-Za-z_][\w.-]*[A-Za-z0-9_]")
_QUOTED = re.compile(r"[`'\"]([A-Za-z_][\w./-]{2,60})[`'\"]")


@dataclass(frozen=True, slots=True)
class Graded:
    """A name that an answer must bear, and what it names: "key", "path", "tool", "argument" or "function"."""

    name: str
    what: str


def check_coverage(stage: Stage) -> CheckResult:
    """S05: the share of tasks whose reference uses a name, or whose verdict speaks of one, that was never shown."""
    subject = stage.subject
    tally = Tally("S05", subject.entry.row.levels)
    env = DomainEnv(subject.entry.id, lost="truncate", room=subject.room)
    few = NUM_SANDBOX_TASKS if subject.costly else NUM_TASKS
    for played in stage.solved:
        if played.key.seed >= few:
            continue
        walked = walk(env, played.task, to_the_end(played.actions, subject.entry.row.max_turns))
        missing = [*unmentioned(played.actions, walked, played.task.public, played.task.hidden)]
        missing += _spoken_of(stage, played.key, walked)
        tally.count(played.key.level, bool(missing))
        if missing:
            names = ", ".join(f"the {one.what} {one.name!r}" for one in missing[:4])
            text = f"graded, and never named to the policy: {names}. Name it in the prompt."
            tally.fault(played.key.level, played.key.seed, text, subject.replay(played.key))
    return tally.result(tally.shares())


def unmentioned(
    actions: Sequence[str], walked: Walk, public: Mapping[str, Json], hidden: Mapping[str, Json]
) -> Iterator[Graded]:
    """Yield the names in `actions` that had not been shown before the action that uses them."""
    shown = [_beginning(walked), public_text(public)]
    secret = canonical_json(hidden)
    told: set[str] = set()
    for number, action in enumerate(actions):
        text = "\n".join(shown).casefold()
        for one in graded_names(action, secret):
            if one.name not in told and not _mentions(text, one.name):
                told.add(one.name)
                yield one
        shown += walked.texts[number + 1 : number + 2]


def graded_names(action: str, secret: str) -> Iterator[Graded]:
    """Yield the names that `action` bears: what it calls, the keys of its JSON, the paths it writes, what it defines.

    A function counts when `secret`, the hidden part as text, names it too: the rest are an author's own.
    """
    if OPEN in action:
        yield from (Graded(name, "tool") for name in _tool_names(action))
        for name, value in arguments_of(action).items():
            yield Graded(name, "argument")
            if name in PATH_ARGUMENTS and isinstance(value, str) and not value.startswith(OWN_PLACES):
                yield Graded(value.removeprefix("./").removeprefix("/workspace/"), "path")
            if not isinstance(value, str):
                yield from _keys(value)
    for text in texts_in(action):
        yield from _keys_in(text)
        if not _is_code(text):
            yield from _written_paths(text)
        yield from (Graded(name, "function") for name in _defined(text) if secret.find(f'"{name}"') >= 0)


def _spoken_of(stage: Stage, key: TaskKey, walked: Walk) -> list[Graded]:
    """Return the names that verdicts on wrong answers quote, that are hidden and never shown."""
    task = stage.task(key)
    shown = "\n".join((_beginning(walked), public_text(task.public), *walked.texts[:-1])).casefold()
    secret = canonical_json(task.hidden)
    found: dict[str, Graded] = {}
    for attempt in stage.subject.domain.distractors(task)[:4]:
        own = "\n".join(attempt.actions).casefold()
        for name in _QUOTED.findall(stage.play(key, attempt.actions).verdict.reason):
            hidden_name = secret.find(f'"{name}"') >= 0
            if hidden_name and not _mentions(shown, name) and not _mentions(own, name):
                found[name] = Graded(name, "name that a verdict quotes")
    return list(found.values())


def _beginning(walked: Walk) -> str:
    """Return what is shown before the first action: the prompt, the instructions, the tools."""
    info = walked.infos[0]
    return "\n".join((walked.texts[0], str(info["instructions"]), json.dumps(info["tools"])))


def _mentions(text: str, name: str) -> bool:
    """Return whether the case-folded `text` names `name`, as a word of its own or as the end of a longer path."""
    return re.search(rf"(?<![\w-]){re.escape(name.casefold())}(?![\w-])", text) is not None


def _keys_in(text: str) -> Iterator[Graded]:
    try:
        value = parse_json(text)
    except ValueError:
        return
    yield from _keys(value)


def _keys(value: Json) -> Iterator[Graded]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if _NAME.fullmatch(key):
                yield Graded(key, "key")
            yield from _keys(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _keys(inner)


def _tool_names(action: str) -> list[str]:
    try:
        value, _ = parse_json_prefix(action, action.index(OPEN) + len(OPEN))
    except ValueError:
        return []
    name = value.get("name") if isinstance(value, Mapping) else None
    return [name] if isinstance(name, str) else []


def _written_paths(text: str) -> Iterator[Graded]:
    for path in _REDIRECT.findall(text):
        if not path.startswith(OWN_PLACES) and _NAME.search(path) and ("." in path or "/" in path):
            yield Graded(path.removeprefix("./").removeprefix("/workspace/"), "path")


def _is_code(text: str) -> bool:
    """Return whether `text` is a program of a language in which > compares."""
    return bool(_defined(text)) or text.lstrip()[:1] in ("{", "[", "<")


def _defined(text: str) -> list[str]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    return [node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
