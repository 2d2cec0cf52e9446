"""The inspection of one domain: all checks in order, on one stage."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from polyathlon.errors import PolyathlonError
from polyathlon.inspect import ambient, blindness, contract, histogram, rewards, survival, tasks
from polyathlon.inspect.check import COSTS, Check
from polyathlon.inspect.depth import USUAL, Depth
from polyathlon.inspect.finding import Inspection
from polyathlon.inspect.play import Stage, Subject
from polyathlon.registration import load_domain, registry
from polyathlon.sandbox.choose import default_room

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
    Check(("D05", "D06"), ambient.check_ambient),
    # after all episodes: it sees whether one of them changed its task
    Check(("D01",), tasks.check_generation),
)


@dataclass(frozen=True, slots=True)
class Begun:
    """Word from an inspection under way: this check has begun, this share of the work is done, and this was found."""

    domain_id: str
    check: str
    share_done: float
    so_far: Inspection | None = None


def checks_of(depth: Depth) -> tuple[Check, ...]:
    """Return the checks that run at `depth`, in order."""
    return tuple(check for check in CHECKS if check.tier <= depth.tier)


def inspect_domain(
    domain_id: str, *, depth: Depth = USUAL, tell: Callable[[Begun], None] = lambda word: None
) -> Inspection:
    """Run the checks of `depth` on one domain. A domain that cannot be inspected at all is `broken`.

    `tell` hears of each check as it begins.
    """
    began_s, cpu_began_s = time.perf_counter(), time.process_time()
    inspection = Inspection(domain_id, num_seeds=depth.num_seeds, tier=depth.tier)
    at_work = "loading"
    try:
        entry = registry().entry(domain_id)
        inspection = replace(inspection, domain_id=entry.id, num_levels=entry.row.levels)
        with Stage(Subject(entry, load_domain(entry.id), default_room(), depth.num_seeds, depth.tier)) as stage:
            for check, share_done in _with_share_done(checks_of(depth)):
                at_work = check.title
                tell(Begun(entry.id, at_work, share_done, inspection))
                results = check.run(stage)
                inspection = replace(
                    inspection,
                    results=(*inspection.results, *results),
                    rewards=histogram.added(inspection.rewards, stage.take_rewards()),
                )
    except PolyathlonError as error:
        inspection = replace(inspection, broken=f"{at_work}: {type(error).__name__}: {error}")
    except Exception as error:  # whatever a domain does wrong is a finding about it, not a crash of the inspector
        inspection = replace(inspection, broken=f"{at_work}: the domain raised {type(error).__name__}: {error}")
    return replace(inspection, wall_s=time.perf_counter() - began_s, cpu_s=time.process_time() - cpu_began_s)


def _with_share_done(checks: Sequence[Check]) -> list[tuple[Check, float]]:
    costs = [COSTS[check.cost] for check in checks]
    return [(check, sum(costs[:place]) / sum(costs)) for place, check in enumerate(checks)]
