"""Before a run: each domain's reference is played once, and a domain that cannot be played here is left out, aloud."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from polyathlon.drawing import TaskKey
from polyathlon.errors import PolyathlonError
from polyathlon_trainer.mixture import DomainCard
from polyathlon_trainer.rollout.crew import Crew
from polyathlon_trainer.rollout.messages import Broke, Report, Solve, Solved


class NoDomain(PolyathlonError):
    """Not one of the chosen domains can be played here."""


@dataclass(frozen=True, slots=True)
class Usable:
    """The domains that work here, and for each that does not the reason."""

    cards: tuple[DomainCard, ...]
    left_out: dict[str, str]


def usable_domains(cards: Sequence[DomainCard], crew: Crew) -> Usable:
    """Play the reference of one easy task of each domain, to its verdict; keep the domains where that works.

    Raises:
        NoDomain: it works for none of them.

    """
    tickets = {crew.ticket(): card for card in cards}
    orders = [Solve(ticket, TaskKey(card.id, 0, 0), card.max_turns) for ticket, card in tickets.items()]
    reports = crew.collect(orders)
    problems = {card.id: _problem(reports[ticket]) for ticket, card in tickets.items()}
    left_out = {domain_id: problem for domain_id, problem in problems.items() if problem}
    kept = tuple(card for card in cards if card.id not in left_out)
    if not kept:
        first = next(iter(left_out.items()))
        raise NoDomain(
            f"None of {len(cards)} domains can be played here. {first[0]}: {first[1]} `polyathlon doctor` says more."
        )
    return Usable(kept, left_out)


def _problem(report: Report) -> str:
    match report:
        case Solved(reward=1.0):
            return ""
        case Solved(reward=reward):
            return f"its own reference earned {reward}, not 1. Run `polyathlon check` on it."
        case Broke(message=message):
            return message
    return f"an env worker answered with a {type(report).__name__}."
