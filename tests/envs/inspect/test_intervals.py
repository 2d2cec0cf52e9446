"""Wilson's interval, against values of the protocol's table."""

import pytest

from polyathlon.inspect.intervals import wilson


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    [(64, 64, 0.943, 1.0), (128, 128, 0.971, 1.0), (381, 381, 0.990, 1.0), (0, 64, 0.0, 0.057), (0, 381, 0.0, 0.010)],
)
def test_ends_that_the_protocol_names(successes: int, trials: int, low: float, high: float) -> None:
    assert wilson(successes, trials) == pytest.approx((low, high), abs=0.0005)


def test_half_of_ten_by_hand() -> None:
    # (0.5 + 3.8416/20) / 1.38416 = 0.5; half width 1.96 / 1.38416 * sqrt(0.025 + 3.8416/400) = 0.2634
    assert wilson(5, 10) == pytest.approx((0.2366, 0.7634), abs=0.0005)


def test_no_trials_say_nothing_and_impossible_counts_are_refused() -> None:
    assert wilson(0, 0) == (0.0, 1.0)
    with pytest.raises(ValueError, match="3 successes of 2 trials"):
        wilson(3, 2)
