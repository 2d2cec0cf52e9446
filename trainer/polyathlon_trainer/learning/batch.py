"""From groups and reference episodes to rows: a shared prompt, and its completions as branches of a tree. No torch."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from polyathlon_trainer.episode import Episode, Group

Ints: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float32]

NO_ADVANTAGE = 1e-8
"""Groups whose advantages all lie within this of zero teach nothing and are left out of every sum."""


@dataclass(frozen=True, slots=True)
class TrainGroup:
    """A group to learn from: one advantage an episode, and its weight among the groups of its domain (1 is usual)."""

    group: Group
    advantages: tuple[float, ...]
    weight: float = 1.0

    def __post_init__(self) -> None:
        if len(self.advantages) != len(self.group.episodes):
            raise ValueError(
                f"Group {self.group.uid} has {len(self.group.episodes)} episodes and {len(self.advantages)} advantages."
            )
        if not (np.isfinite(self.advantages).all() and np.isfinite(self.weight) and self.weight > 0):
            raise ValueError(f"Group {self.group.uid}: advantages must be finite and its weight positive.")


@dataclass(frozen=True, slots=True)
class RlBatch:
    """What one RL step learns from.

    Tokens are averaged within a domain, then domains are combined by `domain_weights` (any positive scale: they are
    normalised over the domains present). `temperature` is the one that the completions were sampled at.
    """

    groups: tuple[TrainGroup, ...]
    domain_weights: Mapping[str, float]
    temperature: float = 1.0


@dataclass(frozen=True, slots=True)
class SftExample:
    """A reference episode. `turns` are pairs (ids the policy should write, ids of the observation after them).

    Tokens are averaged within a domain, then domains by their number of examples, so that long answers do not crowd
    out short ones.
    """

    prompt_ids: tuple[int, ...]
    turns: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]
    domain_id: str = ""

    @property
    def num_ids(self) -> int:
        """How many ids the whole episode has: prompt, answers and observations."""
        return len(self.prompt_ids) + sum(len(written) + len(observed) for written, observed in self.turns)


@dataclass(frozen=True, slots=True)
class Branch:
    """What follows a prompt: L ids, of which the policy wrote those where `wrote`; the rest are observations.

    `behaviour` (L,) holds the engine's log-probabilities where `wrote`. `weight` is that of each written token in the
    loss; over all branches of a batch, weight times written tokens sums to one.
    """

    ids: Ints
    wrote: NDArray[np.bool_]
    behaviour: Floats
    advantage: float
    weight: float

    @property
    def num_written(self) -> int:
        return int(self.wrote.sum())


@dataclass(frozen=True, slots=True)
class Tree:
    """A prompt of P ids and the branches that grow from it."""

    prompt_ids: tuple[int, ...]
    branches: tuple[Branch, ...]

    @property
    def num_tokens(self) -> int:
        return len(self.prompt_ids) + sum(len(branch.ids) for branch in self.branches)


@dataclass(frozen=True, slots=True)
class Rows:
    """B trees, one a row, padded to T; and the N tokens that the policy wrote in them, flat.

    A token sees the tokens at or before it, in its row, whose segment is 0 (the prompt) or its own. The flat arrays
    are the one mask of the loss, the KL and the entropy: an observation, a prompt or a pad is in none of them.
    """

    ids: Ints  # (B, T), `pad` after the end of a row
    parents: Ints  # (B, T) place in the row of the token before this one on its path, -1 for the first
    positions: Ints  # (B, T) number of tokens before this one on its path
    segments: Ints  # (B, T) 0 in the prompt, 1.. in a branch, -1 in padding
    sources: Ints  # (N,) flat place b * T + t of the token whose output predicts this one
    targets: Ints  # (N,) the id that was written
    behaviour: Floats  # (N,)
    advantages: Floats  # (N,)
    weights: Floats  # (N,)
    sequences: Ints  # (N,) which branch, counted from 0 over the rows
    num_sequences: int


def rl_trees(batch: RlBatch, *, max_completions: int | None) -> list[Tree]:
    """Return one tree a group, with weights and advantages; groups without any advantage give none.

    Equal completions become one branch that counts as often as it was sampled. Of more than `max_completions`, those
    with the largest total |advantage| are kept.

    Raises:
        ValueError: a domain has no positive weight.

    """
    kept: list[tuple[str, Tree]] = []
    for member in batch.groups:
        if max((abs(advantage) for advantage in member.advantages), default=0.0) > NO_ADVANTAGE:
            kept.extend((member.group.key.domain_id, tree) for tree in _grow(member, max_completions))
    return _weighted(kept, batch.domain_weights)


def sft_trees(examples: Sequence[SftExample]) -> list[Tree]:
    """Return one tree an example, each with one branch of advantage 1."""
    kept = []
    for example in examples:
        branch = _branch([(written, observed, (0.0,) * len(written)) for written, observed in example.turns], 1.0, 1.0)
        if branch.num_written:
            kept.append((example.domain_id, Tree(example.prompt_ids, (branch,))))
    return _weighted(kept, Counter(domain for domain, _ in kept))


def one_branch_each(trees: Iterable[Tree]) -> list[Tree]:
    """Return the trees of a model that reads plain rows: every branch behind its own copy of the prompt."""
    return [Tree(tree.prompt_ids, (branch,)) for tree in trees for branch in tree.branches]


def pack(trees: Sequence[Tree], *, pad: int, max_tokens: int) -> list[Rows]:
    """Return the trees as padded rows, longest first, in batches of at most `max_tokens` places (or one row)."""
    batches: list[list[Tree]] = []
    for tree in sorted(trees, key=lambda tree: -tree.num_tokens):
        if batches and (len(batches[-1]) + 1) * batches[-1][0].num_tokens <= max_tokens:
            batches[-1].append(tree)
        else:
            batches.append([tree])
    return [_rows(members, pad) for members in batches]


def _grow(member: TrainGroup, max_completions: int | None) -> list[Tree]:
    found: dict[tuple[int, ...], dict[object, tuple[Episode, list[float]]]] = defaultdict(dict)
    for episode, advantage in zip(member.group.episodes, member.advantages, strict=True):
        same = tuple((turn.token_ids, turn.versions, turn.observation_ids) for turn in episode.turns)
        found[episode.prompt_ids].setdefault(same, (episode, []))[1].append(advantage)
    trees = []
    for prompt_ids, completions in found.items():
        branches = [
            _branch(
                [(turn.token_ids, turn.observation_ids, turn.logprobs) for turn in episode.turns],
                sum(advantages) / len(advantages),
                len(advantages) * member.weight,
            )
            for episode, advantages in completions.values()
            if episode.num_tokens
        ]
        branches.sort(key=lambda branch: -abs(branch.advantage) * branch.weight)
        if branches:
            trees.append(Tree(prompt_ids, tuple(branches[:max_completions])))
    return trees


def _branch(
    turns: Sequence[tuple[Sequence[int], Sequence[int], Sequence[float]]], advantage: float, weight: float
) -> Branch:
    ids: list[int] = []
    wrote: list[bool] = []
    behaviour: list[float] = []
    for written, observed, logprobs in turns:
        ids += [*written, *observed]
        wrote += [True] * len(written) + [False] * len(observed)
        behaviour += [*logprobs, *([0.0] * len(observed))]
    # What follows the last written token predicts nothing.
    length = max((place + 1 for place, own in enumerate(wrote) if own), default=0)
    return Branch(
        np.array(ids[:length], dtype=np.int64),
        np.array(wrote[:length], dtype=np.bool_),
        np.array(behaviour[:length], dtype=np.float32),
        advantage,
        weight,
    )


def _weighted(kept: Sequence[tuple[str, Tree]], domain_weights: Mapping[str, float]) -> list[Tree]:
    """Turn each branch's relative weight into its tokens' weight in the loss: w x domain share / domain's sum of w."""
    sums: dict[str, float] = defaultdict(float)
    for domain, tree in kept:
        sums[domain] += sum(branch.weight * branch.num_written for branch in tree.branches)
    for domain in sums:
        if not domain_weights.get(domain, 0.0) > 0:
            raise ValueError(
                f"Domain {domain} is in the batch but has no positive weight. Give every domain its weight."
            )
    whole = sum(domain_weights[domain] for domain in sums)
    return [
        replace(
            tree,
            branches=tuple(
                replace(branch, weight=branch.weight * domain_weights[domain] / whole / sums[domain])
                for branch in tree.branches
            ),
        )
        for domain, tree in kept
    ]


def _rows(trees: Sequence[Tree], pad: int) -> Rows:
    width = max(tree.num_tokens for tree in trees)
    shape = (len(trees), width)
    ids = np.full(shape, pad, dtype=np.int64)
    parents = np.broadcast_to(np.arange(width) - 1, shape).copy()
    positions = np.broadcast_to(np.arange(width), shape).copy()
    segments = np.full(shape, -1, dtype=np.int64)
    sources, branches = [], []
    for row, tree in enumerate(trees):
        end = start = len(tree.prompt_ids)
        ids[row, :start] = tree.prompt_ids
        segments[row, :start] = 0
        for segment, branch in enumerate(tree.branches, start=1):
            begin, end = end, end + len(branch.ids)
            ids[row, begin:end] = branch.ids
            parents[row, begin] = start - 1
            positions[row, begin:end] = np.arange(start, start + end - begin)
            segments[row, begin:end] = segment
            sources.append(row * width + parents[row, begin:end][branch.wrote])
            branches.append(branch)
    counts = [branch.num_written for branch in branches]
    return Rows(
        ids=ids,
        parents=parents,
        positions=positions,
        segments=segments,
        sources=np.concatenate(sources),
        targets=np.concatenate([branch.ids[branch.wrote] for branch in branches]),
        behaviour=np.concatenate([branch.behaviour[branch.wrote] for branch in branches]),
        advantages=np.repeat(np.array([branch.advantage for branch in branches], dtype=np.float32), counts),
        weights=np.repeat(np.array([branch.weight for branch in branches], dtype=np.float32), counts),
        sequences=np.repeat(np.arange(len(branches)), counts),
        num_sequences=len(branches),
    )
