from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch

from polyathlon_trainer.learning.batch import (
    RlBatch,
    SftExample,
    TrainGroup,
    one_branch_each,
    pack,
    rl_trees,
    sft_trees,
)
from polyathlon_trainer.learning.bytechat import ANSWER, OBSERVATION, PAD
from polyathlon_trainer.learning.rows import check_fit, copy_weights, to_device
from polyathlon_trainer.learning.tiny import TinyLM

MakeGroup = Callable[..., TrainGroup]
CPU = torch.device("cpu")


def lively(seed: int) -> TinyLM:
    """Return a model whose zero-initialised matrices are filled, so that every part has a say."""
    model = TinyLM(seed=seed)
    generator = torch.Generator().manual_seed(seed + 1)
    with torch.no_grad():
        for value in model.parameters():
            if not value.any():
                value.normal_(0.0, 0.1, generator=generator)
    return model


def test_it_has_the_size_that_was_tuned() -> None:
    assert sum(value.numel() for value in TinyLM(seed=0).parameters()) == 919_552


def test_the_seed_decides_the_first_weights() -> None:
    one, same, other = (TinyLM(seed=seed).embeddings for seed in (1, 1, 2))
    assert torch.equal(one, same)
    assert not torch.equal(one, other)


@pytest.mark.parametrize("seed", range(4))
def test_a_fresh_model_goes_on_with_what_it_began_to_copy(seed: int) -> None:
    """Of 40 random bytes, then two of their neighbours again, it expects what followed these: at every place."""
    text = torch.randperm(250, generator=torch.Generator().manual_seed(seed))[:40].tolist()
    places = range(2, 40)
    trees = sft_trees([SftExample((*text, text[i - 2], text[i - 1]), (((text[i],), ()),)) for i in places])
    model, right = TinyLM(seed=seed), 0
    with torch.no_grad():
        for rows in pack(trees, pad=PAD, max_tokens=10_000):
            read = to_device(rows, CPU)
            right += int((model.logits(read).argmax(-1) == read.targets).sum())
    assert right >= 30  # of 38; blindly it would be one in a life


def test_a_fresh_model_is_sure_of_little() -> None:
    """The first loss is near log 257 where there is nothing to copy."""
    (rows,) = pack(sft_trees([SftExample(tuple(range(40)), (((200,), ()),))]), pad=PAD, max_tokens=1_000)
    logits = TinyLM(seed=0).logits(to_device(rows, CPU))
    assert float(torch.logsumexp(logits, -1).detach() - logits.detach()[..., 200]) < math.log(257) + 3


def test_a_branch_in_a_tree_reads_as_it_does_alone(make_group: MakeGroup) -> None:
    model = lively(0)
    episodes = [
        [((65, 66, 67), (OBSERVATION, 48, ANSWER)), ((68, 69), ())],
        [((70,), ())],
        [((66, 65), (OBSERVATION, ANSWER)), ((67,), ())],
    ]
    group = make_group([1, 2, 3, ANSWER], episodes, [1.0, -1.0, 0.5])
    longer = make_group([9] * 30, [[((10, 11), ())]], [1.0])
    trees = rl_trees(RlBatch((longer, group), {"acme/a.b-v1": 1.0}), max_completions=4)
    (joint,) = pack(trees, pad=PAD, max_tokens=1_000)  # the longer first, the group padded after it
    alone = [rows for tree in one_branch_each(trees) for rows in pack([tree], pad=PAD, max_tokens=1_000)]
    with torch.no_grad():
        found = model.logits(to_device(joint, CPU))
        expected = torch.cat([model.logits(to_device(rows, CPU)) for rows in alone])
    assert float((found - expected).abs().max()) < 1e-4
    assert float(expected.std()) > 0.1


def test_weights_that_do_not_fit_change_nothing() -> None:
    model = TinyLM(seed=0)
    before = {name: value.detach().clone() for name, value in model.named_parameters()}
    wrong = {name: value + 1 for name, value in before.items()}
    wrong["head"] = torch.zeros(3, 3)
    try:
        copy_weights(model, wrong)
    except ValueError as error:
        assert "head has shape (3, 3), not (257, 128)" in str(error)  # noqa: PT017 - the weights are looked at after it
    else:
        raise AssertionError("it took them")
    assert all(torch.equal(value, before[name]) for name, value in model.named_parameters())
    check_fit(model, before)
