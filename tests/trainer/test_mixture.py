from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from polyathlon.catalog import Catalog, Row
from polyathlon.inspect.grade import Grade
from polyathlon.inspect.standing import Standing
from polyathlon.plugins import Entry, merge
from polyathlon_trainer.config.load import ConfigError
from polyathlon_trainer.config.schema import DomainChoice
from polyathlon_trainer.mixture import Mixture, choose_domains, shares


def row(name: str, *, weight: float = 1.0, needs: tuple[str, ...] = ()) -> Row:
    return Row(id=name, load="m:D", kind="question", levels=5, max_turns=1, weight=weight, needs=needs)


OURS = Catalog(
    "polyathlon", "polyathlon", Path("a"), (row("cad.gear-v1"), row("cad.pipe-v1", weight=3.0), row("math.sum-v1"))
)
THEIRS = Catalog("acme", "acme", Path("b"), (row("docs.claims-v1", needs=("sandbox",)), row("docs.off-v1", weight=0.0)))
REGISTRY = merge([OURS, THEIRS])


GOLD, SILVER, BRONZE = Grade.GOLD, Grade.SILVER, Grade.BRONZE


def all_gold(entries: Sequence[Entry]) -> Mapping[str, Standing]:
    return {entry.id: Standing(entry.id, GOLD, (GOLD,) * entry.row.levels) for entry in entries}


def standing(**known: Standing) -> Mapping[str, Standing]:
    """Everything is gold but what is `known`, "gear" for cad.gear-v1."""
    return {
        entry.id: next((s for name, s in known.items() if f".{name}-" in entry.id), all_gold([entry])[entry.id])
        for entry in REGISTRY.entries.values()
    }


def choose(known: Mapping[str, Standing] | None = None, **choice: Any) -> Mixture:
    def standings_of(entries: Sequence[Entry]) -> Mapping[str, Standing]:
        return all_gold(entries) if known is None else {entry.id: known[entry.id] for entry in entries}

    return choose_domains(DomainChoice(**choice), REGISTRY, standings_of=standings_of)


def ids(**choice: Any) -> list[str]:
    return [card.id for card in choose(**choice).cards]


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
    cards = choose(weights={"cad.*": 0.0, "math.*": 4.0}).cards
    assert shares(cards) == {"acme/docs.claims-v1": 0.2, "polyathlon/math.sum-v1": 0.8}


def test_a_weight_of_zero_in_the_registry_can_be_overridden() -> None:
    assert "acme/docs.off-v1" in ids(weights={"acme/docs.off-v1": 1.0})


def test_a_card_knows_whether_its_domain_needs_a_sandbox() -> None:
    cards = {card.id: card for card in choose().cards}
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


GEAR = "polyathlon/cad.gear-v1"


def test_a_pattern_takes_only_what_is_silver_or_gold_and_says_what_it_leaves_out_and_how_to_have_it() -> None:
    mixture = choose(standing(gear=Standing(GEAR), pipe=Standing("polyathlon/cad.pipe-v1", SILVER, (SILVER,) * 5)))
    assert [card.id for card in mixture.cards] == [
        "acme/docs.claims-v1",
        "polyathlon/cad.pipe-v1",
        "polyathlon/math.sum-v1",
    ]
    assert mixture.left_out == {
        GEAR: "it has no certificate; `polyathlon check cad.gear-v1 --tier 2` inspects it here. To train on it all the "
        "same, write its id out: domains.include=[..., cad.gear-v1]"
    }


@pytest.mark.parametrize("choice", [{"include": ("*", "cad.gear-v1")}, {"include": (GEAR,)}, {"weights": {GEAR: 2.0}}])
def test_an_id_that_is_written_out_takes_part_whatever_its_grade(choice: dict[str, object]) -> None:
    mixture = choose(standing(gear=Standing(GEAR, BRONZE, (BRONZE,) * 5)), **choice)
    card = next(card for card in mixture.cards if card.id == GEAR)
    assert card.levels == 5
    assert mixture.left_out == {}


def test_a_level_below_silver_is_fenced_off_with_those_above_it() -> None:
    mixture = choose(standing(gear=Standing(GEAR, BRONZE, (GOLD, SILVER, BRONZE, GOLD, GOLD))))
    assert {card.id: card.levels for card in mixture.cards}[GEAR] == 2
    assert mixture.notes == {
        GEAR: "takes part with its 2 easiest levels: level 2 of it is below silver; `polyathlon check cad.gear-v1` "
        "says why"
    }


def test_a_certificate_of_an_earlier_inspector_counts_and_one_of_other_sources_does_not() -> None:
    earlier = choose(standing(gear=Standing(GEAR, GOLD, (GOLD,) * 5, changed=("inspector",))))
    assert GEAR in {card.id for card in earlier.cards}
    assert "was certified by an earlier inspection" in earlier.notes[GEAR]
    other = choose(standing(gear=Standing(GEAR, GOLD, (GOLD,) * 5, changed=("inspector", "source"))))
    assert "its source changed since it was certified" in other.left_out[GEAR]


def test_a_mixture_of_nothing_says_why_with_an_example() -> None:
    with pytest.raises(ConfigError) as caught:
        choose({entry: Standing(entry) for entry in REGISTRY.entries})
    assert "none of 5 domains is chosen. acme/docs.claims-v1 is left out: it has no certificate" in str(caught.value)
    assert "3 others are left out too" in str(caught.value)


def test_without_anyone_asked_the_certificates_of_the_house_decide() -> None:
    """The domains of REGISTRY have no module and so no certificate: nothing is known of them."""
    with pytest.raises(ConfigError, match="is left out"):
        choose_domains(DomainChoice(), REGISTRY)
