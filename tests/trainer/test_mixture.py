from __future__ import annotations

from pathlib import Path

import pytest

from polyathlon.catalog import Catalog, Row
from polyathlon.plugins import merge
from polyathlon_trainer.config.load import ConfigError
from polyathlon_trainer.config.schema import DomainChoice
from polyathlon_trainer.mixture import choose_domains, shares


def row(name: str, *, weight: float = 1.0, needs: tuple[str, ...] = ()) -> Row:
    return Row(id=name, load="m:D", kind="question", levels=5, max_turns=1, weight=weight, needs=needs)


OURS = Catalog(
    "polyathlon", "polyathlon", Path("a"), (row("cad.gear-v1"), row("cad.pipe-v1", weight=3.0), row("math.sum-v1"))
)
THEIRS = Catalog("acme", "acme", Path("b"), (row("docs.claims-v1", needs=("sandbox",)), row("docs.off-v1", weight=0.0)))
REGISTRY = merge([OURS, THEIRS])


def ids(**choice: object) -> list[str]:
    return [card.id for card in choose_domains(DomainChoice(**choice), REGISTRY)]  # type: ignore[arg-type]  # by name


def test_without_a_choice_all_domains_of_positive_weight_mix() -> None:
    assert ids() == [
        "acme/docs.claims-v1",
        "polyathlon/cad.gear-v1",
        "polyathlon/cad.pipe-v1",
        "polyathlon/math.sum-v1",
    ]


def test_our_own_namespace_may_be_left_out() -> None:
    assert ids(include=("cad.*",)) == ["polyathlon/cad.gear-v1", "polyathlon/cad.pipe-v1"]


def test_exclusion_wins() -> None:
    assert ids(include=("cad.*", "acme/*"), exclude=("cad.gear-v1",)) == [
        "acme/docs.claims-v1",
        "polyathlon/cad.pipe-v1",
    ]


def test_weights_override_the_registrys_and_zero_leaves_out() -> None:
    cards = choose_domains(DomainChoice(weights={"cad.*": 0.0, "math.*": 4.0}), REGISTRY)
    assert shares(cards) == {"acme/docs.claims-v1": 0.2, "polyathlon/math.sum-v1": 0.8}


def test_a_weight_of_zero_in_the_registry_can_be_overridden() -> None:
    assert "acme/docs.off-v1" in ids(weights={"acme/docs.off-v1": 1.0})


def test_a_card_knows_whether_its_domain_needs_a_sandbox() -> None:
    cards = {card.id: card for card in choose_domains(DomainChoice(), REGISTRY)}
    assert cards["acme/docs.claims-v1"].needs_sandbox
    assert not cards["polyathlon/cad.gear-v1"].needs_sandbox


@pytest.mark.parametrize(
    ("choice", "words"),
    [
        ({"include": ("cad.gaer-v1",)}, ["domains.include", "'cad.gaer-v1'", "Did you mean cad.gear-v1?"]),
        ({"exclude": ("zzz*",)}, ["domains.exclude", "polyathlon list"]),
        ({"weights": {"nothing-here": 1.0}}, ["domains.weights", "nothing-here"]),
        ({"weights": {"*": 0.0}}, ["none of 5 domains is chosen"]),
    ],
)
def test_what_fits_nothing_is_refused_with_the_nearest(choice: dict[str, object], words: list[str]) -> None:
    with pytest.raises(ConfigError) as caught:
        ids(**choice)
    for word in words:
        assert word in str(caught.value)
