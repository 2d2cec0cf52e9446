"""From a text that is paid to the smallest one that still is."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

_PART = re.compile(r"\s+|[^\W\d_]+|\d+|[^\w\s]")


def shrunk(text: str, keeps: Callable[[str], bool], *, max_tries: int) -> str:
    """Return a text no longer than `text` that `keeps` still holds for: greedy, parts first, then simpler numbers."""
    tries = 0
    found = True
    while found:
        found = False
        for smaller in _smaller(text):
            tries += 1
            if tries > max_tries:
                return text
            if keeps(smaller):
                text, found = smaller, True
                break
    return text


def _smaller(text: str) -> Iterator[str]:
    """Yield texts that are simpler: without a half, a line, a run of parts, a part; with 0 for a number."""
    parts = _PART.findall(text)
    size = len(parts) // 2
    while size >= 1:
        for start in range(0, len(parts), size):
            yield "".join(parts[:start] + parts[start + size :])
        size //= 2
    for place, part in enumerate(parts):
        simple = "0" if part.isdigit() else "a" if part.isalpha() else part
        if part != simple:
            yield "".join([*parts[:place], simple, *parts[place + 1 :]])
