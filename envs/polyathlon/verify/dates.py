"""Calendar days, read and written in declared forms; a day in any other form is no day."""

from __future__ import annotations

import re
from datetime import date
from typing import Literal

DateForm = Literal["iso", "dmy", "mdy", "long", "words"]
MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
_NUMBERED = {
    "iso": re.compile(r"(?P<y>[0-9]{4})-(?P<m>[0-9]{2})-(?P<d>[0-9]{2})"),
    "dmy": re.compile(r"(?P<d>[0-9]{1,2})(?P<s>[./-])(?P<m>[0-9]{1,2})(?P=s)(?P<y>[0-9]{4})"),
    "mdy": re.compile(r"(?P<m>[0-9]{1,2})(?P<s>[./-])(?P<d>[0-9]{1,2})(?P=s)(?P<y>[0-9]{4})"),
}
_LONG = re.compile(r"(?P<d>[0-9]{1,2}) (?P<m>[A-Za-z]{3,9}) (?P<y>[0-9]{4})")
_DAY_MONTH = re.compile(r"(?P<d>[0-9]{1,2})(?P<th>st|nd|rd|th)? (?:of )?(?P<m>[A-Za-z]{3,9})\.?(?:,? (?P<y>[0-9]{4}))?")
_MONTH_DAY = re.compile(r"(?P<m>[A-Za-z]{3,9})\.? (?P<d>[0-9]{1,2})(?P<th>st|nd|rd|th)?(?:,? (?P<y>[0-9]{4}))?")
_LEAP_YEAR = 2000


def read_date(text: str, *forms: DateForm) -> date | None:
    """Return the day that `text` is in the first of `forms` that fits, else None. Never raises.

    "iso": 2031-04-17; "dmy": 17/04/2031, 17.4.2031 or 17-04-2031; "mdy": 04/17/2031; "long": 17 April 2031 or
    17 Apr 2031, in English; "words": that, and 17th of April 2031, April 17, 2031 or Apr. 17th 2031. White space around
    it is allowed; days that no calendar has are none.
    """
    body = text.strip() if len(text) <= 40 else ""
    for form in forms:
        if form == "words":
            year, month, day = _words(body) or (0, 0, 0)
            if year:
                return date(year, month, day)
            continue
        match = (_LONG if form == "long" else _NUMBERED[form]).fullmatch(body)
        month = 0 if match is None else _month(match["m"])
        if match is not None and month:
            try:
                return date(int(match["y"]), month, int(match["d"]))  # sound: ASCII digits, four and two
            except ValueError:
                continue
    return None


def read_month_day(text: str) -> tuple[int, int] | None:
    """Return (month, day) of a day without its year, as "October 21st", "Oct 21" or "21 October"; else None."""
    year, month, day = _words(text.strip() if len(text) <= 40 else "") or (0, 0, 0)
    return (month, day) if month and not year else None


def write_date(day: date, form: DateForm, *, mark: str = "/") -> str:
    """Return `day` in `form`; `mark` stands between the parts of "dmy" and "mdy"."""
    if form == "iso":
        return day.isoformat()
    if form in ("long", "words"):
        return f"{day.day} {MONTHS[day.month - 1]} {day.year}"
    first, second = (day.day, day.month) if form == "dmy" else (day.month, day.day)
    return f"{first:02d}{mark}{second:02d}{mark}{day.year}"


def _words(body: str) -> tuple[int, int, int] | None:
    """Return (year, month, day) of a day in words, the year 0 where none is given; None for no day."""
    match = _DAY_MONTH.fullmatch(body) or _MONTH_DAY.fullmatch(body)
    month = 0 if match is None else _month(match["m"])
    if match is None or not month or match["th"] not in (None, _ordinal(match["d"])):
        return None
    year, day = int(match["y"] or 0), int(match["d"])  # sound: four and two ASCII digits
    try:
        date(year or _LEAP_YEAR, month, day)
    except ValueError:
        return None
    return None if match["y"] and not year else (year, month, day)


def _ordinal(day: str) -> str:
    last = "" if day[:-1] == "1" else day[-1]
    return {"1": "st", "2": "nd", "3": "rd"}.get(last, "th")


def _month(text: str) -> int:
    if text.isdigit():
        return int(text)  # sound: at most two ASCII digits
    named = (
        n for n, month in enumerate(MONTHS, start=1) if text.casefold() in (month.casefold(), month[:3].casefold())
    )
    return next(named, 0)
