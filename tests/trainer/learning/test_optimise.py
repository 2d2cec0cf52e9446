from __future__ import annotations

import pytest
import torch
from torch import nn

from polyathlon_trainer.learning.optimise import Muon, orthogonal, rl_share, sft_share


def test_the_sft_rate_falls_over_the_second_half() -> None:
    assert [sft_share(progress) for progress in (0.0, 0.5, 0.75, 1.0)] == [1.0, 1.0, 0.5, 0.0]


def test_the_rl_rate_climbs_then_falls_over_the_last_two_fifths() -> None:
    assert [rl_share(0.0, step=step, warmup_steps=8) for step in (0, 3, 7, 100)] == [0.125, 0.5, 1.0, 1.0]
    late = [rl_share(progress, step=100, warmup_steps=8) for progress in (0.6, 0.8, 1.0)]
    assert late == pytest.approx([1.0, 0.5, 0.0])
    assert rl_share(0.0, step=0, warmup_steps=0) == 1.0


@pytest.mark.parametrize("progress", [-0.01, 1.01, float("nan")])
def test_progress_beyond_its_range_is_refused(progress: float) -> None:
    with pytest.raises(ValueError, match="progress"):
        sft_share(progress)
    with pytest.raises(ValueError, match="progress"):
        rl_share(progress, step=0, warmup_steps=8)


@pytest.mark.parametrize("shape", [(16, 16), (8, 32), (32, 8), (3, 16, 16)])
def test_orthogonal_matrices_have_singular_values_near_one(shape: tuple[int, ...]) -> None:
    matrices = torch.randn(shape, generator=torch.Generator().manual_seed(3))
    values = torch.linalg.svdvals(orthogonal(matrices))
    assert float(values.min()) > 0.5
    assert float(values.max()) < 1.3


def test_orthogonal_keeps_the_singular_vectors() -> None:
    found = orthogonal(torch.diag(torch.tensor([3.0, -1.0, 2.0])))
    assert torch.sign(found.diagonal()).tolist() == [1.0, -1.0, 1.0]
    assert float((found - torch.diag(found.diagonal())).abs().max()) < 1e-6


def test_a_zero_gradient_moves_no_matrix() -> None:
    matrix = nn.Parameter(torch.ones(4, 4))
    matrix.grad = torch.zeros(4, 4)
    Muon([matrix], rate=1.0).step()
    assert torch.equal(matrix.data, torch.ones(4, 4))


def test_muon_moves_against_the_gradient_whatever_its_size() -> None:
    moves = []
    for size in (1e-3, 1e3):
        matrix = nn.Parameter(torch.zeros(4, 4))
        matrix.grad = torch.eye(4) * size
        Muon([matrix], rate=0.1).step()
        moves.append(matrix.detach().clone())
    assert torch.allclose(moves[0], moves[1], atol=1e-5)
    assert bool((moves[0].diagonal() < -0.05).all())


def test_tall_matrices_move_further() -> None:
    """The step of an (8, 2) matrix is sqrt(8 / 2) = 2 times an orthogonal one."""
    tall = nn.Parameter(torch.zeros(8, 2))
    tall.grad = torch.cat((torch.eye(2), torch.zeros(6, 2)))
    wide = nn.Parameter(torch.zeros(2, 8))
    wide.grad = tall.grad.mT.clone()
    Muon([tall, wide], rate=0.1).step()
    assert torch.allclose(tall.data, 2 * wide.data.mT)
