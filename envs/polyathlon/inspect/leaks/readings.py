"""The ways in which a text can stand in another one without standing there as it is."""

from __future__ import annotations

import base64
import functools
import json
import re
from collections.abc import Callable, Mapping
from fractions import Fraction

from polyathlon.verify.numbers import read_number
from polyathlon.verify.text import plain

MIN_CHARS = 2
MIN_ENCODED_CHARS = 4
ENCODED = ("in hexadecimal", "in base64")
MIN_DIGITS = 3
"""Digits that a rounded number must keep: with fewer, every text holds it."""
_BASE64 = re.compile(
    r"(?<![A-Za-z0-9+/])(?:[A-Za-z0-9+/]{4})+(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?(?![A-Za-z0-9+/=])"
)
_HEXADECIMAL = re.compile(r"(?<![0-9A-Za-z])(?:[0-9a-fA-F]{2}){4,}(?![0-9A-Za-z])")


@functools.lru_cache(maxsize=512)
def folded(text: str) -> str:
    """Return `text` with white space and width folded, as `found_in` looks for it."""
    return plain(text)


def found_in(shown: str, secret: str) -> str:
    """Return how `secret` can be read in `shown`: "as it is", "backwards", ..., or "" where it cannot.

    A secret that begins or ends in a letter or digit is found between others only, never inside a longer word.
    """
    if len(secret) < MIN_CHARS:
        return ""
    flat = folded(shown)
    for way, reading in readings_of(secret).items():
        if _stands_in(flat, reading):
            return way
    if _escaped_in(shown, secret):
        return "escaped as JSON"
    return next((way for way, text in _decoded(shown) if _stands_in(text, plain(secret))), "")


@functools.lru_cache(maxsize=512)
def _decoded(shown: str) -> tuple[tuple[str, str], ...]:
    """Return what the runs of base64 and of hexadecimal in `shown` say, where that is text; folded."""
    found: dict[str, list[str]] = {"within base64": [], "within hexadecimal": []}
    for run in _BASE64.findall(shown):
        found["within base64"].append(_text_of(functools.partial(base64.b64decode, run, validate=True)))
    for run in _HEXADECIMAL.findall(shown):
        found["within hexadecimal"].append(_text_of(functools.partial(bytes.fromhex, run)))
    return tuple((way, plain("\n".join(filter(None, texts)))) for way, texts in found.items() if any(texts))


def _text_of(decode: Callable[[], bytes]) -> str:
    """Return what `decode` gives as text; an empty string where it is none: most words are base64 of some bytes."""
    try:
        text = decode().decode("ascii")
    except ValueError:
        return ""
    return text if all(char.isprintable() or char.isspace() for char in text) else ""


def encoded_in(shown: str, secret: str) -> str:
    """Return how `secret` stands in `shown` in hexadecimal or base64, or "" where it does not."""
    found = {way: reading for way, reading in readings_of(secret).items() if way.startswith(ENCODED)}
    flat = folded(shown)
    return next((way for way, reading in found.items() if _stands_in(flat, reading)), "")


@functools.lru_cache(maxsize=4096)
def readings_of(secret: str) -> Mapping[str, str]:
    """Return the readings of `secret` that are long enough to mean something, by the name of the way."""
    flat = plain(secret)
    readings = {"as it is": flat, "backwards": flat[::-1]} if len(flat) >= MIN_CHARS else {}
    if len(flat) >= MIN_ENCODED_CHARS:
        data = secret.encode("utf-8", "surrogatepass")
        readings["in hexadecimal"] = data.hex()
        for start in range(3):  # base64 reads three bytes at a time: the text may begin at any of them
            inner = data[start : start + (len(data) - start) // 3 * 3]
            if len(inner) >= MIN_ENCODED_CHARS:
                readings[f"in base64 from byte {start}"] = base64.b64encode(inner).decode()
    for digits, rounded in _rounded(flat).items():
        readings[f"rounded to {digits} decimals"] = rounded
    return readings


def _rounded(flat: str) -> dict[int, str]:
    number = read_number(flat, "decimal") if len(flat) < 40 else None
    if number is None or number.denominator == 1:
        return {}
    found = {}
    for decimals in range(4):
        scaled = round(number * 10**decimals)
        text = _written(scaled, decimals)
        if len(str(abs(scaled))) >= MIN_DIGITS and Fraction(scaled, 10**decimals) != number:
            found[decimals] = text
    return found


def _written(scaled: int, decimals: int) -> str:
    if not decimals:
        return str(scaled)
    digits = f"{abs(scaled):0{decimals + 1}d}"
    return f"{'-' if scaled < 0 else ''}{digits[:-decimals]}.{digits[-decimals:]}"


def _escaped_in(shown: str, secret: str) -> bool:
    escaped = json.dumps(secret)[1:-1]
    return escaped != secret and shown.find(escaped) >= 0


def _stands_in(text: str, wanted: str) -> bool:
    if not wanted:
        return False
    place = text.find(wanted)
    while place >= 0:
        before = text[place - 1 : place] if place else ""
        after = text[place + len(wanted) : place + len(wanted) + 1]
        if not (_joins(before, wanted[0]) or _joins(wanted[-1], after)):
            return True
        place = text.find(wanted, place + 1)
    return False


def _joins(left: str, right: str) -> bool:
    return left.isalnum() and right.isalnum()
