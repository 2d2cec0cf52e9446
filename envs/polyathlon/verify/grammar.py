"""Numbers out of text by a declared grammar: each way of writing that counts is a field, all else is no number."""

from __future__ import annotations

# sound everywhere, in: declared forms and peeled layers, by name
import functools
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Literal

Form = Literal["decimal", "fraction", "mixed", "scientific", "power"]
Negative = Literal["minus", "trailing", "brackets"]
Percent = Literal["refused", "share", "points"]
Layer = tuple[str, str, str]
"""What was peeled off a number: its kind, what it says, and the text that is left."""

DECIMAL_MARKS = (".", ",")
GROUP_MARKS = ("", ",", ".", " ", "'")
MAX_DIGITS = 60
MAX_EXPONENT = 60
MAX_CHARS = 2 * MAX_DIGITS

SCALE_WORDS = (("thousand", 3), ("million", 6), ("billion", 9), ("trillion", 12))
SCALE_LETTERS = (("k", 3), ("m", 6), ("mn", 6), ("mln", 6), ("b", 9), ("bn", 9), ("tn", 12))
CURRENCIES = (("$", "USD"), ("US$", "USD"), ("\u20ac", "EUR"), ("\u00a3", "GBP"), ("USD", "USD"), ("EUR", "EUR"))

_FOLDED = str.maketrans(
    {
        **dict.fromkeys("\u2212\u2013\ufe63\uff0d", "-"),
        **dict.fromkeys("\u00a0\u2007\u2009\u202f", " "),
        "\u2019": "'",
        "\u2044": "/",
    }
)
_VULGAR = {
    one: unicodedata.normalize("NFKC", one).replace("\u2044", "/")
    for one in "\u00bc\u00bd\u00be\u2153\u2154\u2155\u2156\u2157\u2158\u2159\u215a\u215b\u215c\u215d\u215e"
}
_POWER_OF_TEN = (
    r"(?:{mantissa}\s*[x*\u00d7\u00b7]\s*)?10\s*\^\s*(?:(?P<bare>[+-]?\d{{1,3}})|\{{(?P<braced>[+-]?\d{{1,3}})\}})"
)


@dataclass(frozen=True, slots=True)
class Numeral:
    """A number as it was written. `places` are the decimals it shows (-6 for "5 million"), None for a fraction.

    `percent` says whether a percent sign stood there, `currency` which currency's.
    """

    value: Fraction
    places: int | None = 0
    percent: bool = False
    currency: str = ""

    @property
    def whole(self) -> int | None:
        """The value where it is a whole number, else None."""
        return self.value.numerator if self.value.denominator == 1 else None

    @property
    def decimal(self) -> Decimal | None:
        """The value where it ends after finitely many decimals, else None. Exact."""
        rest, twos, fives = self.value.denominator, 0, 0
        while rest % 2 == 0:
            rest, twos = rest // 2, twos + 1
        while rest % 5 == 0:
            rest, fives = rest // 5, fives + 1
        if rest != 1:
            return None
        shift = max(twos, fives)
        return Decimal(f"{(self.value * 10**shift).numerator}E{-shift}")


@dataclass(frozen=True, slots=True)
class NumberGrammar:
    """Which ways of writing a number count. Whole numbers in ASCII digits always do; by default nothing else.

    `forms`: "decimal" 42.50; "fraction" 3/4 and a single sign like that for a half; "mixed" 1 3/4; "scientific" 1.5e6;
    "power" 1.5 x 10^6 and 10^{6}. `edges`: whether ".5" and "5." are decimals. `decimal` and `group` are the marks;
    thousands are grouped by three throughout or not at all, and a `group` of " " stands for narrow and no-break spaces
    too. `negatives`: "minus" -5 (any unicode minus), "trailing" 5-, "brackets" (5). `percent`: "share" reads 25% as
    1/4, "points" as 25. `scales` are words after the number with the power of ten they stand for, `currencies` signs
    before or after it with the code they stand for; letters in both match in either case. One layer of a kind counts,
    two do not: "--5", "5%%", "$5 USD" are no numbers.

    Raises:
        ValueError: two fields contradict each other.

    """

    forms: frozenset[Form] = frozenset()
    decimal: str = "."
    group: str = ""
    edges: Literal["closed", "open"] = "closed"
    negatives: tuple[Negative, ...] = ("minus",)
    plus: Literal["refused", "allowed"] = "refused"
    percent: Percent = "refused"
    scales: tuple[tuple[str, int], ...] = ()
    currencies: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        if self.decimal not in DECIMAL_MARKS or self.group not in GROUP_MARKS or self.group == self.decimal:
            raise ValueError(
                f"{self.decimal!r} marks decimals and {self.group!r} groups thousands; they must differ, and be of "
                f"{DECIMAL_MARKS} and {GROUP_MARKS}."
            )
        if self.group == " " and "mixed" in self.forms:
            raise ValueError('"1 234/5" would be two numbers: take another group than " ", or no mixed numbers.')
        if any(not name for name, _ in (*self.scales, *self.currencies)):
            raise ValueError("A scale word or a currency is empty.")

    def read(self, text: str) -> Numeral | None:
        """Return the one number that `text` is, exactly, else None. Never raises.

        At most 60 digits and exponents to 60. White space around it is allowed, nothing else is.
        """
        body = _folded(text)
        peeled: dict[str, str] = {}
        while (layer := next((layer for layer in _layers(body, self) if layer[0] not in peeled), None)) is not None:
            peeled[layer[0]], body = layer[1], layer[2].strip()
        if "percent" in peeled and "scale" in peeled:
            return None
        found = _magnitude(body, self)
        return None if found is None else _dressed(found, peeled, self)

    def value(self, text: str) -> Fraction | None:
        """Return the value of the one number that `text` is, else None. Never raises."""
        numeral = self.read(text)
        return None if numeral is None else numeral.value


def _folded(text: str) -> str:
    """Return `text` with one minus, one space, one apostrophe; "" for what is too long or has too many digits."""
    body = text.strip()
    if len(body) > MAX_CHARS or sum(map(str.isdigit, body)) > MAX_DIGITS:
        return ""
    body = body.translate(_FOLDED)
    for sign, written in _VULGAR.items():
        body = body.replace(sign, f" {written}")
    return body.strip()


def _layers(body: str, grammar: NumberGrammar) -> Iterator[Layer]:
    """Yield what may be peeled off `body`: sign, percent sign, currency, scale word."""
    if "minus" in grammar.negatives and body[:1] == "-":
        yield "sign", "-", body[1:]
    if grammar.plus == "allowed" and body[:1] == "+":
        yield "sign", "+", body[1:]
    if "trailing" in grammar.negatives and body[-1:] == "-":
        yield "sign", "-", body[:-1]
    if "brackets" in grammar.negatives and body[:1] == "(" and body[-1:] == ")":
        yield "sign", "-", body[1:-1]
    if grammar.percent != "refused" and body[-1:] == "%":
        yield "percent", "%", body[:-1]
    yield from _named_layers(body, grammar)


def _named_layers(body: str, grammar: NumberGrammar) -> Iterator[Layer]:
    lower = body.lower()
    for spelling, code in sorted(grammar.currencies, key=lambda pair: -len(pair[0])):
        size = len(spelling)
        if lower[:size] == spelling.lower() and not (spelling.isalpha() and body[size : size + 1].isalpha()):
            yield "currency", code, body[size:]
        if lower[-size:] == spelling.lower():
            yield "currency", code, body[:-size]
    for word, power in sorted(grammar.scales, key=lambda pair: -len(pair[0])):
        if lower[-len(word) :] == word.lower():
            yield "scale", str(power), body[: -len(word)]


def _dressed(found: Numeral, peeled: dict[str, str], grammar: NumberGrammar) -> Numeral:
    value, places = found.value, found.places
    power = int(peeled.get("scale", "0"))  # sound: a number of the grammar's own
    if grammar.percent == "share" and "percent" in peeled:
        power = -2
    return Numeral(
        value=value * Fraction(10) ** power * (-1 if peeled.get("sign") == "-" else 1),
        places=None if places is None else places - power,
        percent="percent" in peeled,
        currency=peeled.get("currency", ""),
    )


def _magnitude(body: str, grammar: NumberGrammar) -> Numeral | None:
    for form, pattern in _patterns(grammar):
        match = pattern.fullmatch(body)
        if match is not None:
            return _read(form, match, grammar)
    return None


def _read(form: str, match: re.Match[str], grammar: NumberGrammar) -> Numeral | None:
    named = {"whole": None, "part": None, **match.groupdict()}
    if form == "decimal" and named["whole"] is None and named["part"] is None:
        return None
    whole = (named["whole"] or "0").replace(grammar.group, "") if grammar.group else named["whole"] or "0"
    part = named["part"] or ""
    value = Fraction(f"{whole}.{part or 0}")
    if form in ("fraction", "mixed"):
        top, bottom = int(match["top"]), int(match["bottom"])  # sound: ASCII digits, at most 60
        if bottom == 0 or (form == "mixed" and top >= bottom):
            return None
        return Numeral(value + Fraction(top, bottom), None)
    exponent = int(named.get("exponent") or named.get("bare") or named.get("braced") or "0")  # sound: 3 ASCII digits
    if abs(exponent) > MAX_EXPONENT:
        return None
    if form == "power" and named["whole"] is None:
        value = Fraction(1)
    return Numeral(value * Fraction(10) ** exponent, len(part) - exponent)


@functools.lru_cache(maxsize=256)
def _patterns(grammar: NumberGrammar) -> tuple[tuple[str, re.Pattern[str]], ...]:
    group, mark = re.escape(grammar.group), re.escape(grammar.decimal)
    digits = rf"(?:\d{{1,3}}(?:{group}\d{{3}})+|\d+)" if grammar.group else r"\d+"
    maybe = "?" if grammar.edges == "open" else ""
    decimals = rf"(?P<whole>{digits}){maybe}{mark}(?P<part>\d+){maybe}"
    ratio = r"(?P<top>\d+)\s*/\s*(?P<bottom>\d+)"
    mantissa = rf"(?P<whole>\d+)(?:{mark}(?P<part>\d+))?"
    wanted: dict[Form, str] = {
        "fraction": ratio,
        "mixed": rf"(?P<whole>\d+) +{ratio}",
        "scientific": rf"{mantissa}[eE](?P<exponent>[+-]?\d{{1,3}})",
        "power": _POWER_OF_TEN.format(mantissa=mantissa),
    }
    found = [("integer", rf"(?P<whole>{digits})")]
    found += [(form, pattern) for form, pattern in wanted.items() if form in grammar.forms]
    if "decimal" in grammar.forms:
        found.append(("decimal", decimals))
    return tuple((form, re.compile(pattern, re.ASCII)) for form, pattern in found)
