"""The one final answer of a message: where it may stand is declared, and two answers are none."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from polyathlon.verify.text import plain

OPEN = "<answer>"
CLOSE = "</answer>"
MAX_MESSAGE_CHARS = 100_000
MAX_DRESS = 12
MAX_SPANS = 50

Place = Literal["boxed", "tag", "marker", "bare"]
Dress = Literal["stop", "brackets", "quotes", "bold", "math", "text"]

_BOX = "\\boxed{"
_PAIRS: dict[Dress, tuple[tuple[str, str], ...]] = {
    "stop": (("", "."), ("", "!"), ("", "?"), ("", ","), ("", ";")),
    "brackets": (("(", ")"), ("[", "]"), ("{", "}")),
    "quotes": (('"', '"'), ("'", "'"), ("\u201c", "\u201d"), ("\u2018", "\u2019"), ("`", "`")),
    "bold": (("**", "**"), ("__", "__"), ("*", "*")),
    "math": (("$$", "$$"), ("$", "$"), ("\\(", "\\)"), ("\\[", "\\]")),
    "text": (("\\text{", "}"), ("\\mathrm{", "}"), ("\\mathbf{", "}")),
}


@dataclass(frozen=True, slots=True)
class AnswerForm:
    """Where the final answer of a message stands.

    `places`: "boxed" \\boxed{...}; "tag" <answer>...</answer>; "marker" the rest of a line that begins with one of
    `markers` and a colon;
    "bare" the whole message, where none of the other declared places occurs. `several`: "refused", or "repeats": the
    same answer may be given more than once, other ones may not. `after`: whether text may follow the answer ("ignored")
    or makes it none ("refused"). Always none: two different answers, in one place or in two; a tag or a brace without
    its partner; more than 50 answers or 100,000 characters. A place that holds nothing but another place counts once.
    """

    places: tuple[Place, ...] = ("tag", "bare")
    markers: tuple[str, ...] = ("Answer:", "Final answer:")
    several: Literal["refused", "repeats"] = "refused"
    after: Literal["ignored", "refused"] = "ignored"

    def __post_init__(self) -> None:
        if not self.places or any(not marker.strip() for marker in self.markers):
            raise ValueError("Declare one place at least, and no marker that is empty.")

    def read(self, message: str) -> str | None:
        """Return the one final answer of `message`, stripped, or None. Never raises."""
        if len(message) > MAX_MESSAGE_CHARS:
            return None
        spans: list[Span] = []
        for place in self.places:
            found = _found(message, place, self)
            if found is None:
                return None
            spans += found
        if len(spans) > MAX_SPANS:
            return None
        if not spans:
            return message.strip() if "bare" in self.places else None  # sound: a tuple of places
        if self.after == "refused" and message[max(span.end for span in spans) :].strip():
            return None
        kept = _innermost(message, spans) if len(spans) > 1 else spans
        if len(kept) > 1 and (self.several == "refused" or len({plain(span.text) for span in kept}) > 1):
            return None
        return kept[0].text.strip()


@dataclass(frozen=True, slots=True)
class Span:
    """An answer in a message: what it says, and where the whole of it, marks included, begins and ends."""

    text: str
    start: int
    end: int


def tagged(message: str) -> list[Span] | None:
    """Return what stands in each pair of answer tags; None when a tag lacks its partner."""
    found: list[Span] = []
    at = 0
    while (start := message.find(OPEN, at)) >= 0:
        begin = start + len(OPEN)
        end = message.find(CLOSE, begin)
        if end < 0 or message.find(CLOSE, at, start) >= 0 or message.find(OPEN, begin, end) >= 0:
            return None
        at = end + len(CLOSE)
        found.append(Span(message[begin:end], start, at))
    return found if message.find(CLOSE, at) < 0 else None


def undressed(text: str, *dress: Dress) -> str:
    """Return `text` without what is wrapped around it, layer by layer, 12 at most, and only what is declared.

    "stop": a mark that ends a sentence; "brackets", "quotes", "bold" (asterisks), "math" (dollars, \\( \\)), "text"
    (\\text{...}). "(42)." is "42" with "stop" and "brackets"; "(1) + (2)" stays, its brackets are no pair.
    """
    body = text.strip()
    for _ in range(MAX_DRESS):
        pairs = [pair for name in dress for pair in _PAIRS[name]]
        left, right = next(((left, right) for left, right in pairs if _wraps(body, left, right)), ("", ""))
        if not left and not right:
            break
        body = body[len(left) : len(body) - len(right)].strip()
    return body


def _found(message: str, place: Place, form: AnswerForm) -> list[Span] | None:
    if place == "tag":
        return tagged(message)
    if place == "boxed":
        return _boxed(message)
    return _marked(message, form.markers) if place == "marker" else []


def _boxed(message: str) -> list[Span] | None:
    """Return what stands in each outermost box; None when a brace is missing."""
    found: list[Span] = []
    at = message.find(_BOX)
    while at >= 0:
        begin = at + len(_BOX)
        depth, end = 1, begin
        while depth and end < len(message):
            if message[end] == "\\":
                end += 1  # a brace after a backslash is text
            else:
                depth += (message[end] == "{") - (message[end] == "}")
            end += 1
        if depth:
            return None
        found.append(Span(message[begin : end - 1], at, end))
        at = message.find(_BOX, end)
    return found


def _marked(message: str, markers: Sequence[str]) -> list[Span]:
    """Return what follows a marker that begins a line, bold or not, to the end of the line."""
    names = "|".join(re.escape(marker.strip().rstrip(":")) for marker in markers)
    pattern = rf"^[ \t>#-]*+(?P<bold>\*\*)?+[ \t]*+(?:{names})(?:\*\*)?[ \t]*:(?(bold)(?:\*\*)?)(?P<rest>[^\n]*)$"
    matches = re.finditer(pattern, message, re.IGNORECASE | re.MULTILINE)
    return [
        Span(match["rest"].rstrip(" *") if match["bold"] else match["rest"], match.start(), match.end())
        for match in matches
    ]


def _innermost(message: str, spans: Sequence[Span]) -> list[Span]:
    """Return `spans` without those that hold another one and nothing else but dress."""
    kept = []
    for span in spans:
        body = undressed(span.text, "stop", "bold", "math")
        inner = [one for one in spans if span.start < one.start and one.end <= span.end]
        if not any(body == message[one.start : one.end] for one in inner):
            kept.append(span)
    return kept


def _wraps(body: str, left: str, right: str) -> bool:
    """Whether `left` and `right` stand around `body`, belong to each other, and leave something between."""
    if len(body) <= len(left) + len(right) or body[: len(left)] != left or body[len(body) - len(right) :] != right:
        return False
    inner = body[len(left) : len(body) - len(right)]
    if left == right or not left:
        return not left or left not in inner  # sound: whether a mark closes in between
    depth = 0
    for character in inner:
        depth += (character == left[-1]) - (character == right[-1])
        if depth < 0:
            return False
    return depth == 0
