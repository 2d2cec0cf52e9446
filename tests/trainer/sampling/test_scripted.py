from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from polyathlon.drawing import TaskKey
from polyathlon.errors import EngineError
from polyathlon_trainer.episode import Episode, Group, Turn
from polyathlon_trainer.learning.batch import RlBatch, SftExample, TrainGroup
from polyathlon_trainer.learning.protocol import LearnerError
from polyathlon_trainer.sampling.protocol import Request
from polyathlon_trainer.sampling.scripted import ScriptedEngine, ScriptedLearner, replying, scripted_policy, sometimes

EXAMPLE = SftExample((1, 2), (((3, 4), ()),), "a")


def batch(advantage: float = 1.0, token: int = 3) -> RlBatch:
    key = TaskKey("acme/a.b-v1", 0, 0)
    episode = Episode(key, (1,), (Turn((token,), (-1.0,), (0,)),), 1.0, passed=True)
    return RlBatch((TrainGroup(Group("u", key, (episode,)), (advantage,)),), {"acme/a.b-v1": 1.0})


def test_it_replies_by_rule() -> None:
    policy = scripted_policy(replying({"2+2": "4", "name": "Ada"}, default="no"))
    requests = [
        Request(policy.chat.open(text, instructions=""), 2, 16, 1.0, 0) for text in ("2+2=?", "Your name?", "Else")
    ]
    answers = [[policy.chat.decode(done.token_ids) for done in group] for group in policy.engine.generate(requests)]
    assert answers == [["4", "4"], ["Ada", "Ada"], ["no", "no"]]


def test_it_reads_the_whole_conversation() -> None:
    policy = scripted_policy(replying({"wrong": "second"}, default="first"))
    context = policy.chat.open("ask", instructions="") + policy.chat.encode_turn("first") + policy.chat.reply("wrong")
    ((done,),) = policy.engine.generate([Request(context, 1, 16, 1.0, 0)])
    assert policy.chat.decode(done.token_ids) == "second"
    assert (done.stop, done.token_ids[-1]) == ("end", policy.chat.end_id)


def test_a_reply_beyond_the_budget_is_cut_and_says_so() -> None:
    policy = scripted_policy(replying({}, default="abcdef"))
    ((done,),) = policy.engine.generate([Request((1,), 1, 3, 1.0, 0)])
    assert (policy.chat.decode(done.token_ids), done.stop) == ("abc", "length")
    assert len(done.logprobs) == len(done.versions) == 3
    assert all(score < 0 for score in done.logprobs)


def test_it_is_right_as_often_as_its_version_allows() -> None:
    script = sometimes(lambda version: 0.25 * version, replying({}, default="yes"), otherwise="no")
    engine = scripted_policy(script).engine

    def share() -> float:
        (group,) = engine.generate([Request((1,), 2_000, 8, 1.0, 3)])
        return sum(done.token_ids[0] == ord("y") for done in group) / len(group)

    assert share() == 0.0
    engine.load_weights({}, version=2)
    assert 0.45 < share() < 0.55  # 4.5 standard errors about 1/2
    engine.load_weights({}, version=4)
    assert share() == 1.0


def test_the_same_request_and_version_give_the_same_answer() -> None:
    script = sometimes(lambda _: 0.5, replying({}, default="yes"))
    one, two = Request((1,), 16, 8, 1.0, 3), Request((2,), 16, 8, 1.0, 4)
    together = ScriptedEngine(script).generate([two, one])
    assert ScriptedEngine(script).generate([one]) == [together[1]]
    assert together[0] != together[1]
    (greedy,) = ScriptedEngine(script).generate([Request((1,), 16, 8, 0.0, 3)])
    assert len({done.token_ids for done in greedy}) == 1


def test_versions_only_grow_and_a_closed_engine_says_so() -> None:
    engine = ScriptedEngine(replying({}))
    engine.load_weights({}, version=1)
    assert engine.generate([Request((1,), 1, 4, 1.0, 0)])[0][0].versions == (1,)
    with pytest.raises(EngineError, match="Versions only grow"):
        engine.load_weights({}, version=1)
    engine.close()
    with pytest.raises(EngineError, match="closed"):
        engine.generate([])


def test_the_digest_tells_every_difference_in_what_was_learned() -> None:
    def digest(*steps: Any) -> str:
        learner = ScriptedLearner()
        for step in steps:
            if isinstance(step, RlBatch):
                learner.rl_step(step, progress=0.0)
            else:
                learner.sft_step([step], progress=0.0)
        return learner.digest

    runs = [
        digest(EXAMPLE, batch()),
        digest(batch(), EXAMPLE),
        digest(EXAMPLE, batch(advantage=0.5)),
        digest(EXAMPLE, batch(token=4)),
        digest(EXAMPLE, batch(), batch()),
    ]
    assert len(set(runs)) == len(runs)
    assert digest(EXAMPLE, batch()) == runs[0]


def test_a_learner_goes_on_from_its_saved_state() -> None:
    straight, broken, resumed = ScriptedLearner(), ScriptedLearner(), ScriptedLearner()
    for learner in (straight, broken):
        learner.rl_step(batch(), progress=0.0)
    resumed.load_state_dict(json.loads(json.dumps(broken.state_dict())))
    for learner in (straight, resumed):
        learner.rl_step(batch(0.5), progress=0.5)
    assert resumed.state_dict() == straight.state_dict()
    with pytest.raises(LearnerError, match="no state of a scripted learner"):
        resumed.load_state_dict({"steps": 1})


def test_an_empty_batch_is_no_step() -> None:
    learner = ScriptedLearner()
    assert learner.rl_step(RlBatch((), {}), progress=0.0).loss is None
    assert learner.sft_step([], progress=0.0).loss is None
    assert learner.state_dict() == {"digest": "", "steps": 0}


def test_none_of_it_imports_torch() -> None:
    code = (
        "import sys, polyathlon_trainer.sampling.scripted, polyathlon_trainer.learning.models;"
        "sys.exit('torch' in sys.modules or 'transformers' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, env=_paths()).returncode == 0


def _paths() -> dict[str, str]:
    return {"PYTHONPATH": ":".join(path for path in sys.path if path)}
