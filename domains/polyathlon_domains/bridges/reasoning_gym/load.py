"""`load: polyathlon_domains.bridges.reasoning_gym.load:NAME` is the domain of the generator NAME."""

from __future__ import annotations

from polyathlon.domain import Domain
from polyathlon_domains.bridges.reasoning_gym import check_installed
from polyathlon_domains.bridges.reasoning_gym.domain import domain_of

check_installed()


def __getattr__(name: str) -> Domain:
    """Return the domain of the generator `name`.

    Raises:
        AttributeError: the library has no such generator.

    """
    if name.startswith("__"):
        raise AttributeError(name)
    return domain_of(name)
