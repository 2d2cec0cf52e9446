"""The inspection of one domain: all checks in order, on one stage."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from polyathlon.errors import PolyathlonError
from polyathlon.inspect import rewards, tasks
from polyathlon.inspect.finding import CheckResult, Finding, Inspection
from polyathlon.inspect.lint import lint_domain
from polyathlon.inspect.play import Stage, Subject
from polyathlon.registration import load_domain, registry
from polyathlon.sandbox.choose import default_room

DEFAULT_SEEDS = 64


def check_lint(stage: Stage) -> CheckResult:
    """The verifier's source must be free of expressions that are known to pay wrong answers."""
    smells = lint_domain(stage.subject.domain)
    return CheckResult(
        "verifier lint", "no expression known to pay wrong answers", 1, tuple(Finding(0, 0, s.text) for s in smells)
    )


CHECKS: dict[str, Callable[[Stage], CheckResult]] = {
    "reference": rewards.check_reference,
    "right answers": rewards.check_accepted,
    "wrong answers": rewards.check_distractors,
    "exploits": rewards.check_exploits,
    "blind policies": rewards.check_blind,
    "hostile input": rewards.check_hostile,
    "repeated verdicts": rewards.check_repeats,
    "space": tasks.check_space,
    "leaks": tasks.check_leaks,
    "generation": tasks.check_generation,  # after all episodes: it sees whether one of them changed its task
    "lint": check_lint,
}


def inspect_domain(
    domain_id: str, *, num_seeds: int = DEFAULT_SEEDS, tell: Callable[[str], None] = lambda check: None
) -> Inspection:
    """Run every check on one domain, `num_seeds` a level. A domain that cannot be inspected at all is `broken`.

    `tell` is called with the name of each check as it begins.
    """
    began_s, cpu_began_s = time.perf_counter(), time.process_time()
    inspection = Inspection(domain_id)
    try:
        entry = registry().entry(domain_id)
        inspection = Inspection(entry.id)
        with Stage(Subject(entry, load_domain(entry.id), default_room(), num_seeds)) as stage:
            for name, check in CHECKS.items():
                tell(name)
                inspection = replace(inspection, results=(*inspection.results, check(stage)))
    except PolyathlonError as error:
        inspection = replace(inspection, broken=f"{type(error).__name__}: {error}")
    except Exception as error:  # whatever a domain does wrong is a finding about it, not a crash of the inspector
        inspection = replace(inspection, broken=f"the domain raised {type(error).__name__}: {error}")
    return replace(inspection, wall_s=time.perf_counter() - began_s, cpu_s=time.process_time() - cpu_began_s)
