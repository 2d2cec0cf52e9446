"""What no inspection knows: values worked out by hand. The rest is `pytest --polyathlon chem/lab.titration-v1`."""

from fractions import Fraction

import numpy as np
import pytest
from polyathlon_chem.titration import DOMAIN

from polyathlon import Evidence, Task
from polyathlon.sandbox.choose import default_room


def titration(*, protons: int) -> Task:
    """10 mL of an acid that took 20 mL of 100 mmol/L base."""
    core = {"protons": protons, "acid_ul": 10_000, "base_ul": 20_000, "base_mm": 100}
    brief = DOMAIN.tasks.render(core, np.random.default_rng(0))
    return Task("chem/lab.titration-v1:0:train:0", 0, 0, "train", brief.prompt, brief.public, brief.hidden, "")


def passes(task: Task, answer: str) -> bool:
    return DOMAIN.verifier.judge(task, Evidence(answer=answer), default_room()).passed


@pytest.mark.parametrize(("protons", "gold"), [(1, 200), (2, 100), (3, Fraction(200, 3))])
def test_twice_the_volume_is_twice_the_concentration_shared_among_the_protons(protons: int, gold: Fraction) -> None:
    assert Fraction(str(titration(protons=protons).hidden["gold"])) == gold


@pytest.mark.parametrize("answer", ["200", "200.2", "199.8"])
def test_a_tenth_of_a_percent_is_near_enough(answer: str) -> None:
    assert passes(titration(protons=1), answer)


@pytest.mark.parametrize("answer", ["200.21", "199.79", "0.2"])
def test_more_than_that_is_not(answer: str) -> None:
    assert not passes(titration(protons=1), answer)
