"""Rows as tensors on a device, and what a learner asks of a model that reads them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor, nn

from polyathlon_trainer.learning.batch import Rows


@dataclass(frozen=True, slots=True)
class TensorRows:
    """`Rows` on one device; shapes and meanings are those of `Rows`."""

    ids: Tensor  # (B, T) int64
    parents: Tensor  # (B, T) int64
    positions: Tensor  # (B, T) int64
    segments: Tensor  # (B, T) int64
    sources: Tensor  # (N,) int64
    targets: Tensor  # (N,) int64
    behaviour: Tensor  # (N,) float32
    advantages: Tensor  # (N,) float32
    weights: Tensor  # (N,) float32
    sequences: Tensor  # (N,) int64
    num_sequences: int


class RowModel(Protocol):
    """A causal language model that a learner can train."""

    @property
    def reads_trees(self) -> bool:
        """Whether a row may hold several branches; otherwise rows have one each."""
        ...

    @property
    def pad_id(self) -> int:
        """The id that fills the end of a row."""
        ...

    @property
    def module(self) -> nn.Module:
        """What holds the parameters."""
        ...

    def matrices(self) -> list[nn.Parameter]:
        """Return the parameters that Muon may train."""
        ...

    def logits(self, rows: TensorRows) -> Tensor:
        """Return (N, V) float32: the logits that predicted each written token."""
        ...


def to_device(rows: Rows, device: torch.device) -> TensorRows:
    """Return the rows as tensors on `device`."""
    return TensorRows(
        ids=torch.from_numpy(rows.ids).to(device),
        parents=torch.from_numpy(rows.parents).to(device),
        positions=torch.from_numpy(rows.positions).to(device),
        segments=torch.from_numpy(rows.segments).to(device),
        sources=torch.from_numpy(rows.sources).to(device),
        targets=torch.from_numpy(rows.targets).to(device),
        behaviour=torch.from_numpy(rows.behaviour).to(device),
        advantages=torch.from_numpy(rows.advantages).to(device),
        weights=torch.from_numpy(rows.weights).to(device),
        sequences=torch.from_numpy(rows.sequences).to(device),
        num_sequences=rows.num_sequences,
    )


def check_fit(module: nn.Module, weights: Mapping[str, Tensor]) -> None:
    """Compare the names and shapes of `weights` with the module's parameters (shared ones count once).

    Raises:
        ValueError: one is missing, unknown or of another shape; names the first.

    """
    shapes = {name: tuple(value.shape) for name, value in module.named_parameters()}
    given = {name: tuple(value.shape) for name, value in weights.items()}
    for name in sorted(shapes.keys() | given.keys()):
        if shapes.get(name) != given.get(name):
            raise ValueError(f"{name} has shape {given.get(name, 'missing')}, not {shapes.get(name, 'missing')}")


def copy_weights(module: nn.Module, weights: Mapping[str, Tensor]) -> None:
    """Copy `weights` into the module's parameters: all of them, or none.

    Raises:
        ValueError: as `check_fit`.

    """
    check_fit(module, weights)
    with torch.no_grad():
        for name, value in module.named_parameters():
            value.copy_(weights[name])
