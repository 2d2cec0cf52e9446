"""The domains of a run: chosen from the registry in force by pattern, each with the share it is owed."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from polyathlon.catalog import did_you_mean
from polyathlon.plugins import BUILTIN, Registry
from polyathlon_trainer.config.load import ConfigError
from polyathlon_trainer.config.schema import TINY_LEVELS, DomainChoice


@dataclass(frozen=True, slots=True)
class DomainCard:
    """What the trainer knows of a domain without importing it. `floor` is what a blind policy earns at most."""

    id: str
    levels: int
    max_turns: int
    weight: float = 1.0
    floor: float = 0.0
    needs_sandbox: bool = False


def choose_domains(choice: DomainChoice, registry: Registry, *, model: str = "") -> tuple[DomainCard, ...]:
    """Return the chosen domains in the order of their ids; those of weight 0 are left out.

    The levels are capped by `choice.levels`, or for the model `tiny` by what it can learn.

    Raises:
        ConfigError: a pattern that fits no domain, or nothing chosen.

    """
    ids = sorted(registry.entries)
    chosen = _fitting(choice.include, ids, key="include")
    chosen -= _fitting(choice.exclude, ids, key="exclude")
    weights = {domain_id: registry.entries[domain_id].row.weight for domain_id in chosen}
    for pattern, weight in choice.weights.items():
        weights.update(dict.fromkeys(_fitting((pattern,), ids, key="weights") & chosen, weight))
    most = choice.levels or (TINY_LEVELS if model == "tiny" else None)
    cards = tuple(
        _card(registry, domain_id, weights[domain_id], most=most)
        for domain_id in ids
        if weights.get(domain_id, 0.0) > 0
    )
    if not cards:
        raise ConfigError(
            f"domains: none of {len(ids)} domains is chosen. Widen domains.include, or give one a weight above 0."
        )
    return cards


def shares(cards: Iterable[DomainCard]) -> dict[str, float]:
    """Return {domain id: share}, summing to one."""
    weights = {card.id: card.weight for card in cards}
    total = sum(weights.values())
    return {domain_id: weight / total for domain_id, weight in weights.items()}


def levels(cards: Iterable[DomainCard]) -> Mapping[str, int]:
    """Return {domain id: number of levels}."""
    return {card.id: card.levels for card in cards}


def _fitting(patterns: Sequence[str], ids: Sequence[str], *, key: str) -> set[str]:
    found: set[str] = set()
    for pattern in patterns:
        fits = {
            domain_id
            for domain_id in ids
            if fnmatch.fnmatchcase(domain_id, pattern) or fnmatch.fnmatchcase(domain_id, f"{BUILTIN}/{pattern}")
        }
        if not fits:
            short = [domain_id.removeprefix(f"{BUILTIN}/") for domain_id in ids]
            hint = did_you_mean(pattern, short) or " `polyathlon list` shows them."
            raise ConfigError(f"domains.{key}: no domain fits {pattern!r}.{hint}")
        found |= fits
    return found


def _card(registry: Registry, domain_id: str, weight: float, *, most: int | None) -> DomainCard:
    row = registry.entries[domain_id].row
    return DomainCard(
        id=domain_id,
        levels=row.levels if most is None else min(row.levels, most),
        max_turns=row.max_turns,
        weight=weight,
        floor=row.floor,
        needs_sandbox="sandbox" in row.needs,
    )
