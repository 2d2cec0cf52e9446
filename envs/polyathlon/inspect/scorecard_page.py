"""Scorecards as HTML: one page a domain, which stands by itself, and an index of them. Pure; needs no network.

Everything that a domain or a policy wrote is clipped, made visible and escaped on its way into a page, here and in no
other place: `finalize` sees each expression of a template.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import resources

import jinja2
from markupsafe import Markup

from polyathlon.inspect.grade import Grade, grade_of
from polyathlon.inspect.readable import readable
from polyathlon.inspect.reward_plot import INVALID, best_of, bin_of_floor, bin_text, reward_plot
from polyathlon.inspect.scorecard import CardCheck, CardFault, CardMeasure, Scorecard

MAX_SHOWN_FAULTS = 12
MAX_SHOWN_ACTIONS = 12
PAID = ("C02", "C03", "N01", "N02", "N04", "N05", "V01", "V02", "V03", "V04", "X01", "X02", "X03", "X04")
REFUSED = ("S01", "S02", "S03", "S04", "V06")
DIFFICULTY = ("N01", "N02", "N03", "N05", "S01", "Q01")
MARKS = {"gold": "\u2713", "silver": "\u2713", "bronze": "\u25b3", "quarantine": "\u2717", "reject": "\u2717"}
_OF_LEVEL = re.compile(r"(.+?)[ _](?:level[ _])?(\d+)")


def scorecard_page(card: Scorecard, *, json_name: str) -> str:
    """Return the page of one domain. `json_name` is the file beside it that holds the same as data."""
    columns, rows = _levels(card)
    sources = list(card.rewards)
    return (
        _environment()
        .get_template("scorecard.html.j2")
        .render(
            card=card,
            num_levels=len(card.levels),
            facts=_facts(card),
            plot=Markup(reward_plot(card.rewards, floor=card.floor)),  # it escapes what it is given
            bins=[(bin_text(place), [card.rewards[name][place] for name in sources]) for place in range(INVALID + 1)],
            level_columns=columns,
            level_rows=rows,
            checks=[_Checked.of(check, len(card.levels)) for check in card.results],
            measures=[_Measured.of(check, measure) for check in card.results for measure in check.measures],
            best=best_exploit(card),
            groups=_groups(card),
            numbers=[
                (check.check, name, _text(value))
                for check in card.results
                for name, value in check.numbers.items()
                if not _of_level(check, name)
            ],
            marks=MARKS,
            max_actions=MAX_SHOWN_ACTIONS,
            json_name=json_name,
        )
    )


def index_page(cards: Sequence[Scorecard]) -> str:
    """Return the index of `cards`, the least grade first; a small script sorts and filters it."""
    script = _source("scorecards.js")
    counts = Counter(card.grade for card in cards)
    rows = sorted(map(_Indexed.of, cards), key=lambda row: (row.rank, row.card.id))
    trainable = counts["gold"] + counts["silver"]
    return (
        _environment()
        .get_template("scorecards.html.j2")
        .render(
            cards=cards,
            headline=f"{trainable} of {len(cards)} domains are fit to train on: silver or gold",
            counts=[(grade.word, counts[grade.word]) for grade in reversed(Grade) if counts[grade.word]],
            families=sorted({card.family for card in cards}),
            columns=_COLUMNS,
            rows=rows,
            script=Markup(script),  # a file of ours
            script_hash=f"sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}",
        )
    )


def best_exploit(card: Scorecard) -> str:
    """Return in a sentence what the best attack was, and what it earned."""
    found = [(fault, check) for check in card.results if check.check.startswith("X") for fault in check.faults]
    if found:
        fault, check = max(found, key=lambda pair: -1.0 if pair[0].reward is None else pair[0].reward)
        earned = "" if fault.reward is None else f" It earned {fault.reward:.3f}."
        return f"{check.check} {check.title}: {fault.message}{earned}"
    counts = card.rewards.get("attack", ())
    if not sum(counts):
        return "No attack was played, so none is known: that is no proof."
    best = best_of(counts)
    if best is None:
        return f"All {sum(counts):,} attacks were lost: the verifier or the sandbox broke, and nothing is known."
    text = f"the best of {sum(counts):,} attacks earned {bin_text(best)}; the declared floor is {card.floor:g}."
    return f"None that pays: {text}" if best <= bin_of_floor(card.floor) else f"{text[0].upper()}{text[1:]}"


@dataclass(frozen=True, slots=True)
class _Cell:
    grade: str
    text: str


@dataclass(frozen=True, slots=True)
class _Checked:
    """A row of the table of checks. `cells` is a value a level; `whole`: its only measure is of the whole domain."""

    check: CardCheck
    value: str
    interval: str
    thresholds: tuple[str, ...]
    cells: tuple[_Cell | None, ...]
    whole: bool

    @classmethod
    def of(cls, check: CardCheck, num_levels: int) -> _Checked:
        sign = "\u2265" if check.better == "high" else "\u2264"
        by_level = {measure.level: _Cell(measure.grade, _text(measure.value)) for measure in check.measures}
        return cls(
            check=check,
            value=_text(check.worst.value) if check.worst else "",
            interval=_interval(check.worst) if check.worst else "",
            thresholds=tuple(
                "" if threshold is None else f"{sign}\u00a0{threshold:g}"
                for threshold in (check.gold, check.silver, check.bronze)
            ),
            cells=tuple(by_level.get(level) for level in range(num_levels)),
            whole=set(by_level) == {None},
        )


@dataclass(frozen=True, slots=True)
class _Measured:
    check: str
    level: str
    grade: str
    value: str
    interval: str
    num_cases: int

    @classmethod
    def of(cls, check: CardCheck, measure: CardMeasure) -> _Measured:
        level = "all" if measure.level is None else str(measure.level)
        name = f"{check.check} {check.title}"
        return cls(name, level, measure.grade, _text(measure.value), _interval(measure), measure.num_cases)


@dataclass(frozen=True, slots=True)
class _Level:
    level: int
    grade: str
    held_by: str
    cells: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Group:
    """Faults of one kind, by check: the check, those that are shown, and how many more there are."""

    title: str
    hint: str
    checks: tuple[tuple[CardCheck, tuple[CardFault, ...], int], ...]


@dataclass(frozen=True, slots=True)
class _Column:
    name: str
    is_text: bool


_COLUMNS = tuple(
    _Column(name, is_text=name in ("domain", "grade", "reason", "levels", "kind"))
    for name in ("domain", "grade", "reason", "levels", "faults", "floor", "kind", "seconds")
)


@dataclass(frozen=True, slots=True)
class _Indexed:
    card: Scorecard
    href: str
    rank: int
    levels: str
    levels_rank: float
    floor: str

    @classmethod
    def of(cls, card: Scorecard) -> _Indexed:
        grades = [grade_of(word) for word in card.levels]
        counts = Counter(card.levels)
        levels = ", ".join(f"{counts[g.word]} {g.word}" for g in reversed(Grade) if counts[g.word])
        mean = sum(grades) / len(grades) if grades else -1.0
        return cls(card, f"{card.id}.html", int(grade_of(card.grade)), levels, round(mean, 3), f"{card.floor:g}")


def _facts(card: Scorecard) -> list[tuple[str, str]]:
    counts = Counter(card.levels)
    levels = ", ".join(f"{counts[g.word]} {g.word}" for g in reversed(Grade) if counts[g.word])
    return [
        ("kind", card.kind or "unknown"),
        ("levels", f"{len(card.levels)} ({levels})" if levels else str(len(card.levels))),
        ("messages an episode", str(card.max_turns)),
        ("declared floor", f"{card.floor:g}"),
        ("needs", ", ".join(card.needs) or "nothing"),
        ("faults", str(card.num_faults)),
        ("cases", f"{sum(check.num_cases for check in card.results):,}"),
        ("inspected in", f"{card.wall_s:.1f} s, of which {card.cpu_s:.1f} s CPU outside sandboxes"),
    ]


def _groups(card: Scorecard) -> list[_Group]:
    """Return the faults in three kinds, empty ones left out."""
    kinds = {
        "Wrong answers that were paid": (
            "Surviving mutants, exploits, guesses and hostile texts: what was sent, whole.",
            [check for check in card.results if check.check in PAID],
        ),
        "Right answers that were refused": (
            "References, alternatives and rewrites that did not earn 1: what was sent, whole.",
            [check for check in card.results if check.check in REFUSED],
        ),
        "Other faults": (
            "What the other checks found.",
            [check for check in card.results if check.check not in (*PAID, *REFUSED)],
        ),
    }
    return [
        _Group(title, hint, tuple((check, *_shown(check)) for check in checks if check.faults))
        for title, (hint, checks) in kinds.items()
        if any(check.faults for check in checks)
    ]


def _shown(check: CardCheck) -> tuple[tuple[CardFault, ...], int]:
    return check.faults[:MAX_SHOWN_FAULTS], max(0, len(check.faults) - MAX_SHOWN_FAULTS)


def _levels(card: Scorecard) -> tuple[list[str], list[_Level]]:
    """Return the columns of the table of levels, and its rows: grade, floor and difficulty, level by level.

    Columns are the measures of `DIFFICULTY`, and every number of a check whose name ends with a level.
    """
    columns: dict[str, dict[int, str]] = {}
    for check in card.results:
        if check.check in DIFFICULTY:
            found = {measure.level: _text(measure.value) for measure in check.measures if measure.level is not None}
            columns[f"{check.check} {check.title}"] = found
        for name, value in check.numbers.items():
            if place := _of_level(check, name):
                columns.setdefault(f"{check.check} {place[0]}", {})[place[1]] = _text(value)
    kept = {name: values for name, values in columns.items() if values}
    rows = [
        _Level(
            level=level,
            grade=grade,
            held_by=", ".join(_held_by(card, level, grade)),
            cells=tuple(values.get(level, "") for values in kept.values()),
        )
        for level, grade in enumerate(card.levels)
    ]
    return list(kept), rows


def _of_level(check: CardCheck, name: str) -> tuple[str, int] | None:
    found = _OF_LEVEL.fullmatch(name)
    levels = {measure.level for measure in check.measures}
    if found is None or int(found[2]) > max((level for level in levels if level is not None), default=99):
        return None
    return found[1], int(found[2])


def _held_by(card: Scorecard, level: int, grade: str) -> Iterator[str]:
    if grade == Grade.GOLD.word:
        return
    for check in card.results:
        here = [measure.grade for measure in check.measures if measure.level in (level, None)]
        blank = not check.num_cases and not check.not_applicable and grade == Grade.QUARANTINE.word
        if blank or any(found == grade for found in here):
            yield check.check


def _interval(measure: CardMeasure) -> str:
    if measure.low is None or measure.high is None:
        return ""
    return f"[{measure.low:.3g}, {measure.high:.3g}]"


def _text(value: float | None) -> str:
    if value is None:
        return "none"
    return f"{value:,.0f}" if value == round(value) and abs(value) >= 1000 else f"{value:.3g}"


@functools.cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_source),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_shown_text,
    )
    environment.globals["style"] = Markup(_source("scorecard.css"))  # a file of ours
    return environment


def _shown_text(value: object) -> object:
    """Make text from a domain fit to be shown; our own markup passes."""
    return value if isinstance(value, Markup) or not isinstance(value, str) else readable(value)


@functools.cache
def _source(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")
