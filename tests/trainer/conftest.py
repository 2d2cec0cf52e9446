from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

TOYS = Path(__file__).parent / "toys"
if str(TOYS) not in sys.path:
    sys.path.append(str(TOYS))  # env workers are given our import path: so they find the plugin

from polyathlon_trainer.rollout.crew import Crew, CrewRules  # noqa: E402  # after the path


@pytest.fixture
def crew(tmp_path: Path) -> Iterator[Crew]:
    with Crew(CrewRules(num_workers=2, step_limit_s=2.0, episode_limit_s=6.0), log_folder=tmp_path) as members:
        yield members
