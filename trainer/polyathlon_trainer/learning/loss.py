"""The losses, as pure functions of log-probabilities: no model, no optimiser, no state."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from polyathlon_trainer.learning.recipe import TrustRules
from polyathlon_trainer.learning.rows import TensorRows


@dataclass(frozen=True, slots=True)
class LossParts:
    """A loss () to differentiate, and sums of what happened; add them over the parts of a batch.

    `kept_tokens` are those in the loss; `kl` and `entropy` are sums over them, `mismatch` over all `tokens`.
    """

    loss: Tensor
    tokens: int
    sequences: int
    kept_tokens: int
    truncated_tokens: int
    outside_tokens: int
    masked_sequences: int
    kl: float
    entropy: float
    mismatch: float


def token_scores(logits: Tensor, targets: Tensor, *, temperature: float) -> tuple[Tensor, Tensor]:
    """Return the log-probability of each target and the entropy of each distribution, both (N,), in nats.

    `logits` is (N, V) float32, `targets` (N,); the distribution is softmax(logits / temperature). The entropy carries
    no gradient.
    """
    scores = torch.log_softmax(logits / temperature, dim=-1)
    with torch.no_grad():
        entropy = -(scores.exp() * scores).sum(-1)
    return scores.gather(1, targets[:, None]).squeeze(1), entropy


def policy_loss(
    logp: Tensor, entropy: Tensor, reference: Tensor | None, rows: TensorRows, rules: TrustRules
) -> LossParts:
    """Return the truncated importance-weighted policy-gradient loss of the rows' N written tokens.

    L = sum_t weight_t keep_t sg(min(w_t, cap)) (-A_t log p_t + kl_coefficient (log p_t - log ref_t)^2 / 2), with
    w_t = p_t / mu_t, where mu is the policy that wrote the token (truncated importance sampling: arXiv 2510.13786,
    CISPO: arXiv 2506.13585). The gradient of half the squared log ratio, so weighted, is that of KL(p || ref). One
    mask, keep_t, governs the loss, the KL and the entropy. `logp`, `entropy` and `reference` are (N,).
    """
    ratio_log = (logp - rows.behaviour).detach()
    ratio = ratio_log.exp()
    moved = torch.sign(rows.advantages) * (logp.detach().exp() - rows.behaviour.exp())
    inside = moved <= rules.max_move
    near = _mean_by_sequence(ratio_log, rows).abs() <= rules.max_drift  # (sequences,)
    keep = inside & near[rows.sequences]
    weight = torch.where(keep, rows.weights * ratio.clamp(max=rules.cap), 0.0)
    loss = -(weight * rows.advantages * logp).sum()
    kl = torch.zeros_like(logp)
    if reference is not None:
        gap = logp - reference
        loss = loss + rules.kl_coefficient * (weight * gap.square() / 2).sum()
        kl = (
            torch.expm1(-gap.detach()) + gap.detach()
        )  # never negative, and its mean over the policy's tokens is the KL
    return LossParts(
        loss=loss,
        tokens=len(logp),
        sequences=rows.num_sequences,
        kept_tokens=int(keep.sum()),
        truncated_tokens=int((ratio > rules.cap).sum()),
        outside_tokens=int((~inside).sum()),
        masked_sequences=int((~near).sum()),
        kl=float(kl[keep].sum()),
        entropy=float(entropy[keep].sum()),
        mismatch=float(ratio_log.abs().sum()),
    )


def imitation_loss(logp: Tensor, entropy: Tensor, rows: TensorRows) -> LossParts:
    """Return the cross-entropy -sum_t weight_t log p_t of the rows' N written tokens. `logp`, `entropy` are (N,)."""
    return LossParts(
        loss=-(rows.weights * logp).sum(),
        tokens=len(logp),
        sequences=rows.num_sequences,
        kept_tokens=len(logp),
        truncated_tokens=0,
        outside_tokens=0,
        masked_sequences=0,
        kl=0.0,
        entropy=float(entropy.sum()),
        mismatch=0.0,
    )


def _mean_by_sequence(values: Tensor, rows: TensorRows) -> Tensor:
    """Return (sequences,): the mean of `values` (N,) over each sequence's tokens."""
    sums = torch.zeros(rows.num_sequences, device=values.device).index_add_(0, rows.sequences, values)
    counts = torch.zeros_like(sums).index_add_(0, rows.sequences, torch.ones_like(values))
    return sums / counts.clamp(min=1)
