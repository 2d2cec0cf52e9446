"""Invoices and credit notes as values: facts are drawn, every amount follows from them in whole minor units."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Literal, TypeAlias

import numpy as np

from polyathlon.canonical import Json, expect_int, expect_list, expect_text
from polyathlon.verify.money import NumberStyle, write_money
from polyathlon_domains.finance._names import address, company, tax_id

Setting: TypeAlias = Literal["plain", "local", "delivered", "balanced", "filed"]
"""What surrounds an invoice, easiest first; each setting holds the ones before it."""

SETTINGS: tuple[Setting, ...] = ("plain", "local", "delivered", "balanced", "filed")
CURRENCIES = {"VEL": 2, "TOR": 2, "KAL": 0, "DRU": 3}
"""Currencies that exist nowhere, and how many decimals each has."""

BARE = NumberStyle(group="")
_QUALITIES = ("Steel", "Brass", "Oak", "Copper", "Nylon", "Glass", "Rubber", "Cotton", "Zinc", "Felt")
_GOODS = (
    "hinge",
    "bracket",
    "valve",
    "panel",
    "filter",
    "gasket",
    "hose",
    "clamp",
    "spring",
    "tray",
    "roller",
    "handle",
)
_UNITS = ("pcs", "box", "kg", "set", "roll")


@dataclass(frozen=True, slots=True)
class Line:
    """One line. `tenths` is the quantity in tenths of its unit; `price` and `net` are minor units of the currency."""

    code: str
    description: str
    tenths: int
    unit: str
    price: int
    discount: int
    rate: int

    @property
    def net(self) -> int:
        return _share(self.tenths * self.price, 100 - self.discount, 1_000)


@dataclass(frozen=True, slots=True)
class TaxGroup:
    """All lines of one tax rate: their sum, the part of the total discount that falls on them, and the tax."""

    rate: int
    lines: int
    discount: int

    @property
    def base(self) -> int:
        return self.lines - self.discount

    @property
    def tax(self) -> int:
        return _share(self.base, self.rate, 100)


@dataclass(frozen=True, slots=True)
class Invoice:
    """An invoice or a credit note; `discount` is the total discount in percent. Amounts are never negative here."""

    kind: str
    number: str
    day: date
    due: date | None
    currency: str
    seller: str
    seller_tax_id: str
    buyer: str
    buyer_tax_id: str
    billing: str
    lines: tuple[Line, ...]
    discount: int = 0

    @property
    def places(self) -> int:
        return CURRENCIES[self.currency]

    @property
    def groups(self) -> tuple[TaxGroup, ...]:
        sums = {
            rate: sum(line.net for line in self.lines if line.rate == rate) for rate in {x.rate for x in self.lines}
        }
        return tuple(TaxGroup(rate, total, _share(total, self.discount, 100)) for rate, total in sorted(sums.items()))

    @property
    def net(self) -> int:
        return sum(group.base for group in self.groups)

    @property
    def tax(self) -> int:
        return sum(group.tax for group in self.groups)

    @property
    def total(self) -> int:
        return self.net + self.tax

    def record(self) -> dict[str, Json]:
        """Return the record that is asked for: texts as printed, days as YYYY-MM-DD, amounts as plain decimals."""
        lines: list[Json] = [
            {
                "code": line.code,
                "description": line.description,
                "quantity": write_tenths(line.tenths),
                "unit_price": self._amount(line.price),
                "discount": str(line.discount),
                "tax_rate": str(line.rate),
                "net": self._amount(line.net),
            }
            for line in self.lines
        ]
        return {
            "kind": self.kind,
            "number": self.number,
            "date": self.day.isoformat(),
            "due": None if self.due is None else self.due.isoformat(),
            "currency": self.currency,
            "seller": self.seller,
            "seller_tax_id": self.seller_tax_id,
            "buyer": self.buyer,
            "buyer_tax_id": self.buyer_tax_id,
            "billing_address": self.billing,
            "lines": lines,
            "taxes": [
                {"rate": str(group.rate), "base": self._amount(group.base), "tax": self._amount(group.tax)}
                for group in self.groups
            ],
            "discount_total": self._amount(sum(group.discount for group in self.groups)),
            "net_total": self._amount(self.net),
            "tax_total": self._amount(self.tax),
            "total": self._amount(self.total),
        }

    def _amount(self, minor: int) -> str:
        return write_money(minor, BARE, places=self.places)


def write_tenths(tenths: int, mark: str = ".") -> str:
    """Return a quantity in tenths as text: 125 is "12.5", 120 is "12"."""
    return f"{tenths // 10}{mark}{tenths % 10}" if tenths % 10 else str(tenths // 10)


def draw_invoice(rng: np.random.Generator, setting: Setting) -> dict[str, Json]:
    """Return the facts of one invoice, plain JSON, and the order by which it is found; see `read_invoice`."""
    level = SETTINGS.index(setting)
    fewest, most = ((1, 3), (3, 6), (8, 14), (10, 18), (16, 28))[level]
    rates = [
        int(rate)
        for rate in rng.choice((0, 4, 6, 9, 12, 19, 21, 25), size=1 + (level > 0) + (level > 1), replace=False)
    ]
    day = date.fromordinal(int(rng.integers(date(2031, 1, 1).toordinal(), date(2039, 1, 1).toordinal())))
    credit = level >= 3 and rng.random() < 0.4
    lines: list[Json] = [_draw_line(rng, rates, level) for _ in range(int(rng.integers(fewest, most + 1)))]
    return {
        "kind": "credit note" if credit else "invoice",
        "number": draw_number(rng),
        "day": day.isoformat(),
        "due": None if credit else (day + timedelta(days=int(rng.integers(7, 61)))).isoformat(),
        "currency": ("VEL", "TOR", "KAL", "DRU")[int(rng.integers(4 if level >= 3 else 2))],
        "seller": company(rng),
        "seller_tax_id": tax_id(rng),
        "buyer": company(rng),
        "buyer_tax_id": tax_id(rng),
        "billing": address(rng),
        "lines": lines,
        "discount": int(rng.choice((2, 3, 5, 8))) if level >= 3 and rng.random() < 0.7 else 0,
        "order": draw_number(rng),
        "setting": setting,
    }


def draw_number(rng: np.random.Generator) -> str:
    """Return a document number: "K27-48210"."""
    return f"{'ABDEGHKMRT'[int(rng.integers(10))]}{int(rng.integers(10, 100))}-{int(rng.integers(10_000, 100_000))}"


def read_invoice(core: Mapping[str, Json]) -> Invoice:
    """Return the invoice of the facts that `draw_invoice` drew."""
    texts = ("kind", "number", "currency", "seller", "seller_tax_id", "buyer", "buyer_tax_id", "billing")
    return Invoice(
        **{name: expect_text(core[name]) for name in texts},
        day=date.fromisoformat(expect_text(core["day"])),
        due=None if core["due"] is None else date.fromisoformat(expect_text(core["due"])),
        lines=tuple(_read_line(expect_list(line)) for line in expect_list(core["lines"])),
        discount=expect_int(core["discount"]),
    )


def _share(amount: int, part: int, whole: int) -> int:
    """Return amount x part / whole rounded half up; nothing is negative here."""
    return (2 * amount * part + whole) // (2 * whole)


def _draw_line(rng: np.random.Generator, rates: Sequence[int], level: int) -> Json:
    quality, goods, unit, rate = rng.integers(0, (len(_QUALITIES), len(_GOODS), len(_UNITS), len(rates)))
    discount = int(rng.choice((5, 10, 15, 20))) if level >= 1 and rng.random() < 0.35 else 0
    tenths = int(rng.integers(1, 100)) * 10
    if level >= 4 and rng.random() < 0.4:
        tenths += int(rng.integers(1, 10))
    return [
        f"{'ACFHKLNPSX'[int(rng.integers(10))]}{int(rng.integers(1_000, 10_000))}",
        f"{_QUALITIES[quality]} {_GOODS[goods]} {int(rng.integers(2, 100)) * 5} mm",
        tenths,
        _UNITS[unit],
        int(rng.integers(40, 30_000)),
        discount,
        rates[rate],
    ]


def _read_line(fields: Sequence[Json]) -> Line:
    code, description, tenths, unit, price, discount, rate = fields
    return Line(
        expect_text(code),
        expect_text(description),
        expect_int(tenths),
        expect_text(unit),
        expect_int(price),
        expect_int(discount),
        expect_int(rate),
    )
