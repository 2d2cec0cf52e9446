from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from polyathlon.drawing import TaskKey
from polyathlon_trainer.episode import Episode, Group, Turn
from polyathlon_trainer.learning.batch import RlBatch, SftExample, TrainGroup
from polyathlon_trainer.learning.bytechat import ANSWER, END, OBSERVATION
from polyathlon_trainer.learning.learner import TorchLearner
from polyathlon_trainer.learning.protocol import LearnerError
from polyathlon_trainer.learning.recipe import Recipe, TrustRules
from polyathlon_trainer.learning.rows import TensorRows
from polyathlon_trainer.learning.tiny import TinyLM
from polyathlon_trainer.sampling.protocol import Request
from polyathlon_trainer.sampling.torch_engine import TorchEngine

MakeGroup = Callable[..., TrainGroup]
DOMAIN = "acme/a.b-v1"
CPU = torch.device("cpu")
EXAMPLES = [SftExample((104, 105, ANSWER), (((111, 107, END), ()),)), SftExample((97, ANSWER), (((98, END), ()),))]


class Table(nn.Module):
    """A policy over three ids that reads nothing: its logits are its one parameter."""

    reads_trees = True
    pad_id = 0

    def __init__(self) -> None:
        super().__init__()
        self.scores = nn.Parameter(torch.zeros(3))

    @property
    def module(self) -> nn.Module:
        return self

    def matrices(self) -> list[nn.Parameter]:
        return []

    def logits(self, rows: TensorRows) -> Tensor:
        return self.scores.expand(len(rows.sources), 3)


def tiny_learner(*, seed: int = 0, kl: float = 0.0) -> TorchLearner:
    return TorchLearner(TinyLM(seed=seed), Recipe(), TrustRules(kl_coefficient=kl))


def flat(state: Any, path: str = "") -> dict[str, Any]:
    """Return every leaf of a state by its path."""
    if isinstance(state, Mapping):
        return {k: v for key, inner in state.items() for k, v in flat(inner, f"{path}/{key}").items()}
    if isinstance(state, list | tuple):
        return {k: v for place, inner in enumerate(state) for k, v in flat(inner, f"{path}/{place}").items()}
    return {path: state}


def same(one: Any, other: Any) -> bool:
    left, right = flat(one), flat(other)
    return left.keys() == right.keys() and all(
        torch.equal(value, right[path]) if isinstance(value, Tensor) else value == right[path]
        for path, value in left.items()
    )


def rl_batch(make_group: MakeGroup) -> RlBatch:
    group = make_group([104, ANSWER], [[((97, END), ())], [((98, END), ())]], [1.0, -1.0], logprob=-5.5)
    return RlBatch((group,), {DOMAIN: 1.0})


def take(learner: TorchLearner, step: int, make_group: MakeGroup) -> None:
    learner.sft_step(EXAMPLES, progress=step / 10)
    learner.rl_step(rl_batch(make_group), progress=step / 10)


def test_resuming_is_bit_identical(make_group: MakeGroup) -> None:
    straight = tiny_learner(kl=0.1)
    for step in range(3):
        take(straight, step, make_group)
    broken = tiny_learner(kl=0.1)
    take(broken, 0, make_group)
    file = io.BytesIO()
    torch.save(broken.state_dict(), file)
    resumed = tiny_learner(seed=9, kl=0.1)
    resumed.load_state_dict(torch.load(io.BytesIO(file.getvalue()), weights_only=True))
    for step in (1, 2):
        take(resumed, step, make_group)
    assert same(straight.state_dict(), resumed.state_dict())


def test_a_saved_state_does_not_change_with_the_learner(make_group: MakeGroup) -> None:
    learner = tiny_learner()
    take(learner, 0, make_group)
    state = learner.state_dict()
    before = {path: value.clone() if isinstance(value, Tensor) else value for path, value in flat(state).items()}
    take(learner, 1, make_group)
    assert same(before, flat(state))


@pytest.mark.parametrize("kind", ["empty", "flat"])
def test_a_step_with_nothing_to_learn_moves_nothing(kind: str, make_group: MakeGroup) -> None:
    learner = tiny_learner(kl=1.0)
    for step in range(2):
        take(learner, step, make_group)  # the optimisers have momentum, and there is a KL to pull
    before = learner.state_dict()
    groups = {
        "empty": (),
        "flat": (make_group([104, ANSWER], [[((97, END), ())], [((98, END), ())]], [0.0, 0.0], logprob=-5.5),),
    }
    update = learner.rl_step(RlBatch(groups[kind], {DOMAIN: 1.0}), progress=0.5)
    assert learner.sft_step([], progress=0.5).loss is None
    assert (update.loss, update.grad_norm, update.tokens) == (None, None, 0)
    assert same(before, learner.state_dict())


def test_a_batch_that_is_all_too_far_off_policy_moves_nothing(make_group: MakeGroup) -> None:
    learner = tiny_learner()
    take(learner, 0, make_group)
    before = learner.state_dict()
    group = make_group([104, ANSWER], [[((97, END), ())], [((98, END), ())]], [1.0, -1.0], logprob=-0.1)
    update = learner.rl_step(RlBatch((group,), {DOMAIN: 1.0}), progress=0.5)
    assert (update.loss, update.masked_share, update.tokens) == (None, 1.0, 0)
    assert same(before, learner.state_dict())


def test_flat_groups_beside_others_change_no_update(make_group: MakeGroup) -> None:
    alone, beside = tiny_learner(kl=0.5), tiny_learner(kl=0.5)
    still = make_group([99, ANSWER], [[((97, 97, END), ())], [((98, END), ())]], [0.0, 0.0], logprob=-5.5)
    for step in range(3):
        alone.rl_step(rl_batch(make_group), progress=step / 10)
        batch = rl_batch(make_group)
        beside.rl_step(replace(batch, groups=(still, *batch.groups)), progress=step / 10)
    assert same(alone.state_dict(), beside.state_dict())


def test_only_what_the_policy_wrote_is_learned() -> None:
    """The loss is the mean of -log p over written ids, each given all ids before it; observations are read only."""
    learner = tiny_learner()
    for _ in range(3):
        learner.sft_step(EXAMPLES, progress=0.0)
    ids = [104, ANSWER, 97, END, OBSERVATION, 120, ANSWER, 98, END]
    model = TinyLM(seed=0)
    model.load_state_dict(learner.weights())
    engine = TorchEngine(model, device=CPU)
    scores = []
    for place in (2, 3, 7, 8):
        logits = _next_logits(engine, ids[:place])
        scores.append(float(torch.log_softmax(logits, -1)[ids[place]]))
    example = SftExample((104, ANSWER), (((97, END), (OBSERVATION, 120, ANSWER)), ((98, END), (OBSERVATION, 121))))
    update = learner.sft_step([example], progress=0.0)
    assert update.loss == pytest.approx(-sum(scores) / 4, abs=1e-4)
    assert update.tokens == 4


def _next_logits(engine: TorchEngine, ids: Sequence[int]) -> Tensor:
    model = engine._model
    assert model is not None
    rows = TensorRows(
        ids=torch.tensor([ids]),
        parents=torch.arange(len(ids))[None] - 1,
        positions=torch.arange(len(ids))[None],
        segments=torch.zeros(1, len(ids), dtype=torch.int64),
        sources=torch.tensor([len(ids) - 1]),
        targets=torch.zeros(1, dtype=torch.int64),
        behaviour=torch.zeros(1),
        advantages=torch.zeros(1),
        weights=torch.zeros(1),
        sequences=torch.zeros(1, dtype=torch.int64),
        num_sequences=1,
    )
    with torch.no_grad():
        return model.logits(rows)[0]


@pytest.mark.parametrize("temperature", [0.5, 1.0, 1.3])
def test_engine_and_learner_agree_at_any_temperature(temperature: float) -> None:
    learner = tiny_learner(seed=3)
    for step in range(6):
        learner.sft_step(
            [*EXAMPLES, SftExample(tuple(range(60, 90)), ((tuple(range(65, 80)), ()),))], progress=step / 9
        )
    engine = TorchEngine(TinyLM(seed=0), device=CPU)
    engine.load_weights(learner.weights(), version=1)
    prompts = [tuple(range(50, 50 + size)) for size in (3, 40, 41, 90)]
    requests = [Request(prompt, 6, 24, temperature, seed) for seed, prompt in enumerate(prompts)]
    first = engine.generate(requests)
    seen = (OBSERVATION, 33, 34, ANSWER)
    groups = []
    for place, (prompt, completions) in enumerate(zip(prompts, first, strict=True)):
        again = [
            Request((*prompt, *done.token_ids, *seen), 1, 20, temperature, 100 + sample)
            for sample, done in enumerate(completions)
        ]
        key = TaskKey(DOMAIN, 0, place)
        episodes = []
        for done, (then,) in zip(completions, engine.generate(again), strict=True):
            turns = (
                Turn(done.token_ids, done.logprobs, done.versions, seen),
                Turn(then.token_ids, then.logprobs, then.versions),
            )
            episodes.append(Episode(key, prompt, turns, 0.0, passed=False))
        advantages = tuple(float(value) for value in np.linspace(-1, 1, len(episodes)))
        groups.append(TrainGroup(Group(str(place), key, tuple(episodes)), advantages))
    update = learner.rl_step(RlBatch(tuple(groups), {DOMAIN: 1.0}, temperature), progress=0.0)
    assert update.tokens > 300
    assert update.mismatch < 1e-5
    wrong = learner.rl_step(RlBatch(tuple(groups), {DOMAIN: 1.0}, temperature + 0.1), progress=0.0)
    assert wrong.mismatch > 1e-3


def test_the_average_trails_the_weights() -> None:
    learner = TorchLearner(Table(), Recipe(sft_matrix_rate=None, averaging=0.95), TrustRules())
    learner.sft_step([SftExample((0,), (((1,), ()),))], progress=0.0)
    moved, averaged = learner.weights()["scores"], learner.averaged_weights()["scores"]
    assert bool((moved != 0).all())
    assert torch.allclose(averaged, 0.05 * moved)


def test_a_gradient_that_is_no_number_stops_before_the_weights_move() -> None:
    table = Table()
    learner = TorchLearner(table, Recipe(sft_matrix_rate=None), TrustRules())
    with torch.no_grad():
        table.scores.fill_(float("inf"))
    with pytest.raises(LearnerError, match="gradient's norm is nan"):
        learner.sft_step([SftExample((0,), (((1,), ()),))], progress=0.0)
    assert learner.state_dict()["sft_steps"] == 0


def test_the_state_of_another_model_is_refused_and_nothing_moves(make_group: MakeGroup) -> None:
    learner = tiny_learner()
    take(learner, 0, make_group)
    before = learner.state_dict()
    other = TorchLearner(Table(), Recipe(sft_matrix_rate=None), TrustRules()).state_dict()
    with pytest.raises(LearnerError, match="does not fit"):
        learner.load_state_dict(other)
    with pytest.raises(LearnerError, match="does not fit"):
        learner.load_state_dict({key: value for key, value in before.items() if key != "rl"})
    assert same(before, learner.state_dict())


def arms(behaviour: Mapping[int, float], counts: Mapping[int, int], rewards: Mapping[int, float]) -> TrainGroup:
    """Return a group that pulled each arm as often as `counts` says; `behaviour` holds log-probabilities."""
    key = TaskKey(DOMAIN, 0, 0)
    episodes, advantages = [], []
    mean = sum(counts[arm] * rewards[arm] for arm in counts) / sum(counts.values())
    for arm, times in counts.items():
        turn = Turn((arm,), (behaviour[arm],), (0,))
        episodes += [Episode(key, (0,), (turn,), rewards[arm], passed=False)] * times
        advantages += [rewards[arm] - mean] * times
    return TrainGroup(Group("u", key, tuple(episodes)), tuple(advantages))


def bandit(*, corrected: bool) -> Tensor:
    """Return the chances of three arms after learning from pulls of a fixed policy (.2, .7, .1)."""
    recipe = Recipe(sft_matrix_rate=None, rl_rate=0.05, completions_per_group=3)
    learner = TorchLearner(Table(), recipe, TrustRules(cap=50.0, max_move=1.0, max_drift=50.0))
    for _ in range(200):
        own = torch.log_softmax(learner.weights()["scores"], -1).tolist()
        fixed = np.log([0.2, 0.7, 0.1]).tolist()
        behaviour = dict(enumerate(fixed if corrected else own))
        group = arms(behaviour, {0: 2, 1: 7, 2: 1}, {0: 0.0, 1: 0.6, 2: 1.0})
        learner.rl_step(RlBatch((group,), {DOMAIN: 1.0}), progress=0.0)
    return torch.softmax(learner.weights()["scores"], -1)


def test_off_policy_pulls_find_the_best_arm_with_importance_weights() -> None:
    """The behaviour pulls the good arm seven times as often as the best: uncorrected, the two cannot be told apart."""
    assert float(bandit(corrected=True)[2]) > 0.9
    assert float(bandit(corrected=False)[2]) < 0.6


def test_stale_pulls_find_the_best_arm_under_the_default_rules() -> None:
    """Seed 5; each group was pulled by the policy of eight steps before."""
    rng = np.random.default_rng(5)
    learner = TorchLearner(Table(), Recipe(sft_matrix_rate=None, rl_rate=0.05), TrustRules())
    policies = [torch.log_softmax(learner.weights()["scores"], -1)] * 8
    for _ in range(250):
        stale = policies[-8]
        chances = np.exp(stale.tolist())
        pulls = rng.choice(3, size=16, p=chances / chances.sum())
        counts = {arm: int((pulls == arm).sum()) for arm in range(3) if (pulls == arm).any()}
        group = arms(dict(enumerate(stale.tolist())), counts, {0: 0.0, 1: 0.6, 2: 1.0})
        learner.rl_step(RlBatch((group,), {DOMAIN: 1.0}), progress=0.0)
        policies.append(torch.log_softmax(learner.weights()["scores"], -1))
    assert float(policies[-1].exp()[2]) > 0.9


def test_a_strong_kl_holds_the_policy_near_its_reference() -> None:
    gone = []
    for coefficient in (0.0, 10.0):
        learner = TorchLearner(
            Table(),
            Recipe(sft_matrix_rate=None, rl_rate=0.02, completions_per_group=3),
            TrustRules(max_move=1.0, max_drift=50.0, kl_coefficient=coefficient),
        )
        learner.freeze_reference()
        for _ in range(60):
            own = torch.log_softmax(learner.weights()["scores"], -1).tolist()
            group = arms(dict(enumerate(own)), {0: 1, 1: 1, 2: 1}, {0: 0.0, 1: 0.0, 2: 1.0})
            update = learner.rl_step(RlBatch((group,), {DOMAIN: 1.0}), progress=0.0)
        gone.append(update.kl)
    assert gone[1] < gone[0] / 5
