"""The page for domain authors names helpers that are there, and its example runs."""

import importlib
import re
from pathlib import Path

PAGE = (Path(__file__).parents[3] / "docs" / "verifying.md").read_text(encoding="utf-8")


def test_every_helper_that_the_page_names_with_its_module_is_there() -> None:
    named = set(re.findall(r"`(\w+)\.(\w+)(?:\([^`]*)?`", PAGE)) - {("polyathlon", "verify"), ("json", "loads")}
    absent = []
    for module, name in sorted(named):
        if module[0].isupper():  # a field of a class
            continue
        where = "polyathlon.canonical" if module == "canonical" else f"polyathlon.verify.{module}"
        if not hasattr(importlib.import_module(where), name):
            absent.append((module, name))
    assert len(named) > 30
    assert absent == []


def test_the_example_of_numbers_runs() -> None:
    names: dict[str, object] = {}
    block = re.search(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert block is not None
    exec(block[1], names)  # noqa: S102  # the page's own example
    assert names["right"] is True
    assert names["DOLLARS"].value("24.3 billion or so") is None  # type: ignore[attr-defined]
