from __future__ import annotations

import json
from datetime import date
from fractions import Fraction

import pytest

from polyathlon import Evidence, Json, Task, TaskKey, Verdict, draw_task
from polyathlon.canonical import expect_list, expect_map
from polyathlon.toolcall import write_call
from polyathlon.workspaces.document import DocumentWorkspace, read_documents
from polyathlon_domains.finance._invoice import Invoice, Line
from polyathlon_domains.finance.invoice_extract import DOMAIN

ID = "polyathlon/finance.invoice-extract-v1"
LINES = (
    Line("A1000", "Steel hinge 40 mm", 30, "pcs", 999, 0, 19),  # 3 x 9.99 = 29.97
    Line("B2000", "Oak tray 10 mm", 25, "kg", 1_010, 10, 19),  # 2.5 x 10.10 less 10% = 22.725, up to 22.73
    Line("C3000", "Glass panel 5 mm", 10, "box", 5_000, 0, 4),
)
INVOICE = Invoice(
    "invoice",
    "K27-48210",
    date(2031, 4, 17),
    date(2031, 5, 1),
    "VEL",
    "Norvik Paper BV",
    "NV123456789",
    "Telmar Foods Oy",
    "TM987654321",
    "12 Mill Lane, 4821 Norvik",
    LINES,
    5,
)


def judged(answer: Json) -> Verdict:
    task = Task("t", 0, 0, "train", "?", {}, {"record": INVOICE.record()}, "0" * 64)
    return DOMAIN.verifier.judge(task, Evidence(json.dumps(answer)), room=None)  # type: ignore[arg-type]  # no sandbox


def test_amounts_follow_by_hand() -> None:
    assert [line.net for line in LINES] == [2_997, 2_273, 5_000]
    low, high = INVOICE.groups
    assert (low.rate, low.base, low.tax) == (4, 4_750, 190)  # 50.00 less 2.50; 1.90
    assert (high.rate, high.base, high.tax) == (19, 5_006, 951)  # 52.70 less 2.635, up to 2.64; 9.5114
    assert (INVOICE.net, INVOICE.tax, INVOICE.total) == (9_756, 1_141, 10_897)
    assert INVOICE.record()["discount_total"] == "5.14"
    assert INVOICE.record()["total"] == "108.97"


def test_the_record_passes_and_so_do_other_spellings() -> None:
    record = INVOICE.record()
    assert judged(record).passed
    assert judged(
        {**record, "total": 108.97, "seller": "NORVIK paper  bv", "billing_address": "12 Mill Lane\n4821 Norvik"}
    ).passed


@pytest.mark.parametrize(
    ("change", "progress"),
    [
        ({"total": "108.98"}, 0.8 + 0.2 * (3 / 4 + 1) / 2),
        ({"date": "2031-04-18"}, 0.5 + 0.3 * 7 / 8 + 0.2),
        ({"date": "17.04.2031"}, 0.5 + 0.3 * 7 / 8 + 0.2),
        ({"kind": "credit note"}, 0.8),
        ({"currency": "TOR", "kind": None}, 0.8),
        ({"iban": "X"}, 0.5 + 0.3 * 16 / 17 + 0.2),
        ({"taxes": []}, 0.8 + 0.2 / 2),
        ({"lines": []}, 0.3),  # the sums are right, but count only beside right lines
        ({"lines": None, "taxes": None}, 0.3),
    ],
)
def test_progress_is_lines_then_header_then_sums(change: dict[str, Json], progress: float) -> None:
    verdict = judged({**INVOICE.record(), **change})
    assert not verdict.passed
    assert verdict.reward == pytest.approx(0.5 * progress)


def test_one_wrong_line_takes_the_credit_for_sums() -> None:
    record = INVOICE.record()
    first, *rest = list(expect_list(record["lines"]))
    off = {**expect_map(first), "net": "29.98"}
    # six cells of seven right: (6/7 - 1/2) / (1/2) = 5/7 of a row; F1 = 2 x (2 + 5/7) / 6
    assert judged({**record, "lines": [off, *rest]}).reward == pytest.approx(0.5 * (0.5 * (2 + 5 / 7) / 3 + 0.3))


def test_invented_lines_that_sum_to_the_total_earn_nothing() -> None:
    record = INVOICE.record()
    line: Json = {"code": "X1", "description": "goods", "quantity": 1, "unit_price": "97.56", "net": "97.56"}
    sums = {name: record[name] for name in ("net_total", "tax_total", "total", "discount_total", "taxes")}
    assert judged({**sums, "lines": [line]}).reward == 0.0


def test_cheapest_way_to_half_is_everything_but_one_sum() -> None:
    assert judged({**INVOICE.record(), "discount_total": "0"}).reward == pytest.approx(0.4875)
    header = {name: value for name, value in INVOICE.record().items() if name not in ("lines", "taxes")}
    assert judged(header).reward == pytest.approx(0.15)  # the header alone


@pytest.mark.parametrize(
    "answer", ["", "{", "[]", "7", '{"total": NaN}', '{"a": 1, "a": 2}', "[" * 9_000, '"x"', "null"]
)
def test_what_is_no_record_fails(answer: str) -> None:
    task = Task("t", 0, 0, "train", "?", {}, {"record": INVOICE.record()}, "0" * 64)
    verdict = DOMAIN.verifier.judge(task, Evidence(answer), room=None)  # type: ignore[arg-type]  # no sandbox
    assert verdict.valid
    assert verdict.reward == 0.0


@pytest.mark.parametrize("level", range(5))
def test_everything_asked_for_is_printed_and_no_page_is_clipped(level: int) -> None:
    for seed in range(8):
        task = draw_task(DOMAIN.tasks, TaskKey(ID, level, seed))
        record = task.hidden["record"]
        assert isinstance(record, dict)
        document = next(d for d in read_documents(task.public) if d.id == task.hidden["document"])
        text = "\n".join(document.pages)
        for name in ("number", "seller", "seller_tax_id", "buyer", "buyer_tax_id", "currency"):
            assert str(record[name]) in text
        for line in record["lines"]:
            assert line["code"] in text
            assert line["description"] in text
        workspace = DocumentWorkspace((document,))
        shown = [
            workspace.act(write_call("open", {"doc": document.id, "page": n + 1})).text
            for n in range(len(document.pages))
        ]
        assert not any("characters cut" in page for page in shown)


@pytest.mark.parametrize("level", range(5))
def test_sums_are_consistent(level: int) -> None:
    for seed in range(20):
        record = draw_task(DOMAIN.tasks, TaskKey(ID, level, seed)).hidden["record"]
        assert isinstance(record, dict)
        amount = {name: Fraction(str(record[name])) for name in ("net_total", "tax_total", "total", "discount_total")}
        assert sum(Fraction(tax["base"]) for tax in record["taxes"]) == amount["net_total"]
        assert sum(Fraction(tax["tax"]) for tax in record["taxes"]) == amount["tax_total"]
        assert sum(Fraction(line["net"]) for line in record["lines"]) == amount["net_total"] + amount["discount_total"]
        assert amount["total"] == amount["net_total"] + amount["tax_total"]
