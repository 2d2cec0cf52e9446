"""Name the item code of each event that a short report tells of, and its day, party and amount."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from polyathlon import Attempt, Brief, Core, Domain, Evidence, Script, Task, Verdict, answering
from polyathlon.canonical import Json, expect_int, expect_list, expect_map, expect_text
from polyathlon.sandbox.protocol import Room
from polyathlon.verify.dates import read_date
from polyathlon.verify.key import list_part
from polyathlon.verify.money import read_money
from polyathlon.verify.text import above, same_words
from polyathlon.workspaces.question import open_question
from polyathlon_domains.finance._event_guesses import shortcuts
from polyathlon_domains.finance._event_reports import WIDE_STEPS, draw_event, read_event, tell_amended, tell_hedged
from polyathlon_domains.finance._events import BY_LABEL, ITEMS
from polyathlon_domains.finance._plain_events import (
    DEEDS,
    THINGS,
    draw_plain,
    plain_chart,
    plain_code,
    plain_row,
    tell_plain,
)

SHORT_FORMS = (
    "Give code like {0};date;party;amount",
    "Code (like {0});date;party;amount?",
    "Answer code, as {0};date;party;amount",
)
LONG_FORMS = (
    "What took place, a line each? code;YYYY-MM-DD;party;sum in units (- if none)",
    "A line per event that took place: code;YYYY-MM-DD;party;sum in units (- if none)",
)
MAX_LINES = 50
MAX_CHARS = 10_000


@dataclass(frozen=True, slots=True)
class Plan:
    """What a level asks: what surrounds its events, how many items are shown, and how many events there are.

    The plain stories have a chart of their own.
    """

    story: str
    shown: int = 0
    events: int = 1


_PLANS = (Plan("plain"), Plan("reworded"), Plan("hedged", 5), Plan("hedged", 6, 2), Plan("amended", 6, 2))
_PLAIN = ("plain", "reworded")


@dataclass(frozen=True, slots=True)
class EventTasks:
    """Events that took place, by code. Plans, corrected figures and withdrawn events are told around them."""

    def draw(self, rng: np.random.Generator, level: int) -> Core:
        plan = _PLANS[level]
        if plan.story in _PLAIN:
            return {**draw_plain(rng), "story": plan.story}
        shown = [ITEMS[int(i)] for i in rng.choice(len(ITEMS), size=plan.shown, replace=False)]
        codes = {item.label: item.code for item in shown}
        if plan.story == "amended":
            fresh = map(int, rng.choice(900, size=plan.shown, replace=False))
            codes = {item.label: f"{n // 100 + 1}.{n % 100:02d}" for item, n in zip(shown, fresh, strict=True)}
        events = [draw_event(item, rng, WIDE_STEPS).as_json() for item in shown[: plan.events]]
        return {"codes": codes, "events": events, "story": plan.story}

    def render(self, core: Core, rng: np.random.Generator) -> Brief:
        if core["story"] in _PLAIN:
            return _render_plain(core, rng)
        codes = {label: expect_text(code) for label, code in expect_map(core["codes"]).items()}
        events = [read_event(expect_map(event)) for event in expect_list(core["events"])]
        taken = {event.label for event in events}
        idle = [BY_LABEL[label] for label in sorted(codes) if label not in taken]
        idle = [idle[int(i)] for i in rng.permutation(len(idle))]
        tell = tell_hedged if core["story"] == "hedged" else tell_amended
        report = tell(events, idle, rng)
        chart = ", ".join(f"{code} {label}" for label, code in sorted(codes.items(), key=lambda pair: pair[1]))
        rows, decoys = ([[codes[e.label], e.day, e.party, e.amount] for e in told] for told in (events, report.decoys))
        prompt = f"{chart}\n{report.text}\n{LONG_FORMS[int(rng.integers(len(LONG_FORMS)))]}"
        return Brief(prompt, hidden={"events": rows, "decoys": decoys, "codes": sorted(codes.values())})


def _render_plain(core: Core, rng: np.random.Generator) -> Brief:
    things, deeds = ([expect_text(name) for name in expect_list(core[key])] for key in ("things", "deeds"))
    told = tell_plain(expect_map(core["event"]), rng, reworded=core["story"] == "reworded")
    example = plain_code(
        *(next(name for name in known if name not in shown) for known, shown in ((THINGS, things), (DEEDS, deeds)))
    )
    form = SHORT_FORMS[int(rng.integers(len(SHORT_FORMS)))].format(example)
    codes = sorted(plain_code(thing, deed) for thing in things for deed in deeds)
    hidden: dict[str, Json] = {"events": [plain_row(core["event"])], "decoys": [], "codes": [*codes]}
    return Brief(f"{plain_chart(things, deeds)}\n{told}\n{form}", hidden=hidden)


@dataclass(frozen=True, slots=True)
class EventVerifier:
    """Passed: exactly the events, each whole. Else what they are worth over lines or events, whichever are more.

    An event is worth its right fields if its code is right. A code alone earns nothing, nor does "-" for the amount
    beside a wrong party: both can be guessed. More lines than events count above what a line for every code would.
    """

    def judge(self, task: Task, evidence: Evidence, room: Room) -> Verdict:
        wanted = {expect_text(row[0]): row for row in map(expect_list, list_part(task.hidden, "events"))}
        lines = [line for line in (evidence.answer or "")[: MAX_CHARS + 1].splitlines() if line.strip()]
        if not lines or len(lines) > MAX_LINES or len(evidence.answer or "") > MAX_CHARS:
            return Verdict.failing("no lines, or far too many")
        credits: dict[str, float] = {}
        for fields in ([field.strip() for field in line.split(";")] for line in lines):
            row = wanted.get(fields[0])
            if len(fields) == 4 and row is not None:
                credits.setdefault(fields[0], _credit(fields, row))
        if len(lines) == len(wanted) == sum(credit == 1.0 for credit in credits.values()):
            return Verdict.passing()
        share = sum(credits.values()) / max(len(lines), len(wanted))
        if len(lines) > len(wanted):
            share = above(share, len(wanted) / len(list_part(task.hidden, "codes")))
        return Verdict.failing("not the events that took place", progress=share, parts={"events": share})


def _credit(fields: Sequence[str], wanted: Sequence[Json]) -> float:
    """Return the share of day, party and amount that are right."""
    _, day, party, amount = fields
    right_day = read_date(day, "iso") == read_date(expect_text(wanted[1]), "iso")
    right_party = same_words(party, expect_text(wanted[2]))
    no_sum = wanted[3] is None
    right_amount = (amount == "-" and right_party) if no_sum else read_money(amount) == expect_int(wanted[3])
    return (right_day + right_party + right_amount) / 3


def solve(task: Task) -> Script:
    """A line for each event, in the report's order of codes."""
    return answering(_write(_events(task)))


def alternatives(task: Task) -> Sequence[Attempt]:
    events = _events(task)
    return (Attempt("events in reverse order", (_write(events[::-1]),)),) if len(events) > 1 else ()


def equivalents(task: Task) -> Sequence[Attempt]:
    events = _events(task)
    written = _write(events)
    return (
        Attempt("spaces around fields", ("\n" + written.replace(";", " ; ") + "\n",)),
        Attempt("capital letters", (written.upper(),)),
        Attempt("grouped amounts", (_write([[*row[:3], f"{row[3]:,}" if row[3] else None] for row in events]),)),
        Attempt("in answer tags after reasoning", (f"That took place.\n<answer>{written}</answer>",)),
    )


def distractors(task: Task) -> Sequence[Attempt]:
    (code, day, party, amount), *rest = events = _events(task)
    other = next(text for text in map(expect_text, expect_list(task.hidden["codes"])) if text != code)
    later = f"{day}"[:-1] + ("1" if f"{day}"[-1] != "1" else "2")
    wrong: dict[str, list[list[str | int | None]]] = {
        "another code": [[other, day, party, amount], *rest],
        "another day": [[code, later, party, amount], *rest],
        "another party": [[code, day, f"{party}o", amount], *rest],
        "another amount": [[code, day, party, 1000 if amount is None else int(amount) * 1000], *rest],
        "the first event twice": [events[0], *events],
        "one event missing": [list(row) for row in rest] or [[code, day, party, 1]],
    }
    for number, decoy in enumerate(map(expect_list, expect_list(task.hidden["decoys"]))):
        row = _row(expect_text(decoy[0]), *decoy[1:])
        wrong[f"as the report misleads, {number}"] = [*(event for event in events if event[0] != row[0]), row]
    return [Attempt(name, (_write(rows),)) for name, rows in wrong.items()]


def exploits(task: Task) -> Sequence[Attempt]:
    codes = [expect_text(code) for code in expect_list(task.hidden["codes"])]
    code = _events(task)[0][0]
    return (
        Attempt("the code alone", (str(code),)),
        Attempt("the code and empty fields", (f"{code};;;",)),
        Attempt("the code and dashes", (f"{code};-;-;-",)),
        Attempt("every code", ("\n".join(f"{one};2031-01-01;x;-" for one in codes),)),
        Attempt("not a number", (f"{code};nan;nan;nan",)),
        Attempt("the report copied back", (task.prompt,)),
        Attempt("fields without a code", (";".join(str(field) for field in _events(task)[0][1:]),)),
    )


def _events(task: Task) -> list[list[str | int | None]]:
    rows = [expect_list(row) for row in expect_list(task.hidden["events"])]
    return [_row(expect_text(row[0]), row[1], row[2], row[3]) for row in rows]


def _row(code: str, day: Json, party: Json, amount: Json) -> list[str | int | None]:
    return [code, expect_text(day), expect_text(party), None if amount is None else expect_int(amount)]


def _write(rows: Sequence[Sequence[str | int | None]]) -> str:
    return "\n".join(";".join("-" if field is None else str(field) for field in row) for row in rows)


DOMAIN = Domain(
    tasks=EventTasks(),
    open_workspace=open_question,
    verifier=EventVerifier(),
    solve=solve,
    alternatives=alternatives,
    equivalents=equivalents,
    distractors=distractors,
    exploits=exploits,
    shortcuts=shortcuts,
)
