"""Every check there is, in the order in which they run. A certificate is bound to all that is imported here."""

from __future__ import annotations

from polyathlon.inspect import blindness, contract, rewards, survival, tasks
from polyathlon.inspect.check import Check
from polyathlon.inspect.depth import Depth

CHECKS: tuple[Check, ...] = (
    Check(("C01",), contract.check_contract, cost="static"),
    Check(("C05",), contract.check_lint, cost="static"),
    Check(("S01",), rewards.check_reference, source="reference"),
    Check(("S04", "V06"), rewards.check_accepted, source="rewrite"),
    Check(("V04",), rewards.check_distractors, source="mutant"),
    Check(("X01",), rewards.check_exploits, source="attack"),
    Check(("N01", "N02", "N03"), blindness.check_blind, source="blind"),
    Check(("C03",), survival.check_hostile, source="attack"),
    Check(("D02",), rewards.check_repeats),
    Check(("C02",), contract.check_verdicts),
    Check(("U01", "U03", "U05"), tasks.check_space),
    Check(("L01",), tasks.check_leaks),
    # after all episodes: it sees whether one of them changed its task
    Check(("D01",), tasks.check_generation),
)


def checks_of(depth: Depth) -> tuple[Check, ...]:
    """Return the checks that run at `depth`, in order."""
    return tuple(check for check in CHECKS if check.tier <= depth.tier)
