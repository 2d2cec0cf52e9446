"""What an inspection asks twice is done once, and only where nothing differs."""

from dataclasses import dataclass, replace

import polyathlon
from polyathlon import Evidence, Task, Verdict
from polyathlon.drawing import TaskKey
from polyathlon.inspect.play import Stage, Subject
from polyathlon.inspect.remembering import Remembering, evidence_mark
from polyathlon.sandbox.choose import default_room
from polyathlon.sandbox.protocol import Room
from polyathlon.tree import Entry, Tree

ID = "polyathlon/math.arithmetic-expression-v1"
KEY = TaskKey(ID, 0, 0)


@dataclass
class Counting:
    """Refuses everything, and counts how often it was asked."""

    asked: int = 0

    def judge(self, task: Task, evidence: Evidence, room: Room) -> Verdict:
        self.asked += 1
        return Verdict.failing(f"the {self.asked}. time")


def staged(verifier: Counting) -> Stage:
    domain = replace(polyathlon.load_domain(ID), verifier=verifier)
    return Stage(Subject(polyathlon.registry().entry(ID), domain, default_room(), 2))


def test_the_same_actions_are_played_once() -> None:
    verifier = Counting()
    with staged(verifier) as stage:
        first, second = stage.play(KEY, ["1"]), stage.play(KEY, ["1"])
    assert first is second
    assert verifier.asked == 1


def test_other_actions_with_the_same_evidence_are_judged_once() -> None:
    verifier = Counting()
    with staged(verifier) as stage:
        plain, tagged = stage.play(KEY, ["1"]), stage.play(KEY, ["so <answer>1</answer>"])
    assert plain.verdict == tagged.verdict
    assert verifier.asked == 1


def test_the_same_answer_to_another_task_is_judged_for_itself() -> None:
    verifier = Counting()
    with staged(verifier) as stage:
        stage.play(KEY, ["1"])
        stage.play(replace(KEY, seed=1), ["1"])
    assert verifier.asked == 2


def test_a_second_verdict_is_asked_of_the_domains_own_verifier() -> None:
    verifier = Counting()
    with staged(verifier) as stage:
        stage.judge_again(stage.play(KEY, ["1"]))
    assert verifier.asked == 2


def test_a_look_at_a_task_is_not_judged() -> None:
    verifier = Counting()
    with staged(verifier) as stage:
        shown = stage.look(KEY)
        assert shown.startswith(stage.task(KEY).prompt)
    assert verifier.asked == 0


def test_evidence_is_the_same_only_when_every_part_of_it_is() -> None:
    with staged(Counting()) as stage:
        task = stage.task(KEY)
    file = Entry(data=b"x", mtime_s=5)
    whole = Evidence("1", tree=Tree({"a": file}), state=[1])
    others = (
        replace(whole, answer=None),
        replace(whole, state=[True]),
        replace(whole, tree=Tree({"a": replace(file, mtime_s=6)})),
        replace(whole, tree=Tree({"a": replace(file, mode=0o600)})),
        replace(whole, tree=Tree({"b": file})),
        replace(whole, ledger=(polyathlon.domain.Call("run", {}),)),
    )
    marks = {evidence_mark(task, evidence) for evidence in (whole, *others)}
    assert len(marks) == 7
    assert evidence_mark(task, whole) == evidence_mark(task, replace(whole, tree=Tree({"a": file})))


def test_a_state_that_is_no_json_is_judged_each_time() -> None:
    verifier = Counting()
    with staged(verifier) as stage:
        task = stage.task(KEY)
    remembering = Remembering(verifier)
    for _ in range(2):
        remembering.judge(task, Evidence(state=float("nan")), default_room())
    assert verifier.asked == 2
