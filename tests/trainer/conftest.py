from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

TOYS = Path(__file__).parent / "toys"
if str(TOYS) not in sys.path:
    sys.path.append(str(TOYS))  # env workers are given our import path: so they find the plugin

from polyathlon_trainer.rollout.crew import Crew, CrewRules  # noqa: E402  # after the path

RULES = CrewRules(num_workers=2, step_limit_s=2.0, episode_limit_s=6.0)


@pytest.fixture(scope="session")
def lasting_crew(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crew]:
    with Crew(RULES, log_folder=tmp_path_factory.mktemp("workers")) as members:
        yield members


@pytest.fixture
def crew(lasting_crew: Crew) -> Iterator[Crew]:
    """A crew that tests share: for those that leave its workers alive."""
    yield lasting_crew
    lasting_crew.drain()


@pytest.fixture
def fresh_crew(tmp_path: Path) -> Iterator[Crew]:
    """A crew of the test's own: for those that kill or hang its workers."""
    with Crew(RULES, log_folder=tmp_path) as members:
        yield members
