from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from polyathlon_trainer.learning.batch import (
    RlBatch,
    SftExample,
    TrainGroup,
    one_branch_each,
    pack,
    rl_trees,
    sft_trees,
)

MakeGroup = Callable[..., TrainGroup]
DOMAIN = "acme/a.b-v1"


def batch(*groups: TrainGroup, **weights: float) -> RlBatch:
    return RlBatch(groups, weights or {DOMAIN: 1.0})


def test_completions_become_branches_of_their_prompt(make_group: MakeGroup) -> None:
    group = make_group([7, 8], [[((1, 2), ())], [((3,), ())]], [1.0, -0.5])
    (rows,) = pack(rl_trees(batch(group), max_completions=4), pad=99, max_tokens=100)
    assert rows.ids.tolist() == [[7, 8, 1, 2, 3]]
    assert rows.segments.tolist() == [[0, 0, 1, 1, 2]]
    assert rows.parents.tolist() == [[-1, 0, 1, 2, 1]]
    assert rows.positions.tolist() == [[0, 1, 2, 3, 2]]
    assert rows.sources.tolist() == [1, 2, 1]
    assert rows.targets.tolist() == [1, 2, 3]
    assert rows.advantages.tolist() == [1.0, 1.0, -0.5]
    assert rows.sequences.tolist() == [0, 0, 1]


def test_observations_prompts_and_pads_are_never_targets(make_group: MakeGroup) -> None:
    two_turns = make_group([7], [[((1, 2), (50, 51)), ((3,), (52,))], [((4,), ())]], [1.0, -1.0])
    longer = make_group([7] * 9, [[((5,), ())]], [1.0])
    (rows,) = pack(rl_trees(batch(two_turns, longer), max_completions=4), pad=99, max_tokens=100)
    assert sorted(rows.targets.tolist()) == [1, 2, 3, 4, 5]
    assert 52 not in rows.ids  # nothing is written after the last observation
    third = rows.targets.tolist().index(3)
    assert rows.ids.flat[rows.sources[third]] == 51  # the turn after an observation is predicted from it


def test_rows_of_other_lengths_are_padded_apart(make_group: MakeGroup) -> None:
    groups = [make_group([7] * size, [[((1,), ())]], [1.0]) for size in (2, 5)]
    (rows,) = pack(rl_trees(batch(*groups), max_completions=4), pad=99, max_tokens=100)
    assert rows.ids.tolist() == [[7, 7, 7, 7, 7, 1], [7, 7, 1, 99, 99, 99]]
    assert rows.segments[1].tolist() == [0, 0, 1, -1, -1, -1]
    assert rows.sources.tolist() == [4, 7]


def test_tokens_are_averaged_in_a_domain_and_domains_by_weight(make_group: MakeGroup) -> None:
    long = make_group([7], [[((1, 2, 3), ())], [((4,), ())]], [1.0, -1.0], domain="a")
    short = make_group([8], [[((5,), ())], [((6,), ())]], [1.0, -1.0], domain="b")
    trees = rl_trees(batch(long, short, a=1.0, b=3.0), max_completions=4)
    # a has 4 tokens and a quarter of the weight, b has 2 tokens and three quarters
    assert [branch.weight for tree in trees for branch in tree.branches] == [0.0625, 0.0625, 0.375, 0.375]


def test_a_group_counts_in_its_domain_by_its_weight(make_group: MakeGroup) -> None:
    heavy = make_group([7], [[((1,), ())]], [1.0], weight=3.0)
    light = make_group([8], [[((2,), ())]], [1.0], weight=1.0)
    trees = rl_trees(batch(heavy, light), max_completions=4)
    assert [tree.branches[0].weight for tree in trees] == [0.75, 0.25]


def test_equal_completions_are_read_once_and_count_as_often_as_sampled(make_group: MakeGroup) -> None:
    group = make_group([7], [[((1,), ())], [((1,), ())], [((2,), ())], [((1,), ())]], [0.5, 0.5, -1.5, 0.5])
    (tree,) = rl_trees(batch(group), max_completions=4)
    assert [(branch.ids.tolist(), branch.weight, branch.advantage) for branch in tree.branches] == [
        ([1], 0.75, 0.5),
        ([2], 0.25, -1.5),
    ]


def test_the_completions_with_the_largest_advantages_are_kept(make_group: MakeGroup) -> None:
    group = make_group([7], [[((n,), ())] for n in range(5)], [0.1, -2.0, 0.5, 1.0, -0.2])
    (tree,) = rl_trees(batch(group), max_completions=2)
    assert [branch.ids.tolist() for branch in tree.branches] == [[1], [3]]
    assert [branch.weight for branch in tree.branches] == [0.5, 0.5]


def test_a_group_without_variance_changes_no_weight_of_another(make_group: MakeGroup) -> None:
    group = make_group([7], [[((1,), ())], [((2,), ())]], [1.0, -1.0])
    flat = make_group([8], [[((3, 4, 5), ())], [((6,), ())]], [0.0, 1e-12])
    alone = rl_trees(batch(group), max_completions=4)
    together = rl_trees(batch(group, flat), max_completions=4)
    assert [b.weight for tree in together for b in tree.branches] == [b.weight for t in alone for b in t.branches]


def test_groups_that_teach_nothing_give_no_trees(make_group: MakeGroup) -> None:
    silent = make_group([7], [[((), ())], [((), ())]], [1.0, -1.0])
    flat = make_group([7], [[((1,), ())], [((2,), ())]], [0.0, 0.0])
    assert rl_trees(batch(silent, flat), max_completions=4) == []
    assert pack([], pad=0, max_tokens=10) == []


def test_episodes_of_one_group_with_other_prompts_stand_in_trees_of_their_own(make_group: MakeGroup) -> None:
    one = make_group([7], [[((1,), ())]], [1.0]).group.episodes
    two = make_group([8], [[((2,), ())]], [1.0]).group
    group = TrainGroup(type(two)("u", two.key, one + two.episodes), (1.0, -1.0))
    assert [tree.prompt_ids for tree in rl_trees(batch(group), max_completions=4)] == [(7,), (8,)]


def test_rows_are_split_at_the_token_limit(make_group: MakeGroup) -> None:
    groups = [make_group([7] * 9, [[((1,), ())]], [1.0]) for _ in range(5)]
    trees = rl_trees(batch(*groups), max_completions=4)
    assert [len(rows.ids) for rows in pack(trees, pad=0, max_tokens=20)] == [2, 2, 1]
    assert [len(rows.ids) for rows in pack(trees, pad=0, max_tokens=1)] == [1] * 5


def test_plain_rows_hold_one_branch_each(make_group: MakeGroup) -> None:
    group = make_group([7, 8], [[((1, 2), ())], [((3,), ())]], [1.0, -0.5])
    (rows,) = pack(one_branch_each(rl_trees(batch(group), max_completions=4)), pad=0, max_tokens=100)
    assert rows.ids.tolist() == [[7, 8, 1, 2], [7, 8, 3, 0]]
    assert rows.positions[0].tolist() == [0, 1, 2, 3]
    assert rows.sources.tolist() == [1, 2, 5]


def test_examples_weigh_domains_equally_whatever_their_length() -> None:
    long = SftExample((7,), (((1, 2, 3, 4), ()),), "a")
    short = SftExample((7,), (((5,), ()),), "b")
    assert [tree.branches[0].weight for tree in sft_trees([long, short])] == [0.125, 0.5]
    assert sft_trees([SftExample((7,), (((), (9,)),))]) == []


def test_a_domain_without_weight_is_named(make_group: MakeGroup) -> None:
    group = make_group([7], [[((1,), ())]], [1.0], domain="acme/x.y-v1")
    with pytest.raises(ValueError, match=r"acme/x\.y-v1 .* no positive weight"):
        rl_trees(RlBatch((group,), {}), max_completions=4)


@pytest.mark.parametrize(("advantages", "weight"), [([1.0], 1.0), ([np.nan, 1.0], 1.0), ([1.0, 2.0], 0.0)])
def test_a_group_that_cannot_be_weighed_is_refused(
    make_group: MakeGroup, advantages: list[float], weight: float
) -> None:
    with pytest.raises(ValueError, match="Group u"):
        make_group([7], [[((1,), ())], [((2,), ())]], advantages, weight=weight)
