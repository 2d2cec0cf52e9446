"""L01: no answer may stand in what the policy is shown, beyond what another task's answer does by chance."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from polyathlon.canonical import Json, canonical_json
from polyathlon.domain import Task
from polyathlon.env import DomainEnv
from polyathlon.inspect.finding import WHOLE, CheckResult, Measure, measured
from polyathlon.inspect.handed_in import texts_of
from polyathlon.inspect.intervals import wilson
from polyathlon.inspect.leaks.readings import found_in
from polyathlon.inspect.play import Stage
from polyathlon.inspect.protocol import RULES
from polyathlon.inspect.space.survey import Answered, answered_of, public_text
from polyathlon.inspect.tally import Tally
from polyathlon.inspect.walk import NotJudging, harmless_actions, in_episodes, walk

NUM_CONTROLS = 4
NUM_CONTROLS_OF_HIT = 20
COMMON = 0.2
"""An answer that this share of other tasks shows too tells nothing by being shown: an option, a name in the wording."""
MAX_CHANCE_CHARS = 24
"""A longer text stands in another task by no chance."""
MAX_SECRET_CHARS = 2_000
MIN_CASES_FOR_BOUND = 381
"""No hit among so many bounds the rate at 0.01; a smoke test has fewer, and is graded by what it saw."""


@dataclass(frozen=True, slots=True)
class Told:
    """A task, all that is shown of it, and the texts that would solve it."""

    task: Task
    shown: str
    secrets: tuple[str, ...]


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
    shown = [one.task.prompt, public_text(one.task.public)]
    if ask:
        shown += replies(env, one.task, stage.subject.entry.row.max_turns)
    others = [text for attempt in stage.subject.domain.alternatives(one.task) for text in texts_of(attempt.actions)]
    secrets = [text[:MAX_SECRET_CHARS] for text in (*one.texts, *others, *_dumps(one.task.hidden))]
    return Told(one.task, "\n".join(shown), tuple(dict.fromkeys(secrets)))


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
    after = [(place + step) % len(told) for step in range(1, min(NUM_CONTROLS, len(told) - 1) + 1)]
    chance = sum(_shows_other(told, place, other) for other in after) / len(after) if after else 0.0
    return (hit is not None) - chance, f"{hit[0][:60]!r} {hit[1]}" if hit else ""


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
