from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from polyathlon_trainer.sampling.choose import choose
from polyathlon_trainer.sampling.points import uniforms


def chosen(logits: list[float], temperature: float, point: float) -> tuple[int, float]:
    ids, scores = choose(
        torch.tensor([logits]), torch.tensor([temperature]), torch.tensor([point], dtype=torch.float64)
    )
    return int(ids), float(scores)


@pytest.mark.parametrize(("point", "right"), [(0.0, 0), (0.24, 0), (0.26, 1), (0.49, 1), (0.51, 2), (1 - 2**-53, 2)])
def test_a_point_falls_where_the_distribution_says(point: float, right: int) -> None:
    logits = [0.0, 0.0, math.log(2)]  # 1/4, 1/4, 1/2
    assert chosen(logits, 1.0, point) == pytest.approx((right, math.log([0.25, 0.25, 0.5][right])))


def test_log_probabilities_are_after_temperature() -> None:
    logits = [0.0, math.log(3)]
    assert chosen(logits, 1.0, 0.5) == pytest.approx((1, math.log(3 / 4)))
    assert chosen(logits, 0.5, 0.5) == pytest.approx((1, math.log(9 / 10)))
    assert chosen(logits, 0.5, 0.05) == pytest.approx((0, math.log(1 / 10)))


def test_greedy_takes_the_likeliest_and_scores_the_raw_logits() -> None:
    assert chosen([0.0, math.log(3)], 0.0, 0.01) == pytest.approx((1, math.log(3 / 4)))
    assert chosen([1.0, 1.0, 0.0], 0.0, 0.99)[0] == 0


def test_an_impossible_id_is_never_chosen() -> None:
    for point in (0.0, 0.5, 1 - 2**-53):
        assert chosen([-math.inf, 0.0, -math.inf], 1.0, point)[0] == 1


def test_rows_with_other_temperatures_do_not_mix() -> None:
    logits = torch.tensor([[0.0, math.log(3)]]).repeat(3, 1)
    points = torch.full((3,), 0.2, dtype=torch.float64)
    ids, scores = choose(logits, torch.tensor([1.0, 0.5, 0.0]), points)
    assert ids.tolist() == [0, 1, 1]
    assert scores.tolist() == pytest.approx([math.log(1 / 4), math.log(9 / 10), math.log(3 / 4)])


def test_points_depend_on_seed_sample_and_place_only() -> None:
    table = uniforms([5, 5, 9], [0, 1, 0], start=0, count=20)
    assert uniforms([9], [0], start=7, count=3)[0].tolist() == table[2, 7:10].tolist()
    assert len(set(table.ravel().tolist())) == 60


@pytest.mark.parametrize("seed", [0, -1, 2**63 - 1, 2**64 + 1])
def test_any_integer_is_a_seed(seed: int) -> None:
    assert 0.0 <= uniforms([seed], [0], start=0, count=1)[0, 0] < 1.0


def test_points_are_uniform_along_every_axis() -> None:
    """65,536 points: the mean lies within 5 standard errors of 1/2, and each of 16 bins near its share."""
    for seeds, samples, count in (
        (list(range(65_536)), [0] * 65_536, 1),
        ([3] * 65_536, list(range(65_536)), 1),
        ([3], [0], 65_536),
    ):
        points = uniforms(seeds, samples, start=0, count=count).ravel()
        assert abs(points.mean() - 0.5) < 5 * 12**-0.5 / 256
        bins = np.histogram(points, bins=16, range=(0, 1))[0]
        assert np.abs(bins - 4096).max() < 5 * 64
        assert abs(np.corrcoef(points[:-1], points[1:])[0, 1]) < 5 / 256
