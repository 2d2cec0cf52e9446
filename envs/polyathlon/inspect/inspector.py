"""The inspection of a domain, all checks in order; many domains side by side in processes of their own."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import replace
from multiprocessing import get_context

from polyathlon.errors import PolyathlonError
from polyathlon.inspect import rewards, tasks
from polyathlon.inspect.finding import CheckResult, Finding, Inspection
from polyathlon.inspect.lint import lint_domain
from polyathlon.inspect.play import Subject
from polyathlon.registration import load_domain, registry
from polyathlon.sandbox.choose import default_room

DEFAULT_SEEDS = 64


def inspect_domain(domain_id: str, *, num_seeds: int = DEFAULT_SEEDS) -> Inspection:
    """Run every check on one domain, `num_seeds` a level. A domain that cannot be inspected at all is `broken`."""
    began = time.perf_counter()
    inspection = Inspection(domain_id)
    try:
        entry = registry().entry(domain_id)
        inspection = Inspection(entry.id)
        subject = Subject(entry, load_domain(entry.id), default_room(), num_seeds)
        solved = rewards.solve_all(subject)
        checks: tuple[Callable[[], CheckResult], ...] = (
            lambda: rewards.check_reference(subject, solved),
            lambda: rewards.check_accepted(subject),
            lambda: rewards.check_distractors(subject),
            lambda: rewards.check_exploits(subject),
            lambda: rewards.check_blind(subject, solved),
            lambda: rewards.check_hostile(subject),
            lambda: rewards.check_repeats(subject, solved),
            lambda: tasks.check_generation(subject),
            lambda: tasks.check_space(subject),
            lambda: tasks.check_leaks(subject, solved),
            lambda: check_lint(subject),
        )
        for check in checks:
            inspection = replace(inspection, results=(*inspection.results, check()))
    except PolyathlonError as error:
        inspection = replace(inspection, broken=f"{type(error).__name__}: {error}")
    except Exception as error:  # whatever a domain does wrong is a finding about it, not a crash of the inspector
        inspection = replace(inspection, broken=f"the domain raised {type(error).__name__}: {error}")
    return replace(inspection, wall_s=time.perf_counter() - began)


def inspect_domains(
    domain_ids: Sequence[str], *, num_seeds: int = DEFAULT_SEEDS, num_jobs: int = 1
) -> Iterator[Inspection]:
    """Yield an inspection a domain as each is done, `num_jobs` at a time, each in a fresh process."""
    if num_jobs == 1 and len(domain_ids) == 1:
        yield inspect_domain(domain_ids[0], num_seeds=num_seeds)
        return
    with ProcessPoolExecutor(num_jobs, mp_context=get_context("spawn")) as pool:
        waiting = {pool.submit(inspect_domain, domain_id, num_seeds=num_seeds): domain_id for domain_id in domain_ids}
        for done in as_completed(waiting):
            error = done.exception()
            yield done.result() if error is None else Inspection(waiting[done], broken=f"the inspector died: {error}")


def check_lint(subject: Subject) -> CheckResult:
    """The verifier's source must be free of expressions that are known to pay wrong answers."""
    smells = lint_domain(subject.domain)
    return CheckResult(
        "verifier lint", "no expression known to pay wrong answers", 1, tuple(Finding(0, 0, s.text) for s in smells)
    )
