"""What `pytest --polyathlon ID` adds to a run: a test for each check of each domain, and one for its grade."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from polyathlon.errors import PolyathlonError
from polyathlon.inspect.checks import checks_of
from polyathlon.inspect.depth import USUAL, Depth
from polyathlon.inspect.finding import CheckResult, Inspection
from polyathlon.inspect.grade import Grade, grade_of
from polyathlon.inspect.protocol import RULES
from polyathlon.inspect.readable import readable
from polyathlon.inspect.reasons import reasons_of
from polyathlon.registration import registry
from polyathlon.testing.shared import InspectionLost, SharedInspections
from polyathlon.testing.soundness import MIN_SEEDS, check_complaint, complaint, fault_lines

FOLDER = "polyathlon_folder"
"""Where xdist's workers are told the folder that all processes of the run share."""


class DomainChecks:
    """The plugin: adds the tests, and owns the folder in which the processes of a run share their inspections."""

    def __init__(self, domain_ids: list[str], depth: Depth, wanted: Grade, folder: Path | None) -> None:
        self._ids = domain_ids
        self._depth = depth
        self._wanted = wanted
        self._lent = folder
        self._folder = folder or Path(tempfile.mkdtemp(prefix="polyathlon-"))

    @classmethod
    def from_options(cls, config: pytest.Config) -> DomainChecks:
        """Return the plugin that the command line asks for.

        Raises:
            pytest.UsageError: an unknown domain, or too few seeds.

        """
        seeds = config.getoption("--polyathlon-seeds")
        if seeds is not None and seeds < MIN_SEEDS:
            raise pytest.UsageError(f"--polyathlon-seeds is {seeds}; an inspection needs at least {MIN_SEEDS}.")
        try:
            ids = [registry().entry(name).id for name in config.getoption("--polyathlon")]
        except PolyathlonError as error:
            raise pytest.UsageError(f"--polyathlon: {error}") from error
        told = getattr(config, "workerinput", {}).get(FOLDER)  # what xdist's controller says to its workers
        depth = Depth(USUAL.num_seeds if seeds is None else seeds, config.getoption("--polyathlon-tier"))
        wanted = grade_of(config.getoption("--polyathlon-grade"))
        return cls(list(dict.fromkeys(ids)), depth, wanted, Path(told) if told else None)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:  # an xdist WorkerController, which has no public type
        """Tell an xdist worker where the inspections of this run lie."""
        node.workerinput[FOLDER] = str(self._folder)

    @pytest.hookimpl(tryfirst=True)  # so that -k, --deselect and --last-failed see these tests too
    def pytest_collection_modifyitems(self, session: pytest.Session, items: list[pytest.Item]) -> None:
        """Add a test a check to what was collected."""
        self._folder.mkdir(parents=True, exist_ok=True)  # a worker on another machine finds none
        shared = SharedInspections(self._ids, self._folder, seeds=self._depth.num_seeds, tier=self._depth.tier)
        for domain_id in self._ids:
            domain = InspectedDomain.from_parent(session, name=domain_id, nodeid=domain_id)
            domain.ask(shared, self._depth, self._wanted)
            items.extend(session.genitems(domain))

    def pytest_unconfigure(self) -> None:
        """Remove the shared folder where this process made it."""
        if self._lent is None:
            shutil.rmtree(self._folder, ignore_errors=True)


class InspectedDomain(pytest.Collector):
    """One domain. Its tests share one inspection, which the first of them to run makes or waits for."""

    def ask(self, shared: SharedInspections, depth: Depth, wanted: Grade) -> None:
        """Say where inspections come from, how deep they go, and which grade passes."""
        self.shared, self.depth, self.wanted = shared, depth, wanted

    def collect(self) -> Iterator[pytest.Item]:
        """Yield a test a check of the tier, and the one of the grade."""
        for rule in (RULES[answer] for check in checks_of(self.depth) for answer in check.answers):
            yield CheckTest.from_parent(self, name=f"{rule.id} {rule.title}", rule_id=rule.id)
        yield GradeTest.from_parent(self, name="grade")


class DomainTest(pytest.Item):
    """A test of one inspected domain."""

    parent: InspectedDomain

    @property
    def inspection(self) -> Inspection:
        return self.parent.shared.of(self.parent.name)

    def reportinfo(self) -> tuple[Path, None, str]:
        return self.path, None, f"{self.parent.name}: {self.name}"  # the end of an id would lose its dots to pytest -v

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, BelowGrade | InspectionLost):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)


class BelowGrade(Exception):
    """A check, or the domain, has not the grade that was asked for."""


class CheckTest(DomainTest):
    """One check of one domain: fails below the wanted grade, is skipped where it does not apply."""

    def __init__(self, *, rule_id: str, **others: Any) -> None:
        super().__init__(**others)
        self._rule_id = rule_id

    def runtest(self) -> None:
        inspection, wanted = self.inspection, self.parent.wanted
        if inspection.broken:
            raise BelowGrade(complaint(inspection, wanted))
        result = next((one for one in inspection.results if one.check == self._rule_id), CheckResult(self._rule_id))
        if result.not_applicable:
            pytest.skip(f"{self.name}: {result.not_applicable}")
        if result.grade < wanted:
            raise BelowGrade(check_complaint(result, wanted))
        if result.faults:
            text = f"{result.grade.word}, with faults:"
            self.add_report_section("call", "polyathlon", "\n".join([text, *fault_lines(result.faults)]))


class GradeTest(DomainTest):
    """The grade of the domain as a whole, which something other than a check may bar."""

    def runtest(self) -> None:
        inspection, wanted = self.inspection, self.parent.wanted
        if inspection.grade < wanted:
            text = f"{inspection.domain_id} is {inspection.grade.word}; {wanted.word} is wanted."
            raise BelowGrade(readable("\n".join([text, *reasons_of(inspection)])))
