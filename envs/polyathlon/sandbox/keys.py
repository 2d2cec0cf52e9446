"""Names of keys, as tmux has them, and the bytes that a Linux console sends for them."""

from __future__ import annotations

import re

from polyathlon.errors import SandboxError

_ARROWS = {"Up": b"A", "Down": b"B", "Right": b"C", "Left": b"D"}
_NAMED = {
    "Enter": b"\r",
    "Escape": b"\x1b",
    "Tab": b"\t",
    "BTab": b"\x1b[Z",
    "Space": b" ",
    "BSpace": b"\x7f",
    "Home": b"\x1b[1~",
    "Insert": b"\x1b[2~",
    "IC": b"\x1b[2~",
    "Delete": b"\x1b[3~",
    "DC": b"\x1b[3~",
    "End": b"\x1b[4~",
    "PageUp": b"\x1b[5~",
    "PgUp": b"\x1b[5~",
    "PPage": b"\x1b[5~",
    "PageDown": b"\x1b[6~",
    "PgDn": b"\x1b[6~",
    "NPage": b"\x1b[6~",
    **{f"F{number}": b"\x1b[[" + bytes([64 + number]) for number in range(1, 6)},
    **{
        f"F{number}": b"\x1b[%d~" % code
        for number, code in zip(range(6, 13), (17, 18, 19, 20, 21, 23, 24), strict=True)
    },
}
_CONTROL = {**{chr(code + 96): code for code in range(1, 27)}, "@": 0, "[": 27, "\\": 28, "]": 29, "^": 30, "_": 31}
_WITH_MODIFIER = re.compile(r"([CM])-(?:([CM])-)?(\S|[A-Z][A-Za-z0-9]+)")
_FUNCTION = re.compile(r"F\d+")


def read_key(key: str, *, application: bool = False) -> bytes:
    """Return the bytes of one named key ("Enter", "Up", "C-c", "M-x", "F5"), or the UTF-8 of any other text.

    `application` is the mode in which arrows are sent another way: full-screen programs ask for it.

    Raises:
        SandboxError: it has the form of a key, and there is none of that name.

    """
    if key in _ARROWS:
        return (b"\x1bO" if application else b"\x1b[") + _ARROWS[key]
    if key in _NAMED:
        return _NAMED[key]
    match = _WITH_MODIFIER.fullmatch(key)
    if match is not None and (len(match[3]) == 1 or match[3] in _NAMED or match[3] in _ARROWS):
        return _modified(key, set(filter(None, match.group(1, 2))), match[3])
    if _FUNCTION.fullmatch(key):
        raise SandboxError(f"There is no key {key}: function keys go from F1 to F12.")
    return key.encode("utf-8", "replace")


def _modified(key: str, modifiers: set[str], rest: str) -> bytes:
    data = read_key(rest)
    if "C" in modifiers:
        code = 0 if rest == "Space" else _CONTROL.get(rest.lower())
        if code is None:
            raise SandboxError(f"There is no key {key}: with C- go letters, Space and @ [ \\ ] ^ _.")
        data = bytes([code])
    return b"\x1b" + data if "M" in modifiers else data
