"""The library: every attack, and a hash that changes when one of a kind does."""

from __future__ import annotations

import inspect

from polyathlon.canonical import content_hash
from polyathlon.catalog import Kind
from polyathlon.inspect.attacks import answers, calls, games, payload, programs, queries, shapes, shell, wrong
from polyathlon.inspect.attacks.attack import Attack

LIBRARY: tuple[Attack, ...] = (
    *answers.ATTACKS,
    *programs.ATTACKS,
    *shell.ATTACKS,
    *queries.ATTACKS,
    *shapes.ATTACKS,
    *calls.ATTACKS,
    *games.ATTACKS,
)


def attacks_of(kind: Kind) -> tuple[Attack, ...]:
    """Return the attacks that are tried on domains of `kind`, in the library's order."""
    return tuple(attack for attack in LIBRARY if kind in attack.kinds)


def library_hash(kind: Kind) -> str:
    """Return a hash of all attacks on `kind`: with a new one, or another, every certificate of that kind is stale."""
    shared = [inspect.getsource(module) for module in (payload, wrong)]
    return content_hash([*shared, *(attack.fingerprint() for attack in attacks_of(kind))])
