"""What holds for every test: results of inspections are kept in a folder of this run, never in the user's own."""

import os
from collections.abc import Iterator

import pytest

from polyathlon.inspect.kept import CACHE


@pytest.fixture(scope="session", autouse=True)
def _kept_results_of_this_run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    before = os.environ.get(CACHE)
    os.environ[CACHE] = str(tmp_path_factory.mktemp("inspection"))
    yield
    os.environ.pop(CACHE)
    if before is not None:
        os.environ[CACHE] = before
