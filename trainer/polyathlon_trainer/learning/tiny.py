"""The tiny policy: a causal transformer over bytes, 0.92 M parameters, that reads trees and grows them.

It begins knowing one thing, how to go on copying: its embeddings of the tokens before are the token's own, turned once
and twice, so that one fixed turn lines up what a place wrote with what stands before the places that it read. One layer
without positions begins as that match (an induction head, Olsson and others, 2022), and hands on what followed there.
From nothing, to find this took most of the imitation that a CPU can do in a few minutes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from polyathlon_trainer.learning.bytechat import NUM_INPUT_IDS, NUM_OUTPUT_IDS, PAD
from polyathlon_trainer.learning.rows import TensorRows

WIDTH = 128
NUM_LAYERS = 4
NUM_HEADS = 4
HEAD_WIDTH = WIDTH // NUM_HEADS
HIDDEN_WIDTH = 512
ROPE_BASE = 10_000.0
NUM_RECENT = 3
PLACELESS = (0, 2)
"""Layers that know of no positions but the causal order."""
COPYING = 2
"""The layer that begins as an induction head."""
FIRST_LOGITS = 0.1
"""The scale of the first logits: about one for the token that copying expects."""
SHARPNESS = 2.5
"""What queries are scaled by. Normalised, one key of 200 would otherwise be read with a weight of at most a half."""

Attend: TypeAlias = Callable[[int, Tensor, Tensor, Tensor], Tensor]
"""(layer, q, k, v), each (B, heads, T, head width), to what was read, of the same shape."""


class Block(nn.Module):
    """Attention and a squared-ReLU layer, each on the normalised stream and added to it."""

    def __init__(self, generator: torch.Generator) -> None:
        super().__init__()
        self.qkv = nn.Parameter(_uniform((3, WIDTH, WIDTH), generator))
        self.mix = nn.Parameter(torch.zeros(WIDTH, WIDTH))
        self.up = nn.Parameter(_uniform((HIDDEN_WIDTH, WIDTH), generator))
        self.down = nn.Parameter(torch.zeros(WIDTH, HIDDEN_WIDTH))

    def heads(
        self, stream: Tensor, rope: tuple[Tensor, Tensor], at: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return queries, keys (both normalised and rotated) and values, each (B, heads, T, head width).

        With `at` (B, S), queries are those of these places of each row alone: (B, heads, S, head width).
        """
        normed = _norm(stream)
        if at is None:
            queries, keys, values = _split(F.linear(normed, self.qkv.view(3 * WIDTH, WIDTH)), 3)
            return _turned(queries, rope) * SHARPNESS, _turned(keys, rope), values.transpose(1, 2)
        keys, values = _split(F.linear(normed, self.qkv[1:].view(2 * WIDTH, WIDTH)), 2)
        (queries,) = _split(F.linear(_rows_at(normed, at), self.qkv[0]), 1)
        cos, sin = (_rows_at(part.squeeze(2), at).unsqueeze(2) for part in rope)
        return _turned(queries, (cos, sin)) * SHARPNESS, _turned(keys, rope), values.transpose(1, 2)

    def join(self, stream: Tensor, read: Tensor) -> Tensor:
        """Return the stream (B, T, width) after adding what attention read and the squared-ReLU layer's output."""
        batch, _, length, _ = read.shape
        stream = stream + F.linear(read.transpose(1, 2).reshape(batch, length, WIDTH), self.mix)
        return stream + F.linear(_relu_square(F.linear(_norm(stream), self.up)), self.down)


class TinyLM(nn.Module):
    """The model. Its input is the sum of the embeddings of a token and the two before it on its path."""

    reads_trees = True
    pad_id = PAD
    rates: Tensor

    def __init__(self, *, seed: int) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        turn, aside, basis = (_orthogonal(generator) for _ in range(3))
        token = torch.randn(NUM_INPUT_IDS, WIDTH, generator=generator)
        self.embeddings = nn.Parameter(torch.stack((token, token @ turn, token @ turn @ turn)))
        self.blocks = nn.ModuleList(Block(generator) for _ in range(NUM_LAYERS))
        self.head = nn.Parameter(FIRST_LOGITS * token[:NUM_OUTPUT_IDS] @ aside)
        self._begin_copying(turn, aside, basis)
        rates = ROPE_BASE ** (-torch.arange(0, HEAD_WIDTH, 2) / HEAD_WIDTH)
        self.register_buffer("rates", rates, persistent=False)

    @torch.no_grad()
    def _begin_copying(self, turn: Tensor, aside: Tensor, basis: Tensor) -> None:
        """Let one layer match the last two tokens with those before each place, and read what stands at it.

        The head reads what was copied `aside` of the stream's own token, which it must not take for it.
        """
        block = self.blocks[COPYING]
        assert isinstance(block, Block)
        block.qkv.copy_(torch.stack((basis, basis @ turn, torch.eye(WIDTH))))
        block.mix.copy_(aside.T)

    @property
    def module(self) -> nn.Module:
        return self

    def matrices(self) -> list[nn.Parameter]:
        """Return the parameters that are matrices of the stream (stacks of them too): what Muon is for."""
        return list(self.blocks.parameters())

    def run(self, recent: Tensor, positions: Tensor, attend: Attend, at: Tensor | None = None) -> Tensor:
        """Return the last stream (B, T, width), normalised; with `at` (B, S), of these places alone: (B, S, width).

        `recent` (B, T, 3) holds each token, the one before it and the one before that; `positions` is (B, T).
        """
        angles = (positions[..., None] * self.rates)[:, :, None, :]  # (B, T, 1, head width / 2)
        turned, still = (angles.cos(), angles.sin()), (torch.ones_like(angles), torch.zeros_like(angles))
        parts = [F.embedding(recent[..., back], self.embeddings[back]) for back in range(NUM_RECENT)]
        stream = _norm(torch.stack(parts).sum(0))
        for layer, block in enumerate(self.blocks):
            assert isinstance(block, Block)
            here = at if layer == NUM_LAYERS - 1 else None
            read = attend(layer, *block.heads(stream, still if layer in PLACELESS else turned, here))
            stream = block.join(stream if here is None else _rows_at(stream, here), read)
        return _norm(stream)

    def read_out(self, stream: Tensor) -> Tensor:
        """Return logits (..., 257) of streams (..., width)."""
        return F.linear(stream, self.head)

    def logits(self, rows: TensorRows) -> Tensor:
        """Return the logits (N, 257), float32, that predicted each written token of the rows.

        The last block is computed where something is predicted, and nowhere else.
        """
        segments = rows.segments
        batch, length = segments.shape
        causal = torch.ones(length, length, dtype=torch.bool, device=segments.device).tril()
        path = (segments[:, None, :] == 0) | (segments[:, None, :] == segments[:, :, None])
        hidden = torch.zeros(path.shape, device=segments.device).masked_fill_(~(path & causal), -torch.inf)
        owners, places = rows.sources // length, rows.sources % length  # owners ascend: rows come one after the other
        counts = torch.bincount(owners, minlength=batch)
        numbers = torch.arange(len(owners), device=segments.device) - (counts.cumsum(0) - counts)[owners]
        at = torch.zeros(batch, int(counts.max()), dtype=torch.int64, device=segments.device)
        at[owners, numbers] = places
        hidden_at = _rows_at(hidden, at)[:, None]
        hidden = hidden[:, None]

        def attend(layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
            mask = hidden_at if layer == NUM_LAYERS - 1 else hidden
            return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)

        stream = self.run(recent_of(rows.ids, rows.parents), rows.positions, attend, at)
        return self.read_out(stream[owners, numbers])


def recent_of(ids: Tensor, parents: Tensor) -> Tensor:
    """Return (B, T, 3): each id, its parent's and its grandparent's, PAD where there is none. Both are (B, T)."""
    before = ids.gather(1, parents.clamp(min=0)).masked_fill(parents < 0, PAD)
    older = before.gather(1, parents.clamp(min=0)).masked_fill(parents < 0, PAD)
    return torch.stack((ids, before, older), dim=-1)


class _ReluSquare(torch.autograd.Function):
    """max(0, x)^2 in two passes instead of torch's five: on a CPU these layers are bound by memory."""

    @staticmethod
    def forward(context: Any, values: Tensor) -> Tensor:
        positive = F.relu(values)
        context.save_for_backward(positive)
        return positive * positive

    @staticmethod
    def backward(context: Any, gradient: Tensor) -> Tensor:
        positive: Tensor = context.saved_tensors[0]
        return (gradient * positive).mul_(2.0)


def _relu_square(values: Tensor) -> Tensor:
    result: Tensor = _ReluSquare.apply(values)  # type: ignore[no-untyped-call]  # torch leaves apply untyped
    return result


def _norm(values: Tensor) -> Tensor:
    return F.rms_norm(values, (values.shape[-1],))


def _split(joint: Tensor, num: int) -> tuple[Tensor, ...]:
    """Return `num` tensors (B, T, heads, head width) of one (B, T, num x width)."""
    return joint.view(*joint.shape[:2], num, NUM_HEADS, HEAD_WIDTH).unbind(2)


def _turned(heads: Tensor, rope: tuple[Tensor, Tensor]) -> Tensor:
    """Return (B, T, heads, head width) normalised, rotated, and as (B, heads, T, head width)."""
    return _rotate(_norm(heads), *rope).transpose(1, 2)


def _rows_at(values: Tensor, at: Tensor) -> Tensor:
    """Return (B, S, ...) of values (B, T, width) at the places `at` (B, S)."""
    return values.gather(1, at[..., None].expand(-1, -1, values.shape[-1]))


def _rotate(values: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    one, two = values.chunk(2, dim=-1)
    return torch.cat((one * cos - two * sin, one * sin + two * cos), dim=-1)


def _orthogonal(generator: torch.Generator) -> Tensor:
    """Return a random rotation (width, width)."""
    rotation: Tensor = torch.linalg.qr(torch.randn(WIDTH, WIDTH, generator=generator)).Q
    return rotation


def _uniform(shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
    """Return a matrix whose outputs have about the variance of its inputs."""
    bound = (3 / shape[-1]) ** 0.5
    return torch.empty(shape).uniform_(-bound, bound, generator=generator)
