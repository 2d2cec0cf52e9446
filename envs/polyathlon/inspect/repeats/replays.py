"""Episodes played again in a fresh process: S02, whether the reference solves there too, and D03, on another date."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from polyathlon.canonical import Json, expect_int, expect_list, expect_map, expect_text
from polyathlon.drawing import TaskKey, draw_task
from polyathlon.env import DomainEnv
from polyathlon.inspect.finding import CheckResult
from polyathlon.inspect.fingerprint import fingerprint
from polyathlon.inspect.play import Playthrough, Stage
from polyathlon.inspect.repeats.elsewhere import Place, run_elsewhere
from polyathlon.inspect.tally import Tally
from polyathlon.inspect.walk import to_the_end, walk
from polyathlon.registration import load_domain, registry
from polyathlon.toolcall import MAX_MESSAGE_CHARS

WORK = "polyathlon.inspect.repeats.replays:episodes_there"
NUM_TASKS, NUM_SANDBOX_TASKS = 4, 2
NUM_DATED, NUM_SANDBOX_DATED = 2, 1
FRESH = Place("in a fresh process", {"PYTHONHASHSEED": "7"})
DAYS = 400
TODAY = Place("today", {"PYTHONHASHSEED": "7"})
DATES = tuple(
    Place(f"{DAYS} days {word} and without a network", {"PYTHONHASHSEED": "7"}, days=sign * DAYS, offline=True)
    for word, sign in (("later", 1), ("earlier", -1))
)


@dataclass(frozen=True, slots=True)
class Replay:
    """What an episode came to elsewhere: the task's fingerprint, the reward (None: lost), turns, and the reason."""

    task: str
    reward: float | None
    turns: int
    reason: str


def check_honest_reference(stage: Stage) -> CheckResult:
    """S02: the reference's messages, sent by a policy that knows nothing else, pass in a process that never solved.

    So what solves is in the messages, and in the turns and lengths that a policy has.
    """
    subject = stage.subject
    tally = Tally("S02", subject.entry.row.levels)
    few = NUM_SANDBOX_TASKS if subject.costly else NUM_TASKS
    played = [one for one in stage.solved if one.key.seed < few]
    found, trouble = _replayed(stage, [(one.key, one.actions) for one in played], FRESH)
    for number, one in enumerate(played):
        wrong = trouble or _dishonest(one, found[number], subject.entry.row.max_turns)
        tally.count(one.key.level, not wrong)
        if wrong:
            text = (
                f"the reference's messages alone do not solve: {wrong}. A solution must be in what a policy can send."
            )
            tally.fault(one.key.level, one.key.seed, text, subject.replay(one.key))
    return tally.result(tally.shares())


def check_dates(stage: Stage) -> CheckResult:
    """D03: tasks, and the rewards of the reference, of a wrong answer and of silence, on other dates and offline.

    Compared with those of a process that is the same but for the date and the network.
    """
    subject = stage.subject
    tally = Tally("D03", subject.entry.row.levels)
    episodes: list[Playthrough] = []
    for key in subject.task_keys(NUM_SANDBOX_DATED if subject.costly else NUM_DATED):
        wrong = [stage.play(key, attempt.actions) for attempt in subject.domain.distractors(stage.task(key))[:1]]
        episodes += [next(one for one in stage.solved if one.key == key), *wrong, stage.play(key, ())]
    asked = [(one.key, one.actions) for one in episodes]
    today, trouble_today = _replayed(stage, asked, TODAY)
    for place in DATES:
        found, trouble = _replayed(stage, asked, place) if today else ([], trouble_today)
        for number, one in enumerate(episodes):
            changed = trouble or _changed(today[number], found[number])
            tally.count(one.key.level, bool(changed))
            if changed:
                text = f"{place.name}: {changed}. Draw dates from `rng`, read no clock, and ask no network."
                tally.fault(one.key.level, one.key.seed, text, subject.replay(one.key))
    return tally.result(tally.counts())


def episodes_there(request: Json) -> list[Json]:
    """Return [fingerprint, reward, turns, reason] of each episode of {"domain", "episodes"}: what the process runs."""
    asked = expect_map(request)
    entry = registry().entry(expect_text(asked["domain"]))
    env, source = DomainEnv(entry.id, lost="truncate"), load_domain(entry.id).tasks
    told: list[Json] = []
    for episode in map(expect_list, expect_list(asked["episodes"])):
        key = TaskKey(entry.id, expect_int(episode[0]), expect_int(episode[1]))
        actions = [expect_text(action) for action in expect_list(episode[2])]
        task = draw_task(source, key)
        mark = fingerprint(task)
        walked = walk(env, task, to_the_end(actions, entry.row.max_turns))
        verdict = walked.verdict
        turns = len(walked.texts) - 1
        told.append(
            [mark, None, turns, "never ended"] if verdict is None else [mark, verdict.reward, turns, verdict.reason]
        )
    return told


def _replayed(
    stage: Stage, episodes: Sequence[tuple[TaskKey, tuple[str, ...]]], place: Place
) -> tuple[list[Replay], str]:
    asked: Json = [[key.level, key.seed, list(actions)] for key, actions in episodes]
    word = run_elsewhere(WORK, {"domain": stage.subject.entry.id, "episodes": asked}, place)
    if word.trouble:
        return [], word.trouble
    return [_read(expect_list(row)) for row in expect_list(word.answer)], ""


def _read(row: Sequence[Json]) -> Replay:
    reward = row[1]
    assert reward is None or isinstance(reward, int | float), "written by episodes_there"
    return Replay(expect_text(row[0]), reward, expect_int(row[2]), expect_text(row[3]))


def _dishonest(one: Playthrough, replay: Replay, max_turns: int) -> str:
    if len(one.actions) > max_turns:
        return f"it takes {len(one.actions)} turns, and there are {max_turns}"
    longest = max((len(action) for action in one.actions), default=0)
    if longest > MAX_MESSAGE_CHARS:
        return f"a message has {longest} characters; a policy may send {MAX_MESSAGE_CHARS}"
    if one.verdict.passed and replay.reward != 1.0:
        return f"they earn {replay.reward} in a fresh process ({replay.reason})"
    return "" if one.verdict.passed else "the reference is not passed here either"


def _changed(today: Replay, then: Replay) -> str:
    if then.task != today.task:
        return "the same key gives another task"
    if then.reward != today.reward:
        return f"the reward is {then.reward} ({then.reason}), and {today.reward} today"
    return ""
