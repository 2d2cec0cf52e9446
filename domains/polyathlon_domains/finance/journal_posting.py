"""Post a told transaction as balanced journal lines under a small chart of accounts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import numpy as np

from polyathlon import Attempt, Brief, Core, Domain, Evidence, Script, Task, Verdict, answering
from polyathlon.canonical import expect_int, expect_list, expect_map, expect_text
from polyathlon.sandbox.protocol import Room
from polyathlon.verify.key import list_part
from polyathlon.verify.money import read_money, write_money
from polyathlon.verify.numbers import read_number
from polyathlon.verify.text import above, bag_f1
from polyathlon.workspaces.question import open_question
from polyathlon_domains.finance._journal_guesses import shortcuts
from polyathlon_domains.finance._transactions import ACCOUNTS, KINDS, LEVELS, RIVALS, draw_numbers, quantities

PROMPTS = (
    "{chart}\n{story}\nPost like 900 D 1.00; 901 C 1.00",
    "Chart: {chart}\n{story}\nLines like 900 D 1.00; 901 C 1.00",
    "{story}\n{chart}\nBook like 900 D 1.00; 901 C 1.00",
)
UNBALANCED = 0.25
NUM_DECOYS = (8, 4, 2, 2, 2)
"""Accounts in a chart that the entry does not touch, by level: few accounts would make a guess pay."""
MAX_LINES = 100
MAX_CHARS = 20_000
_OWN_CODES_FROM = 2  # below this level the accounts have the house's fixed codes
_ABROAD_RULE = " Book home money; rates are per VEL."
_LINE = re.compile(r"\s*([0-9]{1,6})\s+([DdCc])\s+(\S+)\s*")

Entry = Sequence[tuple[int, str, int]]
"""Journal lines: account code, side, cents."""


@dataclass(frozen=True, slots=True)
class JournalTasks:
    """A kind of transaction, its numbers, and from level 2 on codes of its own for its accounts."""

    def draw(self, rng: np.random.Generator, level: int) -> Core:
        names = sorted(LEVELS[level])
        name = names[int(rng.integers(len(names)))]
        kind = KINDS[name]
        codes: dict[str, int] = {}
        for account, _, _ in kind.lines:
            house = ACCOUNTS[account][0]
            code = house
            while level >= _OWN_CODES_FROM and (code == house or code in codes.values()):
                code = house // 100 * 100 + int(rng.integers(100))
            codes[account] = code
        return {"kind": name, "numbers": draw_numbers(rng, kind), "codes": codes}

    def render(self, core: Core, rng: np.random.Generator) -> Brief:
        name = expect_text(core["kind"])
        kind = KINDS[name]
        codes = {account: expect_int(code) for account, code in expect_map(core["codes"]).items()}
        level = next(level for level, kinds in enumerate(LEVELS) if name in kinds)
        decoys = _decoys(codes, rng, level)
        chart = [f"{code} {ACCOUNTS[account][1]}" for account, code in sorted({**codes, **decoys}.items())]
        numbers = {key: expect_int(number) for key, number in expect_map(core["numbers"]).items()}
        cents = quantities(kind, numbers)
        phrase = kind.phrases[int(rng.integers(len(kind.phrases)))]
        rule = _ABROAD_RULE if kind.shape in ("exchange", "abroad") else ""
        prompt = PROMPTS[int(rng.integers(len(PROMPTS)))].format(
            chart=", ".join(chart[i] for i in rng.permutation(len(chart))),
            story=phrase.format(**{key: _tell(key, number) for key, number in {**cents, **numbers}.items()}) + rule,
        )
        lines = [[codes[account], side, cents[quantity]] for account, side, quantity in kind.lines]
        return Brief(prompt, hidden={"lines": lines, "decoys": sorted(decoys.values())})


@dataclass(frozen=True, slots=True)
class JournalVerifier:
    """Passed: the lines, netted by account and side, are the entry. Else their F1, a quarter of it when unbalanced.

    The F1 counts above that of one right line among two: "cash, and something else" is right that far without reading.
    """

    def judge(self, task: Task, evidence: Evidence, room: Room) -> Verdict:
        wanted = Counter(f"{code} {side} {cents}" for code, side, cents in _entry(task))
        given = read_entry(evidence.answer or "")
        if given == wanted:
            return Verdict.passing()
        f1 = bag_f1(given.elements(), wanted.elements())
        credit = above(f1, 2 / (2 + len(wanted)))
        balanced = given["?"] == 0 and _total(given, "D") == _total(given, "C")
        parts = {"line_f1": f1, "balanced": 1.0 if balanced else 0.0}
        reason = "another entry" if balanced else "the entry does not balance, or holds what is no line"
        return Verdict.failing(reason, progress=credit if balanced else UNBALANCED * credit, parts=parts)


def read_entry(text: str) -> Counter[str]:
    """Return the netted lines of `text` as "code side cents", each once; "?" counts the pieces that are no line.

    An account on both sides hedges: both its lines become "?".
    """
    pieces = [piece for piece in re.split(r"[;\n]", text) if piece.strip()] if len(text) <= MAX_CHARS else [text]
    if len(pieces) > MAX_LINES:
        return Counter({"?": len(pieces)})
    net: dict[tuple[str, str], int] = {}
    bad = 0
    for piece in pieces:
        match = _LINE.fullmatch(piece) if len(piece) < 80 else None
        amount = read_money(match[3]) if match is not None else None
        if match is None or amount is None or amount <= 0 or (amount * 100).denominator != 1:
            bad += 1
            continue
        key = (match[1], match[2].upper())
        net[key] = net.get(key, 0) + (amount * 100).numerator
    debits, credits = ({code for code, each in net if each == side} for side in "DC")
    hedged = debits & credits
    lines = Counter(f"{code} {side} {net[code, side]}" for code, side in net if not hedged & {code})
    return lines + Counter({"?": bad + 2 * len(hedged)})


def solve(task: Task) -> Script:
    """The lines in the order of the reference."""
    return answering(_write(_entry(task)))


def alternatives(task: Task) -> Sequence[Attempt]:
    (code, side, cents), *rest = _entry(task)
    split = [(code, side, 1), (code, side, cents - 1), *rest]
    return (
        Attempt("credits first", (_write(_entry(task)[::-1]),)),
        Attempt("one line split in two", (_write(split),)),
    )


def equivalents(task: Task) -> Sequence[Attempt]:
    written = _write(_entry(task))
    grouped = "; ".join(f"{code} {side} {write_money(cents)}" for code, side, cents in _entry(task))
    return (
        Attempt("a line each", (written.replace("; ", "\n") + "\n",)),
        Attempt("small letters, semicolon at the end", (written.lower() + " ;",)),
        Attempt("grouped thousands", (grouped,)),
        Attempt("in answer tags after reasoning", (f"What came in is debited. <answer>{written}</answer>",)),
    )


def distractors(task: Task) -> Sequence[Attempt]:
    entry = _entry(task)
    (_, side, cents), *rest = entry
    decoy = expect_int(expect_list(task.hidden["decoys"])[0])
    return (
        Attempt("sides swapped", (_write([(c, "C" if s == "D" else "D", n) for c, s, n in entry]),)),
        Attempt("a cent too much on every line", (_write([(c, s, n + 1) for c, s, n in entry]),)),
        Attempt("a wrong account", (_write([(decoy, side, cents), *rest]),)),
        Attempt("one line missing", (_write(rest),)),
        Attempt("ten times the amounts", (_write([(c, s, 10 * n) for c, s, n in entry]),)),
    )


def exploits(task: Task) -> Sequence[Attempt]:
    entry = _entry(task)
    amounts = sorted({cents for _, _, cents in entry})
    (code, side, cents), other = entry[0], expect_int(expect_list(task.hidden["decoys"])[0])
    hedges = [(code, side, cents) for code, _, _ in entry for side in "DC" for cents in amounts]
    suspense = [(999, "D", amounts[0]), (998, "C", amounts[0])]
    return (
        Attempt("both sides of every account", (_write(hedges),)),
        Attempt(
            "one line known, the other account picked",
            (_write([(code, side, cents), (other, "DC"[side == "D"], cents)]),),
        ),
        Attempt("the example", ("900 D 1.00; 901 C 1.00",)),
        Attempt("suspense accounts", (_write(suspense),)),
        Attempt("accounts without amounts", ("; ".join(f"{code} {side}" for code, side, _ in entry),)),
        Attempt("zero amounts", ("; ".join(f"{code} {side} 0.00" for code, side, _ in entry),)),
        Attempt("negative amounts", ("; ".join(f"{code} {side} -{cents}.00" for code, side, cents in entry),)),
        Attempt("not a number", ("; ".join(f"{code} {side} nan" for code, side, _ in entry),)),
    )


def proves_right(task: Task, actions: Sequence[str]) -> bool:
    """Whether a bare answer holds the very lines of the entry, in any order, amounts as decimals."""
    lines = [re.fullmatch(r" *(\d+) ([DC]) (\d{1,12}(?:\.\d{1,2})?) *", line) for line in actions[0].split(";")]
    read = sorted((int(line[1]), line[2], Decimal(line[3]) * 100) for line in lines if line is not None)
    wanted = sorted((code, side, Decimal(cents)) for code, side, cents in _entry(task))
    return len(actions) == 1 and len(read) == len(lines) and read == wanted


def _entry(task: Task) -> list[tuple[int, str, int]]:
    rows = [expect_list(row) for row in list_part(task.hidden, "lines")]
    return [(expect_int(code), expect_text(side), expect_int(cents)) for code, side, cents in rows]


def _write(entry: Entry) -> str:
    return "; ".join(f"{code} {side} {cents // 100}.{cents % 100:02d}" for code, side, cents in entry)


def _total(entry: Counter[str], side: str) -> Fraction:
    """Return the cents on one side of an entry of which every line could be read."""
    rows = [line.split() for line in entry]
    return sum((read_number(row[2], "integer") or Fraction(0) for row in rows if row[1] == side), Fraction(0))


def _tell(name: str, number: int) -> str:
    if name in ("rate", "parts", "taken", "units", "part"):
        return str(number)
    return f"{number // 100}.{number % 100:02d}"


def _decoys(codes: dict[str, int], rng: np.random.Generator, level: int) -> dict[str, int]:
    """Return accounts that the entry does not touch, with codes that it does not use.

    Those that other entries of the level touch come first: any other could be left out unread. None is one that
    somebody could book instead: writing machines down directly is another right way to book wear.
    """
    rivals = {rival for account in codes for rival in RIVALS.get(account, ())}
    names = [account for account in ACCOUNTS if account not in codes and account not in rivals]
    names = [names[int(i)] for i in rng.permutation(len(names))]
    usual = {account for kind in LEVELS[level].values() for account, _, _ in kind.lines}
    chosen = sorted(names, key=lambda account: account not in usual)[: NUM_DECOYS[level]]
    taken = set(codes.values())
    decoys: dict[str, int] = {}
    for account in chosen:
        code = ACCOUNTS[account][0]
        while code in taken:
            code = code // 100 * 100 + int(rng.integers(100))
        taken.add(code)
        decoys[account] = code
    return decoys


DOMAIN = Domain(
    tasks=JournalTasks(),
    open_workspace=open_question,
    verifier=JournalVerifier(),
    solve=solve,
    alternatives=alternatives,
    equivalents=equivalents,
    distractors=distractors,
    exploits=exploits,
    proves_right=proves_right,
    shortcuts=shortcuts,
)
