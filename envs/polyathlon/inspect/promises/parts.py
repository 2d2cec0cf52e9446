"""C01: the row and the parts of a domain are what the contract says, and every part is there to be tried."""

from __future__ import annotations

import importlib
import inspect as source_of
from collections.abc import Callable, Iterator, Sequence

from polyathlon.canonical import canonical_json
from polyathlon.domain import Attempt, Domain, Task
from polyathlon.drawing import TaskKey
from polyathlon.env import DomainEnv
from polyathlon.inspect.finding import WHOLE, CheckResult, Finding, measured
from polyathlon.inspect.play import Stage
from polyathlon.inspect.protocol import RULES
from polyathlon.inspect.rooms import WatchedRoom
from polyathlon.inspect.walk import to_the_end, walk
from polyathlon.seeding import child

METHODS = {"tasks": ("draw", "render"), "verifier": ("judge",)}
HOOKS = (
    "open_workspace",
    "solve",
    "alternatives",
    "equivalents",
    "distractors",
    "exploits",
    "shortcuts",
    "proves_right",
)
LEAST_KINDS = {"equivalents": 1, "distractors": 2, "exploits": 4}
ATTEMPTS = ("alternatives", "equivalents", "distractors", "exploits", "shortcuts")
NUM_LOOKED_AT, NUM_SANDBOX_LOOKED_AT = 16, 4
NUM_LEVEL_DRAWS = 8
SANDBOX = "sandbox"


def check_parts(stage: Stage) -> CheckResult:
    """C01: what is missing or wrong in the parts, the attempts, the levels and the row's `needs`."""
    domain = stage.subject.domain
    texts = [*part_faults(domain), *_module_faults(stage)]
    if not texts:  # what the rest calls is there
        texts = [*_attempt_faults(stage), *_level_faults(stage), *_need_faults(stage)]
    faults = tuple(Finding(0, 0, text) for text in texts)
    return CheckResult("C01", (measured(RULES["C01"], WHOLE, len(faults), 1),), faults)


def part_faults(domain: Domain) -> Iterator[str]:
    """Yield what is missing or wrong in the parts of `domain`, without running any."""
    for part, methods in METHODS.items():
        holder = getattr(domain, part)
        for method in methods:
            if not callable(getattr(holder, method, None)):
                yield f"{part} has no method {method}(). Give it one: see polyathlon.domain."
        if not _own_doc(type(holder)):
            yield f"the class of {part} has no docstring. Say in a sentence what is asked, or what passes."
    for hook in HOOKS:
        if not callable(getattr(domain, hook)):
            yield f"{hook} is a {type(getattr(domain, hook)).__name__}; it must be a function. See polyathlon.domain."


def _own_doc(of: type) -> str:
    """Return the docstring; a dataclass without one has its signature for it, which says nothing."""
    text = source_of.getdoc(of) or ""
    return "" if text.startswith(f"{of.__name__}(") else text


def _module_faults(stage: Stage) -> Iterator[str]:
    name = stage.subject.entry.row.load.partition(":")[0]
    if not (importlib.import_module(name).__doc__ or "").strip():
        yield f"the module {name} has no docstring. Say in its first line what the domain asks for."


def _attempt_faults(stage: Stage) -> Iterator[str]:
    """Yield what is wrong with the attempts named on the tasks looked at."""
    subject = stage.subject
    kinds: dict[str, set[str]] = {hook: set() for hook in ATTEMPTS}
    for key in subject.task_keys(NUM_SANDBOX_LOOKED_AT if subject.costly else NUM_LOOKED_AT):
        for hook in ATTEMPTS:
            named = getattr(subject.domain, hook)
            attempts = named(stage.task(key))
            for text in _wrong_with(attempts):
                yield f"{hook} of level {key.level}, seed {key.seed}: {text}"
                return
            if [attempt.actions for attempt in named(stage.task(key))] != [attempt.actions for attempt in attempts]:
                yield f"{hook} of level {key.level}, seed {key.seed} differ when asked for again. Draw nothing in them."
                return
            kinds[hook] |= {attempt.name for attempt in attempts}
    for hook, least in LEAST_KINDS.items():
        if len(kinds[hook]) < least:
            yield f"{len(kinds[hook])} kinds of {hook} on the tasks looked at; give at least {least}."


def _wrong_with(attempts: Sequence[Attempt]) -> Iterator[str]:
    for attempt in attempts:
        if not isinstance(attempt, Attempt) or not attempt.name or not isinstance(attempt.actions, tuple):
            yield f"{attempt!r:.80} is no Attempt with a name and a tuple of actions."
        elif not all(isinstance(action, str) for action in attempt.actions):
            yield f"{attempt.name!r} has an action that is no string."


def _level_faults(stage: Stage) -> Iterator[str]:
    """Yield levels that are the one before under another number: what they draw is the same."""
    subject = stage.subject
    for level in range(1, subject.entry.row.levels):
        if all(_cores(stage, level, seed) == _cores(stage, level - 1, seed) for seed in range(NUM_LEVEL_DRAWS)):
            yield (
                f"level {level} draws what level {level - 1} draws. Declare {level} levels, or make this one harder."
            )


def _cores(stage: Stage, level: int, seed: int) -> str:
    rng = child("inspect level", stage.subject.entry.id, seed)
    return canonical_json(stage.subject.domain.tasks.draw(rng, level))


def _need_faults(stage: Stage) -> Iterator[str]:
    """Yield where `needs` says a sandbox and nothing uses one, or the other way round."""
    subject = stage.subject
    room = WatchedRoom(subject.room)
    env = DomainEnv(subject.entry.id, lost="truncate", room=room)
    for level in range(subject.entry.row.levels):
        key = TaskKey(subject.entry.id, level, 0)
        for actions in _ways(stage, stage.task(key)):
            walk(env, stage.task(key), to_the_end(actions, subject.entry.row.max_turns))
        if room.num_used:
            break
    declared = SANDBOX in subject.entry.row.needs
    if room.num_used and not declared:
        yield "an episode used a sandbox, and the row's `needs` does not name it. Write `needs: [sandbox]`."
    if declared and not room.num_used:
        yield "the row's `needs` names a sandbox, and no episode used one. Leave it out: it keeps users away."


def _ways(stage: Stage, task: Task) -> Iterator[tuple[str, ...]]:
    domain = stage.subject.domain
    yield next(played.actions for played in stage.solved if played.task is task)
    named: tuple[Callable[[Task], Sequence[Attempt]], ...] = (domain.alternatives, domain.distractors)
    for attempts in named:
        yield from (attempt.actions for attempt in attempts(task)[:1])
