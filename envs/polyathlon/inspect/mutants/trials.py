"""Mutants put to the test: which are played, what each earned, and which are left out because they are right."""

from __future__ import annotations

import contextlib
import itertools
import json
import shlex
import weakref
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from polyathlon.domain import Attempt, Evidence
from polyathlon.drawing import TaskKey
from polyathlon.inspect.mutants.frames import SOLUTIONS, frames_of
from polyathlon.inspect.mutants.generate import Mutant, script_mutants
from polyathlon.inspect.mutants.picking import Picker
from polyathlon.inspect.play import Playthrough, Stage, Subject
from polyathlon.verify.text import plain

Outcome = Literal["killed", "survived", "lost", "declared", "unchanged", "proven"]
EXCLUDED: tuple[Outcome, ...] = ("declared", "unchanged", "proven")
FULL_MARGIN = 0.05
NUM_TASKS = 16
COSTLY_ANSWER_TASKS, COSTLY_SOLUTION_TASKS = 2, 16
MUTANTS_A_SEED, MAX_MUTANTS = 4, 60
COSTLY_ANSWERS, COSTLY_SOLUTIONS, FULL_SEEDS = 8, 42, 64
TRIED_FOR_ONE = 3
BRIEF_BUT_ONE_IN = 8  # of eight tasks one is mutated with all its working
NUM_OTHERS = 3
TIMED_OUT = ("timeout", "too much time", "ran too long", "took too long", "time is up")
SLOW_S = 5.0


@dataclass(frozen=True, slots=True)
class Trial:
    """One mutant and what came of it. `played` is None where it needed no playing: it was a declared right way."""

    key: TaskKey
    mutant: Mutant
    outcome: Outcome
    played: Playthrough | None = None

    @property
    def timed_out(self) -> bool:
        """Whether it was killed by the clock rather than by its results."""
        if self.played is None or self.outcome != "killed":
            return False
        reason = self.played.verdict.reason.lower()
        return self.played.wall_s > SLOW_S or any(reason.find(word) >= 0 for word in TIMED_OUT)


@dataclass(frozen=True, slots=True)
class Right:
    """A task with its reference, whole and shortened to the messages without which it does not pass.

    `brief` is a declared alternative at most half as long as that, where there is one: the answer without its working.
    `ends` are what the three left behind.
    """

    key: TaskKey
    whole: Playthrough
    script: tuple[str, ...]
    brief: tuple[str, ...]
    omissions: tuple[Mutant, ...]
    ends: tuple[Evidence | None, ...]


class Trials:
    """The mutants of one stage, tried once whoever asks."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._rights: dict[TaskKey, Right] = {}
        self._tried: dict[tuple[int, bool], tuple[Trial, ...]] = {}
        self._kept: dict[tuple[int, int], list[int]] = {}
        self._declared: dict[TaskKey, frozenset[tuple[str, ...]]] = {}

    def rights(self, level: int, num_tasks: int) -> list[Right]:
        """Return the first tasks of `level`, with their references where these pass."""
        solved = [played for played in self._stage.solved if played.key.level == level and played.verdict.passed]
        return [self._right(played) for played in solved[:num_tasks]]

    def of(self, level: int, *, solutions: bool) -> tuple[Trial, ...]:
        """Return the trials of one level: of what is carried out (`solutions`), or of what is compared."""
        if (level, solutions) not in self._tried:
            self._tried[level, solutions] = tuple(self._try(level, solutions=solutions))
        return self._tried[level, solutions]

    def so_far(self) -> list[Trial]:
        """Return all trials that any check has asked for."""
        return [trial for trials in self._tried.values() for trial in trials]

    def _try(self, level: int, *, solutions: bool) -> Iterator[Trial]:
        wanted = num_mutants(self._stage.subject, solutions=solutions)
        counted = 0
        seen: set[tuple[TaskKey, tuple[str, ...]]] = set()
        for key, mutant in itertools.islice(self._in_turn(level, solutions=solutions), TRIED_FOR_ONE * wanted):
            mark = (key, normal(mutant.actions))
            if mark in seen:
                continue
            seen.add(mark)
            trial = self._trial(key, mutant)
            yield trial
            counted += trial.outcome in ("killed", "survived")
            if counted >= wanted:
                return

    def _in_turn(self, level: int, *, solutions: bool) -> Iterator[tuple[TaskKey, Mutant]]:
        """Yield the mutants of a level, every operator's first before any operator's second."""
        rights = self.rights(level, num_tasks(self._stage.subject, solutions=solutions))
        by_operator: dict[str, list[tuple[TaskKey, Mutant]]] = {}
        for place, right in enumerate(rights):
            others = [rights[(place + step) % len(rights)].whole.actions for step in range(1, NUM_OTHERS + 1)]
            pick = Picker(right.whole.task.id)
            kind = self._stage.subject.entry.row.kind
            script = right.brief if place % BRIEF_BUT_ONE_IN else right.script
            mutants = [*right.omissions, *script_mutants(script, kind, pick, others=others)]
            for mutant in mutants:
                if (mutant.family in SOLUTIONS) is solutions:
                    by_operator.setdefault(mutant.operator, []).append((right.key, mutant))
        for round_of in itertools.zip_longest(*by_operator.values()):
            yield from (found for found in round_of if found is not None)

    def _trial(self, key: TaskKey, mutant: Mutant) -> Trial:
        if normal(mutant.actions) in self._declared_ways(key):
            return Trial(key, mutant, "declared")
        with uncounted(self._stage):
            played = self._stage.play(key, mutant.actions)
        outcome = self._outcome(key, mutant, played)
        if outcome in ("killed", "survived"):  # what is right is no mutant, whatever it earned
            self._stage.play(key, mutant.actions, source="mutant")
        return Trial(key, mutant, outcome, played)

    def _outcome(self, key: TaskKey, mutant: Mutant, played: Playthrough) -> Outcome:
        if played.verdict.reward is None:
            return "lost"
        if played.verdict.reward < 1.0 - FULL_MARGIN:
            return "killed"
        right = self._rights[key]
        ends = [right.whole.evidence] if mutant in right.omissions else right.ends
        if any(same_end(end, played.evidence) for end in ends):
            return "unchanged"
        proven = self._stage.subject.domain.proves_right(self._stage.task(key), mutant.actions)
        return "proven" if proven else "survived"

    def _declared_ways(self, key: TaskKey) -> frozenset[tuple[str, ...]]:
        if key not in self._declared:
            domain, task = self._stage.subject.domain, self._stage.task(key)
            ways = (*domain.alternatives(task), *domain.equivalents(task))
            self._declared[key] = frozenset(normal(way.actions) for way in ways)
        return self._declared[key]

    def _right(self, whole: Playthrough) -> Right:
        if whole.key not in self._rights:
            with uncounted(self._stage):
                self._rights[whole.key] = self._shortened(whole)
        return self._rights[whole.key]

    def _shortened(self, whole: Playthrough) -> Right:
        """Leave out what the reference passes without, the first message first: looking around, trying, submitting.

        Where the end differs without such a message, leaving it out is a mutant of its own: not where a declared right
        way leaves undone just what the message did, and not a message that only ends the episode, for the end is the
        same when the turns are over. What was left out of the level's task before is tried first, all at once.
        """
        same = (whole.key.level, len(whole.actions))
        if same in self._kept:
            script = tuple(whole.actions[place] for place in self._kept[same])
            if script == whole.actions or self._stage.play(whole.key, script).verdict.passed:
                return self._right_of(whole, script, ())
        kept, omissions, end = list(range(len(whole.actions))), [], whole.evidence
        for place in range(len(whole.actions)):
            fewer = [other for other in kept if other != place]
            script = tuple(whole.actions[other] for other in fewer)
            if not script or not (played := self._stage.play(whole.key, script)).verdict.passed:
                continue
            if not same_end(end, played.evidence) and not self._left_undone(whole, end, played.evidence):
                family = self._family(whole.actions[place])
                omissions.append(Mutant("plan: message left out", family, script))
            kept, end = fewer, played.evidence
        self._kept[same] = kept
        return self._right_of(whole, tuple(whole.actions[place] for place in kept), tuple(omissions))

    def _right_of(self, whole: Playthrough, script: tuple[str, ...], omissions: tuple[Mutant, ...]) -> Right:
        brief = self._brief(whole, script)
        ends = tuple(self._stage.play(whole.key, actions).evidence for actions in (script, brief))
        return Right(whole.key, whole, script, brief, omissions, (whole.evidence, *ends))

    def _left_undone(self, whole: Playthrough, end: Evidence | None, without: Evidence | None) -> bool:
        """Return whether a declared right way ends like `without` in all that tells it from `end`."""
        if end is None or without is None:
            return False
        before, after = _parts(end), _parts(without)
        changed = [part for part in {**before, **after} if before.get(part) != after.get(part)]
        domain, task = self._stage.subject.domain, whole.task
        for way in (*domain.alternatives(task), *domain.equivalents(task)):
            played = self._stage.play(whole.key, way.actions)
            if played.verdict.passed and played.evidence is not None:
                theirs = _parts(played.evidence)
                if all(theirs.get(part) == after.get(part) for part in changed):
                    return True
        return False

    def _brief(self, whole: Playthrough, script: tuple[str, ...]) -> tuple[str, ...]:
        ways = [attempt.actions for attempt in self._stage.subject.domain.alternatives(whole.task)]
        shortest = min(ways, key=_length, default=script)
        passes = 2 * _length(shortest) <= _length(script) and self._stage.play(whole.key, shortest).verdict.passed
        return shortest if passes else script

    def _family(self, message: str) -> str:
        frames = frames_of(message, self._stage.subject.entry.row.kind)
        return "plan" if any(frame.family in SOLUTIONS for frame in frames) else "text"


_OF_STAGE: weakref.WeakKeyDictionary[Stage, Trials] = weakref.WeakKeyDictionary()


@contextlib.contextmanager
def uncounted(stage: Stage) -> Iterator[None]:
    """Leave what is played here out of the histogram of rewards."""
    source, stage.source = stage.source, None
    try:
        yield
    finally:
        stage.source = source


def trials_of(stage: Stage) -> Trials:
    """Return the trials of a stage, the same ones for every check."""
    if stage not in _OF_STAGE:
        _OF_STAGE[stage] = Trials(stage)
    return _OF_STAGE[stage]


def _length(actions: Sequence[str]) -> int:
    return sum(map(len, actions))


def num_mutants(subject: Subject, *, solutions: bool) -> int:
    """Return how many mutants a level are tried: 60 questions at 64 seeds, of what runs in a sandbox 42 or 8."""
    if not subject.costly:
        return min(MAX_MUTANTS, MUTANTS_A_SEED * subject.num_seeds)
    full = COSTLY_SOLUTIONS if solutions else COSTLY_ANSWERS
    return max(2, full * subject.num_seeds // FULL_SEEDS)


def num_tasks(subject: Subject, *, solutions: bool) -> int:
    """Return how many tasks a level are mutated: 16, of what runs in a sandbox 16 or 2 at 64 seeds."""
    if not subject.costly:
        return min(NUM_TASKS, subject.num_seeds)
    full = COSTLY_SOLUTION_TASKS if solutions else COSTLY_ANSWER_TASKS
    return max(1, full * subject.num_seeds // FULL_SEEDS)


def normal(actions: Sequence[str]) -> tuple[str, ...]:
    """Return a script in the form in which two that only look different are the same, whoever judges them."""
    return tuple(plain(action) for action in actions)


def same_end(one: Evidence | None, other: Evidence | None) -> bool:
    """Return whether two episodes left the same answer, state and files, times aside; calls are not compared."""
    if one is None or other is None:
        return False
    return _parts(one) == _parts(other)


def _parts(evidence: Evidence) -> dict[tuple[str, str], object]:
    """Return what an episode left, part by part: the answer, the state and its fields, each file without its times."""
    state: Mapping[str, object] = evidence.state if isinstance(evidence.state, Mapping) else {"": evidence.state}
    files = {("file", path): (entry.kind, entry.mode, entry.data) for path, entry in evidence.tree.entries.items()}
    return {("answer", ""): evidence.answer, **{("state", key): value for key, value in state.items()}, **files}


def replay(subject: Subject, key: TaskKey, actions: Sequence[str]) -> str:
    """Return the command that plays exactly these messages again."""
    return f"{subject.replay(key)} --actions {shlex.quote(json.dumps(list(actions)))}"


def proved_wrong(stage: Stage, key: TaskKey) -> list[Attempt]:
    """Return the distractors and exploits of a task that the domain's own proof calls right: it proves too much."""
    domain, task = stage.subject.domain, stage.task(key)
    return [
        attempt
        for attempt in (*domain.distractors(task), *domain.exploits(task))
        if domain.proves_right(task, attempt.actions)
    ]
