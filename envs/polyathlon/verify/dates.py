"""Calendar days, read and written in declared forms; a day in any other form is no day."""

from __future__ import annotations

import re
from datetime import date
from typing import Literal

DateForm = Literal["iso", "dmy", "mdy", "long"]
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


def read_date(text: str, *forms: DateForm) -> date | None:
    """Return the day that `text` is in the first of `forms` that fits, else None. Never raises.

    "iso": 2031-04-17; "dmy": 17/04/2031, 17.4.2031 or 17-04-2031; "mdy": 04/17/2031; "long": 17 April 2031 or
    17 Apr 2031, in English. White space around it is allowed; days that no calendar has are none.
    """
    body = text.strip() if len(text) <= 40 else ""
    for form in forms:
        match = (_LONG if form == "long" else _NUMBERED[form]).fullmatch(body)
        month = 0 if match is None else _month(match["m"])
        if match is not None and month:
            try:
                return date(int(match["y"]), month, int(match["d"]))
            except ValueError:
                continue
    return None


def write_date(day: date, form: DateForm, *, mark: str = "/") -> str:
    """Return `day` in `form`; `mark` stands between the parts of "dmy" and "mdy"."""
    if form == "iso":
        return day.isoformat()
    if form == "long":
        return f"{day.day} {MONTHS[day.month - 1]} {day.year}"
    first, second = (day.day, day.month) if form == "dmy" else (day.month, day.day)
    return f"{first:02d}{mark}{second:02d}{mark}{day.year}"


def _month(text: str) -> int:
    if text.isdigit():
        return int(text)
    named = (
        n for n, month in enumerate(MONTHS, start=1) if text.casefold() in (month.casefold(), month[:3].casefold())
    )
    return next(named, 0)
