"""L01: no answer may stand in what the policy is shown, beyond what another task's answer does by chance."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from polyathlon.canonical import Json, canonical_json
from polyathlon.domain import Task
from polyathlon.env import DomainEnv
from polyathlon.inspect.finding import WHOLE, CheckResult, Measure, measured
from polyathlon.inspect.handed_in import calls_in, texts_in
from polyathlon.inspect.intervals import wilson
from polyathlon.inspect.leaks.readings import encoded_in, found_in
from polyathlon.inspect.play import Stage
from polyathlon.inspect.protocol import RULES
from polyathlon.inspect.space.survey import Answered, answered_of, public_text
from polyathlon.inspect.tally import Tally
from polyathlon.inspect.walk import NotJudging, harmless_actions, in_episodes, walk
from polyathlon.toolcall import OPEN

NUM_CONTROLS = 4
NUM_CONTROLS_OF_HIT = 20
COMMON = 0.2
"""An answer that this share of other tasks shows too tells nothing by being shown: an option, a name in the wording."""
MAX_CHANCE_CHARS = 24
"""A longer text stands in another task by no chance."""
MAX_SECRET_CHARS = 2_000
CALLS_JUDGED = "tools"
"""The kind of workspace in which the calls themselves are judged, not a text that one of them hands in."""
MIN_PIECE_CHARS = 4
"""A shorter argument stands beside a prompt by chance."""
MIN_CASES_FOR_BOUND = 381
"""No hit among so many bounds the rate at 0.01; a smoke test has fewer, and is graded by what it saw."""


@dataclass(frozen=True, slots=True)
class Told:
    """A task, all that is shown of it, and the texts that would solve it: `secrets` whole, `pieces` only together.

    `beyond` is what is shown besides the prompt, where there is nothing to look up: the only message ends the episode.
    """

    task: Task
    shown: str
    beyond: str
    secrets: tuple[str, ...]
    pieces: tuple[str, ...]


def check_shown(stage: Stage) -> CheckResult:
    """L01: prompt, public part, `info` and the replies to harmless messages, for answers in several readings."""
    subject = stage.subject
    tally = Tally("L01", subject.entry.row.levels)
    hits: list[tuple[Task, str]] = []
    with_replies = {key.seed for key in subject.task_keys(_num_asked(stage))}
    env = DomainEnv(subject.entry.id, lost="truncate", room=subject.room)
    for level, answered in enumerate(answered_of(stage)):
        told = [_told(stage, env, one, ask=one.task.seed in with_replies) for one in answered]
        for place, one in enumerate(told):
            lift, way = _lift(told, place)
            tally.count(level, lift)
            hits += [(one.task, way)] if way else []
    measures = (*tally.shares(), _bound(tally))
    above = {measure.level for measure in measures if measure.grade < RULES["L01"].grade(0.0)}
    for task, way in hits:
        if task.level in above or WHOLE in above:  # the rest is chance
            replay = f"polyathlon play {subject.entry.id} --level {task.level} --seed {task.seed}"
            tally.fault(task.level, task.seed, f"the answer can be read before it is given: {way}.", replay)
    return tally.result(measures, {"hits": len(hits)})


def _bound(tally: Tally) -> Measure:
    """Return the domain's own measure: the upper bound of the lift where there are cases enough, else the lift."""
    lift = max(0.0, tally.num_hits)
    low, high = wilson(min(lift, tally.num_cases), tally.num_cases)
    value = high if tally.num_cases >= MIN_CASES_FOR_BOUND else lift / max(1, tally.num_cases)
    return measured(RULES["L01"], WHOLE, value, tally.num_cases, interval=(low, high))


def _num_asked(stage: Stage) -> int:
    subject = stage.subject
    return subject.num_attempt_seeds if subject.costly else subject.num_seeds


def _told(stage: Stage, env: DomainEnv, one: Answered, *, ask: bool) -> Told:
    row = stage.subject.entry.row
    beyond = [public_text(one.task.public)]
    if ask:
        beyond += replies(env, one.task, row.max_turns)
    ways = (one.actions, *(attempt.actions for attempt in stage.subject.domain.alternatives(one.task)))
    whole, pieces = secrets_of(
        [action for actions in ways for action in actions], calls_judged=row.kind == CALLS_JUDGED
    )
    secrets = tuple(dict.fromkeys(text[:MAX_SECRET_CHARS] for text in (*whole, *_dumps(one.task.hidden))))
    beside = "\n".join(beyond)
    return Told(one.task, f"{one.task.prompt}\n{beside}", beside if row.max_turns == 1 else "", secrets, pieces)


def secrets_of(actions: Sequence[str], *, calls_judged: bool) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return (texts each of which would be an answer, texts of which it is put together) of what `actions` hand in.

    A text given to a tool is an answer by itself. Where it is calls that are judged, a request says what is to stand in
    them: the call is the answer, in any layout of its JSON, and its arguments are pieces.
    """
    whole: list[str] = []
    pieces: list[str] = []
    for action in actions:
        calls = calls_in(action) if calls_judged else ()
        whole += [text for text in texts_in(action) if text and not (calls and OPEN in action)]
        if calls:
            whole += [*layouts([*calls]), *(text for call in calls for text in layouts(call))]
        pieces += [text for call in calls for text in _texts(call["arguments"])]
    return tuple(dict.fromkeys(whole)), tuple(dict.fromkeys(pieces))


def layouts(value: Json) -> tuple[str, ...]:
    """Return `value` as JSON in the layouts in which it is usually written."""
    return (
        json.dumps(value, separators=(",", ":")),
        json.dumps(value),
        canonical_json(value),
        json.dumps(value, ensure_ascii=False),
        json.dumps(value, indent=2),
    )


def _texts(value: Json) -> list[str]:
    """Return the texts and numbers inside `value`, names aside."""
    if isinstance(value, Mapping):
        return [text for inner in value.values() for text in _texts(inner)]
    if isinstance(value, list | tuple):
        return [text for inner in value for text in _texts(inner)]
    return [] if value is None or isinstance(value, bool) else [str(value)]


def replies(env: DomainEnv, task: Task, max_turns: int) -> list[str]:
    """Return what `task` shows to a policy that tries harmless things: infos, tools and observations before the end."""
    first = walk(env, task, (), verifier=NotJudging())
    shown = list(first.before_the_end)
    for actions in in_episodes(harmless_actions(first.tools), max_turns):
        shown += walk(env, task, actions, verifier=NotJudging()).before_the_end
    return list(dict.fromkeys(shown))


def _lift(told: Sequence[Told], place: int) -> tuple[float, str]:
    """Return how much more the task at `place` shows of its own answer than of others', and how it shows it."""
    mine = told[place]
    found = ((secret, found_in(mine.shown, secret)) for secret in mine.secrets)
    hit = next(((secret, way) for secret, way in found if way and not _is_common(told, place, secret)), None)
    hit = hit or _piece_told(told, place)
    after = [(place + step) % len(told) for step in range(1, min(NUM_CONTROLS, len(told) - 1) + 1)]
    chance = sum(_shows_other(told, place, other) for other in after) / len(after) if after else 0.0
    return (hit is not None) - chance, f"{hit[0][:60]!r} {hit[1]}" if hit else ""


def _piece_told(told: Sequence[Told], place: int) -> tuple[str, str] | None:
    """Return a piece of the answer that no request would say, and how it is shown: in code, or beside the prompt."""
    mine = told[place]
    for piece in mine.pieces:
        way = encoded_in(mine.shown, piece)
        if not way and len(piece) >= MIN_PIECE_CHARS and not found_in(mine.task.prompt, piece):
            way = found_in(mine.beyond, piece)
        if way and not _is_common(told, place, piece):
            return piece, way
    return None


def _is_common(told: Sequence[Told], place: int, secret: str) -> bool:
    others = [one for number, one in enumerate(told) if number != place][:NUM_CONTROLS_OF_HIT]
    return sum(bool(found_in(one.shown, secret)) for one in others) >= COMMON * len(others) if others else False


def _shows_other(told: Sequence[Told], place: int, other: int) -> bool:
    """Return whether the task at `place` shows an answer of the one at `other`, common ones aside."""
    mine = told[place]
    short = (text for text in told[other].secrets if len(text) <= MAX_CHANCE_CHARS and text not in mine.secrets)
    return any(found_in(mine.shown, text) and not _is_common(told, other, text) for text in short)


def _dumps(hidden: Mapping[str, Json]) -> tuple[str, ...]:
    return (canonical_json(hidden), repr(dict(hidden)), json.dumps(hidden)) if hidden else ()
