"""Business transactions and what each books: accounts, sides, quantities, and ways to tell it.

A kind's shape says which numbers are drawn and which quantities follow from them; all quantities are cents.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

Shape = Literal["cash", "tax", "part", "spread", "exchange", "abroad"]
Side = Literal["D", "C"]


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of transaction. `lines` are (account, side, quantity); `phrases` name numbers in braces."""

    shape: Shape
    lines: tuple[tuple[str, Side, str], ...]
    phrases: tuple[str, ...]


# account: (the house code, its name in a chart); the first digit of a code is the account's class
ACCOUNTS: dict[str, tuple[int, str]] = {
    "cash": (100, "Cash"),
    "bank": (105, "Bank"),
    "debtors": (110, "Debtors"),
    "stock": (120, "Stock"),
    "input_tax": (130, "Input tax"),
    "prepaid": (140, "Prepaid"),
    "machines": (150, "Machines"),
    "wear": (160, "Acc. wear"),
    "creditors": (200, "Creditors"),
    "output_tax": (210, "Output tax"),
    "loan": (220, "Loan"),
    "accrued": (230, "Accrued"),
    "deferred": (240, "Deferred"),
    "capital": (300, "Capital"),
    "drawings": (310, "Drawings"),
    "sales": (400, "Sales"),
    "gain": (410, "FX gain"),
    "wages": (500, "Wages"),
    "rent": (510, "Rent"),
    "power": (520, "Power"),
    "repairs": (530, "Repairs"),
    "interest": (540, "Interest"),
    "wear_cost": (550, "Wear cost"),
    "loss": (560, "FX loss"),
}

_SETTLED = ("accrued", "creditors", "prepaid")
RIVALS: dict[str, tuple[str, ...]] = {
    "wear": ("machines",),
    "machines": ("wear",),
    "accrued": ("creditors",),
    "creditors": ("accrued",),
    "deferred": ("creditors",),
    "drawings": ("capital",),
    "capital": ("drawings",),
    **dict.fromkeys(("wages", "rent", "power", "repairs", "interest"), _SETTLED),
}
"""Accounts that could also be defended where the entry books this one: they are no decoys for it."""


def _two(debit: str, credit: str, *phrases: str, shape: Shape = "cash", quantity: str = "a") -> Kind:
    return Kind(shape, ((debit, "D", quantity), (credit, "C", quantity)), phrases)


# account: (ways to tell that money for it went out, ways to tell that it came in); "{by}" is in cash, or by bank
_PAID: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "sales": (
        ("Refunded goods for {a} {by}.", "{a} paid back {by} for goods."),
        ("Sold goods for {a} {by}.", "Sales of {a}, paid {by}."),
    ),
    "rent": (
        ("Paid rent of {a} {by}.", "Rent of {a} paid {by}.", "{a} rent paid {by}."),
        ("Got rent of {a} back {by}.", "Rent of {a} came back {by}."),
    ),
    "wages": (
        ("Paid wages of {a} {by}.", "Wages of {a} paid {by}.", "{a} wages paid {by}."),
        ("Got wages of {a} back {by}.", "Wages of {a} came back {by}."),
    ),
    "power": (
        ("Paid power of {a} {by}.", "Power of {a} paid {by}.", "{a} power paid {by}."),
        ("Got {a} for power back {by}.", "Power of {a} came back {by}."),
    ),
    "machines": (
        ("Bought a machine for {a} {by}.", "Paid {a} {by} for a new machine."),
        ("Got {a} back {by} for a new machine.", "Returned a new machine: {a} back {by}."),
    ),
    "loan": (
        ("Repaid a loan of {a} {by}.", "Loan of {a} paid back {by}."),
        ("Got a loan of {a} {by}.", "The bank lent us {a}, paid {by}."),
    ),
    "capital": (
        ("Repaid the owner capital of {a} {by}.", "Capital of {a} paid back {by}."),
        ("Owner put in capital of {a} {by}.", "Owner paid in {a} as capital {by}."),
    ),
    "repairs": (
        ("Paid repairs of {a} {by}.", "Repairs of {a} paid {by}."),
        ("Got repairs of {a} back {by}.", "{a} for repairs came back {by}."),
    ),
}
_BY = {"cash": "in cash", "bank": "by bank"}


def _paid(account: str, money: str, *, came_in: bool) -> Kind:
    phrases = tuple(phrase.replace("{by}", _BY[money]) for phrase in _PAID[account][came_in])
    return _two(money, account, *phrases) if came_in else _two(account, money, *phrases)


# every account with both kinds of money, in and out: neither the chart nor an account's class tells the entry
_CASH = {
    f"{account} {'in' if came_in else 'out'} {_BY[money]}": _paid(account, money, came_in=came_in)
    for account in _PAID
    for money in _BY
    for came_in in (False, True)
}
_CREDIT = {
    "credit sale": _two("debtors", "sales", "Sold goods for {a} on credit.", "Invoiced a client {a} for goods."),
    "credit stock": _two("stock", "creditors", "Bought stock for {a} on credit.", "Stock of {a} came, unpaid."),
    "client pays": _two("cash", "debtors", "A client paid an open invoice of {a}.", "Debtor settled {a} in cash."),
    "pay supplier": _two("creditors", "cash", "Paid a supplier's open bill of {a}.", "Settled a creditor: {a} cash."),
    "repay": _two("loan", "cash", "Repaid {a} of the loan.", "Loan payback of {a}, no interest."),
    "drawing": _two("drawings", "cash", "Owner took out {a} cash.", "{a} cash drawn for private use."),
    "repair bill": _two("repairs", "creditors", "Repair bill of {a} came, unpaid.", "Repairs of {a}, not yet paid."),
    "return in": _two("sales", "debtors", "Client sent back goods, {a} credited.", "Unpaid sale of {a} cancelled."),
    "return out": _two(
        "creditors", "stock", "Sent unpaid stock of {a} back.", "Returned {a} of stock bought on credit."
    ),
    "interest": _two("interest", "cash", "Paid loan interest of {a}.", "Interest of {a} paid in cash."),
}

_NET = "{net} net plus {rate}% tax"
_GROSS = "{gross} with {rate}% tax in it"


def _sale(target: str, *phrases: str) -> Kind:
    return Kind("tax", ((target, "D", "gross"), ("sales", "C", "net"), ("output_tax", "C", "tax")), phrases)


def _buy(account: str, source: str, *phrases: str) -> Kind:
    return Kind("tax", ((account, "D", "net"), ("input_tax", "D", "tax"), (source, "C", "gross")), phrases)


_TAX = {
    "taxed cash sale": _sale("cash", f"Cash sale, {_NET}.", f"Sold goods for cash, {_GROSS}."),
    "taxed credit sale": _sale("debtors", f"Sold on credit, {_NET}.", f"Invoiced a client {_GROSS}."),
    "taxed stock": _buy("stock", "creditors", f"Stock bought on credit, {_NET}.", f"Unpaid bill for stock: {_GROSS}."),
    "taxed repair": _buy("repairs", "cash", f"Repairs paid in cash, {_NET}.", f"Paid repairs: {_GROSS}."),
    "taxed machine": _buy("machines", "creditors", f"Machine bought on credit, {_NET}.", f"Machine, unpaid: {_GROSS}."),
    "taxed power": _buy("power", "cash", f"Power paid in cash, {_NET}.", f"Paid power: {_GROSS}."),
}
_PART = {
    "part-paid sale": Kind(
        "part",
        (("cash", "D", "paid"), ("debtors", "D", "rest"), ("sales", "C", "net"), ("output_tax", "C", "tax")),
        (
            f"Sold goods, {_NET}; {{paid}} got in cash, the rest on credit.",
            f"Sale: {_GROSS}; {{paid}} paid, rest owed.",
        ),
    ),
    "part-paid stock": Kind(
        "part",
        (("stock", "D", "net"), ("input_tax", "D", "tax"), ("cash", "C", "paid"), ("creditors", "C", "rest")),
        (f"Bought stock, {_NET}; paid {{paid}}, rest on credit.", f"Stock: {_GROSS}; {{paid}} paid, rest owed."),
    ),
    "part-paid machine": Kind(
        "part",
        (("machines", "D", "net"), ("input_tax", "D", "tax"), ("cash", "C", "paid"), ("creditors", "C", "rest")),
        (f"Bought a machine, {_NET}; paid {{paid}}, rest on credit.", f"Machine: {_GROSS}; {{paid}} paid, rest owed."),
    ),
}


def _spread(debit: str, credit: str, *phrases: str) -> Kind:
    return _two(debit, credit, *phrases, shape="spread", quantity="share")


_SPREAD = {
    "prepaid rent": _spread(
        "rent",
        "prepaid",
        "Rent of {whole} was prepaid for {parts} months. Book {taken} used up.",
        "Of {parts} months' rent prepaid, {whole} in all, book {taken} as used.",
    ),
    "accrued wages": _spread(
        "wages",
        "accrued",
        "Wages are {whole} for {parts} days; accrue {taken} days worked, unpaid.",
        "Period end: {taken} of {parts} days' wages of {whole} worked, unpaid.",
    ),
    "wear": _spread(
        "wear_cost",
        "wear",
        "Machine of {whole} wears evenly over {parts} months. Book {taken}.",
        "Book {taken} months of even wear: machine {whole}, life {parts} months.",
    ),
    "accrued interest": _spread(
        "interest",
        "accrued",
        "Loan interest is {whole} for {parts} months; accrue {taken} months.",
        "Accrue {taken} of {parts} months' loan interest of {whole}.",
    ),
    "accrued power": _spread(
        "power",
        "accrued",
        "Power costs {whole} for {parts} months, unbilled; accrue {taken}.",
        "Accrue {taken} of {parts} months' unbilled power, {whole} in all.",
    ),
    "deferred sale": _spread(
        "deferred",
        "sales",
        "A client prepaid {whole} for {parts} months; {taken} are now earned.",
        "Earned: {taken} of {parts} months that a client prepaid with {whole}.",
    ),
}
_OWED_US = (
    "A client owes {units} VEL booked at {booked}; it paid {part} VEL now at {now}.",
    "Debtor, {units} VEL at {booked}: {part} VEL came in cash at {now}.",
)
_WE_OWE = (
    "We owe a supplier {units} VEL booked at {booked}; paid {part} VEL now at {now}.",
    "Creditor, {units} VEL at {booked}: we paid {part} VEL at {now}.",
)


def _exchange(*lines: tuple[str, Side, str], phrases: tuple[str, ...]) -> Kind:
    return Kind("exchange", lines, phrases)


_ABROAD = {
    "debtor gain": _exchange(
        ("cash", "D", "at_now"), ("debtors", "C", "at_booked"), ("gain", "C", "rise"), phrases=_OWED_US
    ),
    "debtor loss": _exchange(
        ("cash", "D", "at_now"), ("loss", "D", "fall"), ("debtors", "C", "at_booked"), phrases=_OWED_US
    ),
    "creditor loss": _exchange(
        ("creditors", "D", "at_booked"), ("loss", "D", "rise"), ("cash", "C", "at_now"), phrases=_WE_OWE
    ),
    "creditor gain": _exchange(
        ("creditors", "D", "at_booked"), ("cash", "C", "at_now"), ("gain", "C", "fall"), phrases=_WE_OWE
    ),
    "sale abroad": Kind(
        "abroad",
        _PART["part-paid sale"].lines,
        (
            "Sold {units} VEL net plus {rate}% tax, rate {now}; {part} VEL paid, rest on credit.",
            "Sale abroad at {now}: {units} VEL net plus {rate}% tax; {part} VEL got in cash, rest owed.",
        ),
    ),
    "stock abroad": Kind(
        "abroad",
        _PART["part-paid stock"].lines,
        (
            "Bought stock, {units} VEL net plus {rate}% tax, rate {now}; paid {part} VEL, rest owed.",
            "Stock from abroad at {now}: {units} VEL net plus {rate}% tax; {part} VEL paid, rest on credit.",
        ),
    ),
}

LEVELS: tuple[dict[str, Kind], ...] = (_CASH, _CREDIT, _TAX, {**_PART, **_SPREAD}, _ABROAD)
KINDS: dict[str, Kind] = {name: kind for level in LEVELS for name, kind in level.items()}


def draw_numbers(rng: np.random.Generator, kind: Kind) -> dict[str, int]:
    """Return the numbers that a transaction of `kind` is told with: cents, hundredths (rates of exchange) or whole."""
    rate = int(rng.choice((5, 10, 15, 20, 25)))
    if kind.shape == "cash":
        return {"a": int(rng.integers(1_000, 100_000))}
    if kind.shape == "tax":
        return {"net": int(rng.integers(50, 5_000)) * 20, "rate": rate}
    if kind.shape == "part":
        net = int(rng.integers(100, 5_000)) * 20
        return {"net": net, "rate": rate, "paid": int(rng.integers(5, net // 100)) * 100}
    if kind.shape == "spread":
        parts = int(rng.choice((3, 4, 5, 6, 8, 10, 12, 24)))
        return {"whole": parts * int(rng.integers(400, 40_000)), "parts": parts, "taken": int(rng.integers(1, parts))}
    units = int(rng.integers(5, 200)) * 20
    now = int(rng.integers(55, 250))
    if kind.shape == "abroad":
        return {"units": units, "rate": rate, "now": now, "part": int(rng.integers(1, units // 10)) * 10}
    rises = any(quantity == "rise" for _, _, quantity in kind.lines)
    booked = now + (-1 if rises else 1) * int(rng.integers(2, 40))
    return {"units": units, "booked": booked, "now": now, "part": int(rng.integers(1, units // 10)) * 10}


def quantities(kind: Kind, numbers: Mapping[str, int]) -> dict[str, int]:
    """Return every quantity that `kind` may book, in cents, from its drawn numbers."""
    if kind.shape == "cash":
        return {"a": numbers["a"]}
    if kind.shape == "spread":
        return {"share": numbers["whole"] // numbers["parts"] * numbers["taken"]}
    if kind.shape == "exchange":
        at_now, at_booked = numbers["part"] * numbers["now"], numbers["part"] * numbers["booked"]
        return {"at_now": at_now, "at_booked": at_booked, "rise": at_now - at_booked, "fall": at_booked - at_now}
    abroad = kind.shape == "abroad"
    net = numbers["units"] * numbers["now"] if abroad else numbers["net"]
    paid = numbers["part"] * numbers["now"] if abroad else numbers.get("paid", 0)
    tax = net * numbers["rate"] // 100  # whole cents: net is a multiple of 20
    return {"net": net, "tax": tax, "gross": net + tax, "paid": paid, "rest": net + tax - paid}
