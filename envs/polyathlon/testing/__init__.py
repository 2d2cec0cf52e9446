"""Inspections inside a test suite: `pytest --polyathlon acme/docs.claims-v1`, or as ordinary tests.

from polyathlon.testing import assert_sound, inspect


def test_claims_are_fit_to_train_on() -> None:
    assert_sound(inspect("acme/docs.claims-v1", seeds=16))
"""

from polyathlon.testing.soundness import assert_sound, inspect

__all__ = ["assert_sound", "inspect"]
