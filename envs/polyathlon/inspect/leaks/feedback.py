"""L04: what the replies of an unfinished episode give away about the hidden part, in bits, against the answer's."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from polyathlon.domain import Task
from polyathlon.drawing import TaskKey
from polyathlon.env import DomainEnv
from polyathlon.inspect.finding import CheckResult, measured
from polyathlon.inspect.play import Stage
from polyathlon.inspect.protocol import RULES
from polyathlon.inspect.space.survey import answered_of
from polyathlon.inspect.tally import Tally
from polyathlon.inspect.walk import NotJudging, walk

NUM_TASKS, NUM_SANDBOX_TASKS = 4, 1
NUM_OTHERS = 7
NUM_CONFIRMED = 6
"""How often replies that seem to tell are asked for again: two orders of one build's output agree by chance."""
MAX_ACTIONS = 12
BROKE = "the workspace broke"


def check_feedback(stage: Stage) -> CheckResult:
    """L04: the same messages on one task under hidden parts of others: replies that differ tell of what is hidden.

    Only what comes back each time tells: a reply that differs under the same hidden part too, by a time, a process
    number or the order of what ran at once, is left out.

    Bits a call are the logarithm of how many different replies came back to one message; calls are those that leave the
    episode unfinished; the answer's bits are the logarithm of how many different answers the level was seen to have.
    """
    subject = stage.subject
    max_turns = subject.entry.row.max_turns
    tally = Tally("L04", subject.entry.row.levels)
    if max_turns == 1:
        return CheckResult("L04", not_applicable="the only message ends the episode: nothing comes back to act on")
    env = DomainEnv(subject.entry.id, lost="truncate", room=subject.room)
    measures = []
    for level, answered in enumerate(answered_of(stage)):
        bits = [0.0]
        for key in subject.task_keys(NUM_SANDBOX_TASKS if subject.costly else NUM_TASKS):
            if key.level == level:
                bits.append(_bits_a_call(stage, env, key))
        answer_bits = math.log2(max(2, len({one.whole for one in answered})))
        ratio = max(bits) * (max_turns - 1) / answer_bits
        measures.append(measured(RULES["L04"], level, ratio, len(bits) - 1))
        if measures[-1].grade < RULES["L04"].grade(0.0):
            text = f"a reply tells {max(bits):.2f} bits about what is hidden, {max_turns - 1} times; the answers have "
            hint = "Make replies depend on what is public alone, or give fewer turns."
            tally.fault(
                level, 0, f"{text}{answer_bits:.1f} bits. {hint}", subject.replay(TaskKey(subject.entry.id, level, 0))
            )
    return tally.result(tuple(measures))


def _bits_a_call(stage: Stage, env: DomainEnv, key: TaskKey) -> float:
    """Return the most bits that the reply to one message tells about which hidden part stands behind the task."""
    task = stage.task(key)
    others = [one for one in stage.solved if one.key.level == key.level and one.key != key][:NUM_OTHERS]
    few = others[:2] if stage.subject.costly else others
    variants = [task, *(replace(task, hidden=other.task.hidden) for other in few)]
    ways = [functools.partial(_replies, env, actions) for actions in _ways(stage, key)]
    return math.log2(max(most_told(variants, replies_of) for replies_of in ways))


def most_told(variants: Sequence[Task], replies_of: Callable[[Task], Sequence[str]]) -> int:
    """Return into how many groups the reply to one message parts `variants`, at most, each time that it is asked for.

    `replies_of` a variant gives the replies to the same messages, as many each time.
    """
    first = [replies_of(variant) for variant in variants]
    steady = {place for place, column in enumerate(zip(*first, strict=True)) if len(set(column)) > 1}
    for _ in range(NUM_CONFIRMED):
        if not steady:
            return 1
        again = [replies_of(variant) for variant in variants]
        steady = {place for place in steady if all(a[place] == b[place] for a, b in zip(first, again, strict=True))}
    return max((len({replies[place] for replies in first}) for place in steady), default=1)


def _ways(stage: Stage, key: TaskKey) -> Iterator[tuple[str, ...]]:
    """Yield messages that are worth sending: the reference's, and wrong answers one after the other."""
    room_for = min(MAX_ACTIONS, stage.subject.entry.row.max_turns - 1)
    yield next(one.actions for one in stage.solved if one.key == key)[:room_for]
    domain, task = stage.subject.domain, stage.task(key)
    wrong = [action for attempt in domain.distractors(task) for action in attempt.actions]
    yield tuple(wrong[:room_for])


def _replies(env: DomainEnv, actions: Sequence[str], task: Task) -> tuple[str, ...]:
    """Return the replies to `actions` before the end, one for each; what never came is ""."""
    try:
        walked = walk(env, task, actions, verifier=NotJudging())
    except Exception:  # a hidden part of another task may not fit this one: that it breaks is a reply too
        env.close()
        return (BROKE,) * len(actions)
    last = len(walked.texts) - (walked.verdict is not None)
    seen = walked.texts[1:last]
    return (*seen, *[""] * (len(actions) - len(seen)))
