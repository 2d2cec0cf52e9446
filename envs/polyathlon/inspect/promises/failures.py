"""C04: a judgement that cannot be made must become no verdict: never a reward of zero, and never one that pays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from polyathlon.canonical import Json
from polyathlon.domain import Domain, Evidence, Task, Verdict
from polyathlon.drawing import TaskKey
from polyathlon.env import DomainEnv, judge_evidence
from polyathlon.inspect.finding import CheckResult
from polyathlon.inspect.play import Playthrough, Stage
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


def check_failures(stage: Stage) -> CheckResult:
    """C04: judge without a sandbox, with one that dies, with one that is bare, and with an answer key that is empty."""
    subject = stage.subject
    tally = Tally("C04", subject.entry.row.levels)
    for key in subject.task_keys(NUM_SANDBOX_TASKS if subject.costly else NUM_TASKS):
        for played in _episodes(stage, key):
            for broken in (*_without_room(stage, played), *_without_key(stage, played)):
                tally.count(key.level, broken.is_right)
                if not broken.is_right:
                    got = "passes" if broken.verdict.passed else f"earns {broken.verdict.reward} as if it were wrong"
                    text = f"{broken.what}, and {'the reference' if played.verdict.passed else 'a wrong answer'} {got}."
                    hint = (
                        "Raise VerifierError, or let the error through: an episode that cannot be judged is discarded."
                    )
                    tally.fault(key.level, key.seed, f"{text} {hint}", subject.replay(key))
    return tally.result(tally.shares())


def _episodes(stage: Stage, key: TaskKey) -> Iterator[Playthrough]:
    """Yield another right answer than the reference's where there is one, the reference, and a wrong one."""
    domain, task = stage.subject.domain, stage.task(key)
    others = [attempt for attempt in domain.alternatives(task)][:1]
    for attempt in (*others, *[attempt for attempt in domain.distractors(task)][:1]):
        yield stage.play(key, attempt.actions)
    yield next(played for played in stage.solved if played.key == key)


def _without_room(stage: Stage, played: Playthrough) -> Iterator[Broken]:
    """Yield what becomes of judgement and episode in rooms that fail. A room that nobody asks is no case."""
    domain, evidence = stage.subject.domain, played.evidence
    for what, make in BROKEN_ROOMS.items():
        room = make()
        if evidence is not None and played.verdict.valid:
            verdict = _judged(domain, played.task, evidence, room)
            if room.num_used:
                yield Broken(f"{what} to judge in", verdict, played.verdict)
        if what not in LOST_ROOMS:
            continue  # to act in a bare sandbox is a policy's bad luck, and its own affair
        room = make()
        row = stage.subject.entry.row
        env = DomainEnv(stage.subject.entry.id, lost="truncate", room=room)
        walked = walk(env, played.task, to_the_end(played.actions, row.max_turns))
        if room.num_used and walked.verdict is not None:
            yield Broken(f"{what} to act in", walked.verdict, played.verdict)


def _without_key(stage: Stage, played: Playthrough) -> Iterator[Broken]:
    """Yield what becomes of the judgement when all that is hidden is gone, and when one part of it is gone or empty."""
    subject, hidden = stage.subject, played.task.hidden
    if not hidden or played.evidence is None or not played.verdict.valid:
        return
    changes: dict[str, dict[str, Json]] = {"the answer key is empty": {}}
    for name, value in hidden.items():
        rest = {other: inner for other, inner in hidden.items() if other != name}
        changes[f"hidden[{name!r}] is missing"] = rest
        if (empty := _emptied(value)) != value:
            changes[f"hidden[{name!r}] is empty"] = {**hidden, name: empty}
    for what, changed in changes.items():
        task = replace(played.task, hidden=changed)
        verdict = _judged(subject.domain, task, played.evidence, subject.room)
        yield Broken(what, verdict, played.verdict)


def _judged(domain: Domain, task: Task, evidence: Evidence, room: Room) -> Verdict:
    return judge_evidence(domain, task, evidence, room)[0]


def _emptied(value: Json) -> Json:
    if isinstance(value, str):
        return ""
    if isinstance(value, Mapping):
        return {}
    return [] if isinstance(value, list | tuple) else None
