"""Taking the generators in: each is measured, listed, inspected, and graded."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from polyathlon.errors import RegistryError
from polyathlon.inspect.depth import Depth
from polyathlon.inspect.inspector import Begun, Noted
from polyathlon.inspect.side_by_side import inspect_domains
from polyathlon.plugins import EXTRA
from polyathlon.registration import registry
from polyathlon_domains.bridges.reasoning_gym import INSTALL, NAMESPACE, check_installed
from polyathlon_domains.bridges.reasoning_gym.catalogue import chosen, full_id, write_catalogue
from polyathlon_domains.bridges.reasoning_gym.findings import Found
from polyathlon_domains.bridges.reasoning_gym.probe import Probe, probe
from polyathlon_domains.bridges.reasoning_gym.theirs import Generator, Theirs, known_generators

CATALOGUE = "registry.yaml"


@dataclass(frozen=True, slots=True)
class Plan:
    """What to take in: into which folder, generators like what, how closely each is looked at, and for how long."""

    out: Path
    pattern: str
    depth: Depth
    num_jobs: int
    limit_s: float


@dataclass(frozen=True, slots=True)
class Reporter:
    """Who hears of the run: `probed` and `inspected` as each generator is, `begun` as a check begins or notes."""

    probed: Callable[[Generator], None]
    begun: Callable[[Begun | Noted], None]
    inspected: Callable[[Found], None]


def take_in(plan: Plan, reporter: Reporter) -> list[Found]:
    """Write the catalogue and inspect all that it lists, `plan.num_jobs` at a time.

    The catalogue is in force in this process and in all that it starts from here on.

    Raises:
        RegistryError: the library is not installed, or another release of it is.
        UnknownDomain: no generator is like the pattern.

    """
    require_library()
    generators = chosen(known_generators(), plan.pattern)
    probes = _probe_all(generators, plan.num_jobs, reporter)
    path = (plan.out / CATALOGUE).resolve()
    write_catalogue(path, [(generator, found.floor) for generator, found in zip(generators, probes, strict=True)])
    put_in_force(path)
    by_id = {full_id(generator): (generator, found) for generator, found in zip(generators, probes, strict=True)}
    found: list[Found] = []
    with closing(
        inspect_domains(
            list(by_id), depth=plan.depth, num_jobs=plan.num_jobs, limit_s=plan.limit_s, tell=reporter.begun
        )
    ) as inspections:
        for inspection in inspections:
            found.append(Found(*by_id[inspection.domain_id], inspection))
            reporter.inspected(found[-1])
    return found


def require_library() -> None:
    """Refuse to go on without the library.

    Raises:
        RegistryError: it is not installed, with the line for pip; or another release of it is.

    """
    try:
        check_installed()
    except ModuleNotFoundError as error:
        raise RegistryError(f"{NAMESPACE} is not installed. Try: pip install '{INSTALL}'") from error


def put_in_force(path: Path) -> None:
    """Add the catalogue at `path` to those that POLYATHLON_CATALOGS names.

    Raises:
        RegistryError: another catalogue has its namespace.

    """
    named = [text for text in os.environ.get(EXTRA, "").split(os.pathsep) if text]
    if path not in [Path(text).resolve() for text in named]:
        os.environ[EXTRA] = os.pathsep.join([*named, str(path)])
    for fault in registry().faults:
        if Path(fault.plugin).resolve() == path:
            raise RegistryError(f"{path} cannot be used: {fault.cause}")


def _probe_all(generators: Sequence[Generator], num_jobs: int, reporter: Reporter) -> list[Probe]:
    libraries = [Theirs() for _ in range(num_jobs)]

    def probed(numbered: tuple[int, Generator]) -> Probe:
        number, generator = numbered
        found = probe(libraries[number % num_jobs], generator)
        reporter.probed(generator)
        return found

    try:
        with ThreadPoolExecutor(num_jobs) as pool:
            return list(pool.map(probed, enumerate(generators)))
    finally:
        for library in libraries:
            library.close()
