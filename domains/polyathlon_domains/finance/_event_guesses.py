"""Ways to report an event by copying what a report shows, whatever took place."""

from __future__ import annotations

import re
from collections.abc import Sequence

from polyathlon import Attempt, Task

_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_SUM = re.compile(r"\b\d{4,}\b(?!-)")
_PARTY = re.compile(r"\b[A-Z][a-z]{3,}\b(?: [A-Z][a-z]+\b)?")
_CODE, _THING, _DEED = re.compile(r"\d\.\d\d"), re.compile(r"\b(\d) [a-z]"), re.compile(r"(\.\d\d) [a-z]")
_NO_PARTY = ("Amendment", "Filed", "Talks", "Last", "Book", "Code", "Give", "Answer", "What", "Our", "From")


def shortcuts(task: Task) -> Sequence[Attempt]:
    """The first, a middle, the last, and every code of the chart, each with the first day, party and sum there is."""
    chart, _, report = task.prompt.partition("\n")
    codes = _CODE.findall(chart) or [thing + deed for thing in _THING.findall(chart) for deed in _DEED.findall(chart)]
    day, amount = (pattern.search(report) for pattern in (_DAY, _SUM))
    party = next((found[0] for found in _PARTY.finditer(report) if found[0].split()[0] not in _NO_PARTY), "x")
    fields = f"{day[0] if day else '2031-01-01'};{party};{amount[0] if amount else '-'}"
    picked = {"the first code": codes[:1], "a middle code": codes[len(codes) // 2 :][:1], "the last code": codes[-1:]}
    ways = {**picked, "every code": codes}
    return tuple(
        Attempt(f"{name}, with what is shown", ("\n".join(f"{code};{fields}" for code in chosen),))
        for name, chosen in ways.items()
    )
