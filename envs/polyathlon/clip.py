"""Clipping long text head and tail, with a mark that says how much was cut."""

from __future__ import annotations

MAX_OBSERVATION_CHARS = 8_000


def clip_text(text: str, *, max_chars: int = MAX_OBSERVATION_CHARS) -> str:
    """Return `text`, or its head and tail around a visible mark when it is longer than `max_chars`."""
    if len(text) <= max_chars:
        return text
    head = max_chars // 2
    tail = max_chars - head
    return f"{text[:head]}\n[... {len(text) - max_chars} characters cut ...]\n{text[-tail:]}"
