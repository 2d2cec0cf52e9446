"""The learner: owns the policy's weights, and moves them by imitation and by policy gradient."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from polyathlon_trainer.learning.batch import RlBatch, SftExample, Tree, one_branch_each, pack, rl_trees, sft_trees
from polyathlon_trainer.learning.loss import LossParts, imitation_loss, policy_loss, token_scores
from polyathlon_trainer.learning.optimise import Muon, rl_share, sft_share
from polyathlon_trainer.learning.protocol import LearnerError, Update
from polyathlon_trainer.learning.recipe import Recipe, TrustRules
from polyathlon_trainer.learning.rows import RowModel, TensorRows, check_fit, copy_weights, to_device

_ADAM_BETAS = (0.9, 0.95)


@dataclass(frozen=True, slots=True)
class _Stage:
    """The optimisers of one stage, each with its full rate, and the norm that gradients are cut to."""

    optimisers: tuple[tuple[torch.optim.Optimizer, float], ...]
    clip_norm: float

    def states(self) -> list[Any]:
        return [_copied(optimiser.state_dict()) for optimiser, _ in self.optimisers]

    def load(self, states: Sequence[Any]) -> None:
        for (optimiser, _), state in zip(self.optimisers, states, strict=True):
            optimiser.load_state_dict(_copied(state))

    def step(self, share: float) -> None:
        for optimiser, rate in self.optimisers:
            for group in optimiser.param_groups:
                group["lr"] = rate * share
            optimiser.step()


class TorchLearner:
    """Trains a `RowModel` in place, on the device that it lies on. Not thread-safe.

    SFT and RL have optimisers of their own. With a `kl_coefficient` the first RL step freezes the weights that it
    starts from as the reference, unless `freeze_reference` came before.
    """

    def __init__(self, model: RowModel, recipe: Recipe, rules: TrustRules) -> None:
        self._model = model
        self._recipe = recipe
        self._rules = rules
        self._parameters = dict(model.module.named_parameters())
        self._device = next(iter(self._parameters.values())).device
        self._averaged = {name: value.detach().clone() for name, value in self._parameters.items()}
        self._reference: dict[str, Tensor] | None = None
        self._sft_steps = 0
        self._rl_steps = 0
        self._sft, self._rl = self._new_stages()

    def sft_step(self, examples: Sequence[SftExample], *, progress: float) -> Update:
        share = sft_share(progress)

        def part(rows: TensorRows) -> LossParts:
            return imitation_loss(*token_scores(self._model.logits(rows), rows.targets, temperature=1.0), rows)

        update = self._step(sft_trees(examples), part, self._sft, share)
        self._sft_steps += update.loss is not None
        return update

    def rl_step(self, batch: RlBatch, *, progress: float) -> Update:
        share = rl_share(progress, step=self._rl_steps, warmup_steps=self._recipe.rl_warmup_steps)
        if self._rules.kl_coefficient and self._reference is None:
            self.freeze_reference()

        def part(rows: TensorRows) -> LossParts:
            reference = self._reference_scores(rows, batch.temperature)
            scores = token_scores(self._model.logits(rows), rows.targets, temperature=batch.temperature)
            return policy_loss(*scores, reference, rows, self._rules)

        trees = rl_trees(batch, max_completions=self._recipe.completions_per_group)
        update = self._step(trees, part, self._rl, share)
        self._rl_steps += update.loss is not None
        return update

    def freeze_reference(self) -> None:
        """Keep a copy of the weights as they are: the reference that the KL is measured to."""
        self._reference = {name: value.detach().clone() for name, value in self._parameters.items()}

    def weights(self) -> dict[str, Tensor]:
        return {name: value.detach().clone() for name, value in self._parameters.items()}

    def averaged_weights(self) -> dict[str, Tensor]:
        return {name: value.clone() for name, value in self._averaged.items()}

    def state_dict(self) -> dict[str, Any]:
        return {
            "weights": self.weights(),
            "averaged": self.averaged_weights(),
            "reference": None if self._reference is None else {name: v.clone() for name, v in self._reference.items()},
            "sft": self._sft.states(),
            "rl": self._rl.states(),
            "sft_steps": self._sft_steps,
            "rl_steps": self._rl_steps,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        try:
            check_fit(self._model.module, state["weights"])
            check_fit(self._model.module, state["averaged"])
            sft, rl = self._new_stages()
            sft.load(state["sft"])
            rl.load(state["rl"])
            reference = state["reference"]
            if reference is not None:
                check_fit(self._model.module, reference)
            counts = int(state["sft_steps"]), int(state["rl_steps"])
        except (KeyError, TypeError, ValueError) as error:
            raise LearnerError(
                f"The learner's state does not fit this model: {error}. Resume with the model that it was saved from."
            ) from error
        copy_weights(self._model.module, state["weights"])
        for name, value in self._averaged.items():
            value.copy_(state["averaged"][name])
        self._reference = None if reference is None else {n: v.to(self._device).clone() for n, v in reference.items()}
        self._sft, self._rl = sft, rl
        self._sft_steps, self._rl_steps = counts

    def _new_stages(self) -> tuple[_Stage, _Stage]:
        """Return the stages of SFT and RL with fresh optimisers; the first of each is AdamW."""
        recipe = self._recipe
        matrices = [] if recipe.sft_matrix_rate is None else self._model.matrices()
        chosen = {id(value) for value in matrices}
        everything = list(self._parameters.values())
        others = [value for value in everything if id(value) not in chosen]
        sft: list[tuple[torch.optim.Optimizer, float]] = [(_adam(others), recipe.sft_rate)]
        if matrices and recipe.sft_matrix_rate is not None:
            sft.append((Muon(matrices, rate=recipe.sft_matrix_rate), recipe.sft_matrix_rate))
        rl = _Stage(((_adam(everything), recipe.rl_rate),), recipe.rl_clip_norm)
        return _Stage(tuple(sft), recipe.sft_clip_norm), rl

    def _step(self, trees: list[Tree], part: Callable[[TensorRows], LossParts], stage: _Stage, share: float) -> Update:
        """Take one step on `trees`, at `share` of the stage's rates; with nothing to learn from, none."""
        rate = stage.optimisers[0][1] * share
        if not trees:
            return Update(loss=None, grad_norm=None, learning_rate=rate)
        self._model.module.zero_grad(set_to_none=True)
        parts = []
        read = trees if self._model.reads_trees else one_branch_each(trees)
        for rows in pack(read, pad=self._model.pad_id, max_tokens=self._recipe.row_tokens):
            found = part(to_device(rows, self._device))
            torch.autograd.backward(found.loss)
            parts.append(found)
        norm = float(torch.nn.utils.clip_grad_norm_(self._parameters.values(), stage.clip_norm))
        if not norm < float("inf"):
            raise LearnerError(f"The gradient's norm is {norm}. Lower the learning rate, or resume from before.")
        if any(found.kept_tokens for found in parts):
            stage.step(share)
            self._average()
        self._model.module.zero_grad(set_to_none=True)
        return _update(parts, norm, rate)

    @torch.no_grad()
    def _average(self) -> None:
        for name, value in self._parameters.items():
            self._averaged[name].lerp_(value, 1 - self._recipe.averaging)

    @torch.no_grad()
    def _reference_scores(self, rows: TensorRows, temperature: float) -> Tensor | None:
        """Return the reference's log-probabilities (N,), the policy's own weights set aside meanwhile."""
        if self._reference is None:
            return None
        own = {name: value.data for name, value in self._parameters.items()}
        try:
            for name, value in self._parameters.items():
                value.data = self._reference[name]
            return token_scores(self._model.logits(rows), rows.targets, temperature=temperature)[0]
        finally:
            for name, value in self._parameters.items():
                value.data = own[name]


def _adam(parameters: list[torch.nn.Parameter]) -> torch.optim.Optimizer:
    return torch.optim.AdamW(parameters, betas=_ADAM_BETAS, weight_decay=0.0)


def _copied(state: Any) -> Any:
    """Return an optimiser's state with its tensors copied: the live ones go on changing."""
    if isinstance(state, Tensor):
        return state.detach().clone()
    if isinstance(state, dict):
        return {key: _copied(value) for key, value in state.items()}
    if isinstance(state, list | tuple):
        return [_copied(value) for value in state]
    return state


def _update(parts: Sequence[LossParts], norm: float, rate: float) -> Update:
    tokens = sum(part.tokens for part in parts)
    kept = sum(part.kept_tokens for part in parts)
    sequences = sum(part.sequences for part in parts)
    return Update(
        loss=sum(float(part.loss.detach()) for part in parts) if kept else None,
        grad_norm=norm if kept else None,
        learning_rate=rate,
        tokens=kept,
        sequences=sequences,
        kl=sum(part.kl for part in parts) / max(kept, 1),
        entropy=sum(part.entropy for part in parts) / max(kept, 1),
        truncated_share=sum(part.truncated_tokens for part in parts) / max(tokens, 1),
        outside_share=sum(part.outside_tokens for part in parts) / max(tokens, 1),
        masked_share=sum(part.masked_sequences for part in parts) / max(sequences, 1),
        mismatch=sum(part.mismatch for part in parts) / max(tokens, 1),
    )
