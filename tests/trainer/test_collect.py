from __future__ import annotations

import os
import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import pytest

from polyathlon.drawing import TaskKey
from polyathlon.errors import EngineError
from polyathlon_trainer.collect import Sampler
from polyathlon_trainer.episode import Group
from polyathlon_trainer.learning.bytechat import ANSWER, END, OBSERVATION, ByteChat
from polyathlon_trainer.plans import Collected, GroupPlan, SampleRules
from polyathlon_trainer.rollout.crew import Crew
from polyathlon_trainer.sampling.protocol import Completion, Engine, Request
from polyathlon_trainer.sampling.scripted import Cue, Script, ScriptedEngine

COPY, DOOR, FRAGILE = "toys/toy.copy-v1", "toys/toy.door-v1", "toys/toy.fragile-v1"
RULES = SampleRules(max_new_tokens=32, max_context_tokens=400, max_turns={COPY: 1, DOOR: 4, FRAGILE: 3})


def plan(number: int, domain_id: str, *, seed: int = 0, num_samples: int = 4) -> GroupPlan:
    return GroupPlan(number, f"g{number}", TaskKey(domain_id, 0, seed), num_samples, 1.0, 100 + number)


def collect(
    crew: Crew, script: Script, plans: Sequence[GroupPlan], *, rules: SampleRules = RULES, engine: Engine | None = None
) -> dict[str, Collected]:
    chat = ByteChat(200)
    done: dict[str, Collected] = {}

    def keep(collected: Collected) -> None:
        done[collected.plan.uid] = collected

    sampler = Sampler(engine or ScriptedEngine(script, chat), chat, crew, rules)
    sampler.collect(plans, on_done=keep)
    return done


def dial(cue: Cue) -> str:
    """Dial the code digit by digit; the context is "dial CODE" and then what was dialled and seen."""
    code = "".join(letter for letter in cue.context.partition("dialled")[0] if letter.isdigit())
    dialled = cue.context.rpartition("dialled ")[2] if "dialled" in cue.context else ""
    return code[len(dialled)] if dialled else code[0]


def test_right_and_wrong_answers_of_one_group_get_their_rewards(crew: Crew) -> None:
    def script(cue: Cue) -> str:
        return cue.context.removeprefix("copy ") if cue.sample < 2 else "zz"

    group = collect(crew, script, [plan(0, COPY)])["g0"].group
    assert group.rewards == (1.0, 1.0, 0.0, 0.0)
    assert [episode.passed for episode in group.episodes] == [True, True, False, False]


def test_the_engines_ids_reach_the_episode_untouched(crew: Crew) -> None:
    episode = collect(crew, lambda cue: "hello", [plan(0, COPY)])["g0"].group.episodes[0]
    assert episode.turns[0].token_ids == (*b"hello", END)
    assert len(episode.turns[0].logprobs) == 6
    assert episode.prompt_ids[-1] == ANSWER
    assert episode.texts[0] == "hello"


def test_members_that_say_the_same_in_one_turn_are_judged_once(crew: Crew) -> None:
    collected = collect(crew, lambda cue: "hello", [plan(0, COPY, num_samples=8)])["g0"]
    assert len({episode.wall_s for episode in collected.group.episodes}) == 1
    assert len(collected.group.episodes) == 8


def test_an_episode_of_several_turns_carries_observations_between_them(crew: Crew) -> None:
    group = collect(crew, dial, [plan(0, DOOR, num_samples=2)])["g0"].group
    assert group.rewards == (1.0, 1.0)
    first, last = group.episodes[0].turns
    assert first.token_ids[-1] == END
    assert first.observation_ids[0] == OBSERVATION
    assert first.observation_ids[-1] == ANSWER
    assert last.observation_ids == ()
    code = group.episodes[0].prompt.removeprefix("dial ")
    assert group.episodes[0].texts == (code[0], f"dialled {code[0]}", code[1], "open")


def test_a_turn_cut_by_length_is_closed_before_the_observation(crew: Crew) -> None:
    def chatter(cue: Cue) -> str:
        return "x" * 50

    rules = replace(RULES, max_new_tokens=5, max_context_tokens=100)
    turn = collect(crew, chatter, [plan(0, DOOR, num_samples=1)], rules=rules)["g0"].group.episodes[0].turns[0]
    assert turn.token_ids == tuple(b"xxxxx")
    assert turn.observation_ids[:2] == (END, OBSERVATION)


def test_turns_are_capped_and_the_last_is_judged_as_it_stands(crew: Crew) -> None:
    rules = replace(RULES, max_turns={DOOR: 1})
    episode = collect(crew, dial, [plan(0, DOOR, num_samples=1)], rules=rules)["g0"].group.episodes[0]
    assert (episode.reward, episode.truncated, len(episode.turns)) == (0.25, True, 1)


def test_an_episode_without_room_for_another_turn_is_judged_as_it_stands(crew: Crew) -> None:
    rules = replace(RULES, max_context_tokens=44)  # 8 of prompt, 2 of the action, 11 of observation, 32 to write
    episode = collect(crew, dial, [plan(0, DOOR, num_samples=1)], rules=rules)["g0"].group.episodes[0]
    assert (episode.reward, episode.truncated, len(episode.turns)) == (0.25, True, 1)
    assert episode.turns[0].observation_ids == ()


def test_a_lost_member_keeps_its_siblings_and_is_no_zero(crew: Crew) -> None:
    def script(cue: Cue) -> str:
        return "break" if cue.sample == 1 else "good"

    group = collect(crew, script, [plan(0, FRAGILE)])["g0"].group
    assert group.rewards == (1.0, 1.0, 1.0)
    assert [failure.kind for failure in group.failures] == ["verifier"]


def test_a_task_that_cannot_be_posed_loses_the_whole_group_and_no_other(crew: Crew) -> None:
    rules = replace(RULES, max_turns={**RULES.max_turns, "toys/toy.missing-v1": 1})
    done = collect(crew, lambda cue: "x", [plan(0, "toys/toy.missing-v1"), plan(1, COPY)], rules=rules)
    assert [failure.kind for failure in done["g0"].group.failures] == ["registry"] * 4
    assert len(done["g1"].group.episodes) == 4


def test_a_world_that_does_not_repeat_is_played_again_from_the_start(fresh_crew: Crew) -> None:
    killed: list[int] = []

    def script(cue: Cue) -> str:
        if cue.context == "be careful":
            return "pid"  # the world tells its worker's process id: a rebuilt one says another
        for pid in fresh_crew.pids if not killed else ():
            os.kill(pid, signal.SIGKILL)
            killed.append(pid)
        return "good"

    group = collect(fresh_crew, script, [plan(0, FRAGILE, num_samples=2)])["g0"].group
    assert group.failures == ()
    assert group.rewards == (1.0, 1.0)
    assert not {episode.texts[1] for episode in group.episodes} & {str(pid) for pid in killed}


def test_the_same_plans_give_the_same_groups_whatever_the_order_of_arrival(crew: Crew) -> None:
    plans = [plan(number, DOOR if number % 2 else COPY, seed=number) for number in range(12)]

    def script(cue: Cue) -> str:
        return str(int(cue.point * 10))

    first = {uid: collected.group for uid, collected in collect(crew, script, plans).items()}
    again = {uid: collected.group for uid, collected in collect(crew, script, plans[::-1]).items()}
    assert _essence(first) == _essence(again)


class FlakyEngine:
    """Breaks whenever a request's seed is in `bad`, and once at its very first call when `first` is set."""

    def __init__(self, *, bad: frozenset[int], first: bool) -> None:
        self._inner = ScriptedEngine(lambda cue: "hello", ByteChat(200))
        self._bad, self._first = bad, first
        self.version = 0

    def generate(self, requests: Sequence[Request]) -> list[tuple[Completion, ...]]:
        if self._first or any(request.seed in self._bad for request in requests):
            self._first = False
            raise EngineError("the engine coughed")
        return self._inner.generate(requests)

    def load_weights(self, weights: object, *, version: int) -> None: ...

    def close(self) -> None: ...


def test_an_engine_that_coughs_once_loses_nothing(crew: Crew) -> None:
    engine = FlakyEngine(bad=frozenset(), first=True)
    done = collect(crew, lambda cue: "", [plan(0, COPY), plan(1, COPY)], engine=engine)
    assert all(len(collected.group.episodes) == 4 for collected in done.values())


def test_a_request_that_the_engine_cannot_answer_is_an_engine_failure(crew: Crew) -> None:
    engine = FlakyEngine(bad=frozenset({100}), first=False)
    done = collect(crew, lambda cue: "", [plan(0, COPY), plan(1, COPY)], engine=engine)
    assert [failure.kind for failure in done["g0"].group.failures] == ["engine"] * 4
    assert len(done["g1"].group.episodes) == 4


def test_an_engine_that_answers_nothing_ends_the_collecting(crew: Crew) -> None:
    with pytest.raises(EngineError, match="coughed"):
        collect(crew, lambda cue: "", [plan(0, COPY)], engine=FlakyEngine(bad=frozenset({100}), first=False))


def test_an_examination_between_posing_ahead_and_collecting_disturbs_neither(crew: Crew) -> None:
    chat = ByteChat(200)
    sampler = Sampler(ScriptedEngine(lambda cue: "a", chat), chat, crew, RULES)
    done: list[str] = []
    keep: Callable[[Collected], None] = lambda collected: done.append(collected.plan.uid)  # noqa: E731
    sampler.pose_ahead([plan(0, COPY), plan(1, COPY)])
    sampler.collect([plan(2, COPY)], on_done=keep, engine=ScriptedEngine(lambda cue: "b", chat))
    sampler.collect([plan(0, COPY), plan(1, COPY)], on_done=keep)
    assert done[0] == "g2"
    assert sorted(done) == ["g0", "g1", "g2"]


def _essence(groups: Mapping[str, Group]) -> dict[str, object]:
    return {
        uid: [(episode.prompt_ids, episode.turns, episode.reward, episode.texts) for episode in group.episodes]
        for uid, group in sorted(groups.items())
    }
