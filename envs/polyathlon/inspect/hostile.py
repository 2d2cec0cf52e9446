"""Texts that break careless parsers."""

from __future__ import annotations

from collections.abc import Iterator


def hostile_texts() -> Iterator[tuple[str, str]]:
    """Yield (name, text): nothing that a verifier is given may raise, hang or pay."""
    yield "empty", ""
    yield "NaN", "NaN"
    yield "nan answer", "nan+nanj"
    yield "infinity", "inf"
    yield "overflowing number", "1e999"
    yield "JSON with NaN", '{"value": NaN, "total": Infinity, "x": 1e999}'
    yield "JSON of wrong types", '[null, true, {"a": [[]]}, "x", -0.0]'
    yield "JSON with a key twice", '{"a": 1, "a": 2}'
    yield "lone surrogate", "\ud800 7 \udfff"
    yield "NUL and controls", "\x00\x01\x1b[2J\x7f\r\n\x0b"
    yield "right to left", "\u202e12\u202c \u200f\u200b\ufeff"
    yield "other digits", "\u0664\u0662 \uff15 \u00b2 \u2167"
    yield "tower of powers", "9^9^9^9"
    yield "tower of powers in Python", "9**9**9**9"
    yield "long integer", "7" * 5_000
    yield "nested brackets", "[" * 10_000 + "]" * 10_000
    yield "nested parentheses", "(" * 5_000 + "1" + ")" * 5_000
    yield "nested objects", '{"a":' * 5_000 + "1" + "}" * 5_000
    yield "objects nested 900 deep", '{"a":' * 900 + "1" + "}" * 900
    yield "a late key given twice", "{" + ",".join(f'"{k}":0' for k in range(9_000)) + ',"8999":1}'
    yield "a mountain of combining marks", "a" + "\u0301\u0323" * 49_000
    yield "format braces", "{0.__class__.__mro__} {answer} %s %n ${HOME}"
    yield "unbalanced quotes", "'\"`$(('\\"
    yield "code", "__import__('os')._exit(0)"
    yield "SQL", "'; DROP TABLE t; --"
    yield "open tags", "<answer><answer></answer><tool_call>{</tool_call>"
    yield "true and false", "true false yes no"
    yield "many lines", "1\n" * 20_000
    yield "many separators", ";,|:= " * 5_000
    yield "ten megabytes", "x" * 10_000_000
