"""Numbers made wrong: off by a last digit, sign lost, ten and a hundred times, a digit dropped, ends swapped."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal

NUMBER = re.compile(r"[-\u2212]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?")


def number_mutants(text: str) -> Iterator[tuple[str, str]]:
    """Yield (operator, number) for every way in which `text`, one number in digits, is made another number.

    Sign, decimals, leading zeros and grouping stay as they are written. Nothing is yielded for what is no number, nor
    a number of the same value.
    """
    if not NUMBER.fullmatch(text):
        return
    for operator, mutant in _ways(text):
        if _value(mutant) != _value(text):
            yield operator, mutant


def digits_mutants(text: str) -> Iterator[tuple[str, str]]:
    """Yield (operator, digits) for a run of digits that stands in a code ("012" of "012R"): as long as before."""
    if not text.isdecimal():
        return
    for operator, step in (("last digit +1", 1), ("last digit -1", -1)):
        yield operator, text[:-1] + str((int(text[-1]) + step) % 10)
    if text[0] != text[-1]:
        yield "ends swapped", _swapped(text)


def _ways(text: str) -> Iterator[tuple[str, str]]:
    minus, body = ("-", text[1:]) if text[0] in "-\u2212" else ("", text)
    last = Decimal(1).scaleb(-len(body.partition(".")[2]))
    size = Decimal(body.replace(",", ""))
    yield "last digit +1", minus + _like(size + last, body)
    yield "last digit -1", minus + _like(size - last, body) if size >= last else "-" + _like(last - size, body)
    yield "sign", body if minus else f"-{body}"
    yield "x10", minus + _like(size * 10, body)
    yield "x100", minus + _like(size * 100, body)
    whole, point, part = body.replace(",", "").partition(".")
    if len(whole) > 1:
        yield "first digit dropped", minus + whole[1:] + point + part
        yield "last digit dropped", minus + whole[:-1] + point + part
    digits = whole + part
    if digits[0] != digits[-1]:
        swapped = _swapped(digits)
        yield "ends swapped", minus + swapped[: len(whole)] + point + swapped[len(whole) :]


def _like(size: Decimal, body: str) -> str:
    """Return `size`, not negative, with the decimals, leading zeros and grouping of `body`."""
    whole, point, part = body.partition(".")
    written = f"{size:.{len(part)}f}"
    left, _, right = written.partition(".")
    if whole.find(",") >= 0:
        left = f"{int(left):,}"
    elif whole[0] == "0":
        left = left.zfill(len(whole))
    return left + point + right


def _swapped(digits: str) -> str:
    return digits[-1] + digits[1:-1] + digits[0]


def _value(text: str) -> Decimal:
    return Decimal(text.replace(",", "").replace("\u2212", "-"))
