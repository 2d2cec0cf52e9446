"""The domains of a run: chosen from the registry in force by pattern and grade, each with the share it is owed."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from polyathlon.catalog import did_you_mean
from polyathlon.inspect.kept import cache_folder
from polyathlon.inspect.standing import Standing, standings
from polyathlon.plugins import BUILTIN, Entry, Registry
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


@dataclass(frozen=True, slots=True)
class Mixture:
    """The domains of a run in the order of their ids; for those left out, and for what is to be said of others, why."""

    cards: tuple[DomainCard, ...]
    left_out: Mapping[str, str] = field(default_factory=dict)
    notes: Mapping[str, str] = field(default_factory=dict)


StandingsOf = Callable[[Sequence[Entry]], Mapping[str, Standing]]


def current_standings(entries: Sequence[Entry]) -> Mapping[str, Standing]:
    """Return how domains stand by their certificates, and by inspections that were run here."""
    return standings(entries, cache=cache_folder())


def choose_domains(
    choice: DomainChoice, registry: Registry, *, model: str = "", standings_of: StandingsOf = current_standings
) -> Mixture:
    """Return the chosen domains; those of weight 0 are left out without a word.

    A pattern takes what is certified silver or gold, of each domain the levels before the first that is not. A domain
    whose id is written out, in `include` or with a weight above 0, takes part whatever its grade. The levels are capped
    by `choice.levels`, or for the model `tiny` by what it can learn.

    Raises:
        ConfigError: a pattern that fits no domain, or nothing chosen.

    """
    ids = sorted(registry.entries)
    chosen = _fitting(choice.include, ids, key="include")
    chosen -= _fitting(choice.exclude, ids, key="exclude")
    weights = {domain_id: registry.entries[domain_id].row.weight for domain_id in chosen}
    for pattern, weight in choice.weights.items():
        weights.update(dict.fromkeys(_fitting((pattern,), ids, key="weights") & chosen, weight))
    weights = {domain_id: weights[domain_id] for domain_id in ids if weights.get(domain_id, 0.0) > 0}
    named = _named(choice, ids)
    stands = standings_of([registry.entries[domain_id] for domain_id in weights if domain_id not in named])
    most = choice.levels or (TINY_LEVELS if model == "tiny" else None)
    caps = {domain_id: _cap(most, stands.get(domain_id)) for domain_id in weights}
    cards = tuple(
        _card(registry, domain_id, weight, most=caps[domain_id])
        for domain_id, weight in weights.items()
        if caps[domain_id] != 0
    )
    left_out = {domain_id: _way_in(stands[domain_id]) for domain_id in weights if caps[domain_id] == 0}
    if not cards:
        raise ConfigError(_nothing_chosen(len(ids), left_out))
    return Mixture(cards, left_out, {card.id: note for card in cards if (note := _note(stands.get(card.id), card))})


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


def _named(choice: DomainChoice, ids: Sequence[str]) -> set[str]:
    """Return the domains whose id is written out: whoever does that has chosen them, whatever their grade."""
    patterns = [*choice.include, *(pattern for pattern, weight in choice.weights.items() if weight > 0)]
    written = {pattern for pattern in patterns if not set(pattern) & set("*?[")}
    return {domain_id for domain_id in ids if {domain_id, domain_id.removeprefix(f"{BUILTIN}/")} & written}


def _cap(most: int | None, standing: Standing | None) -> int | None:
    """Return how many levels a domain may take part with, None for all; `standing` is None for one that was named."""
    caps = [cap for cap in (most, None if standing is None else standing.num_trainable_levels) if cap is not None]
    return min(caps, default=None)


def _way_in(standing: Standing) -> str:
    short = standing.domain_id.removeprefix(f"{BUILTIN}/")
    return f"{standing.why_not}. To train on it all the same, write its id out: domains.include=[..., {short}]"


def _note(standing: Standing | None, card: DomainCard) -> str:
    if standing is None:
        return ""
    if 0 < standing.num_trainable_levels < len(standing.levels) and card.levels == standing.num_trainable_levels:
        return f"takes part with its {card.levels} easiest levels: {standing.why_not}"
    if standing.stale:
        return "was certified by an earlier inspection; `polyathlon check --stale` runs the one of now"
    return ""


def _nothing_chosen(num_domains: int, left_out: Mapping[str, str]) -> str:
    if not left_out:
        return f"domains: none of {num_domains} domains is chosen. Widen domains.include, or give one a weight above 0."
    domain_id, why = next(iter(left_out.items()))
    others = f" {len(left_out) - 1} others are left out too." if len(left_out) > 1 else ""
    return f"domains: none of {num_domains} domains is chosen. {domain_id} is left out: {why}.{others}"


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
