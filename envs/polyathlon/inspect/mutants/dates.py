"""Days made wrong: one off, or month and day exchanged."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, timedelta

DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


def date_mutants(text: str) -> Iterator[tuple[str, str]]:
    """Yield (operator, day) for `text`, one day as YYYY-MM-DD; nothing for what is no day of the calendar."""
    try:
        day = date.fromisoformat(text)
        yield "day +1", (day + timedelta(days=1)).isoformat()
        yield "day -1", (day - timedelta(days=1)).isoformat()
    except (ValueError, OverflowError):
        return
    if day.day <= 12 and day.day != day.month:
        yield "month and day swapped", f"{day.year:04d}-{day.day:02d}-{day.month:02d}"
    if not (day.month == 2 and day.day == 29):
        yield "another year", day.replace(year=day.year - 1 if day.year > 1 else 2).isoformat()
