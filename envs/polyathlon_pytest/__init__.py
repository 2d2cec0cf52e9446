"""The doorstep of polyathlon's pytest plugin: options, and nothing more until one of them is used. PYTEST_DONT_REWRITE

pytest imports this in every run on a machine that has polyathlon installed. It is a package of its own because
importing anything inside `polyathlon` imports the registry and Gymnasium.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add --polyathlon and its companions."""
    group = parser.getgroup("polyathlon", "polyathlon: inspect domains")
    group.addoption(
        "--polyathlon",
        action="append",
        default=[],
        metavar="ID",
        help="Inspect this domain: a test a check, such as acme/docs.claims-v1::S01 reference. May be repeated.",
    )
    group.addoption(
        "--polyathlon-seeds",
        type=int,
        metavar="N",
        help="Tasks a level. Default: as polyathlon check; 4 is a smoke test.",
    )
    group.addoption("--polyathlon-tier", type=int, choices=(0, 1, 2), default=1, help="Up to which tier. Default: 1.")
    group.addoption(
        "--polyathlon-grade",
        choices=("bronze", "silver", "gold"),
        default="silver",
        help="A check that allows less than this fails. Default: silver, the least that default mixtures take.",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Load the plugin itself where a domain is named."""
    if config.getoption("--polyathlon"):
        from polyathlon.testing.collected import DomainChecks

        config.pluginmanager.register(DomainChecks.from_options(config), "polyathlon domain checks")
