"""Invoices typeset on pages: four families of layout, several vocabularies, number and date forms told on the page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date

import numpy as np

from polyathlon.canonical import Json
from polyathlon.verify.dates import DateForm, write_date
from polyathlon.verify.money import NumberStyle, write_money
from polyathlon_domains.finance._invoice import Invoice, Line, write_tenths

Cells = tuple[str, ...]
HEADINGS: Cells = ("Code", "Description", "Quantity", "Unit", "Price", "Discount", "Tax", "Net")
_STYLES = (".,", ",.", ", ", ".'")
_DATES: tuple[tuple[DateForm, str, str], ...] = (
    ("iso", "", "year-month-day"),
    ("dmy", ".", "day.month.year"),
    ("dmy", "/", "day/month/year"),
    ("mdy", "/", "month/day/year"),
    ("long", "", "day month year"),
)
_WORDS = {
    "number": ("{Kind} no.", "Number of this {kind}", "{Kind}"),
    "day": ("Date", "Issued", "{Kind} date"),
    "due": ("Due", "Payable by", "To be paid until"),
    "billing": ("Bill to", "Invoice to", "Customer"),
    "delivery": ("Deliver to", "Ship to", "Goods to"),
    "tax_id": ("Tax no.", "VAT id", "Tax registration"),
    "net": ("Net", "Total before tax", "Net amount"),
    "total": ("Total", "Amount of this {kind}", "Grand total"),
}
_BOILERPLATE = (
    "Goods remain our property until they are paid in full.",
    "Complaints must reach us in writing within eight days of delivery.",
    "Please quote our number with every payment.",
    "Our general terms, last printed on our price list, apply to all deliveries.",
    "Packing is lent and must be returned free of charge.",
    "Place of jurisdiction is the seat of the seller.",
)


@dataclass(frozen=True, slots=True)
class Style:
    """How a document is typeset: layout, numbers, dates, vocabulary, lines a page, and whether amounts are negative."""

    layout: str
    numbers: NumberStyle
    date_form: DateForm
    date_mark: str
    date_words: str
    words: dict[str, str]
    lines_a_page: int
    sign: int = 1

    def amount(self, minor: int, places: int) -> str:
        return write_money(self.sign * minor, self.numbers, places=places)

    def day(self, day: date) -> str:
        return write_date(day, self.date_form, mark=self.date_mark)


@dataclass(frozen=True, slots=True)
class Extras:
    """What a document says beside its record: `top` lines near the parties, `bottom` lines below the totals."""

    top: tuple[str, ...] = ()
    bottom: tuple[str, ...] = ()


def draw_plain_style(rng: np.random.Generator, kind: str) -> Style:
    """Return a style with ISO days and numbers like 1,234.50, in one of two layouts."""
    layout = ("columns", "blocks")[int(rng.integers(2))]
    return Style(layout, NumberStyle(), "iso", "", "year-month-day", _draw_words(rng, kind), 8)


def draw_style(rng: np.random.Generator, kind: str) -> Style:
    """Return any style; a credit note's amounts may be printed negative."""
    marks = _STYLES[int(rng.integers(len(_STYLES)))]
    credit = kind == "credit note" and rng.random() < 0.7
    negative = ("-{}", "({})", "{}-")[int(rng.integers(3))]
    form, mark, words = _DATES[int(rng.integers(len(_DATES)))]
    return Style(
        layout=sorted(LAYOUTS)[int(rng.integers(len(LAYOUTS)))],
        numbers=NumberStyle(marks[0], marks[1], negative),
        date_form=form,
        date_mark=mark,
        date_words=words,
        words=_draw_words(rng, kind),
        lines_a_page=int(rng.integers(6, 9)),
        sign=-1 if credit else 1,
    )


def typeset(
    invoice: Invoice, style: Style, extras: Extras, rng: np.random.Generator
) -> tuple[list[Json], dict[str, Json]]:
    """Return the pages of `invoice`, and the tables on them where the layout has any."""
    rows = [_cells(line, invoice, style) for line in invoice.lines]
    chunks = [rows[at : at + style.lines_a_page] for at in range(0, len(rows), style.lines_a_page)]
    pages: list[Json] = []
    tables: dict[str, Json] = {}
    done = 0
    for number, chunk in enumerate(chunks, start=1):
        parts = [_head(invoice, style, extras)] if number == 1 else [f"{invoice.number}, continued"]
        if number > 1:
            parts.append(f"Brought forward: {style.amount(_sum(invoice, done), invoice.places)}")
        parts.append(LAYOUTS[style.layout](chunk))
        done += len(chunk)
        last = number == len(chunks)
        carried = f"Carried forward: {style.amount(_sum(invoice, done), invoice.places)}"
        parts.append(_totals(invoice, style, extras) if last else carried)
        parts.append(" ".join(_BOILERPLATE[int(i)] for i in rng.choice(len(_BOILERPLATE), size=2, replace=False)))
        pages.append("\n\n".join([*parts, f"Page {number} of {len(chunks)}"]))
        if style.layout in ("columns", "ruled"):
            tables[f"lines-{number}"] = [list(HEADINGS), *(list(cells) for cells in chunk)]
    return pages, tables


def _draw_words(rng: np.random.Generator, kind: str) -> dict[str, str]:
    names = {"kind": kind, "Kind": kind.capitalize()}
    return {key: options[int(rng.integers(len(options)))].format(**names) for key, options in _WORDS.items()}


def _cells(line: Line, invoice: Invoice, style: Style) -> Cells:
    return (
        line.code,
        line.description,
        write_tenths(line.tenths, style.numbers.decimal),
        line.unit,
        write_money(line.price, style.numbers, places=invoice.places),
        f"{line.discount}%" if line.discount else "-",
        f"{line.rate}%",
        style.amount(line.net, invoice.places),
    )


def _head(invoice: Invoice, style: Style, extras: Extras) -> str:
    words, places = style.words, invoice.places
    lines = [
        f"{invoice.seller}    {words['tax_id']} {invoice.seller_tax_id}",
        "",
        invoice.kind.upper(),
        f"{words['number']}: {invoice.number}",
        f"{words['day']}: {style.day(invoice.day)}",
    ]
    if invoice.due is not None:
        lines.append(f"{words['due']}: {style.day(invoice.due)}")
    sample = write_money(1_234_567 if places else 1_234, style.numbers, places=places)
    lines += [f"Currency {invoice.currency}; amounts are written like {sample}, dates as {style.date_words}.", ""]
    street, town = invoice.billing.split(", ")
    lines += [f"{words['billing']}:", f"  {invoice.buyer}", f"  {street}", f"  {town}"]
    lines += [f"  {words['tax_id']} {invoice.buyer_tax_id}", *extras.top]
    return "\n".join(lines)


def _totals(invoice: Invoice, style: Style, extras: Extras) -> str:
    def row(label: str, minor: int) -> str:
        return f"{label + ':':<32}{style.amount(minor, invoice.places):>16}"

    rows = [row("Sum of lines", _sum(invoice, len(invoice.lines)))]
    if invoice.discount:
        shares = sum(group.discount for group in invoice.groups)
        rows.append(f"Discount of {invoice.discount}% on each tax rate: {style.amount(shares, invoice.places)}")
    rows.append(row(style.words["net"], invoice.net))
    for group in invoice.groups:
        base, tax = (style.amount(minor, invoice.places) for minor in (group.base, group.tax))
        rows.append(f"Tax {group.rate}% on {base}: {tax}")
    rows += [row("Tax in all", invoice.tax), row(style.words["total"], invoice.total), *extras.bottom]
    return "\n".join(rows)


def _sum(invoice: Invoice, num_lines: int) -> int:
    return sum(line.net for line in invoice.lines[:num_lines])


def _columns(rows: Sequence[Cells]) -> str:
    table = [HEADINGS, *rows]
    widths = [max(len(cells[i]) for cells in table) for i in range(len(HEADINGS))]
    lines = []
    for cells in table:
        left = [
            cell.ljust(width) if i in (0, 1, 3) else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ]
        lines.append("  ".join(left).rstrip())
    return "\n".join(lines)


def _ruled(rows: Sequence[Cells]) -> str:
    return "\n".join(" | ".join(cells) for cells in [HEADINGS, *rows])


def _blocks(rows: Sequence[Cells]) -> str:
    blocks = ["\n".join(f"{name}: {cell}" for name, cell in zip(HEADINGS, cells, strict=True)) for cells in rows]
    return "\n\n".join(blocks)


def _receipt(rows: Sequence[Cells]) -> str:
    lines = []
    for code, description, quantity, unit, price, discount, tax, net in rows:
        less = "" if discount == "-" else f" less {discount}"
        lines += [f"{description} ({code})", f"    {quantity} {unit} x {price}{less}, tax {tax}    {net}"]
    return "\n".join(lines)


LAYOUTS: dict[str, Callable[[Sequence[Cells]], str]] = {
    "blocks": _blocks,
    "columns": _columns,
    "receipt": _receipt,
    "ruled": _ruled,
}
