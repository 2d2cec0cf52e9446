"""Ways to extract an invoice by copying a few lines from where they mostly stand, without reading its table."""

from __future__ import annotations

import re
from collections.abc import Sequence

from polyathlon import Attempt, Json, Task
from polyathlon.toolcall import write_call
from polyathlon.workspaces.document import read_documents

_AMOUNT = re.compile(r"\d[\d.,' ]*\d")
_NUMBER = re.compile(r"[A-Z]\d\d-\d{5}")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")


def shortcuts(task: Task) -> Sequence[Attempt]:
    """The first line as the seller; that with the first number and days; and the last amounts as the sums."""
    document = read_documents(task.public)[0]
    head, foot = document.pages[0], document.pages[-1]
    seller = head.split("   ", maxsplit=1)[0].strip()
    numbers, days = _NUMBER.findall(head), _DAY.findall(head)
    amounts = _AMOUNT.findall(foot)[-3:]
    top: dict[str, Json] = {"seller": seller, "kind": "invoice", "due": None}
    found: dict[str, Json] = {**top, "number": numbers[0] if numbers else "", "date": days[0] if days else ""}
    sums: dict[str, Json] = {
        **top,
        "total": amounts[-1] if amounts else "0",
        "net_total": amounts[0] if amounts else "0",
    }
    ways = {"the first line": top, "the first line, number and day": found, "the first line and the last amounts": sums}
    return tuple(Attempt(name, (write_call("submit", {"answer": record}),)) for name, record in ways.items())
