"""Secret probes find what volume misses; alignment allows what is declared and no more."""

from __future__ import annotations

import numpy as np
import pytest

from polyathlon.errors import VerifierError
from polyathlon.verify.geometry import box, empty, iou, surface_of
from polyathlon.verify.likeness import free_iou, surface_gap
from polyathlon.verify.probes import all_met, draw_probes, share_met

BLOCK = box((0, 0, 0), (40, 30, 10))
HOLED = BLOCK - box((10, 10, -1), (14, 14, 11))
ELL = box((0, 0, 0), (4, 1, 1)) + box((0, 0, 0), (1, 3, 1)) + box((0, 0, 0), (1, 1, 2))


def test_an_exact_copy_meets_every_probe_and_a_bounding_block_does_not() -> None:
    probes = draw_probes(HOLED, 200, np.random.default_rng(3), tolerance_mm=0.05)
    assert len(probes) == 200
    assert share_met(probes, HOLED, tolerance_mm=0.05) == 1.0
    assert all_met(probes, HOLED, tolerance_mm=0.05)
    assert iou(BLOCK, HOLED) > 0.98  # though the block has no hole
    assert 0.0 < share_met(probes, BLOCK, tolerance_mm=0.05) < 1.0
    assert not all_met(probes, BLOCK, tolerance_mm=0.05)
    assert not all_met(probes, empty(), tolerance_mm=0.05)


def test_probes_hang_on_their_seed_alone() -> None:
    first, again, other = (draw_probes(HOLED, 20, np.random.default_rng(seed), tolerance_mm=0.05) for seed in (3, 3, 4))
    assert first == again != other


def test_a_shell_of_the_right_outside_is_told_from_within() -> None:
    shell = BLOCK - box((1, 1, 1), (39, 29, 9))
    probes = draw_probes(BLOCK, 60, np.random.default_rng(0), tolerance_mm=0.05)
    assert share_met(probes, shell, tolerance_mm=0.05) < 0.6


def test_no_probes_are_no_proof() -> None:
    assert not all_met((), BLOCK, tolerance_mm=0.05)
    with pytest.raises(VerifierError):
        share_met((), BLOCK, tolerance_mm=0.05)
    with pytest.raises(VerifierError, match="steady"):
        draw_probes(box((0, 0, 0), (0.001, 0.001, 0.001)), 20, np.random.default_rng(0), tolerance_mm=0.05)


def test_nothing_is_normalised_unasked() -> None:
    moved = BLOCK.translate([100.0, 0.0, 0.0])
    inches = BLOCK.scale([25.4] * 3)
    assert free_iou(moved, BLOCK) == 0.0
    assert free_iou(inches, BLOCK) < 0.001
    assert free_iou(moved, BLOCK, "shift") == pytest.approx(1.0, abs=1e-9)
    assert free_iou(inches, BLOCK, "scale", "shift") == pytest.approx(1.0, abs=1e-9)
    assert free_iou(inches, BLOCK, "shift") < 0.001
    assert free_iou(empty(), BLOCK, "shift", "scale", "turn") == 0.0


def test_a_turn_is_no_mirror_image() -> None:
    turned = ELL.rotate([90.0, 0.0, 90.0])
    assert free_iou(turned, ELL, "shift") < 0.6
    assert free_iou(turned, ELL, "shift", "turn") == pytest.approx(1.0, abs=1e-6)
    assert free_iou(ELL.mirror([1.0, 0.0, 0.0]), ELL, "shift", "turn") < 0.9


def test_a_copy_lies_nowhere_from_itself() -> None:
    mesh = surface_of(HOLED)
    assert surface_gap(mesh, mesh, 300, np.random.default_rng(0)) == pytest.approx(0.0, abs=1e-6)
    assert surface_gap(surface_of(BLOCK), mesh, 300, np.random.default_rng(0)) > 0.01
