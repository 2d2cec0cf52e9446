"""Files of documents around one invoice: itself, and what looks like it but is something else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta

import numpy as np

from polyathlon.canonical import Json
from polyathlon.verify.money import write_money
from polyathlon_domains.finance._invoice import BARE, SETTINGS, Invoice, Setting, draw_number
from polyathlon_domains.finance._invoice_pages import Extras, Style, draw_plain_style, draw_style, typeset
from polyathlon_domains.finance._names import address, company

_OTHERS = ("order confirmation", "quotation", "pro forma")


@dataclass(frozen=True, slots=True)
class File:
    """The documents, as a document workspace reads them, and what to know of them.

    `wanted` is the id of the invoice, `decoys` are what its pages print beside the record.
    """

    documents: tuple[Json, ...]
    wanted: str
    decoys: Mapping[str, str]


def lay_file(invoice: Invoice, order: str, setting: Setting, rng: np.random.Generator) -> File:
    """Return the file of `invoice`, which bills `order`.

    It holds one document below the setting "filed", and four in any order there.
    """
    style = draw_plain_style(rng, invoice.kind) if setting == "plain" else draw_style(rng, invoice.kind)
    extras, decoys = _surround(invoice, style, SETTINGS.index(setting), order, rng)
    pages, tables = typeset(invoice, style, extras, rng)
    found: list[tuple[str, list[Json], dict[str, Json]]] = [("Document from the seller", pages, tables)]
    if setting == "filed":
        kinds = [_OTHERS[int(i)] for i in rng.choice(len(_OTHERS), size=2, replace=False)]
        found += [("Document from the seller", *_lookalike(invoice, kind, rng)) for kind in kinds]
        found.append(("Document from the seller", [_statement(invoice, style, rng)], {}))
    places = [int(i) for i in rng.permutation(len(found))]
    documents: list[Json] = []
    for number, place in enumerate(places, start=1):
        title, texts, grids = found[place]
        documents.append({"id": f"D{number}", "title": title, "pages": texts, "tables": grids})
    return File(tuple(documents), f"D{places.index(0) + 1}", decoys)


def _surround(
    invoice: Invoice, style: Style, level: int, order: str, rng: np.random.Generator
) -> tuple[Extras, dict[str, str]]:
    top, bottom, decoys = [f"Your order {order} of {style.day(invoice.day - timedelta(days=9))}"], [], {}
    if level >= 2:
        decoys["billing_address"] = address(rng)
        street, town = decoys["billing_address"].split(", ")
        top += [f"{style.words['delivery']}:", f"  {company(rng)}", f"  {street}", f"  {town}"]
    if invoice.due is None:
        top.append(f"Credits invoice {draw_number(rng)} of {style.day(invoice.day - timedelta(days=30))}")
    if level >= 3:
        before = int(rng.integers(1_000, 900_000))
        balance = before + style.sign * invoice.total
        decoys["total"] = write_money(balance, BARE, places=invoice.places)
        previous, after = (replace(style, sign=1).amount(minor, invoice.places) for minor in (before, balance))
        bottom += [f"Previous balance: {previous}", f"New balance of your account: {after}"]
        rate = int(rng.integers(60, 180))
        other = "TOR" if invoice.currency != "TOR" else "VEL"
        sums = style.amount(invoice.total * rate // 100, invoice.places)
        bottom.append(f"For your information, the total in {other} at {rate / 100:.2f}: {sums}")
    return Extras(tuple(top), tuple(bottom)), decoys


def _lookalike(invoice: Invoice, kind: str, rng: np.random.Generator) -> tuple[list[Json], dict[str, Json]]:
    """Return an earlier document of the same deal, with other quantities and prices on some lines."""
    lines = [
        replace(
            line, tenths=line.tenths + 10 * int(rng.integers(0, 3)), price=line.price + int(rng.integers(0, 2)) * 25
        )
        for line in invoice.lines[: int(rng.integers(4, 13))]
    ]
    day = invoice.day - timedelta(days=int(rng.integers(10, 40)))
    other = replace(invoice, kind=kind, number=draw_number(rng), day=day, due=None, lines=tuple(lines))
    return typeset(other, draw_style(rng, kind), Extras(), rng)


def _statement(invoice: Invoice, style: Style, rng: np.random.Generator) -> str:
    plain = replace(style, sign=1)
    rows = [f"{invoice.seller}", "STATEMENT OF ACCOUNT", f"for {invoice.buyer}", ""]
    for _ in range(6):
        day = invoice.day - timedelta(days=int(rng.integers(5, 90)))
        amount = plain.amount(int(rng.integers(5_000, 900_000)), invoice.places)
        rows.append(f"{plain.day(day)}  {draw_number(rng)}  {amount}")
    return "\n".join([*rows, "", "This is no demand for payment."])
