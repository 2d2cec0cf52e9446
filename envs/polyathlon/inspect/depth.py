"""How closely a domain is looked at, and how closely it must be for a certificate."""

from __future__ import annotations

from dataclasses import dataclass

from polyathlon.inspect.rule import Tier

PROOF_SEEDS = 64
SMOKE_SEEDS = 4


@dataclass(frozen=True, slots=True)
class Depth:
    """How many tasks a level, and up to which tier of checks."""

    num_seeds: int = PROOF_SEEDS
    tier: Tier = 1

    @property
    def proves(self) -> bool:
        """Whether what is found at this depth may be certified."""
        return self.num_seeds >= PROOF_SEEDS and self.tier == 2


USUAL = Depth()
PROOF = Depth(PROOF_SEEDS, 2)
