"""Find the invoice or credit note among documents, and hand in its header, lines and taxes as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from polyathlon import Attempt, Brief, Core, Domain, Evidence, Json, Script, Task, Verdict
from polyathlon.canonical import expect_list, expect_map, expect_text, parse_json
from polyathlon.sandbox.protocol import Room
from polyathlon.toolcall import write_call
from polyathlon.verify.key import map_part
from polyathlon.verify.records import (
    Schema,
    as_day,
    as_money,
    as_text,
    as_words,
    read_record,
    record_f1,
    rows_f1,
    wanted_record,
)
from polyathlon.workspaces.document import open_documents, read_documents
from polyathlon_domains.finance._invoice import SETTINGS, draw_invoice, read_invoice
from polyathlon_domains.finance._invoice_files import lay_file
from polyathlon_domains.finance._invoice_guesses import shortcuts

PROMPT = """{opening}
Hand in one JSON object with submit:
{{"kind": "invoice" or "credit note", "number", "date", "due", "currency", "seller", "seller_tax_id", "buyer",
"buyer_tax_id", "billing_address", "lines": [{{"code", "description", "quantity", "unit_price", "discount", "tax_rate",
"net"}}], "taxes": [{{"rate", "base", "tax"}}], "discount_total", "net_total", "tax_total", "total"}}
Texts as printed; case and spacing do not matter. The billing address is the buyer's, on one line with ", " between its
lines, without the name. Dates YYYY-MM-DD; "due" is null where none is given. Amounts and quantities as numbers or
strings like 1234.50, positive on a credit note too. "discount", "tax_rate" and "rate" in percent, 0 for none. "net" is
a line's amount after its own discount and before tax; "base" is what the tax of a rate is taken on; "discount_total" is
the discount on the whole document, 0 for none; "total" is the document's own amount with tax, no account's balance."""
OPENINGS = (
    "The tools show documents. One is the invoice or credit note on our order {order}; extract it. Open all its pages.",
    "Among the documents is one invoice or one credit note, on our order {order}. Read all its pages and extract it.",
    "Extract the invoice (or credit note) on order {order} from the documents. Its lines may run over several pages.",
)
HEADER: Schema = {
    "number": as_text,
    "date": as_day,
    "due": as_day,
    "seller": as_text,
    "seller_tax_id": as_text,
    "buyer": as_text,
    "buyer_tax_id": as_text,
    "billing_address": as_words,
}
CHOICES: Schema = {"kind": as_text, "currency": as_text}
TOTALS: Schema = {name: as_money for name in ("discount_total", "net_total", "tax_total", "total")}
LINE: Schema = {
    "code": as_text,
    "description": as_text,
    **{name: as_money for name in ("quantity", "unit_price", "discount", "tax_rate", "net")},
}
TAX: Schema = {name: as_money for name in ("rate", "base", "tax")}
WRONG_CHOICE = 0.8
LINES_WEIGHT, HEADER_WEIGHT, SUMS_WEIGHT = 0.5, 0.3, 0.2


@dataclass(frozen=True, slots=True)
class InvoiceTasks:
    """The facts of an invoice decide; layout, vocabulary, number and date forms and other documents are rendered."""

    def draw(self, rng: np.random.Generator, level: int) -> Core:
        return draw_invoice(rng, SETTINGS[level])

    def render(self, core: Core, rng: np.random.Generator) -> Brief:
        invoice = read_invoice(core)
        setting = next(setting for setting in SETTINGS if setting == core["setting"])
        order = expect_text(core["order"])
        file = lay_file(invoice, order, setting, rng)
        prompt = PROMPT.format(opening=OPENINGS[int(rng.integers(len(OPENINGS)))].format(order=order))
        hidden: dict[str, Json] = {"record": invoice.record(), "document": file.wanted, "decoys": dict(file.decoys)}
        return Brief(prompt, hidden=hidden, public={"documents": list(file.documents)})


@dataclass(frozen=True, slots=True)
class InvoiceVerifier:
    """Passed: every field, line and tax is right and nothing is invented.

    Else 0.5 x the F1 of lines + 0.3 x the F1 of header fields, and 0.2 x that of sums and taxes only when all lines
    are right. Kind and currency have few values: they earn nothing, and a wrong one takes a fifth of the rest.
    """

    def judge(self, task: Task, evidence: Evidence, room: Room) -> Verdict:
        wanted = map_part(task.hidden, "record")
        try:
            got = parse_json(evidence.answer or "")
        except ValueError as error:
            return Verdict.failing(f"no JSON was submitted: {error}")
        if not isinstance(got, Mapping):
            return Verdict.failing("what was submitted is no object")
        lines = rows_f1(got.get("lines"), expect_list(wanted["lines"]), LINE)
        taxes = rows_f1(got.get("taxes"), expect_list(wanted["taxes"]), TAX)
        header = record_f1(_part(got, HEADER, extras=_unknown(got)), wanted_record(_only(wanted, HEADER), HEADER))
        sums = record_f1(_part(got, TOTALS), wanted_record(_only(wanted, TOTALS), TOTALS))
        choices = record_f1(_part(got, CHOICES), wanted_record(_only(wanted, CHOICES), CHOICES))
        if lines.same and taxes.same and header == sums == choices == 1.0:
            return Verdict.passing()
        arithmetic = (sums + taxes.f1) / 2 if lines.same else 0.0
        progress = LINES_WEIGHT * lines.f1 + HEADER_WEIGHT * header + SUMS_WEIGHT * arithmetic
        if choices != 1.0:
            progress *= WRONG_CHOICE
        parts = {"lines": lines.f1, "header": header, "sums": arithmetic}
        return Verdict.failing("not the whole record", progress=progress, parts=parts)


def _only(record: Mapping[str, Json], schema: Schema) -> dict[str, Json]:
    return {name: record[name] for name in record.keys() & schema.keys()}


def _unknown(record: Mapping[str, Json]) -> tuple[str, ...]:
    known = {*HEADER, *CHOICES, *TOTALS, "lines", "taxes"}
    return tuple(f"!{name[:40]}" for name in record.keys() - known)


def _part(record: Mapping[str, Json], schema: Schema, extras: tuple[str, ...] = ()) -> tuple[str, ...]:
    return (*read_record(_only(record, schema), schema), *extras)


def solve(task: Task) -> Script:
    """List the documents, read every page of the right one, submit its record."""
    yield write_call("list_docs", {})
    wanted = expect_text(task.hidden["document"])
    document = next(document for document in read_documents(task.public) if document.id == wanted)
    for page in range(1, len(document.pages) + 1):
        yield write_call("open", {"doc": wanted, "page": page})
    yield _submit(_record(task))


def alternatives(task: Task) -> Sequence[Attempt]:
    record = _record(task)
    return (
        Attempt("lines in reverse order", (_submit({**record, "lines": _rows(record, "lines")[::-1]}),)),
        Attempt("after a search", (write_call("search", {"text": "total"}), _submit(record))),
        Attempt("after a calculation", (write_call("calc", {"expression": "19% * 240.50"}), _submit(record))),
    )


def equivalents(task: Task) -> Sequence[Attempt]:
    record = _record(task)
    numbers = {**record, **{name: _number(record[name]) for name in TOTALS}}
    numbers["lines"] = [
        {name: _number(value) if LINE[name] is as_money else value for name, value in row.items()}
        for row in _rows(record, "lines")
    ]
    shouted = {**record, "seller": f"  {expect_text(record['seller']).upper()} "}
    text = write_call("submit", {"answer": json.dumps(record, indent=1)})
    return (
        Attempt("amounts as JSON numbers", (_submit(numbers),)),
        Attempt("capitals and spaces", (_submit(shouted),)),
        Attempt("JSON inside a string", (text,)),
        Attempt("grouped thousands", (_submit({**record, "total": _grouped(record["total"])}),)),
    )


def distractors(task: Task) -> Sequence[Attempt]:
    record = _record(task)
    lines = _rows(record, "lines")
    first, *rest = lines
    off = {**first, "net": f"{expect_text(first['net'])}1" if "." in expect_text(first["net"]) else "1.5"}
    day = expect_text(record["date"])
    wrong: dict[str, dict[str, Json]] = {
        "one line's net off": {**record, "lines": [off, *rest]},
        "one line missing": {**record, "lines": rest},
        "one line twice": {**record, "lines": [first, *lines]},
        "a line invented": {**record, "lines": [*lines, {**first, "code": "Z0000", "net": "1.00"}]},
        "quantity and price swapped": {
            **record,
            "lines": [{**first, "quantity": first["unit_price"], "unit_price": f"{first['quantity']}.001"}, *rest],
        },
        "another year": {**record, "date": f"{int(day[:4]) + 1}{day[4:]}"},
        "the other kind": {**record, "kind": "invoice" if record["kind"] == "credit note" else "credit note"},
        "negative total": {**record, "total": f"-{record['total']}"},
        "net for total": {
            **record,
            "total": f"{record['net_total']}",
            "net_total": f"{record['total']}",
            "tax_total": "1",
        },
        "one field too many": {**record, "note": "paid"},
        "no taxes": {**record, "taxes": []},
    }
    for name, decoy in expect_map(task.hidden["decoys"]).items():
        wrong[f"the decoy {name}"] = {**record, name: decoy}
    return [Attempt(name, (_submit(value),)) for name, value in wrong.items()]


def exploits(task: Task) -> Sequence[Attempt]:
    record = _record(task)
    empty: dict[str, Json] = {name: "" for name in (*HEADER, *CHOICES, *TOTALS)}
    invented: Json = {"code": "A1000", "description": "goods", "quantity": 1, "unit_price": record["net_total"]}
    sums = {name: record[name] for name in TOTALS}
    every = sorted({expect_text(value) for row in _rows(record, "lines") for value in row.values()})
    return (
        Attempt("an empty object", (_submit({}),)),
        Attempt("empty fields and lists", (_submit({**empty, "lines": [], "taxes": []}),)),
        Attempt("nulls", (_submit({name: None for name in record}),)),
        Attempt(
            "invented lines that sum to the total", (_submit({**sums, "lines": [invented], "taxes": record["taxes"]}),)
        ),
        Attempt("totals alone", (_submit({**sums, "taxes": record["taxes"], "kind": record["kind"]}),)),
        Attempt("every number copied", (_submit({"lines": [{"net": one} for one in every]}),)),
        Attempt("every number in every column", (_submit({"lines": [dict.fromkeys(LINE, one) for one in every]}),)),
        Attempt("not a number", (write_call("submit", {"answer": '{"total": NaN, "lines": [{"net": 1e999}]}'}),)),
        Attempt("a list", (write_call("submit", {"answer": [1, 2, 3]}),)),
        Attempt("pages read, nothing submitted", (write_call("open", {"doc": "D1", "page": 1}),) * 14),
    )


def _record(task: Task) -> dict[str, Json]:
    return dict(expect_map(task.hidden["record"]))


def _rows(record: Mapping[str, Json], name: str) -> list[dict[str, Json]]:
    return [dict(expect_map(row)) for row in expect_list(record[name])]


def _number(value: Json) -> float:
    return float(expect_text(value))


def _grouped(value: Json) -> str:
    whole, mark, part = expect_text(value).partition(".")
    return f"{int(whole):,}{mark}{part}"


def _submit(record: Mapping[str, Json]) -> str:
    return write_call("submit", {"answer": dict(record)})


DOMAIN = Domain(
    tasks=InvoiceTasks(),
    open_workspace=open_documents,
    verifier=InvoiceVerifier(),
    solve=solve,
    alternatives=alternatives,
    equivalents=equivalents,
    distractors=distractors,
    exploits=exploits,
    shortcuts=shortcuts,
)
