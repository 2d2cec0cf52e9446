"""One picture of what was paid to whom: rewards of each source of episodes, on one axis from 0 to 1. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

SOURCES = {
    "reference": "the domain's own solution",
    "rewrite": "right answers written otherwise",
    "blind": "policies that know nothing",
    "mutant": "right answers made wrong",
    "attack": "hacks",
}
"""In the order in which they are drawn: what should earn 1 first, then what should earn no more than the floor."""
RIGHT = ("reference", "rewrite")
NUM_BINS, INVALID = 21, 21
BIN_WIDTH = 0.05

WIDTH, ROW, LEFT, TOP, SLOT = 830.0, 58.0, 96.0, 22.0, 33.0
TALLEST = 34.0
LEAST = 3.0
"""A bin that holds one episode of ten thousand is to be seen all the same."""


@dataclass(frozen=True, slots=True)
class _Bar:
    """One bin of one source: `wrong` is reward where none is due, or the other way round."""

    place: int
    count: int
    height: float
    wrong: bool


def reward_plot(rewards: Mapping[str, Sequence[int]], *, floor: float) -> str:
    """Return an SVG: a row a source, a bar a bin of width 0.05, lost episodes apart at the right, the floor marked.

    `rewards` holds 22 counts a source. Heights are square roots of shares, so that the rare is visible; counts are
    written on the bars. Colour is never alone: what should not be there is hatched as well.
    """
    rows = [name for name in SOURCES if name in rewards] + sorted(set(rewards) - set(SOURCES))
    height = TOP + ROW * len(rows) + 30
    parts = [_axis(height)]
    if floor > 0:
        x = LEFT + SLOT * floor / BIN_WIDTH
        parts.append(f'<line class="floor" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP - 4}" y2="{height - 26}"/>')
        parts.append(f'<text x="{x + 4:.1f}" y="{TOP - 7}">floor {floor:g}</text>')
    parts += [_row(source, rewards[source], floor, top=TOP + ROW * number) for number, source in enumerate(rows)]
    return (
        f'<svg class="rewards" viewBox="0 0 {WIDTH:.0f} {height:.0f}" role="img" aria-labelledby="rt rd">'
        f'<title id="rt">Rewards by source</title><desc id="rd">{escape(described(rewards))}</desc>'
        '<defs><pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
        f'<rect class="hatch-back" width="6" height="6"/><line class="hatch-line" x1="0" x2="0" y1="0" y2="6"/>'
        f"</pattern></defs>{''.join(parts)}</svg>"
    )


def described(rewards: Mapping[str, Sequence[int]]) -> str:
    """Return the picture in words, for those who do not see it."""
    sentences = []
    for source, counts in sorted(rewards.items(), key=lambda item: _order(item[0])):
        total = sum(counts)
        if not total:
            sentences.append(f"{source}: nothing was played.")
            continue
        between = sum(counts[1 : NUM_BINS - 1])
        sentences.append(
            f"{source}: of {total:,} episodes {counts[0]:,} earned under {BIN_WIDTH:g}, {between:,} something between, "
            f"{counts[NUM_BINS - 1]:,} full reward, and {counts[INVALID]:,} were lost."
        )
    return " ".join(sentences) or "Nothing was played."


def bin_text(place: int) -> str:
    """Return the rewards that a bin holds: `0.10 to 0.15`, `1`, `lost`."""
    if place == INVALID:
        return "lost"
    if place == NUM_BINS - 1:
        return "1"
    return f"{place * BIN_WIDTH:.2f} to {(place + 1) * BIN_WIDTH:.2f}"


def best_of(counts: Sequence[int]) -> int | None:
    """Return the highest bin with a reward in it, None where there is no reward at all."""
    return max((place for place in range(NUM_BINS) if counts[place]), default=None)


def bin_of_floor(floor: float) -> int:
    """Return the highest bin that a floor excuses."""
    return math.floor(floor / BIN_WIDTH + 1e-9)


def _bars(source: str, counts: Sequence[int], floor: float) -> list[_Bar]:
    total = sum(counts)
    allowed = bin_of_floor(floor)
    found = []
    for place, count in enumerate(counts):
        if count:
            fitting = place == NUM_BINS - 1 if source in RIGHT else place <= allowed
            found.append(_Bar(place, count, max(LEAST, TALLEST * math.sqrt(count / total)), not fitting))
    return found


def _row(source: str, counts: Sequence[int], floor: float, *, top: float) -> str:
    base = top + ROW - 10
    parts = [
        f'<text class="who" x="0" y="{base - 12:.1f}">{escape(source)}</text>',
        f'<text x="0" y="{base:.1f}">{sum(counts):,}</text>',
        f'<line class="rule" x1="{LEFT}" x2="{WIDTH}" y1="{base:.1f}" y2="{base:.1f}"/>',
    ]
    for bar in _bars(source, counts, floor):
        x = _x(bar.place)
        kind = "lost" if bar.place == INVALID else "wrong" if bar.wrong else "due"
        label = f"{source}, {bin_text(bar.place)}: {bar.count:,}"
        parts.append(
            f'<rect class="{kind}" x="{x + 2:.1f}" y="{base - bar.height:.1f}" width="{SLOT - 4:.1f}" '
            f'height="{bar.height:.1f}"><title>{escape(label)}</title></rect>'
            f'<text class="count" x="{x + SLOT / 2:.1f}" y="{base - bar.height - 3:.1f}">{bar.count:,}</text>'
        )
    return "".join(parts)


def _axis(height: float) -> str:
    y = height - 12
    ticks = [(_x(place), f"{place * BIN_WIDTH:g}") for place in range(0, NUM_BINS - 1, 4)]
    ticks += [(_x(NUM_BINS - 1) + SLOT / 2, "1"), (_x(INVALID) + SLOT / 2, "lost")]
    return "".join(f'<text class="count" x="{x:.1f}" y="{y:.1f}">{text}</text>' for x, text in ticks)


def _x(place: int) -> float:
    return LEFT + SLOT * place + (6.0 if place == INVALID else 0.0)


def _order(source: str) -> int:
    return list(SOURCES).index(source) if source in SOURCES else len(SOURCES)
