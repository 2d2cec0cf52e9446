"""C04: a judgement that cannot be made must become no verdict: never a reward of zero, and never one that pays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from polyathlon.canonical import Json
from polyathlon.domain import Domain, Evidence, Task, Verdict, Verifier
from polyathlon.drawing import TaskKey
from polyathlon.env import DomainEnv, judge_evidence
from polyathlon.inspect.finding import CheckResult
from polyathlon.inspect.play import Playthrough, Stage
from polyathlon.inspect.remembering import Remembering
from polyathlon.inspect.rooms import BareRoom, LosingRoom, RefusingRoom
from polyathlon.inspect.tally import Tally
from polyathlon.inspect.walk import to_the_end, walk
from polyathlon.sandbox.protocol import Room

NUM_TASKS, NUM_SANDBOX_TASKS = 4, 1
BROKEN_ROOMS: Mapping[str, type[RefusingRoom | LosingRoom | BareRoom]] = {
    "no sandbox could be had": RefusingRoom,
    "the sandbox was lost": LosingRoom,
    "no program was installed in the sandbox": BareRoom,
}
LOST_ROOMS = ("no sandbox could be had", "the sandbox was lost")


@dataclass(frozen=True, slots=True)
class Broken:
    """One judgement that something was taken away from: what, the verdict all the same, and the sound one."""

    what: str
    verdict: Verdict
    sound: Verdict

    @property
    def is_right(self) -> bool:
        """Whether it became no verdict; or, where what was taken away is not looked at, the verdict it always was."""
        return not self.verdict.valid or self.verdict == self.sound


class NotedKey(Mapping[str, Json]):
    """An answer key that notes in `seen` which of its parts are looked at: to copy it is to look at all of them."""

    def __init__(self, hidden: Mapping[str, Json]) -> None:
        self._hidden = hidden
        self.seen: set[str] = set()

    def __getitem__(self, name: str) -> Json:
        self.seen.add(name)
        return self._hidden[name]

    def __iter__(self) -> Iterator[str]:
        self.seen.update(self._hidden)
        return iter(self._hidden)

    def __len__(self) -> int:
        self.seen.update(self._hidden)
        return len(self._hidden)

    def __reduce__(self) -> tuple[type[dict[str, Json]], tuple[dict[str, Json]]]:
        return dict, (dict(self),)


def check_failures(stage: Stage) -> CheckResult:
    """C04: judge without a sandbox, with one that dies, with one that is bare, and with an answer key that is empty."""
    subject = stage.subject
    tally = Tally("C04", subject.entry.row.levels)
    all_judged = True
    for key in subject.task_keys(NUM_SANDBOX_TASKS if subject.costly else NUM_TASKS):
        for played in _episodes(stage, key):
            all_judged = all_judged and played.verdict.valid
            for broken in _taken_away(stage, played):
                tally.count(key.level, broken.is_right)
                if not broken.is_right:
                    got = "passes" if broken.verdict.passed else f"earns {broken.verdict.reward} as if it were wrong"
                    text = f"{broken.what}, and {'the reference' if played.verdict.passed else 'a wrong answer'} {got}."
                    hint = (
                        "Raise VerifierError, or let the error through: an episode that cannot be judged is discarded."
                    )
                    tally.fault(key.level, key.seed, f"{text} {hint}", subject.replay(key))
    if all_judged and not tally.num_cases:
        return CheckResult("C04", not_applicable="nothing is hidden and no sandbox is asked for: nothing to take away")
    return tally.result(tally.shares())


def _episodes(stage: Stage, key: TaskKey) -> Iterator[Playthrough]:
    """Yield another right answer than the reference's where there is one, the reference, and a wrong one."""
    domain, task = stage.subject.domain, stage.task(key)
    others = [attempt for attempt in domain.alternatives(task)][:1]
    for attempt in (*others, *[attempt for attempt in domain.distractors(task)][:1]):
        yield stage.play(key, attempt.actions)
    yield stage.solve(key)  # not stage.solved: that plays it on every task there is


def _taken_away(stage: Stage, played: Playthrough) -> Iterator[Broken]:
    """Yield what becomes of an episode and its judgement when the sandbox, the answer key, or a part of it is gone."""
    domain, evidence = stage.subject.domain, played.evidence
    verifier: Verifier = Remembering(domain.verifier)
    if evidence is not None and played.verdict.valid:
        room, noted = RefusingRoom(), NotedKey(played.task.hidden)
        verdict = _judged(replace(domain, verifier=verifier), replace(played.task, hidden=noted), evidence, room)
        if room.num_used:
            verifier = domain.verifier
            yield from _judged_without_room(stage, played, evidence)
            noted = NotedKey(played.task.hidden)
            verdict = _judged(domain, replace(played.task, hidden=noted), evidence, stage.subject.room)
        seen = noted.seen if verdict == played.verdict else set(played.task.hidden)
        yield from _judged_without_key(stage, played, evidence, seen)
    yield from _acted_without_room(stage, played, verifier)


def _judged_without_room(stage: Stage, played: Playthrough, evidence: Evidence) -> Iterator[Broken]:
    """Yield what becomes of the judgement in rooms that fail, where they are asked for anything."""
    for what, make in BROKEN_ROOMS.items():
        room = make()
        verdict = _judged(stage.subject.domain, played.task, evidence, room)
        if room.num_used:
            yield Broken(f"{what} to judge in", verdict, played.verdict)


def _acted_without_room(stage: Stage, played: Playthrough, verifier: Verifier) -> Iterator[Broken]:
    """Yield what becomes of the episode in rooms that fail. A policy's bad luck in a bare one is its own affair."""
    entry = stage.subject.entry
    for what in LOST_ROOMS:
        room = BROKEN_ROOMS[what]()
        env = DomainEnv(entry.id, lost="truncate", room=room)
        walked = walk(env, played.task, to_the_end(played.actions, entry.row.max_turns), verifier=verifier)
        if not room.num_used:
            return  # nor would the next one be asked
        if walked.verdict is not None:
            yield Broken(f"{what} to act in", walked.verdict, played.verdict)


def _judged_without_key(
    stage: Stage, played: Playthrough, evidence: Evidence, seen: AbstractSet[str]
) -> Iterator[Broken]:
    """Yield what becomes of the judgement when all that is hidden is gone, and when one part of it is gone or empty.

    Without a part that is not among the `seen` ones, the judgement goes as it did with it: it is not made again.
    """
    hidden = played.task.hidden
    if not hidden:
        return
    changes: list[tuple[str, bool, dict[str, Json]]] = [("the answer key is empty", bool(seen), {})]
    for name, value in hidden.items():
        rest = {other: inner for other, inner in hidden.items() if other != name}
        changes.append((f"hidden[{name!r}] is missing", name in seen, rest))
        if (empty := _emptied(value)) != value:
            changes.append((f"hidden[{name!r}] is empty", name in seen, {**hidden, name: empty}))
    for what, matters, changed in changes:
        task, verdict = replace(played.task, hidden=changed), played.verdict
        if matters:
            verdict = _judged(stage.subject.domain, task, evidence, stage.subject.room)
        yield Broken(what, verdict, played.verdict)


def _judged(domain: Domain, task: Task, evidence: Evidence, room: Room) -> Verdict:
    return judge_evidence(domain, task, evidence, room)[0]


def _emptied(value: Json) -> Json:
    if isinstance(value, str):
        return ""
    if isinstance(value, Mapping):
        return {}
    return [] if isinstance(value, list | tuple) else None
