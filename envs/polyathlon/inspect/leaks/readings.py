"""The ways in which a text can stand in another one without standing there as it is."""

from __future__ import annotations

import base64
import functools
import json
import re
from collections.abc import Mapping
from fractions import Fraction

from polyathlon.verify.numbers import read_number
from polyathlon.verify.text import plain

MIN_CHARS = 2
MIN_ENCODED_CHARS = 4
MIN_DECODED_CHARS = 3
ENCODED = ("in hexadecimal", "in base64")
MIN_DIGITS = 3
"""Digits that a rounded number must keep: with fewer, every text holds it."""

_BASE64_RUN = re.compile(r"[A-Za-z0-9+/_-]{6,4000}")
_HEX_RUN = re.compile(r"[0-9A-Fa-f]{6,4000}")
_URL_SAFE = str.maketrans("-_", "+/")


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
        if not way.startswith(ENCODED) and _stands_in(flat, reading):
            return way
    return "escaped as JSON" if _escaped_in(shown, secret) else encoded_in(shown, secret)


def encoded_in(shown: str, secret: str) -> str:
    """Return how `secret` stands in `shown` in hexadecimal or base64, or "" where it does not."""
    flat, plain_secret = folded(shown), plain(secret)
    for way, reading in readings_of(secret).items():
        if way.startswith(ENCODED) and flat.find(reading) >= 0:  # in the middle of a longer code, too
            return way
    told = len(plain_secret) >= MIN_DECODED_CHARS and _stands_in(folded(unwrapped(shown)), plain_secret)
    return "in base64 or hexadecimal, among other things" if told else ""


@functools.lru_cache(maxsize=512)
def unwrapped(shown: str) -> str:
    """Return what stretches of `shown` that look like base64 or hexadecimal say, a line each, where that is text."""
    found: list[bytes] = []
    for run in _BASE64_RUN.findall(shown):
        for start in range(4):  # a letter before the code shifts it
            code = run[start:].translate(_URL_SAFE)
            found.append(base64.b64decode(code[: len(code) // 4 * 4]))
            if len(code) % 4 > 1:
                found.append(base64.b64decode(code + "=" * (-len(code) % 4)))
    for run in _HEX_RUN.findall(shown):
        found += [bytes.fromhex(run[start : start + (len(run) - start) // 2 * 2]) for start in range(2)]
    texts = [data.decode("ascii") for data in found if data.isascii()]
    return "\n".join(dict.fromkeys(text for text in texts if text.isprintable()))


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
