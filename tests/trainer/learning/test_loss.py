from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
import torch
from torch import Tensor

from polyathlon_trainer.learning.loss import LossParts, imitation_loss, policy_loss, token_scores
from polyathlon_trainer.learning.recipe import TrustRules
from polyathlon_trainer.learning.rows import TensorRows

OPEN = TrustRules(cap=100.0, max_move=1.0, max_drift=100.0)
NOWHERE = torch.zeros(1, 1, dtype=torch.int64)


def rows(
    behaviour: Sequence[float], advantages: Sequence[float], weights: Sequence[float], sequences: Sequence[int] = ()
) -> TensorRows:
    """Return rows of which only the flat arrays matter; `behaviour` holds probabilities."""
    places = list(sequences) or list(range(len(behaviour)))
    return TensorRows(
        ids=NOWHERE,
        parents=NOWHERE,
        positions=NOWHERE,
        segments=NOWHERE,
        sources=torch.zeros(len(behaviour), dtype=torch.int64),
        targets=torch.zeros(len(behaviour), dtype=torch.int64),
        behaviour=torch.tensor(behaviour).log(),
        advantages=torch.tensor(advantages),
        weights=torch.tensor(weights),
        sequences=torch.tensor(places),
        num_sequences=max(places) + 1,
    )


def lossed(
    chances: Sequence[float], given: TensorRows, rules: TrustRules, reference: Sequence[float] | None = None
) -> tuple[LossParts, Tensor]:
    """Return the loss of tokens that now have `chances`, and its gradient on their log-probabilities."""
    logp = torch.tensor(chances).log().requires_grad_()
    frozen = None if reference is None else torch.tensor(reference).log()
    parts = policy_loss(logp, torch.full_like(logp, 0.5), frozen, given, rules)
    (gradient,) = torch.autograd.grad(parts.loss, logp)
    return parts, gradient


def test_on_policy_the_gradient_is_the_weighted_advantage() -> None:
    parts, gradient = lossed([0.5, 0.25], rows([0.5, 0.25], [1.0, -2.0], [0.5, 0.25]), TrustRules())
    assert gradient.tolist() == [-0.5, 0.5]
    assert float(parts.loss.detach()) == pytest.approx(-0.5 * math.log(0.5) + 0.5 * math.log(0.25))
    assert (parts.kept_tokens, parts.truncated_tokens, parts.outside_tokens, parts.masked_sequences) == (2, 0, 0, 0)
    assert parts.mismatch == 0.0


def test_off_policy_tokens_are_weighed_by_their_ratio() -> None:
    _, gradient = lossed([0.5, 0.1], rows([0.25, 0.4], [1.0, 1.0], [1.0, 1.0]), OPEN)
    assert gradient.tolist() == pytest.approx([-2.0, -0.25])


def test_the_ratio_is_cut_at_the_cap_and_counted() -> None:
    rules = TrustRules(cap=1.5, max_move=1.0, max_drift=100.0)
    parts, gradient = lossed([0.5, 0.1], rows([0.25, 0.4], [1.0, 1.0], [1.0, 1.0]), rules)
    assert gradient.tolist() == pytest.approx([-1.5, -0.25])
    assert parts.truncated_tokens == 1


def test_tokens_that_moved_far_the_way_they_are_pushed_are_left_out() -> None:
    rules = TrustRules(cap=100.0, max_move=0.2, max_drift=100.0)
    parts, gradient = lossed([0.5, 0.5, 0.2, 0.2], rows([0.25, 0.25, 0.5, 0.5], [1, -1, -1, 1], [1.0] * 4), rules)
    assert gradient.tolist() == pytest.approx([0.0, 2.0, 0.0, -0.4])
    assert (parts.outside_tokens, parts.kept_tokens) == (2, 2)


def test_sequences_that_drifted_far_either_way_are_left_out_whole() -> None:
    rules = TrustRules(cap=100.0, max_move=1.0, max_drift=math.log(2))
    chances, behaviour = [0.9, 0.4, 0.1, 0.6, 0.3], [0.3, 0.2, 0.3, 0.2, 0.1]
    parts, gradient = lossed(chances, rows(behaviour, [1] * 5, [1.0] * 5, [0, 0, 1, 2, 2]), rules)
    # means of log ratios: (log 3 + log 2) / 2, -log 3, log 3
    assert gradient.tolist() == [0.0] * 5
    assert (parts.masked_sequences, parts.kept_tokens, parts.sequences) == (3, 0, 3)
    near = [0.9, 0.1]  # log 3 and -log 3: the mean is 0
    _, gradient = lossed(near, rows([0.3, 0.3], [1, 1], [1.0] * 2, [0, 0]), rules)
    assert gradient.tolist() == pytest.approx([-3.0, -1 / 3])


def test_the_kl_has_its_value_and_pulls_to_the_reference() -> None:
    rules = TrustRules(kl_coefficient=0.1)
    parts, gradient = lossed([0.5], rows([0.5], [0.0], [1.0]), rules, reference=[0.25])
    assert parts.kl == pytest.approx(0.5 - 1 + math.log(2))
    assert gradient.tolist() == pytest.approx([0.1 * math.log(2)])
    assert float(parts.loss.detach()) == pytest.approx(0.1 * math.log(2) ** 2 / 2)


def test_without_a_coefficient_the_kl_is_only_reported() -> None:
    parts, gradient = lossed([0.5], rows([0.5], [0.0], [1.0]), TrustRules(), reference=[0.25])
    assert parts.kl > 0
    assert gradient.tolist() == [0.0]


def test_the_expected_kl_gradient_is_that_of_the_kl_itself() -> None:
    logits = torch.tensor([0.3, -0.2, 0.9], requires_grad=True)
    reference = torch.log_softmax(torch.tensor([0.0, 0.5, -0.4]), -1)
    logp = torch.log_softmax(logits, -1)
    chances = logp.detach().exp()
    # every outcome once, weighted by its chance: the expectation over the policy's own tokens
    given = rows(chances.tolist(), [0.0] * 3, chances.tolist())
    parts = policy_loss(logp, torch.zeros(3), reference, given, TrustRules(kl_coefficient=1.0))
    (found,) = torch.autograd.grad(parts.loss, logits, retain_graph=True)
    (right,) = torch.autograd.grad((logp.exp() * (logp - reference)).sum(), logits)
    assert found.tolist() == pytest.approx(right.tolist(), abs=1e-6)


def test_loss_kl_and_entropy_share_one_mask() -> None:
    rules = TrustRules(cap=100.0, max_move=0.2, max_drift=100.0, kl_coefficient=1.0)
    both, gradient = lossed([0.5, 0.5], rows([0.25, 0.5], [1, 1], [0.5, 0.5]), rules, reference=[0.1, 0.25])
    alone, _ = lossed([0.5], rows([0.5], [1], [0.5]), rules, reference=[0.25])
    assert gradient[0] == 0.0
    assert float(both.loss.detach()) == pytest.approx(float(alone.loss.detach()))
    assert (both.kl, both.entropy, both.kept_tokens) == (alone.kl, 0.5, 1)


def test_an_impossible_token_neither_overflows_nor_counts() -> None:
    parts, gradient = lossed([0.5], rows([1e-38], [1.0], [1.0]), TrustRules())
    assert gradient.tolist() == [0.0]
    assert parts.masked_sequences == 1


@pytest.mark.parametrize(("temperature", "chance"), [(1.0, 0.75), (0.5, 0.9), (2.0, 3**0.5 / (1 + 3**0.5))])
def test_scores_are_taken_after_temperature(temperature: float, chance: float) -> None:
    logits = torch.tensor([[0.0, math.log(3)]])
    logp, entropy = token_scores(logits, torch.tensor([1]), temperature=temperature)
    assert float(logp) == pytest.approx(math.log(chance))
    assert float(entropy) == pytest.approx(-chance * math.log(chance) - (1 - chance) * math.log(1 - chance))


def test_imitation_is_the_weighted_cross_entropy() -> None:
    logp = torch.tensor([0.5, 0.25]).log().requires_grad_()
    parts = imitation_loss(logp, torch.zeros(2), rows([1.0, 1.0], [1, 1], [0.5, 0.5]))
    assert float(parts.loss.detach()) == pytest.approx(1.5 * math.log(2))
