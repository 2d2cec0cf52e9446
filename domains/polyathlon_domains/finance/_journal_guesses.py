"""Ways to book a transaction by the chart alone: accounts picked by their class, whatever is told."""

from __future__ import annotations

import re
from collections.abc import Sequence

from polyathlon import Attempt, Task

_ACCOUNT = re.compile(r"\b(\d{3}) ([A-Z][A-Za-z. ]*)")
_AMOUNT = re.compile(r"\b\d+\.\d\d\b")
_EXAMPLES = ("900", "901")
_DEBITED = "15"
"""First digits of accounts that entries mostly debit: assets and costs."""


def shortcuts(task: Task) -> Sequence[Attempt]:
    """Cash, or the first account, against another one of the chart, on the sides that their classes suggest."""
    accounts = [(code, name.strip()) for code, name in _ACCOUNT.findall(task.prompt) if code not in _EXAMPLES]
    amounts = [amount for amount in _AMOUNT.findall(task.prompt) if amount != "1.00"] or ["1.00"]
    first = next((code for code, name in accounts if name == "Cash"), accounts[0][0])
    others = [code for code, _ in accounts if code != first]
    picked = {
        "the next account": others[0],
        "a middle account": others[len(others) // 2],
        "the last account": others[-1],
    }
    ways = {f"cash against {name}": _entry(first, code, amounts[0]) for name, code in picked.items()}
    ways["cash against every account"] = "; ".join(_entry(first, code, amounts[0]) for code in others)
    return tuple(Attempt(name, (text,)) for name, text in ways.items())


def _entry(cash: str, other: str, amount: str) -> str:
    debit, credit = (other, cash) if other[0] in _DEBITED else (cash, other)
    return f"{debit} D {amount}; {credit} C {amount}"
