"""D04: an episode is the same alone, after another one, and beside another one; and judging changes nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from polyathlon.domain import Evidence, Task, Verdict
from polyathlon.drawing import TaskKey
from polyathlon.env import DomainEnv, judge_evidence
from polyathlon.inspect.finding import CheckResult
from polyathlon.inspect.fingerprint import fingerprint
from polyathlon.inspect.play import Stage
from polyathlon.inspect.remembering import evidence_mark
from polyathlon.inspect.tally import Tally
from polyathlon.inspect.walk import Walk, to_the_end, walk

NUM_PAIRS, NUM_SANDBOX_PAIRS = 4, 1


def check_episodes(stage: Stage) -> CheckResult:
    """D04: how many episodes are changed by another one, by being judged, or have changed their own task."""
    subject = stage.subject
    tally = Tally("D04", subject.entry.row.levels)
    for key in subject.task_keys(NUM_SANDBOX_PAIRS if subject.costly else NUM_PAIRS):
        other = TaskKey(key.domain_id, key.level, key.seed + 1)
        for wrong in (*_beside(stage, key, other), _judging(stage, key)):
            tally.count(key.level, bool(wrong))
            if wrong:
                tally.fault(key.level, key.seed, wrong, subject.replay(key))
    for key in subject.task_keys():  # what all checks so far have played on
        changed = fingerprint(stage.task(key)) != stage.as_drawn(key)
        tally.count(key.level, changed)
        if changed:
            text = "an episode changed its own task. Copy what a workspace or a verifier changes."
            tally.fault(key.level, key.seed, text, subject.replay(key))
    return tally.result(tally.counts())


def _beside(stage: Stage, key: TaskKey, other: TaskKey) -> Iterator[str]:
    """Yield what is wrong (or "") with an episode after another one, and with one played turn by turn with another."""
    subject = stage.subject
    task, second = stage.task(key), stage.task(other)
    actions, others = _actions(stage, key), _actions(stage, other)
    alone = walk(_env(stage), task, actions)
    env = _env(stage)
    walk(env, second, others)
    after = walk(env, task, actions)
    yield _difference(stage, alone, after, "after an episode of another task")
    wrong = _wrong(stage, key)
    if wrong:
        walk(env, task, to_the_end(wrong, subject.entry.row.max_turns))
        yield _difference(stage, alone, walk(env, task, actions), "after a failed episode of the same task")
    mine, theirs = _interleaved(stage, (task, actions), (second, others))
    yield _difference(stage, alone, mine, "beside an episode of another task, turn by turn")
    yield _difference(
        stage, walk(_env(stage), second, others), theirs, "beside an episode of another task, turn by turn"
    )


def _judging(stage: Stage, key: TaskKey) -> str:
    """Return what judging an episode twice changes, or ""."""
    subject, task = stage.subject, stage.task(key)
    workspace = subject.domain.open_workspace(task, subject.room)
    try:
        for action in _actions(stage, key):
            if workspace.act(action).finished:
                break
        evidence = workspace.evidence()
        before = _mark(task, evidence)
        first = judge_evidence(subject.domain, task, evidence, subject.room)[0]
        again = judge_evidence(subject.domain, task, evidence, subject.room)[0]
        if _mark(task, evidence) != before:
            return "judging changed the evidence. A verifier only reads."
        if _mark(task, workspace.evidence()) != before:
            return "the workspace's evidence was another one after it was judged. Return what nobody else can change."
    finally:
        workspace.close()
    if _outcome(first) != _outcome(again):
        return (
            f"judged twice, it earned {first.reward} and {again.reward}. A verifier keeps nothing between judgements."
        )
    return ""


def _interleaved(stage: Stage, *episodes: tuple[Task, Sequence[str]]) -> tuple[Walk, Walk]:
    """Return two episodes that took turns, each in an environment of its own."""
    envs = [_env(stage) for _ in episodes]
    texts: list[list[str]] = []
    verdicts: list[Verdict | None] = [None for _ in episodes]
    for env, (task, _) in zip(envs, episodes, strict=True):
        texts.append([env.begin(task)[0]])
    for turn in range(max(len(actions) for _, actions in episodes)):
        for place, (_, actions) in enumerate(episodes):
            if turn < len(actions) and verdicts[place] is None:
                text, _, terminated, truncated, info = envs[place].step(actions[turn])
                texts[place].append(text)
                verdicts[place] = Verdict(**info["verdict"]) if terminated or truncated else None
    for env in envs:
        env.close()
    mine, theirs = (Walk(tuple(told), (), verdict, None) for told, verdict in zip(texts, verdicts, strict=True))
    return mine, theirs


def _difference(stage: Stage, alone: Walk, now: Walk, when: str) -> str:
    if alone.verdict is None or now.verdict is None or _outcome(alone.verdict) != _outcome(now.verdict):
        rewards = [None if walked.verdict is None else walked.verdict.reward for walked in (alone, now)]
        return f"{when}, the same actions earn {rewards[1]}, and {rewards[0]} alone. Keep nothing between episodes."
    if alone.texts != now.texts and not stage.subject.costly:  # a shell tells times and process numbers
        return f"{when}, the same actions are answered otherwise than alone. Keep nothing between episodes."
    return ""


def _outcome(verdict: Verdict) -> tuple[float | None, bool, bool]:
    return verdict.reward, verdict.passed, verdict.valid


def _mark(task: Task, evidence: Evidence) -> str:
    return evidence_mark(task, evidence) or repr(evidence)


def _env(stage: Stage) -> DomainEnv:
    return DomainEnv(stage.subject.entry.id, lost="truncate", room=stage.subject.room)


def _actions(stage: Stage, key: TaskKey) -> tuple[str, ...]:
    """Return the reference's actions on the task of `key`, and silence until its turns are over."""
    known = next((one for one in stage.solved if one.key == key), None) or stage.solve(key)
    return to_the_end(known.actions, stage.subject.entry.row.max_turns)


def _wrong(stage: Stage, key: TaskKey) -> tuple[str, ...]:
    attempts = stage.subject.domain.distractors(stage.task(key))
    return attempts[0].actions if attempts else ()
