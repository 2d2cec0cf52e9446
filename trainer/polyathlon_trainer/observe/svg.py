"""Small plots as SVG that take their colours from the page, so that one drawing serves light and dark. Pure.

Each is a few kilobytes and scales with its place: three hundred of them make a page that a phone opens.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Literal, TypeAlias

Point: TypeAlias = tuple[float, float | None]
"""(x, y); y None or not finite leaves a gap."""

MAX_POINTS = 80
WIDTH, HEIGHT = 280.0, 120.0
LEFT, RIGHT, TOP, BOTTOM = 30.0, 6.0, 8.0, 18.0


@dataclass(frozen=True, slots=True)
class Series:
    """One line or row of dots. `name` is the CSS class that colours it; `bars` are 95% intervals, (x, low, high)."""

    name: str
    points: tuple[Point, ...]
    form: Literal["line", "dots"] = "line"
    bars: tuple[tuple[float, float, float], ...] = ()


def line_chart(series: Sequence[Series], *, label: str, y_range: tuple[float, float] | None = None) -> str:
    """Return an SVG of `series` over a common x, with the range of y at the left and the range of x below.

    `label` is read out to those who cannot see it. Without `y_range` it is that of the data, from 0 where that is near.
    """
    shown = [Series(one.name, thinned(one.points), one.form, one.bars) for one in series]
    xs = [x for one in shown for x, _ in one.points] or [0.0]
    ys = [y for one in shown for _, y in one.points if y is not None]
    frame = _Frame(min(xs), max(xs), *(y_range or nice_range(ys)))
    parts = [_grid(frame)]
    for one in shown:
        parts += [_bar(frame, one.name, *bar) for bar in one.bars]
        parts += _dots(frame, one) if one.form == "dots" else _lines(frame, one)
    body = "".join(parts) if ys else f'{parts[0]}<text x="{WIDTH / 2}" y="{HEIGHT / 2}" class="mid">nothing yet</text>'
    return (
        f'<svg class="plot" viewBox="0 0 {WIDTH:.0f} {HEIGHT:.0f}" role="img" aria-label="{escape(label)}">{body}</svg>'
    )


def forest(mean: float, low: float, high: float, *, reach: float, name: str) -> str:
    """Return a gain as a dot with its interval around a zero line; the axis runs from -`reach` to `reach`.

    `name` is the CSS class that colours it.
    """
    width, height = 160.0, 16.0

    def place(value: float) -> float:
        return round(width / 2 + max(-1.0, min(1.0, value / reach)) * (width / 2 - 5), 1)

    return (
        f'<svg class="forest {name}" viewBox="0 0 {width:.0f} {height:.0f}" aria-hidden="true">'
        f'<line class="zero" x1="{width / 2}" x2="{width / 2}" y1="0" y2="{height}"/>'
        f'<line class="range" x1="{place(low)}" x2="{place(high)}" y1="8" y2="8"/>'
        f'<circle cx="{place(mean)}" cy="8" r="3.5"/></svg>'
    )


def share_bars(declared: float, trained: float, judged: float, *, most: float) -> str:
    """Return trained and judged shares as two bars with a tick at the declared one; the axis runs to `most`."""
    width = 160.0

    def place(value: float) -> float:
        return round(width * min(1.0, value / most), 1) if most else 0.0

    tick = min(place(declared), width - 1)
    return (
        f'<svg class="bars" viewBox="0 0 {width:.0f} 16" aria-hidden="true">'
        f'<rect class="trained" x="0" y="2" height="5" width="{place(trained)}"/>'
        f'<rect class="judged" x="0" y="9" height="5" width="{place(judged)}"/>'
        f'<line class="declared" x1="{tick}" x2="{tick}" y1="0" y2="16"/></svg>'
    )


def thinned(points: Sequence[Point], *, most: int = MAX_POINTS) -> tuple[Point, ...]:
    """Return at most `most` points, each the mean of the finite ones of its stretch."""
    clean = [(x, y if y is not None and math.isfinite(y) else None) for x, y in points]
    if len(clean) <= most:
        return tuple(clean)
    kept: list[Point] = []
    for place in range(most):
        stretch = clean[place * len(clean) // most : (place + 1) * len(clean) // most]
        values = [y for _, y in stretch if y is not None]
        kept.append((stretch[-1][0], sum(values) / len(values) if values else None))
    return tuple(kept)


def smoothed(points: Sequence[Point], *, window: int) -> tuple[Point, ...]:
    """Return the trailing mean over `window` points; gaps are passed over."""
    recent: list[float] = []
    out: list[Point] = []
    for x, y in points:
        if y is not None and math.isfinite(y):
            recent = [*recent[-(window - 1) :], y] if window > 1 else [y]
        out.append((x, sum(recent) / len(recent) if recent else None))
    return tuple(out)


def nice_range(values: Iterable[float]) -> tuple[float, float]:
    """Return a range that holds `values`: from zero where zero is near, never empty, its ends round."""
    finite = [value for value in values if math.isfinite(value)]
    if not finite:
        return 0.0, 1.0
    low, high = min(finite), max(finite)
    if low >= 0.0 and low <= 0.6 * high:
        low = 0.0
    if high - low < 1e-12:
        low, high = (0.0, 2 * high) if high > 0 else (low - 1.0, high + 1.0)
    step = 10.0 ** math.floor(math.log10(high - low)) / 2
    return math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step


@dataclass(frozen=True, slots=True)
class _Frame:
    first: float
    last: float
    low: float
    high: float

    def x(self, value: float) -> float:
        width = self.last - self.first
        part = (value - self.first) / width if width else 0.5
        return round(LEFT + part * (WIDTH - LEFT - RIGHT), 1)

    def y(self, value: float) -> float:
        part = (min(self.high, max(self.low, value)) - self.low) / (self.high - self.low)
        return round(HEIGHT - BOTTOM - part * (HEIGHT - TOP - BOTTOM), 1)


def _grid(frame: _Frame) -> str:
    lines = []
    for place, value in enumerate((frame.low, (frame.low + frame.high) / 2, frame.high)):
        y = frame.y(value)
        lines.append(f'<line class="rule" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y}" y2="{y}"/>')
        if place != 1:
            lines.append(f'<text class="end" x="{LEFT - 5}" y="{y + 3.5}">{value:.3g}</text>')
    lines.append(f'<text x="{LEFT}" y="{HEIGHT - 4}">{frame.first:g}</text>')
    if frame.last > frame.first:
        lines.append(f'<text class="end" x="{WIDTH - RIGHT}" y="{HEIGHT - 4}">{frame.last:g}</text>')
    return "".join(lines)


def _lines(frame: _Frame, one: Series) -> list[str]:
    runs: list[list[str]] = [[]]
    for x, y in one.points:
        if y is None:
            runs.append([])
        else:
            runs[-1].append(f"{frame.x(x)},{frame.y(y)}")
    marks = [f'<polyline class="{one.name}" points="{" ".join(run)}"/>' for run in runs if len(run) > 1]
    alone = [run[0].split(",") for run in runs if len(run) == 1]
    return marks + [f'<circle class="{one.name}" cx="{x}" cy="{y}" r="1.5"/>' for x, y in alone]


def _dots(frame: _Frame, one: Series) -> list[str]:
    return [
        f'<circle class="{one.name}" cx="{frame.x(x)}" cy="{frame.y(y)}" r="3"/>'
        for x, y in one.points
        if y is not None
    ]


def _bar(frame: _Frame, name: str, x: float, low: float, high: float) -> str:
    place = frame.x(x)
    return f'<line class="{name}" x1="{place}" x2="{place}" y1="{frame.y(low)}" y2="{frame.y(high)}"/>'
