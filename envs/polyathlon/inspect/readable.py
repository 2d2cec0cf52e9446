"""Hostile text made fit to be read: clipped with a visible mark, and nothing in it invisible."""

from __future__ import annotations

import re

from polyathlon.clip import clip_text

MAX_READ_CHARS = 8_000
MAX_READ_LINES = 300

_PICTURES = {code: chr(0x2400 + code) for code in range(32) if chr(code) not in "\n\t"} | {0x7F: "\u2421"}
# controls, direction marks and overrides, zero widths, line separators, byte order marks, lone surrogates, tags
_INVISIBLE = re.compile(
    "[\x80-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\uffff\ud800-\udfff\U000e0000-\U000e0fff]"
)
_MARKS = re.compile("[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]{9,}")


def readable(text: str, *, max_chars: int = MAX_READ_CHARS, max_lines: int = MAX_READ_LINES) -> str:
    """Return `text` as it can be shown and written: at most about `max_chars` and `max_lines`, the middle cut visibly.

    Control characters become their pictures, other invisible ones and lone surrogates their escapes (`\\u202e`), and a
    tower of nine or more combining marks a note of how many there were. Tabs and line feeds stay.
    """
    clipped = clip_text(text, max_chars=max_chars)
    lines = clipped.split("\n")
    if len(lines) > max_lines:
        head = max_lines // 2
        cut = f"[... {len(lines) - max_lines} lines cut ...]"
        clipped = "\n".join([*lines[:head], cut, *lines[len(lines) - (max_lines - head) :]])
    flat = _MARKS.sub(lambda found: f"[{len(found[0])} combining marks]", clipped)
    return _INVISIBLE.sub(_escaped, flat.translate(_PICTURES))


def _escaped(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
